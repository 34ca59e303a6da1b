"""More of what is good is never dearer, less of it never cheaper."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from .changes import LOOSER
from .solved import FAST, SLOW, base, dearer, differs, least


def holds(law: str, seeds: Iterable[int]) -> int:
    """Check a law on seeds; how many of them felt the change."""
    change, felt, broken = LOOSER[law], 0, []
    for seed in seeds:
        before = base(seed)
        changed = change(before.instance)
        if changed is None:
            continue
        after = least(changed)
        if dearer(after, before.usd):
            broken.append((seed, before.usd, after))
        felt += differs(after, before.usd)
    assert broken == []
    return felt


@pytest.mark.parametrize("law", LOOSER)
def test_looser_is_never_dearer(law: str) -> None:
    holds(law, FAST)


@pytest.mark.slow
@pytest.mark.parametrize("law", LOOSER)
def test_looser_is_never_dearer_on_more_seeds(law: str) -> None:
    """And the change is felt: a law that never moves the cost would be no test."""
    assert holds(law, SLOW) > 0

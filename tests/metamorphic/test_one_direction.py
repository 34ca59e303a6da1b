"""More of what is good is never dearer, less of it never cheaper."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from .changes import LOOSER
from .solved import FAST, SLOW, base, dearer, differs, optimum

TURN = {law: number for number, law in enumerate(LOOSER)}


def felt(law: str, seeds: Iterable[int]) -> int:
    """Check a law on seeds, with whole machines and with parts; how many seeds feel the change."""
    moved, broken = 0, []
    for seed in seeds:
        before = base(seed)
        if (changed := LOOSER[law](before.instance)) is None:
            continue
        after = optimum(changed)
        if dearer(after.usd, before.usd) or dearer(after.relaxed, before.relaxed):
            broken.append((seed, before.usd, after.usd, before.relaxed, after.relaxed))
        moved += differs(after.usd, before.usd) or differs(after.relaxed, before.relaxed)
    assert broken == []
    return moved


@pytest.mark.parametrize("law", LOOSER)
def test_looser_is_never_dearer(law: str) -> None:
    """Every law on a fourth of the seeds, every seed under a fourth of the laws."""
    felt(law, FAST[TURN[law] % 4 :: 4])


@pytest.mark.slow
@pytest.mark.parametrize("law", LOOSER)
def test_looser_is_never_dearer_on_more_seeds(law: str) -> None:
    """And the change is felt: a law that never moves the cost would be no test."""
    assert felt(law, SLOW[TURN[law] % 2 :: 2]) > 0

"""More of what is good is never dearer, less of it never cheaper."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from .changes import LOOSER
from .solved import FAST, SLOW, base, dearer, differs, optimum

RARE = range(SLOW.start, 690)  # until one is felt
TURN = {law: number for number, law in enumerate(LOOSER)}


def felt(law: str, seeds: Iterable[int], at_least: int) -> int:
    """Check a law on seeds that it speaks of, with whole machines and with parts: at least so many, and on
    until one feels the change. How many felt it."""
    moved, broken = 0, []
    told = ((seed, LOOSER[law](base(seed).instance)) for seed in seeds)
    for number, (seed, changed) in enumerate((s, c) for s, c in told if c):
        if number >= at_least and moved:
            break
        before, after = base(seed), optimum(changed)
        if dearer(after.usd, before.usd) or dearer(after.relaxed, before.relaxed):
            broken.append((seed, before.usd, after.usd, before.relaxed, after.relaxed))
        moved += differs(after.usd, before.usd) or differs(after.relaxed, before.relaxed)
    assert broken == []
    return moved


@pytest.mark.parametrize("law", LOOSER)
def test_looser_is_never_dearer(law: str) -> None:
    """Every law on some seeds, every seed under a sixth of the laws."""
    felt(law, FAST[TURN[law] % 6 :: 6], at_least=len(FAST))


@pytest.mark.slow
@pytest.mark.parametrize("law", LOOSER)
def test_looser_is_never_dearer_on_more_seeds(law: str) -> None:
    """And the change is felt: a law that never moves the cost would be no test. Few seeds know some laws."""
    assert felt(law, RARE, at_least=40) > 0

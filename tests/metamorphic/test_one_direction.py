"""More of what is good is never dearer, less of it never cheaper."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import pytest

from .changes import LOOSER
from .solved import FAST, SLOW, base, dearer, differs, optimum

TURN = {law: number for number, law in enumerate(LOOSER)}


def felt(law: str, seeds: Iterable[int], at_most: int) -> int:
    """Check a law on the first seeds that it speaks of, with whole machines and with parts; how many of them
    feel the change."""
    moved, broken = 0, []
    told = ((seed, LOOSER[law](base(seed).instance)) for seed in seeds)
    for seed, changed in islice(((s, c) for s, c in told if c), at_most):
        before, after = base(seed), optimum(changed)
        if dearer(after.usd, before.usd) or dearer(after.relaxed, before.relaxed):
            broken.append((seed, before.usd, after.usd, before.relaxed, after.relaxed))
        moved += differs(after.usd, before.usd) or differs(after.relaxed, before.relaxed)
    assert broken == []
    return moved


@pytest.mark.parametrize("law", LOOSER)
def test_looser_is_never_dearer(law: str) -> None:
    """Every law on some ten seeds, every seed under a fourth of the laws."""
    felt(law, [*FAST[TURN[law] % 4 :: 4], *FAST], at_most=10)


@pytest.mark.slow
@pytest.mark.parametrize("law", LOOSER)
def test_looser_is_never_dearer_on_more_seeds(law: str) -> None:
    """And the change is felt: a law that never moves the cost would be no test."""
    assert felt(law, SLOW, at_most=75) > 0

"""The same problem said differently has the same least cost, with whole machines and with parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

import pytest

from optimizer.instance import Instance

from .changes import priced
from .rewrite import halved, renamed, shuffled, with_dearer_builds, with_twin_option
from .solved import FAST, SLOW, base, differs, optimum

Rewriting = Callable[[Instance, Random], Instance]
SAME: dict[str, tuple[float, Rewriting]] = {
    "all prices doubled": (2.0, lambda x, _: priced(2.0)(x) or x),
    "all prices tripled": (3.0, lambda x, _: priced(3.0)(x) or x),
    "records shuffled": (1.0, shuffled),
    "ids renamed": (1.0, renamed),
    "one class split into two": (1.0, lambda x, rng: halved(x, rng.choice(x.classes).id)),
    "machines offered dearer besides": (1.0, lambda x, _: with_dearer_builds(x)),
    "an option offered twice": (1.0, lambda x, rng: with_twin_option(x, rng.choice(x.options).id)),
}


def differing(law: str, seeds: Iterable[int]) -> list[tuple[int, float, float]]:
    """Seeds whose cost is not what the law says."""
    factor, rewrite = SAME[law]
    found = []
    for seed in seeds:
        before = base(seed)
        after = optimum(rewrite(before.instance, Random(seed)))
        for one, other in ((before.usd, after.usd), (before.relaxed, after.relaxed)):
            if differs(factor * one, other):
                found.append((seed, factor * one, other))
    return found


@pytest.mark.parametrize("law", SAME)
def test_cost_is_the_same(law: str) -> None:
    assert differing(law, FAST[::2]) == []


@pytest.mark.slow
@pytest.mark.parametrize("law", SAME)
def test_cost_is_the_same_on_more_seeds(law: str) -> None:
    assert differing(law, SLOW) == []

"""With one part of the choice gone the cheapest layout is never cheaper; what was not used is not missed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from random import Random

import pytest

from optimizer.instance import Instance, Layout

from .changes import has_rows, is_lru, must_buy
from .rewrite import without
from .solved import FAST, SLOW, Optimum, base, dearer, optimum

Parts = Callable[[Instance, Layout], Iterable[tuple[str, bool]]]
"""The parts of one kind that may be left out, and whether the layout uses each."""


def _options(instance: Instance, layout: Layout) -> Iterator[tuple[str, bool]]:
    used = {row.option for row in layout.options}
    models = [o.model for o in instance.options]
    return ((o.id, o.id in used) for o in instance.options if models.count(o.model) > 1)


def _builds(instance: Instance, layout: Layout) -> Iterator[tuple[str, bool]]:
    used = {row.build for row in layout.servers}
    return ((b.id, b.id in used) for b in instance.builds if not b.minimum)


def _skus(instance: Instance, layout: Layout) -> Iterator[tuple[str, bool]]:
    used = {b.sku for b in instance.builds for row in layout.servers if row.build == b.id}
    return ((s.id, s.id in used) for s in instance.skus if len(instance.skus) > 1)


def _pools(instance: Instance, layout: Layout) -> Iterator[tuple[str, bool]]:
    used = {row.pool for row in layout.pools}
    return ((p.id, p.id in used) for p in instance.pools)


def _holdings(instance: Instance, layout: Layout) -> Iterator[tuple[str, bool]]:
    used = {(r.option, r.bucket, r.serve, r.home) for r in layout.placements}
    homes = [(h.option, h.bucket, h.home) for h in instance.holdings]
    alone = {
        h.id for h in instance.holdings if homes.count((h.option, h.bucket, h.home)) == 1 or h.serve != h.home
    }
    return ((h.id, (h.option, h.bucket, h.serve, h.home) in used) for h in instance.holdings if h.id in alone)


def _locations(instance: Instance, layout: Layout) -> Iterator[tuple[str, bool]]:
    used = {place for r in layout.placements for place in (r.serve, r.home)}
    return ((x.id, x.id in used) for x in instance.locations)


def _enclosures(instance: Instance, layout: Layout) -> Iterator[tuple[str, bool]]:
    used = {row.enclosure for row in layout.cxl}
    needed = {s.scope for s in instance.stores for p in instance.shared_prefixes if p.store == s.id}
    return ((e.id, e.id in used) for e in instance.enclosures if not e.minimum and e.id not in needed)


PARTS: dict[str, Parts] = {
    "options": _options,
    "builds": _builds,
    "skus": _skus,
    "pools": _pools,
    "holdings": _holdings,
    "locations": _locations,
    "enclosures": _enclosures,
}
LEFT_OUT_OF_LRU = ("locations", "holdings")
"""A class that has no place in an LRU cache is free of its common age: these may be cheaper there."""


def misjudged(kind: str, seeds: Iterable[int]) -> tuple[list[tuple[int, str, float, float]], int]:
    """Leave out one used part and one unused part of each instance; those whose cost breaks the law, and how
    many parts were missed."""
    broken, missed = [], 0
    for seed in seeds:
        before = base(seed)
        excused = kind in LEFT_OUT_OF_LRU and is_lru(before.instance)
        if math.isinf(before.usd) or excused or has_rows(before.instance):
            continue
        for name, used in _drawn(before, kind, Random(seed)):
            after = optimum(without(before.instance, **{kind: (name,)}))
            worse = dearer(after.usd, before.usd)
            if dearer(before.usd, after.usd) or (worse and not used and not must_buy(before.instance)):
                broken.append((seed, name, before.usd, after.usd))
            missed += worse
    return broken, missed


def _drawn(before: Optimum, kind: str, rng: Random) -> list[tuple[str, bool]]:
    parts = list(PARTS[kind](before.instance, before.layout))
    groups = ([p for p in parts if p[1]], [p for p in parts if not p[1]])
    return [rng.choice(group) for group in groups if group]


@pytest.mark.parametrize("kind", PARTS)
def test_less_choice_is_never_cheaper(kind: str) -> None:
    assert misjudged(kind, FAST[::2])[0] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", PARTS)
def test_less_choice_is_never_cheaper_on_more_seeds(kind: str) -> None:
    """And something is missed somewhere."""
    broken, missed = misjudged(kind, SLOW)
    assert broken == []
    assert missed

"""From shares to contexts: what becomes of one context as it ages, drawn so that all of them make the layout.

The layout says which share of a bucket's contexts each place serves in each age slot (law 2 of
docs/formulation.md: contexts only sink). A replay needs the same as lives of single contexts. Lay the
contexts along [0, 1), those kept longest first: then every place of a slot is an interval, its ends move
one way only with age, and between two neighbouring ends of any age all contexts live the same life. Those
are the rows. Measured again, they give back every share.

Write-through, for each home d: x is at home until the last slot whose total share exceeds x, and served
from k != d until some slot before; of two contexts served fast, the one served longer is kept longer. A
row that is only ever served from its home has no stage, since the copy at home is the one that serves.
Exclusive, for each chain: in slot j, x is at the first k with C[k, j] > x, C the cumulative share over the
chain from fast to slow, which never grows with age. Such rows have no home.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from optimizer.errors import InputError, Problem
from optimizer.instance import Bucket, Instance, Layout, Policy
from optimizer.simulator.types import Floats, Plans

NEGLIGIBLE = 1e-12
"""Share of contexts that is nobody."""
SLACK = 1e-6
"""How far a share may grow with age, or all shares pass 1, before a layout is refused."""


@dataclass(frozen=True)
class Life:
    """One way to age: (location, until) stage after stage, then `home` (-1: none) until `home_until`."""

    share: float
    home: int
    home_until: float
    stages: tuple[tuple[int, float], ...]


Shares = dict[tuple[str, str], Floats]
"""Share in each slot by (serve, home)."""


def plans(
    instance: Instance, layout: Layout, location_index: Mapping[str, int], bucket_index: Mapping[str, int]
) -> Plans:
    """The lives of every bucket's contexts, as rows for the replay.

    Idle seconds; inf in a store that evicts the least recently used, where only room decides.
    """
    tables = placed(instance, layout)
    endless = lasting(instance, location_index)
    by_index = {bucket_index[b.id]: b for b in instance.buckets}
    rows: list[list[Life]] = []
    for index in range(len(by_index)):
        bucket = by_index[index]
        found = lives(tables.get(bucket.id, {}), instance, bucket, location_index)
        rows.append(_merged([_unlimited(life, endless) for life in found]))
    return packed(rows)


def oldest_ages(instance: Instance, layout: Layout) -> Floats:
    """Seconds, by bucket of the instance: the end of the last slot in which any context is kept, or 0."""
    index = {b.id: i for i, b in enumerate(instance.buckets)}
    oldest = np.zeros(len(index))
    for p in layout.placements:
        if p.share > NEGLIGIBLE:
            i = index[p.bucket]
            oldest[i] = max(oldest[i], instance.buckets[i].slots[p.slot - 1].end)
    return oldest


def placed(instance: Instance, layout: Layout) -> dict[str, Shares]:
    """The layout's shares by bucket, (serve, home) and slot."""
    slots = {b.id: len(b.slots) for b in instance.buckets}
    tables: dict[str, Shares] = defaultdict(dict)
    for p in layout.placements:
        if p.share <= NEGLIGIBLE:  # rounding may leave some in a place that was not bought
            continue
        shares = tables[p.bucket].setdefault((p.serve, p.home), np.zeros(slots[p.bucket]))
        shares[p.slot - 1] += p.share
    return dict(tables)


def lasting(instance: Instance, location_index: Mapping[str, int]) -> frozenset[int]:
    """Locations without a time to live."""
    lru = {store.id for store in instance.stores if store.lru}
    endless = [loc.id for loc in instance.locations if loc.store in lru]
    return frozenset(location_index[name] for name in endless if name in location_index)


def lives(
    shares: Shares, instance: Instance, bucket: Bucket, location_index: Mapping[str, int]
) -> list[Life]:
    """Every life of a bucket's contexts with its share; what is missing to 1 is not kept at all."""
    order = {loc.id: loc.order for loc in instance.locations}
    ends = np.array([slot.end for slot in bucket.slots])
    homes: dict[str, dict[str, Floats]] = defaultdict(dict)
    for (serve, home), row in shares.items():
        homes[home][serve] = row
    total = sum((row[0] for row in shares.values()), 0.0)
    if total > 1 + SLACK:
        raise _refused(bucket.id, f"{total:.9g} of its contexts are kept", "a layout keeps no more than all")
    found: list[Life] = []
    for home in sorted(homes, key=lambda name: (order.get(name, -1), name)):
        fast_to_slow = sorted(homes[home], key=order.__getitem__)
        serves = {location_index[name]: homes[home][name] for name in fast_to_slow}
        if instance.policy is Policy.EXCLUSIVE:
            found += exclusive(serves, ends, f"{bucket.id} in the chain of {home}")
        else:
            found += write_through(serves, location_index[home], ends, f"{bucket.id} at home in {home}")
    return found


def write_through(serves: Mapping[int, Floats], home: int, ends: Floats, what: str) -> list[Life]:
    """Lives with one home. `serves`: share per slot of each serving location, fast to slow."""
    total = _never_growing(np.sum(list(serves.values()), axis=0), what)
    pieces = [
        (int(slot), k, float(width))
        for k, row in serves.items()
        if k != home
        for slot, width in enumerate(-np.diff(_never_growing(row, what), append=0.0))
        if width > NEGLIGIBLE
    ]
    pieces.sort(key=lambda piece: -piece[0])  # stable: of equal age, the faster first
    tops = np.cumsum([width for _, _, width in pieces])
    found = []
    for low, high in _segments([*tops, *total]):
        x = (low + high) / 2
        until = float(ends[np.count_nonzero(total > x) - 1])
        i = int(np.searchsorted(tops, x, side="right"))
        stages = ((pieces[i][1], float(ends[pieces[i][0]])),) if i < len(pieces) else ()
        found.append(Life(high - low, home, until, stages))
    return found


def exclusive(serves: Mapping[int, Floats], ends: Floats, what: str) -> list[Life]:
    """Lives down one chain of locations, given fast to slow."""
    places = list(serves)
    cumulative = [_never_growing(row, what) for row in np.cumsum(list(serves.values()), axis=0)]
    found = []
    for low, high in _segments(np.ravel(cumulative)):
        x = (low + high) / 2
        stages: list[tuple[int, float]] = []
        for j, end in enumerate(ends):
            here = next((k for k, row in zip(places, cumulative, strict=True) if row[j] > x), None)
            if here is None:
                break
            if stages and stages[-1][0] == here:
                stages.pop()
            stages.append((here, float(end)))
        found.append(Life(high - low, -1, 0.0, tuple(stages)))
    return found


def packed(rows: list[list[Life]]) -> Plans:
    """Lives of each bucket as arrays."""
    every = [life for mine in rows for life in mine]
    cum = [np.minimum(np.cumsum([life.share for life in mine]), 1.0) for mine in rows]
    stages = [stage for life in every for stage in life.stages]
    return Plans(
        row=np.cumsum([0, *(len(mine) for mine in rows)], dtype=np.int64),
        cum=np.concatenate([np.empty(0), *cum]),
        home=np.array([life.home for life in every], dtype=np.int64),
        home_until=np.array([life.home_until for life in every], dtype=np.float64),
        stage=np.cumsum([0, *(len(life.stages) for life in every)], dtype=np.int64),
        stage_location=np.array([location for location, _ in stages], dtype=np.int64),
        stage_until=np.array([until for _, until in stages], dtype=np.float64),
    )


def _never_growing(row: Floats, what: str) -> Floats:
    """The row with growth of rounding taken back."""
    least = np.minimum.accumulate(row)
    if np.max(row - least, initial=0.0) > SLACK:
        raise _refused(what, "a share grows with age", "contexts only sink: check the layout first")
    return least


def _segments(points: list[float] | Floats) -> list[tuple[float, float]]:
    """Neighbouring cuts of [0, the last point) that are further apart than nothing."""
    cuts, found = sorted(float(point) for point in points), []
    low = 0.0
    for high in cuts:
        if high - low > NEGLIGIBLE:
            found.append((low, high))
            low = high
    return found


def _unlimited(life: Life, endless: frozenset[int]) -> Life:
    """The life without a time to live where the tier has none."""
    stages = tuple((at, math.inf if at in endless else until) for at, until in life.stages)
    return Life(life.share, life.home, math.inf if life.home in endless else life.home_until, stages)


def _merged(found: list[Life]) -> list[Life]:
    """Equal lives as one, those of the largest share first."""
    shares: dict[tuple[int, float, tuple[tuple[int, float], ...]], float] = defaultdict(float)
    for life in found:
        shares[life.home, life.home_until, life.stages] += life.share
    return sorted((Life(share, *key) for key, share in shares.items()), key=lambda life: -life.share)


def _refused(what: str, message: str, remedy: str) -> InputError:
    return InputError(Problem("", f"placements of {what}", message, remedy))

"""The layout's routing table: which pool prefills which outcome of which stream, and which pool decodes.

Streams meet outcomes that no layout plans for (a context evicted before its time, a copy further down): the
pool that would be quickest takes those. An outcome without rows is one that nothing bought can serve.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

from optimizer.instance import Bucket, Case, Path, Role, TrafficClass
from optimizer.simulator.facility.arrays import floats, ints, starts
from optimizer.simulator.facility.bought import NEGLIGIBLE, Bought
from optimizer.simulator.types import Routes

RECOMPUTED = -1
ROUNDING = 1e-6
"""Share of an outcome that is no decision of the layout, but the solver's tolerance."""

Shares = dict[int, float]
"""Weights by pool."""
Outcome = tuple[str, Case, str]
"""Stream, case, location ("" for none)."""


def routes(bought: Bought) -> Routes:
    """Rows for every outcome a stream can meet, planned or not."""
    table = _Table(bought)
    streams: list[Bucket | TrafficClass] = [*bought.instance.buckets, *bought.instance.classes]
    places = [location.id for location in bought.locations]
    rows = [row for stream in streams for row in table.prefills(stream, places)]
    decode = [table.decodes(bucket) for bucket in bought.instance.buckets]
    return Routes(
        route=starts(len(row) for row in rows),
        pool=ints([pool for row in rows for pool in row]),
        cum=floats([share for row in rows for share in cumulative(row)]),
        decode=starts(len(row) for row in decode),
        decode_pool=ints([pool for row in decode for pool in row]),
        decode_cum=floats([share for row in decode for share in cumulative(row)]),
    )


def cumulative(shares: Mapping[int, float]) -> list[float]:
    """Cumulative shares, the last of them 1."""
    total, found = sum(shares.values()), []
    before = 0.0
    for share in shares.values():
        before += share / total
        found.append(before)
    return [*found[:-1], 1.0] if found else []


class _Table:
    """The layout's rates by outcome, and what to do where it says nothing."""

    def __init__(self, bought: Bought):
        self.bought = bought
        self.served: dict[Outcome, float] = defaultdict(float)
        self.planned: dict[Outcome, Shares] = defaultdict(dict)
        for row in bought.layout.paths:
            key = row.stream, Case(row.case), row.location
            if row.rate > NEGLIGIBLE:
                self.served[key] += row.rate
                if row.pool in bought.pool_index:
                    self.planned[key][bought.pool_index[row.pool]] = row.rate

    def prefills(self, stream: Bucket | TrafficClass, places: list[str]) -> list[Shares]:
        """The pools that prefill each outcome of a stream: nothing found, then a hit at each place."""
        if isinstance(stream, TrafficClass):
            return [self._computed((stream.id, Case.FIRST, ""), stream.model), *({} for _ in places)]
        return [
            self._computed((stream.id, Case.MISS, ""), stream.model),
            *(self._hit((stream.id, Case.HIT, place)) for place in places),
        ]

    def decodes(self, bucket: Bucket) -> Shares:
        """The pools that only decode a bucket, by the layout's shares; mixed ones where there are none."""
        index = self.bought.pool_index
        able = [row.pool for row in self.bought.instance.decodes if row.bucket == bucket.id]
        shares = {
            index[row.pool]: row.share
            for row in self.bought.layout.decodes
            if row.bucket == bucket.id and row.share > NEGLIGIBLE and row.pool in index
        } or {index[pool]: 1.0 for pool in able if pool in index}
        alone = {p: share for p, share in shares.items() if self.bought.pools[p].role is Role.DECODE}
        return alone or shares

    def _computed(self, key: Outcome, model: str) -> Shares:
        return self.planned.get(key) or self._nearest(key) or self._any(model)

    def _hit(self, key: Outcome) -> Shares:
        """Pools that load, and the share that the layout finds but computes again."""
        found, served = self.found.get((key[0], key[2]), 0.0), self.served.get(key, 0.0)
        again = max(0.0, found - served)
        pools = self.planned.get(key) or self._nearest(key)
        if not pools or (again > NEGLIGIBLE and not served):
            return {RECOMPUTED: 1.0}
        total = sum(pools.values())
        loads = {pool: share / total * (served or 1.0) for pool, share in pools.items()}
        return loads | ({RECOMPUTED: again} if again > ROUNDING * found else {})

    @cached_property
    def found(self) -> dict[tuple[str, str], float]:
        """found[w,l] of the placements: returns per second of a bucket that find their context there."""
        holdings = {(h.option, h.bucket, h.serve, h.home): h for h in self.bought.instance.holdings}
        slots = {bucket.id: bucket.slots for bucket in self.bought.instance.buckets}
        rates: dict[tuple[str, str], float] = defaultdict(float)
        for row in self.bought.layout.placements:
            holding = holdings[row.option, row.bucket, row.serve, row.home]
            slot = slots[row.bucket][row.slot - 1]
            returns = row.share * slot.rate * slot.drop
            rates[row.bucket, row.serve] += returns * holding.found
            rates[row.bucket, row.home] += returns * holding.found_home
        return rates

    def _nearest(self, key: Outcome) -> Shares:
        """The bought pool that takes an unplanned outcome in the shortest time."""
        mine = [path for path in self._admissible[key] if self._runs(path)]
        return {self.bought.pool_index[min(mine, key=self._wall).pool]: 1.0} if mine else {}

    @cached_property
    def _admissible(self) -> dict[Outcome, list[Path]]:
        found: dict[Outcome, list[Path]] = defaultdict(list)
        for path in self.bought.instance.paths:
            found[path.stream, path.case, path.location or ""].append(path)
        return found

    def _runs(self, path: Path) -> bool:
        """Whether a path's pool was bought, and attached to the pool of memory that it loads from."""
        p, place = self.bought.pool_index.get(path.pool), self.bought.location_index.get(path.location or "")
        if p is None or place is None:
            return p is not None and path.location is None
        return self.bought.reads(self.bought.pools[p], self.bought.locations[place])

    def _wall(self, path: Path) -> float:
        """Seconds of a path on one rank."""
        p = self.bought.pool_index[path.pool]
        d, share = self.bought.deployments[p], self.bought.pools[p].prefill_share
        return d.wall(d.extend(path.cached, path.cached + path.computed), path.computed, share)

    def _any(self, model: str) -> Shares:
        """Where no pool was meant for it (only a short lane was bought, say): all that prefill the model."""
        pools = enumerate(self.bought.pools)
        return {p: 1.0 for p, pool in pools if pool.model == model and pool.role is not Role.DECODE}

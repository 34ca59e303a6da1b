"""The layout's routing table: which pool prefills which outcome of which stream, and which pool decodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

from optimizer.instance import Bucket, Case, Path, Role, TrafficClass
from optimizer.simulator.arrays import floats, ints, starts
from optimizer.simulator.bought import NEGLIGIBLE, Bought
from optimizer.simulator.types import Routes

RECOMPUTED = -1
ROUNDING = 1e-6
"""Share of an outcome that is no decision of the layout, but the solver's tolerance."""

Shares = dict[int, float]
Outcome = tuple[str, Case, str]
"""Stream, case, location ("" for none)."""


def routes(bought: Bought) -> Routes:
    """Rows for every outcome a stream can meet, planned or not."""
    table = _Table(bought)
    rows = [table.prefill(stream, o) for stream in table.streams for o in range(len(bought.locations) + 1)]
    decode = [table.decode(bucket) for bucket in bought.instance.buckets]
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
        self.streams: list[Bucket | TrafficClass] = [*bought.instance.buckets, *bought.instance.classes]
        self.planned: dict[Outcome, Shares] = defaultdict(dict)
        for row in bought.layout.paths:
            if row.rate > NEGLIGIBLE and row.pool in bought.pool_index:
                key = row.stream, Case(row.case), row.location
                self.planned[key][bought.pool_index[row.pool]] = row.rate

    def prefill(self, stream: Bucket | TrafficClass, o: int) -> Shares:
        """Shares of the pools that prefill outcome o of a stream."""
        if isinstance(stream, TrafficClass):
            return self._computed(stream, Case.FIRST) if o == 0 else {}
        if o == 0:
            return self._computed(stream, Case.MISS)
        location = self.bought.locations[o - 1].id
        planned = self.planned.get((stream.id, Case.HIT, location), {})
        found = self.found.get((stream.id, location), 0.0)
        served = sum(planned.values())
        if served > 0 or found > NEGLIGIBLE:
            again = max(0.0, found - served)
            return planned | ({RECOMPUTED: again} if again > ROUNDING * found else {})
        return self._nearest(stream.id, Case.HIT, location) or {RECOMPUTED: 1.0}

    def decode(self, bucket: Bucket) -> Shares:
        """Shares of the pools that only decode; of mixed ones where there are no others."""
        index = self.bought.pool_index
        shares = {
            index[row.pool]: row.share
            for row in self.bought.layout.decodes
            if row.bucket == bucket.id and row.share > NEGLIGIBLE and row.pool in index
        }
        alone = {p: share for p, share in shares.items() if self.bought.pools[p].role is Role.DECODE}
        return alone or shares

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

    def _computed(self, stream: Bucket | TrafficClass, case: Case) -> Shares:
        planned = self.planned.get((stream.id, case, ""))
        return planned or self._nearest(stream.id, case, "") or self._any(stream.model)

    def _nearest(self, stream: str, case: Case, location: str) -> Shares:
        """The bought pool that takes an unplanned outcome in the shortest time."""
        index = self.bought.pool_index
        mine = [path for path in self._admissible[stream, case, location] if path.pool in index]
        if not mine:
            return {}
        return {index[min(mine, key=self._wall).pool]: 1.0}

    @cached_property
    def _admissible(self) -> dict[Outcome, list[Path]]:
        found: dict[Outcome, list[Path]] = defaultdict(list)
        for path in self.bought.instance.paths:
            found[path.stream, path.case, path.location or ""].append(path)
        return found

    def _wall(self, path: Path) -> float:
        """Seconds of a path on one rank."""
        p = self.bought.pool_index[path.pool]
        d, share = self.bought.deployments[p], self.bought.pools[p].prefill_share
        return d.wall(d.extend(path.cached, path.cached + path.computed), path.computed, share)

    def _any(self, model: str) -> Shares:
        """Where no pool was meant for it (only a short lane was bought, say): all that prefill the model."""
        pools = enumerate(self.bought.pools)
        return {p: 1.0 for p, pool in pools if pool.model == model and pool.role is not Role.DECODE}

"""What the laws look up: an Instance by its keys, and the quantities derived from decisions.

Names follow the head of docs/formulation.md: a option, w bucket, W class, h holding, p pool, u build,
s SKU, e enclosure, i path (by its position).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from optimizer.instance.types import (
    Bucket,
    Build,
    Case,
    Decode,
    Holding,
    Instance,
    Location,
    Path,
    Policy,
    Pool,
    Role,
    Sku,
    Store,
    Stored,
    Tier,
)

from .linear import Linear, column, total

FACILITY_TIERS = (Tier.DRAM_POOL, Tier.STORAGE)
DRIVE_TIERS = (Tier.NVME, Tier.STORAGE)


class Book:
    """One instance, indexed."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.options = {o.id: o for o in instance.options}
        self.buckets = {b.id: b for b in instance.buckets}
        self.skus = {s.id: s for s in instance.skus}
        self.builds = {b.id: b for b in instance.builds}
        self.stores = {s.id: s for s in instance.stores}
        self.locations = {x.id: x for x in instance.locations}
        self.pools = {p.id: p for p in instance.pools}
        self.paths: dict[str, Path] = {str(i): p for i, p in enumerate(instance.paths)}
        self.stored: dict[tuple[str, str, str], Stored] = {
            (x.option, x.bucket, x.location): x for x in instance.stored
        }
        self.exclusive = instance.policy is Policy.EXCLUSIVE

    @cached_property
    def option_buckets(self) -> list[tuple[str, Bucket]]:
        """Every option with every bucket of its model."""
        pairs = [(o, b) for o in self.instance.options for b in self.instance.buckets]
        return [(o.id, b) for o, b in pairs if o.model == b.model]

    def builds_of(self, sku: Sku | str) -> list[Build]:
        """The builds of a SKU."""
        wanted = sku if isinstance(sku, str) else sku.id
        return [b for b in self.instance.builds if b.sku == wanted]

    def nodes_of(self, tier: Tier) -> list[Build]:
        """The nodes that supply a facility tier."""
        return [b for b in self.instance.builds if b.sku is None and b.tier is tier]

    def supply_of(self, store: Store) -> list[Build]:
        """The machines whose bytes a store is: a SKU's servers, or nodes; with pooled DRAM the DRAM pool
        has the servers' DRAM too."""
        if store.tier not in FACILITY_TIERS:
            if store.scope not in self.skus:
                raise ValueError(f"store {store.id}: {store.scope!r} is no SKU")
            return self.builds_of(store.scope)
        pooled = self.instance.dram_pooled and store.tier is Tier.DRAM_POOL
        servers = [b for b in self.instance.builds if b.sku is not None] if pooled else []
        return servers + self.nodes_of(store.tier)

    def holdings_of(self, option: str, bucket: str) -> list[Holding]:
        """The admissible ways to keep a bucket under an option."""
        return [h for h in self.instance.holdings if h.option == option and h.bucket == bucket]

    def decodes_on(self, pools: Iterable[Pool]) -> list[Decode]:
        """The decoding of some pools."""
        wanted = {p.id for p in pools}
        return [d for d in self.instance.decodes if d.pool in wanted]

    def pools_where(self, test: Callable[[Pool], bool]) -> list[Pool]:
        """The pools that pass a test."""
        return [p for p in self.instance.pools if test(p)]

    def paths_where(self, test: Callable[[Path], bool]) -> list[tuple[Path, Linear]]:
        """The paths that pass a test, each with its column."""
        return [(p, column("path", i)) for i, p in self.paths.items() if test(p)]

    def locations_in(self, store: Store) -> list[Location]:
        """The locations (codecs) of a store."""
        return [x for x in self.instance.locations if x.store == store.id]

    def hits_in(self, store: Store) -> list[tuple[Path, Linear]]:
        """The paths served from a store."""
        inside = {x.id for x in self.locations_in(store)}
        return self.paths_where(lambda p: p.case is Case.HIT and p.location in inside)

    # --- machines -------------------------------------------------------------------------------

    def in_use(self, build: Build) -> Linear:
        """servers[u] - spares x chosen[u]."""
        spares = float(self.instance.limits.spares)
        return column("servers", build.id) - spares * column("chosen", build.id)

    def over_use(self, builds: Iterable[Build], unit: Callable[[Build], float]) -> Linear:
        """A quantity of each machine in use, summed."""
        return total(unit(b) * self.in_use(b) for b in builds)

    def sku_in_use(self, sku: str) -> Linear:
        """Servers of a SKU in use."""
        return self.over_use(self.builds_of(sku), lambda b: 1.0)

    def servers_of(self, sku: str) -> Linear:
        """Servers of a SKU bought or owned, spares too."""
        return total(column("servers", b.id) for b in self.builds_of(sku))

    def builds_chosen(self, builds: Iterable[Build]) -> Linear:
        """How many of some builds are in the plan."""
        return total(column("chosen", b.id) for b in builds)

    def over_instances(self, pools: Iterable[Pool], unit: Callable[[Pool], float]) -> Linear:
        """A quantity of each instance, summed."""
        return total(unit(p) * column("instances", p.id) for p in pools)

    # --- where contexts are ---------------------------------------------------------------------

    def share(self, holding: Holding, slot: int) -> Linear:
        """share[h,j], j from 1."""
        return column("share", holding.id, str(slot))

    def found(self, option: str, bucket: Bucket, location: str) -> Linear:
        """Returns per second that find their context at a location."""
        parts = []
        for h in self.holdings_of(option, bucket.id):
            chance = h.found * (h.serve == location) + h.found_home * (h.home == location)
            for j, slot in enumerate(bucket.slots, 1):
                parts.append(slot.rate * slot.drop * chance * self.share(h, j))
        return total(parts)

    def time(self, holding: Holding, at: Location) -> Linear:
        """Contexts present on average at one copy place of a holding."""
        bucket = self.buckets[holding.bucket]
        idle = total(s.rate * s.integral * self.share(holding, j) for j, s in enumerate(bucket.slots, 1))
        if self.exclusive or at.tier is Tier.HBM:
            return idle
        return idle + bucket.rate * bucket.run_seconds * self.share(holding, 1)

    def copies_at(self, location: str) -> list[Holding]:
        """The holdings with a copy at a location."""
        return [h for h in self.instance.holdings if location in (h.serve, h.home)]

    def occupancy(self, store: Store, weight: Callable[[Stored], float]) -> Linear:
        """Sum over the locations of a store of weight x contexts present."""
        return total(
            weight(self.stored[h.option, h.bucket, at.id]) * self.time(h, at)
            for at in self.locations_in(store)
            for h in self.copies_at(at.id)
        )

    def mean_bytes(self, store: Store) -> Linear:
        """Bytes kept on average."""
        return self.occupancy(store, lambda x: x.bytes)

    def variance(self, store: Store) -> Linear:
        """psi x sum of E[bytes^2] x contexts: the variance of the bytes kept."""
        return self.instance.dispersion * self.occupancy(store, lambda x: x.square)

    def margin(self, slope: float, variance: Linear, count: Linear) -> Linear:
        """(z/2)(V r + n/r); nothing in the round without margin (r = 0)."""
        if slope == 0.0:
            return Linear()
        return self.instance.quantile / 2.0 * (slope * variance + (1.0 / slope) * count)

    # --- what is written ------------------------------------------------------------------------

    def writes(self, location: Location, option: str | None = None, mean: bool = False) -> Linear:
        """Bytes per second written to a location, at the peak or at the mean rate."""
        if location.tier is Tier.HBM:
            return Linear()
        rule = self._entry_writes if self.exclusive else self._through_writes
        holdings = [h for h in self.copies_at(location.id) if option in (None, h.option)]
        return total(rule(h, location, mean) for h in holdings)

    def store_writes(self, store: Store, option: str | None = None, mean: bool = False) -> Linear:
        """Bytes per second written to a store."""
        return total(self.writes(x, option, mean) for x in self.locations_in(store))

    def _through_writes(self, h: Holding, at: Location, mean: bool) -> Linear:
        """Write-through: the new bytes of every turn; the whole prefix where a return did not find it."""
        w, stored = self.buckets[h.bucket], self.stored[h.option, h.bucket, at.id]
        rate, returns = (w.mean_rate, w.mean_returns) if mean else (w.rate, w.returns)
        finds = h.found + h.found_home if h.home == at.id else h.found
        found = total(
            (min(s.rate, w.mean_rate) if mean else s.rate) * s.drop * finds * self.share(h, j)
            for j, s in enumerate(w.slots, 1)
        )
        held = self.share(h, 1)
        new = (returns * stored.new + (rate - returns) * stored.first) * held
        return new + stored.prefix * (returns * held - found)

    def _entry_writes(self, h: Holding, at: Location, mean: bool) -> Linear:
        """Exclusive: every entry writes the whole context, at age 0 or when it sinks to this tier."""
        w, stored = self.buckets[h.bucket], self.stored[h.option, h.bucket, at.id]
        entries = (w.mean_rate if mean else w.rate) * self.share(h, 1)
        alive = 1.0
        for j, slot in enumerate(w.slots, 1):
            if j >= 2:
                rate = min(slot.rate, w.mean_rate) if mean else slot.rate
                entries = entries + rate * alive * column("entry", h.id, str(j))
            alive -= slot.drop
        return stored.bytes * entries

    # --- pools ----------------------------------------------------------------------------------

    def sequences(self, pools: Iterable[Pool], weight: Callable[[Decode], float]) -> Linear:
        """Sum of running sequences x a quantity of each, over some pools."""
        return total(
            d.sequences * weight(d) * column("decode", d.bucket, d.pool) for d in self.decodes_on(pools)
        )

    def prefilling(self, test: Callable[[Pool], bool] = lambda p: True) -> list[Pool]:
        """The prefill and mixed pools that pass a test."""
        return self.pools_where(lambda p: p.role in (Role.PREFILL, Role.MIXED) and test(p))

    def decoding(self) -> list[Pool]:
        """The decode and mixed pools."""
        return self.pools_where(lambda p: p.role in (Role.DECODE, Role.MIXED))


def prefill_part(pool: Pool) -> float:
    """phi: the share of the time given to prefill; all of it in a prefill pool."""
    return 1.0 if pool.role is Role.PREFILL else pool.prefill_share

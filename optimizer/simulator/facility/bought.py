"""A layout looked up in its instance: the pools, machines and places that were bought, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from optimizer.instance import (
    Bucket,
    Build,
    Instance,
    Layout,
    Location,
    Pool,
    Role,
    Sku,
    Store,
    Tier,
    TrafficClass,
)
from optimizer.instance.deployment import Deployment
from optimizer.instance.offer import Offer

NEGLIGIBLE = 1e-12
"""Share of contexts, or requests per second, that is nobody."""


@dataclass(frozen=True)
class Machine:
    """One accelerator server. A spare stands idle until another one fails."""

    build: Build
    sku: int
    spare: bool


@dataclass(frozen=True)
class Bought:
    """What a layout runs. Pools without an instance, and places that keep nothing, are not in it."""

    instance: Instance
    layout: Layout
    offer: Offer

    @cached_property
    def counts(self) -> dict[str, int]:
        """Instances of every pool that has any."""
        return {row.pool: row.instances for row in self.layout.pools if row.instances > 0}

    @cached_property
    def pools(self) -> tuple[Pool, ...]:
        """The pools that run, in the instance's order."""
        return tuple(pool for pool in self.instance.pools if pool.id in self.counts)

    @cached_property
    def pool_index(self) -> dict[str, int]:
        """Their numbers."""
        return {pool.id: p for p, pool in enumerate(self.pools)}

    @cached_property
    def deployments(self) -> tuple[Deployment, ...]:
        """The deployment behind each pool."""
        return tuple(self.offer.deployed[pool.shape] for pool in self.pools)

    @cached_property
    def pool_of_instance(self) -> tuple[int, ...]:
        """The pool of every instance, pool by pool."""
        return tuple(p for p, pool in enumerate(self.pools) for _ in range(self.counts[pool.id]))

    @cached_property
    def option_of(self) -> dict[str, str]:
        """The option that each model runs."""
        return {row.model: row.option for row in self.layout.options}

    # ---- machines ------------------------------------------------------------------------------------

    def in_use(self, build: str) -> int:
        """Machines of a build that run."""
        return sum(row.count - row.spare for row in self.layout.servers if row.build == build)

    @cached_property
    def skus(self) -> tuple[Sku, ...]:
        """The SKUs of which any server was bought, or that a pool was meant to run on."""
        have = {build.sku for build, count, spare in self._rows() if count + spare}
        have |= {pool.sku for pool in self.pools}
        return tuple(sku for sku in self.instance.skus if sku.id in have)

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        """Every accelerator server, SKU by SKU; those with drives and the most DRAM first, spares last."""
        found: list[Machine] = []
        for s, sku in enumerate(self.skus):
            rows = [row for row in self._rows() if row[0].sku == sku.id]
            rows.sort(key=lambda row: (-row[0].drives, -row[0].dram_usable))
            found += [Machine(build, s, False) for build, count, _ in rows for _ in range(count)]
            found += [Machine(build, s, True) for build, _, spare in rows for _ in range(spare)]
        return tuple(found)

    def _rows(self) -> Iterator[tuple[Build, int, int]]:
        """Accelerator builds with machines in use and spare."""
        builds = {build.id: build for build in self.instance.builds}
        for row in self.layout.servers:
            if builds[row.build].sku is not None:
                yield builds[row.build], row.count - row.spare, row.spare

    # ---- places --------------------------------------------------------------------------------------

    @cached_property
    def shapes(self) -> frozenset[str]:
        """The shapes whose HBM keeps idle contexts: those of prefill and mixed pools."""
        return frozenset(pool.shape for pool in self.pools if pool.role is not Role.DECODE)

    @cached_property
    def locations(self) -> tuple[Location, ...]:
        """Where the layout keeps anything, and the HBM of every shape that prefills; fast to slow."""
        used = {
            place
            for row in self.layout.placements
            if row.share > NEGLIGIBLE
            for place in (row.serve, row.home)
        }
        scopes = {store.id: store.scope for store in self.instance.stores}
        kept = [
            loc
            for loc in self.instance.locations
            if loc.id in used or (loc.tier is Tier.HBM and scopes[loc.store] in self.shapes)
        ]
        return tuple(sorted(kept, key=lambda loc: loc.order))

    @cached_property
    def location_index(self) -> dict[str, int]:
        """Numbers of the locations."""
        return {loc.id: index for index, loc in enumerate(self.locations)}

    @cached_property
    def stores(self) -> tuple[Store, ...]:
        """The stores of these locations."""
        used = {loc.store for loc in self.locations}
        return tuple(store for store in self.instance.stores if store.id in used)

    @cached_property
    def store_index(self) -> dict[str, int]:
        """Numbers of the stores."""
        return {store.id: index for index, store in enumerate(self.stores)}

    # ---- traffic -------------------------------------------------------------------------------------

    @cached_property
    def bucket_index(self) -> dict[str, int]:
        """Numbers of the buckets."""
        return {bucket.id: index for index, bucket in enumerate(self.instance.buckets)}

    @cached_property
    def classes(self) -> dict[str, TrafficClass]:
        """The classes by name."""
        return {cls.id: cls for cls in self.instance.classes}

    def buckets_of(self, model: str) -> list[Bucket]:
        """The buckets of one model."""
        return [bucket for bucket in self.instance.buckets if bucket.model == model]

    def reads(self, pool: Pool, location: Location) -> bool:
        """Whether a pool's instances can load from a location: a byte has an address."""
        scope = self.stores[self.store_index[location.store]].scope
        match location.tier:
            case Tier.HBM:
                here = pool.shape == scope
            case Tier.DRAM | Tier.NVME:
                here = pool.sku == scope
            case Tier.CXL:
                here = any(
                    host.sku == pool.sku and host.hosts > 0
                    for row in self.layout.cxl
                    if row.enclosure == scope
                    for host in row.hosts
                )
            case _:
                here = True
        return here and location.option in (None, pool.option)

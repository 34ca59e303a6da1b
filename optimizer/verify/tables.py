"""The instance's tables by identifier, and which machine supplies which store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, TypeVar

from optimizer.instance.types import Build, Holding, Instance, Pool, Role, Store, Tier

Item = TypeVar("Item")

FACILITY = "facility"


def index(items: Iterable[Item], key: Callable[[Item], Any], kind: str) -> dict[Any, Item]:
    """Items by key. Two of one key would make a layout ambiguous, so that is refused."""
    table: dict[Any, Item] = {}
    for item in items:
        name = key(item)
        if name in table:
            raise ValueError(f"the instance has two {kind} called {name}")
        table[name] = item
    return table


class Tables:
    """An instance, indexed once."""

    def __init__(self, instance: Instance):
        if len(instance.periods) != 1:
            raise ValueError(f"the check knows one period, the instance has {len(instance.periods)}")
        self.instance = instance
        self.period = instance.periods[0]
        self.options = index(instance.options, lambda o: o.id, "options")
        self.classes = index(instance.classes, lambda c: c.id, "classes")
        self.buckets = index(instance.buckets, lambda b: b.id, "buckets")
        self.skus = index(instance.skus, lambda s: s.id, "SKUs")
        self.builds = index(instance.builds, lambda b: b.id, "builds")
        self.enclosures = index(instance.enclosures, lambda e: e.id, "enclosures")
        self.stores = index(instance.stores, lambda s: s.id, "stores")
        self.locations = index(instance.locations, lambda x: x.id, "locations")
        self.pools = index(instance.pools, lambda p: p.id, "pools")
        self.stored = index(instance.stored, lambda x: (x.option, x.bucket, x.location), "stored weights")
        self.holdings = index(instance.holdings, lambda h: (h.option, h.bucket, h.serve, h.home), "holdings")
        self.decodes = index(instance.decodes, lambda d: (d.bucket, d.pool), "decodes")
        self.paths = index(
            instance.paths, lambda i: (i.stream, i.option, i.case, i.location or "", i.pool), "paths"
        )

    def store_of(self, location: str) -> Store:
        """The store a location is in."""
        return self.stores[self.locations[location].store]

    def copies(self, holding: Holding) -> tuple[str, ...]:
        """The locations that hold a copy. An exclusive holding's home is a chain, not a place."""
        if holding.home == holding.serve or holding.home not in self.locations:
            return (holding.serve,)
        return (holding.serve, holding.home)

    @cached_property
    def builds_of_sku(self) -> dict[str, list[Build]]:
        """The builds of every SKU."""
        groups: dict[str, list[Build]] = {sku: [] for sku in self.skus}
        for build in self.instance.builds:
            if build.sku is not None:
                groups[build.sku].append(build)
        return groups

    @cached_property
    def pools_on_sku(self) -> dict[str, list[Pool]]:
        """The pools on every SKU."""
        groups: dict[str, list[Pool]] = {sku: [] for sku in self.skus}
        for pool in self.instance.pools:
            groups[pool.sku].append(pool)
        return groups

    @cached_property
    def prefilling_pools_of_shape(self) -> dict[str, list[Pool]]:
        """The prefill and mixed pools of every shape, which is the scope of their HBM store."""
        groups: dict[str, list[Pool]] = defaultdict(list)
        for pool in self.instance.pools:
            if pool.role is not Role.DECODE:
                groups[pool.shape].append(pool)
        return groups

    def hbm_pools(self, store: Store) -> list[Pool]:
        """The pools whose HBM a store is."""
        return self.prefilling_pools_of_shape.get(store.scope, [])

    def suppliers(self, store: Store) -> list[Build]:
        """The builds whose DRAM or drives make up a store."""
        if store.tier in (Tier.HBM, Tier.CXL):
            return []
        if store.scope != FACILITY:
            return self.builds_of_sku[store.scope]
        pooled = self.instance.dram_pooled and store.tier is Tier.DRAM_POOL
        return [
            build
            for build in self.instance.builds
            if (pooled if build.sku is not None else build.tier is store.tier)
        ]

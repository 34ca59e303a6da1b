"""Law 6: bytes need room, in HBM and in every tier below it, with a margin for fluctuation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from optimizer.formulation.contexts import Term, Terms
from optimizer.formulation.law import law
from optimizer.formulation.model import GB, Model, Rows, scaled
from optimizer.instance import Role, Store, Tier


def shared_prefixes(model: Model, store: Store) -> Terms:
    """Bytes of the shared prefixes held for good at a store: once per domain of its scope."""
    terms: list[Term] = []
    for prefix in model.tables.prefixes.get(store.id, []):
        fills = [p for p in model.tables.pools_of_option.get(prefix.option, []) if p.role is not Role.DECODE]
        if prefix.per == "once":
            terms.append((prefix.bytes, model.pyomo.option[prefix.option]))
        elif prefix.per == "nodes":
            here = [p for p in fills if p.sku == store.scope]
            terms += [(prefix.bytes * p.nodes, model.pyomo.instances[p.id, model.t]) for p in here]
        else:
            here = [p for p in fills if p.shape == store.scope]
            terms += [(prefix.bytes, model.pyomo.instances[p.id, model.t]) for p in here]
    return terms


def supply(model: Model, store: Store, worth: str) -> Terms:
    """sum over the machines (or modules) that make up a store of worth x how many are in use."""
    if store.tier is Tier.CXL:
        enclosure = next(e for e in model.instance.enclosures if e.id == store.scope)
        per_module = {"usable": enclosure.usable_bytes, "read": enclosure.module_bytes_s}[worth]
        return [(per_module, model.pyomo.modules[store.scope, model.t])]
    columns = {
        Tier.DRAM: {"usable": "dram_usable", "read": "dram_bytes_s"},
        Tier.DRAM_POOL: {"usable": "dram_usable", "read": "network_bytes_s", "write": "network_bytes_s"},
        Tier.NVME: {"usable": "nvme_usable", "read": "nvme_read", "write": "nvme_write"},
        Tier.STORAGE: {"usable": "nvme_usable", "read": "nvme_read", "write": "nvme_write"},
    }
    return model.in_use(machines(model, store), columns[store.tier][worth])


def machines(model: Model, store: Store) -> list[Any]:
    """The builds whose memory or drives make up a store."""
    if store.scope in model.tables.skus:
        return model.tables.builds_of.get(store.scope, [])
    nodes = list(model.tables.nodes_of.get(store.tier, []))
    if store.tier is Tier.DRAM_POOL and model.instance.dram_pooled:
        nodes += [b for b in model.instance.builds if b.sku]
    return nodes


def domains(model: Model, store: Store) -> Terms:
    """n of the margin: servers (for NVMe those with drives), enclosures, or one (a facility store)."""
    if store.tier is Tier.CXL:
        return [(1.0, model.pyomo.enclosures[store.scope, model.t])]
    if store.scope in model.tables.skus:
        drives = store.tier is Tier.NVME
        return model.in_use([b for b in machines(model, store) if b.drives or not drives])
    return [(1.0, model.pyomo.chosen[b.id, model.t]) for b in machines(model, store)]


def occupancy(model: Model, store: Store) -> tuple[Terms, Terms]:
    """Mean bytes of the idle contexts at a store, and the variance of what comes and goes there: psi x rate x
    time x E[bytes^2] of the contexts, and in HBM of a mixed pool's running KV."""
    mean: list[Term] = []
    variance: list[Term] = []
    for loc in model.tables.locations_of.get(store.id, []):
        mean += model.resident(loc.id, "bytes")
        variance += scaled(model.instance.dispersion, model.resident(loc.id, "square"))
    if store.tier is Tier.HBM:
        pools = model.tables.shape_pools.get(store.scope, [])
        variance += scaled(model.instance.dispersion, _decoding(model, pools, "square"))
    return mean, variance


@law("hbm_room", unit="GB of HBM", price="one more GB of HBM for idle contexts", size=GB)
def hbm_room(model: Model, rows: Rows) -> None:
    """Idle contexts, prompts under prefill and a mixed pool's running KV share the room that the
    model's own prefill and mixed instances of one shape leave.

    mean + margin(V, n) + sum path held + sum running + prefixes n <= sum room instances   [bytes]
    """
    for store in model.instance.stores:
        if store.tier is not Tier.HBM:
            continue
        pools = model.tables.shape_pools.get(store.scope, [])
        mean, variance = occupancy(model, store)
        margin = model.margin(variance, model.count(pools), store.slope)
        rows.at_most(store.id, [*mean, *margin, *other_use(model, store)], model.count(pools, "room"))


@law("tier_capacity", unit="GB usable", price="one more usable GB of this tier", size=GB)
def tier_capacity(model: Model, rows: Rows) -> None:
    """What lives in a tier fits it, mean plus a margin for the fluctuation of live contexts.

    mean + (z/2)(V r + n/r) + prefixes + own use <= usable   [bytes]
    """
    for store in model.instance.stores:
        if store.tier is Tier.HBM:
            continue
        mean, variance = occupancy(model, store)
        margin = model.margin(variance, domains(model, store), store.slope)
        rows.at_most(
            store.id,
            [*mean, *margin, *other_use(model, store)],
            supply(model, store, "usable"),
        )


def other_use(model: Model, store: Store) -> Terms:
    """Bytes at a store that are not idle contexts: shared prefixes; in HBM prompts under prefill and a
    mixed pool's running KV; in DRAM host-side weights and offloaded running KV."""
    prefixes = shared_prefixes(model, store)
    if store.tier is Tier.HBM:
        pools = model.tables.shape_pools.get(store.scope, [])
        prefilling = [t for p in pools for t in model.paths(model.tables.paths_on.get(p.id, []), "held")]
        return [*prefixes, *prefilling, *_decoding(model, pools, "hbm")]
    pooled = store.tier is Tier.DRAM_POOL and model.instance.dram_pooled
    if store.tier is Tier.DRAM or pooled:
        pools = list(model.instance.pools) if pooled else model.tables.pools_of_sku.get(store.scope, [])
        return [*prefixes, *model.count(pools, "host_bytes"), *_decoding(model, pools, "dram")]
    return prefixes


def _decoding(model: Model, pools: list[Any], weigh: str) -> Terms:
    return [
        (d.sequences * getattr(d, weigh), model.pyomo.decode[d.bucket, d.pool])
        for p in pools
        for d in model.tables.decodes.get(p.id, [])
    ]


@law("one_age_per_lru_tier", unit="share", price="keeping one class apart from the cache's common age")
def one_age_per_lru_tier(model: Model, rows: Rows) -> None:
    """An LRU cache takes every context and drops all of one age: per-class times need TTLs.

    sum of the shares with a copy in the tier = lru_share[tier,j], for every bucket   [share]
    """
    tier_of = {loc.id: loc.tier.value for loc in model.instance.locations}
    for tier in sorted({s.tier.value for s in model.instance.stores if s.lru}):
        for bucket in model.instance.buckets:
            kept = [
                h
                for o in model.instance.options
                for h in model.tables.holdings.get((o.id, bucket.id), [])
                if tier in (tier_of[h.serve], tier_of.get(h.home))
            ]
            for j in range(1, len(bucket.slots) + 1) if kept else ():
                rows.equal(
                    (tier, bucket.id, j),
                    [t for h in kept for t in model.contexts.slot(h, j)],
                    [(1.0, model.pyomo.lru_share[tier, j])],
                )


def installed(model: Model, tier: Tier) -> Terms:
    """Installed bytes of a tier, spares included; of HBM, the room of the instances that hold contexts."""
    if tier is Tier.HBM:
        return model.count([p for pools in model.tables.shape_pools.values() for p in pools], "room")
    if tier is Tier.CXL:
        return [(e.module_bytes, model.pyomo.modules[e.id, model.t]) for e in model.instance.enclosures]
    worth = "dram_bytes" if tier in (Tier.DRAM, Tier.DRAM_POOL) else "nvme_bytes"
    nodes = model.tables.nodes_of.get(tier, [])
    servers = [b for b in model.instance.builds if b.sku]
    if tier is Tier.DRAM_POOL and model.instance.dram_pooled:
        builds = [*nodes, *servers]
    else:
        builds = nodes if tier in (Tier.DRAM_POOL, Tier.STORAGE) else servers
    return [(getattr(b, worth), model.pyomo.servers[b.id, model.t]) for b in builds]


def installed_at(model: Model, store: Store, value: Callable[[Terms], float]) -> float:
    """Installed bytes of one store in a solution: HBM room of its instances, or machines and modules."""
    if store.tier is Tier.HBM:
        return value(model.count(model.tables.shape_pools.get(store.scope, []), "room"))
    if store.tier is Tier.CXL:
        enclosure = next(e for e in model.instance.enclosures if e.id == store.scope)
        return value([(enclosure.module_bytes, model.pyomo.modules[store.scope, model.t])])
    worth = "dram_bytes" if store.tier in (Tier.DRAM, Tier.DRAM_POOL) else "nvme_bytes"
    return value([(getattr(b, worth), model.pyomo.servers[b.id, model.t]) for b in machines(model, store)])


@law("tier_floor", unit="GB installed", price="forcing one GB less of this tier in", size=GB)
def tier_floor(model: Model, rows: Rows) -> None:
    """A tier the planner insists on.

    installed >= min_bytes   [bytes]
    """
    for tier, least in sorted({(s.tier, s.min_bytes) for s in model.instance.stores if s.min_bytes}):
        rows.at_most(tier.value, [(-c, v) for c, v in installed(model, tier)], constant=-least)


@law("tier_ceiling", unit="GB installed", price="allowing one more GB of this tier", size=GB)
def tier_ceiling(model: Model, rows: Rows) -> None:
    """A tier the planner caps.

    installed <= max_bytes   [bytes]
    """
    caps = {(s.tier, s.max_bytes) for s in model.instance.stores if s.max_bytes is not None}
    for tier, most in sorted(caps):
        rows.at_most(tier.value, installed(model, tier), constant=most or 0.0)


LAWS = (hbm_room, tier_capacity, one_age_per_lru_tier, tier_floor, tier_ceiling)

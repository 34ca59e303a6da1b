"""The touching points of the occupancy margins: where the tangent meets the root in the next round.

margin(V, n) = (z/2)(V r + n/r) is at least z sqrt(n V) for every r > 0, so any r is safe and r =
sqrt(n/V) costs nothing. A store that holds nothing yet is priced as if each of its domains were full.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from optimizer.formulation import Model
from optimizer.formulation.capacity import domains, occupancy
from optimizer.formulation.readback import value
from optimizer.instance import Instance, Pool, Store, Tier

SETTLED = 0.01  # a slope that moves less changes no layout
NOTHING = 1e-9
STEP = 10.0  # the most a touching point moves in one round


def first_guess(instance: Instance) -> Instance:
    """Slopes as if every domain of every store, and every instance of every pool, were full."""
    sizes: dict[str, list[float]] = {}
    store_of = {loc.id: loc.store for loc in instance.locations}
    for s in instance.stored:
        sizes.setdefault(store_of[s.location], []).append(math.sqrt(s.square))
    running: dict[str, list[float]] = {}
    for d in instance.decodes:
        running.setdefault(d.pool, []).append(math.sqrt(d.square))
    stores = {
        s.id: slope for s in instance.stores
        if s.id in sizes and (slope := _full(instance, _domain_bytes(instance, s), sizes[s.id]))
    }
    pools = {
        p.id: slope for p in instance.pools
        if p.id in running and (slope := _full(instance, p.room, running[p.id]))
    }
    return instance.with_slopes(stores, pools)


def _full(instance: Instance, usable: float, sizes: list[float]) -> float:
    """sqrt(1/V) of one full domain: V = psi x usable x typical bytes, at least one context's square."""
    typical = sum(sizes) / len(sizes)
    variance = instance.dispersion * max(usable * typical, typical**2)
    return math.sqrt(1.0 / variance) if variance > 0 else 0.0


def _domain_bytes(instance: Instance, store: Store) -> float:
    """Usable bytes of one domain of a store: a server, an enclosure, an instance, a node."""
    if store.tier is Tier.HBM:
        return max((p.room for p in instance.pools if p.shape == store.scope), default=0.0)
    if store.tier is Tier.CXL:
        e = next(e for e in instance.enclosures if e.id == store.scope)
        return e.module_bytes * e.module_slots
    worth = "dram_usable" if store.tier in (Tier.DRAM, Tier.DRAM_POOL) else "nvme_usable"
    mine = [b for b in instance.builds if store.scope in (b.sku, "facility") and (b.sku or b.tier is store.tier)]
    return max((getattr(b, worth) for b in mine), default=0.0)


def touching(model: Model, instance: Instance) -> Instance:
    """Slopes that touch at the model's present solution; what holds nothing keeps its slope."""
    stores = dict(_stores(model, instance.stores))
    pools = dict(_pools(model, instance.pools))
    return instance.with_slopes(stores, pools)


def _stores(model: Model, stores: Iterable[Store]) -> Iterable[tuple[str, float]]:
    for s in stores:
        _, variance = occupancy(model, s)
        v = value(variance)
        if s.tier is Tier.HBM:
            count = value(model.count(model.tables.shape_pools.get(s.scope, [])))
        else:
            count = value(domains(model, s))
        if s.slope and count > NOTHING:
            yield s.id, _bounded(math.sqrt(count / v) if v > 0 else math.inf, s.slope)


def _pools(model: Model, pools: Iterable[Pool]) -> Iterable[tuple[str, float]]:
    for p in pools:
        count = model.pyomo.instances[p.id, model.t].value or 0.0
        v = model.instance.dispersion * sum(
            d.sequences * d.square * (model.pyomo.decode[d.bucket, d.pool].value or 0.0)
            for d in model.tables.decodes.get(p.id, [])
        )
        if p.slope and count > NOTHING:
            yield p.id, _bounded(math.sqrt(count / v) if v > 0 else math.inf, p.slope)


def _bounded(slope: float, before: float) -> float:
    """An empty place gives its margin back, but not so fast that it could never be filled again."""
    return min(max(slope, before / STEP), before * STEP)


def moved(before: Instance, after: Instance) -> float:
    """The largest relative move of any slope."""
    pairs = [
        *zip(before.stores, after.stores, strict=True), *zip(before.pools, after.pools, strict=True),
    ]
    return max((abs(b.slope / a.slope - 1) for a, b in pairs if a.slope), default=0.0)



"""The touching points of the occupancy margins: where the tangent meets the root in the next round.

margin(V, n) = (z/2)(V r + n/r) is at least z sqrt(n V) for every r > 0, so any r is safe and r =
sqrt(n/V) costs nothing. A store that holds nothing yet is priced as if each of its domains were full.
"""

from __future__ import annotations

import math

from optimizer.formulation import Model
from optimizer.formulation.capacity import domains, occupancy
from optimizer.formulation.readback import value
from optimizer.instance import Instance, Pool, Store, Tier

SETTLED = 0.01  # a slope that moves less changes no layout
NOTHING = 1e-9
STEP = 10.0  # the most a touching point moves in one round


def first_guess(instance: Instance, *, margin_kept: bool = False) -> Instance:
    """Slopes as if every domain of every store, and every instance of every pool, were full; with
    `margin_kept` no fuller than a margin lets it be, which is far less where it holds a context or two."""
    full = _full_beside_margin if margin_kept else _full
    sizes: dict[str, list[float]] = {}
    store_of = {loc.id: loc.store for loc in instance.locations}
    for s in instance.stored:
        sizes.setdefault(store_of[s.location], []).append(math.sqrt(s.square))
    running: dict[str, list[float]] = {}
    for d in instance.decodes:
        running.setdefault(d.pool, []).append(math.sqrt(d.square))
    stores = {
        s.id: slope
        for s in instance.stores
        if s.id in sizes and (slope := full(instance, _domain_bytes(instance, s), sizes[s.id]))
    }
    pools = {
        p.id: slope
        for p in instance.pools
        if p.id in running and (slope := full(instance, p.room, running[p.id]))
    }
    return instance.with_slopes(stores, pools)


def steeper(instance: Instance, factor: float) -> Instance:
    """Slopes times a factor: domains ask for less each, and for more by what lies in them all."""
    stores = {s.id: s.slope * factor for s in instance.stores if s.slope}
    return instance.with_slopes(stores, {p.id: p.slope * factor for p in instance.pools if p.slope})


def _full(instance: Instance, usable: float, sizes: list[float]) -> float:
    """sqrt(1/V) of one full domain: V = psi x usable x typical bytes, at least one context's square."""
    typical = sum(sizes) / len(sizes)
    variance = instance.dispersion * max(usable * typical, typical**2)
    return math.sqrt(1.0 / variance) if variance > 0 else 0.0


def _full_beside_margin(instance: Instance, usable: float, sizes: list[float]) -> float:
    """sqrt(1/V) of a domain whose mean x and margin fill it: x + z sqrt(psi x typical) = usable."""
    typical = sum(sizes) / len(sizes)
    half = instance.quantile * math.sqrt(instance.dispersion * typical) / 2
    mean = (math.sqrt(half**2 + max(0.0, usable)) - half) ** 2
    variance = instance.dispersion * mean * typical
    return math.sqrt(1.0 / variance) if variance > 0 else 0.0


def _domain_bytes(instance: Instance, store: Store) -> float:
    """Usable bytes of one domain of a store: a server, an enclosure, an instance, a node."""
    if store.tier is Tier.HBM:
        return max((p.room for p in instance.pools if p.shape == store.scope), default=0.0)
    if store.tier is Tier.CXL:
        e = next(e for e in instance.enclosures if e.id == store.scope)
        return e.usable_bytes * e.module_slots
    worth = "dram_usable" if store.tier in (Tier.DRAM, Tier.DRAM_POOL) else "nvme_usable"
    mine = [
        b for b in instance.builds if store.scope in (b.sku, "facility") and (b.sku or b.tier is store.tier)
    ]
    return max((getattr(b, worth) for b in mine), default=0.0)


def touching(model: Model) -> tuple[Instance, float]:
    """The instance with slopes that touch at the model's present solution, and the largest relative move
    of a slope that anything rests on. An empty place gives its margin back step by step."""
    instance = model.instance
    stores = {s.id: _next(s.slope, *_store(model, s)) for s in instance.stores if s.slope}
    pools = {p.id: _next(p.slope, *_pool(model, p)) for p in instance.pools if p.slope}
    before = {s.id: s.slope for s in instance.stores} | {p.id: p.slope for p in instance.pools}
    moves = [abs(after / before[name] - 1) for name, (after, used) in (stores | pools).items() if used]
    moved = instance.with_slopes(
        {k: v for k, (v, _) in stores.items()}, {k: v for k, (v, _) in pools.items()}
    )
    return moved, max(moves, default=0.0)


def _next(slope: float, variance: float, count: float) -> tuple[float, bool]:
    """(sqrt(n/V) within a step of the last slope, whether anything lives there)."""
    if count <= NOTHING:
        return slope, False
    if variance <= 0:
        return slope * STEP, False
    return min(max(math.sqrt(count / variance), slope / STEP), slope * STEP), True


def _store(model: Model, s: Store) -> tuple[float, float]:
    _, variance = occupancy(model, s)
    hbm = s.tier is Tier.HBM
    count = model.count(model.tables.shape_pools.get(s.scope, [])) if hbm else domains(model, s)
    return value(variance), value(count)


def _pool(model: Model, p: Pool) -> tuple[float, float]:
    variance = model.instance.dispersion * sum(
        d.sequences * d.square * (model.pyomo.decode[d.bucket, d.pool].value or 0.0)
        for d in model.tables.decodes.get(p.id, [])
    )
    return variance, model.pyomo.instances[p.id, model.t].value or 0.0

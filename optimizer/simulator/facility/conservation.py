"""Bytes are neither made nor lost on the way from the layout's account to the domains of a replay."""

from __future__ import annotations

import math

from optimizer.instance import Role, Store, Tier
from optimizer.simulator.facility.bought import Bought
from optimizer.simulator.facility.domains import WITH_DRIVES, instance_dram, prefix_bytes
from optimizer.simulator.types import Places

PRECISION = 1e-9


def bytes_conserved(bought: Bought, places: Places) -> None:
    """Check that the domains of every store together have what the laws `hbm_room` and `tier_capacity` leave
    to private contexts. Raises ArithmeticError with the store that has more or less."""
    for s, store in enumerate(bought.stores):
        have = float(places.domain_bytes[places.store_domain[s] : places.store_domain[s + 1]].sum())
        due = max(0.0, left_by_law(bought, store))
        if not math.isclose(have, due, rel_tol=PRECISION, abs_tol=1.0):
            raise ArithmeticError(f"{store.id}: its domains have {have:.12g} B, the law leaves {due:.12g} B")


def left_by_law(bought: Bought, store: Store) -> float:
    """usable - shared prefixes - own use of a store (bytes), from totals over machines and instances."""
    if store.tier is Tier.CXL:
        modules = sum(row.modules for row in bought.layout.cxl if row.enclosure == store.scope)
        return modules * next(e.usable_bytes for e in bought.instance.enclosures if e.id == store.scope)
    near = [pool for pool in bought.pools if store.scope in (pool.shape, pool.sku, "facility")]
    taken = sum(bought.counts[pool.id] * prefix_bytes(bought, store, pool) for pool in near)
    if store.tier is Tier.HBM:
        prefilling = (pool for pool in near if pool.role is not Role.DECODE)
        return sum(bought.counts[pool.id] * pool.room for pool in prefilling) - taken
    chosen = set(bought.option_of.values())
    for row in bought.instance.shared_prefixes:
        if row.store == store.id and row.per == "once" and row.option in chosen:
            taken += row.bytes
    pooled = bought.instance.dram_pooled and store.tier is Tier.DRAM_POOL
    if store.tier is Tier.DRAM or pooled:
        taken += sum(bought.counts[pool.id] * instance_dram(bought, pool) for pool in near)
    usable = 0.0
    for build in bought.instance.builds:
        if (build.sku == store.scope or pooled) if build.sku else build.tier is store.tier:
            one = build.nvme_usable if store.tier in WITH_DRIVES else build.dram_usable
            usable += bought.in_use(build.id) * one
    return usable - taken

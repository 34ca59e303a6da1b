"""Tiers that a planner keeps too small to be of use."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.errors import Problem
from optimizer.instance.types import Build, Policy, Sku, Tier
from optimizer.units import format_bytes
from optimizer.workload import Workload

LIMITED = {Tier.DRAM: "dram", Tier.CXL: "cxl", Tier.NVME: "nvme"}
"""Tiers whose installed bytes a row of the planner's own can speak of."""


def warnings(workload: Workload, skus: tuple[Sku, ...], builds: tuple[Build, ...]) -> Iterator[Problem]:
    """Engines write every context through to the slower tiers: one that may not be as large as a faster one
    must be holds nothing that the faster one does not."""
    if workload.tiers.policy != Policy.WRITE_THROUGH.value:
        return
    tiers = [tier for tier in Tier if getattr(workload.tiers, tier.value).enabled]
    for position, tier in enumerate(tiers):
        most = _most(workload, tier)
        above = [(least(workload, upper, skus, builds), upper) for upper in tiers[:position]]
        need, upper = max(above, default=(0.0, tier))
        if most is None or not 0 < most[0] < need:
            continue  # nothing at all is a way to switch a tier off
        keys = most[1]
        message = (
            f"{tier.value} may have {format_bytes(most[0])}, {upper.value} has {format_bytes(need)} or more: "
            "where engines write every context through, a tier smaller than the one above it never helps"
        )
        remedy = f"allow more of it, or set tiers.{tier.value}.enabled: false"
        yield Problem("", ".".join(keys), message, remedy, keys)


def least(workload: Workload, tier: Tier, skus: tuple[Sku, ...], builds: tuple[Build, ...]) -> float:
    """Bytes of a tier that every layout has: what is forced in, and the memory that machines come with."""
    forced = getattr(workload.tiers, tier.value).min_bytes
    for row in workload.limits.values():
        coefficient = row.terms.get(LIMITED.get(tier, ""), 0.0)
        if len(row.terms) == 1 and coefficient > 0 and row.min is not None:
            forced = max(forced, row.min / coefficient)
    if tier is not Tier.DRAM:
        pool = tier is Tier.DRAM_POOL
        nodes = sum(b.minimum * b.dram_bytes for b in builds if pool and b.tier is tier)
        return max(forced, nodes)
    smallest = {sku.id: min((b.dram_bytes for b in builds if b.sku == sku.id), default=0.0) for sku in skus}
    demanded = sum(sku.minimum * smallest[sku.id] for sku in skus)
    return max(forced, demanded, min(smallest.values(), default=0.0))  # some server is always bought


def _most(workload: Workload, tier: Tier) -> tuple[float, tuple[str, ...]] | None:
    """The most bytes of a tier that the planner allows, and the key that says so."""
    found: list[tuple[float, tuple[str, ...]]] = []
    cap = getattr(workload.tiers, tier.value).max_bytes
    if cap is not None:
        found.append((cap, ("tiers", tier.value, "max_bytes")))
    for name, row in workload.limits.items():
        coefficient = row.terms.get(LIMITED.get(tier, ""), 0.0)
        if len(row.terms) == 1 and coefficient > 0 and row.max is not None:
            found.append((row.max / coefficient, ("limits", name, "max")))
    return min(found, default=None)

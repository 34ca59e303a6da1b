"""Checks of what may be bought, of the tiers, and of the planner's own rows."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.files import Keys, alike
from optimizer.workload.checks.fault import Check, Fault
from optimizer.workload.schema import ServerChoice, Workload

_TIERS = ("hbm", "dram", "cxl", "dram_pool", "nvme", "storage")
_PLAIN_TERMS = ("dram", "cxl", "nvme", "power")
_COUNTED_TERMS = ("servers.", "accelerators.")


def some_server_is_offered(workload: Workload) -> Iterator[Fault]:
    """At least one server may be bought or is owned."""
    if not workload.hardware.servers:
        yield Fault(("hardware", "servers"), "names no server", "name at least one, such as HGX-B300-8: {}")
    elif all(choice.max == 0 for choice in workload.hardware.servers.values()):
        yield Fault(("hardware", "servers"), "allows no server: every max is 0", "raise a max")


def min_within_max(workload: Workload) -> Iterator[Fault]:
    """No more servers are demanded than are allowed."""
    for keys, choice in _choices(workload):
        if choice.max is not None and choice.min > choice.max:
            yield Fault((*keys, "min"), f"{choice.min} is more than max {choice.max}")


def owned_within_max(workload: Workload) -> Iterator[Fault]:
    """No more servers are owned than are allowed."""
    for keys, choice in _choices(workload):
        if choice.max is not None and choice.owned > choice.max:
            yield Fault((*keys, "owned"), f"{choice.owned} is more than max {choice.max}", "raise max")


def supply_meets_min(workload: Workload) -> Iterator[Fault]:
    """What is owned and what can be supplied reaches the least number demanded."""
    for keys, choice in _choices(workload):
        if choice.supply is not None and choice.owned + choice.supply < choice.min:
            yield Fault((*keys, "supply"),
                        f"owned {choice.owned} + supply {choice.supply} do not reach min {choice.min}")


def hbm_is_enabled(workload: Workload) -> Iterator[Fault]:
    """HBM cannot be switched off: running KV lives there."""
    if not workload.tiers.hbm.enabled:
        yield Fault(("tiers", "hbm", "enabled"), "HBM cannot be disabled: running requests live in it")


def hbm_has_no_floor(workload: Workload) -> Iterator[Fault]:
    """HBM comes with accelerators, and is asked for by asking for them."""
    if workload.tiers.hbm.min_bytes > 0:
        remedy = "set hardware.servers.*.min, or a row over accelerators under limits"
        yield Fault(("tiers", "hbm", "min_bytes"), "is no choice: HBM comes with accelerators", remedy)


def tier_bytes_are_ordered(workload: Workload) -> Iterator[Fault]:
    """A tier's least size is within its largest, and nothing is forced into a disabled tier."""
    for name in _TIERS:
        tier = getattr(workload.tiers, name)
        if tier.max_bytes is not None and tier.min_bytes > tier.max_bytes:
            yield Fault(("tiers", name, "min_bytes"), f"{tier.min_bytes:g} B is more than max_bytes")
        if not tier.enabled and tier.min_bytes > 0:
            yield Fault(("tiers", name, "min_bytes"), "forces in a tier that is disabled", "enable it")


def affinity_is_local(workload: Workload) -> Iterator[Fault]:
    """Affinity is for tiers of local scope: a pooled tier is reached from every server."""
    for name in _TIERS:
        tier = getattr(workload.tiers, name)
        if tier.scope == "pooled" and tier.affinity != 1:
            yield Fault(("tiers", name, "affinity"), "has no meaning for a pooled tier", "leave it out")


def user_limits_are_well_formed(workload: Workload) -> Iterator[Fault]:
    """The planner's own rows are about known quantities, have some coefficient, and min within max."""
    for name, limit in workload.limits.items():
        keys = ("limits", name)
        for term in limit.terms:
            counted = any(term.startswith(p) and len(term) > len(p) for p in _COUNTED_TERMS)
            if not counted and term not in _PLAIN_TERMS:
                known = (*_PLAIN_TERMS, "servers.<id>", "accelerators.<id>")
                yield Fault((*keys, "terms", term), "is not a quantity",
                            alike(term, _PLAIN_TERMS) or f"one of: {', '.join(known)}")
        if not any(limit.terms.values()):
            yield Fault((*keys, "terms"), "every coefficient is 0", "give one a value")
        if limit.min is not None and limit.max is not None and limit.min > limit.max:
            yield Fault((*keys, "min"), f"{limit.min:g} is more than max {limit.max:g}")


CHECKS: tuple[Check, ...] = (
    some_server_is_offered, min_within_max, owned_within_max, supply_meets_min, hbm_is_enabled,
    hbm_has_no_floor, tier_bytes_are_ordered, affinity_is_local, user_limits_are_well_formed,
)


def _choices(workload: Workload) -> Iterator[tuple[Keys, ServerChoice]]:
    for name, choice in workload.hardware.servers.items():
        yield ("hardware", "servers", name), choice
    for name, choice in workload.hardware.cxl_enclosures.items():
        yield ("hardware", "cxl_enclosures", name), choice

"""Changes of an instance whose effect on the least cost is known beforehand.

Each is a pure function; None says that the instance has nothing of the kind to change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from optimizer.instance import Instance, Tier

Change = Callable[[Instance], Instance | None]
MORE = 1.37
"""A factor that makes no whole number of anything."""


def every(kind: str, **wanted: Callable[[Any], Any]) -> Change:
    """Change fields of every record of one kind: `every("builds", nvme_read=lambda b: 2 * b.nvme_read)`."""

    def change(instance: Instance) -> Instance | None:
        before = getattr(instance, kind)
        after = tuple(replace(r, **{name: f(r) for name, f in wanted.items()}) for r in before)
        return replace(instance, **{kind: after}) if after != before else None

    return change


def times(kind: str, *names: str, by: float = MORE) -> Change:
    """Multiply fields of every record of one kind."""
    return every(kind, **{name: lambda r, name=name: getattr(r, name) * by for name in names})


def plus(kind: str, *names: str, by: int = 1) -> Change:
    """Add to fields of every record of one kind."""
    return every(kind, **{name: lambda r, name=name: getattr(r, name) + by for name in names})


def number(name: str, by: float) -> Change:
    """Multiply one number of the instance itself."""
    return lambda instance: replace(instance, **{name: getattr(instance, name) * by})


def both(*changes: Change) -> Change:
    """One change after another; at least one must apply."""

    def change(instance: Instance) -> Instance | None:
        changed = instance
        for one in changes:
            changed = one(changed) or changed
        return changed if changed is not instance else None

    return change


def unless(excused: Callable[[Instance], bool], change: Change) -> Change:
    """A change that says nothing about some instances."""
    return lambda instance: None if excused(instance) else change(instance)


def limits(**wanted: Callable[[Any], Any]) -> Change:
    """Change limits of the facility that are set."""

    def change(instance: Instance) -> Instance | None:
        old = instance.limits
        values = {n: f(getattr(old, n)) for n, f in wanted.items() if getattr(old, n) is not None}
        new = replace(old, **values)
        return replace(instance, limits=new) if new != old else None

    return change


# ---- what excuses an instance ---------------------------------------------------------------------------


def weighs_cxl(instance: Instance) -> bool:
    """A ceiling on installed CXL bytes is nearer when modules are larger."""
    return any(s.tier is Tier.CXL and s.max_bytes is not None for s in instance.stores) or has_rows(instance)


def has_rows(instance: Instance) -> bool:
    """The planner's own rows may want less of anything."""
    return bool(instance.user_rows)


def is_lru(instance: Instance) -> bool:
    """An LRU cache takes what passes, wanted or not."""
    return any(s.lru for s in instance.stores)


def must_buy(instance: Instance) -> bool:
    """Machines forced in take their part of the margin with them."""
    forced = [s.minimum for s in instance.skus] + [b.minimum for b in instance.builds]
    orders = [s.minimum_order > 1 for s in instance.skus]
    return any(forced) or any(orders) or any(s.min_bytes for s in instance.stores) or has_rows(instance)


# ---- prices ---------------------------------------------------------------------------------------------


def priced(factor: float) -> Change:
    """All prices, and the budget, times a factor."""

    def lines(*names: str) -> dict[str, Callable[[Any], Any]]:
        return {n: lambda r, n=n: tuple(replace(c, usd=c.usd * factor) for c in getattr(r, n)) for n in names}

    def capex(enclosure: Any) -> Any:
        return tuple(usd * factor for usd in enclosure.capex_usd)

    return both(
        times("builds", "capex_usd", "replacement_usd", by=factor),
        every("builds", **lines("cost")),
        every("enclosures", capex_usd=capex, **lines("enclosure_cost", "module_cost", "adapter_cost")),
        times("skus", "owned_saving_usd", by=factor),
        limits(budget_usd=lambda usd: usd * factor),
    )


# ---- traffic --------------------------------------------------------------------------------------------


def traffic(factor: float) -> Change:
    """Every rate times a factor; contexts, ages and prompts as they are."""
    return both(
        times("classes", "rate", "mean_rate", "first_rate", by=factor),
        every(
            "buckets",
            rate=lambda b: b.rate * factor,
            mean_rate=lambda b: b.mean_rate * factor,
            returns=lambda b: b.returns * factor,
            mean_returns=lambda b: b.mean_returns * factor,
            slots=lambda b: tuple(replace(s, rate=s.rate * factor) for s in b.slots),
        ),
        times("decodes", "rate", "sequences", "exchange_bytes", by=factor),
    )


# ---- laws of one direction ------------------------------------------------------------------------------

LOOSER: dict[str, Change] = {
    "a GPU computes more": times("pools", "design_load", by=1.2),
    "HBM is larger": times("pools", "room"),
    "host links are faster": times("pools", "link_read", "link_write", "link_both"),
    "DIMMs are larger": times("builds", "dram_usable"),
    "drives are larger": times("builds", "nvme_usable"),
    "drives last longer": times("builds", "nvme_endurance"),
    "drives are faster": times("builds", "nvme_read", "nvme_write"),
    "DIMMs are faster": times("builds", "dram_bytes_s"),
    "node links are faster": times("builds", "network_bytes_s"),
    "NICs are faster": times("skus", "nic_bytes_s"),
    "more slots in a server": plus("skus", "free_x16_slots"),
    "CXL modules are larger": unless(weighs_cxl, times("enclosures", "module_bytes", "module_usable")),
    "CXL is faster": times(
        "enclosures", "module_bytes_s", "enclosure_bytes_s", "adapter_read", "adapter_write"
    ),
    "enclosures take more": plus("enclosures", "module_slots", "ports", "maximum"),
    "tiers run fuller": every("stores", utilisation=lambda s: min(1.0, s.utilisation * MORE)),
    "the network runs fuller": number("network_utilisation", 1.3),
    "host links run fuller": number("link_utilisation", 1.2),
    "contexts are smaller": times("stored", "bytes", "square", "new", "first", "prefix", by=0.8),
    "running contexts are smaller": times("decodes", "hbm", "square", "dram", "transfer", by=0.8),
    "decoding is faster": times("decodes", "memory_seconds", "flops_seconds", "network_seconds", by=0.8),
    "sequences come and go less": both(
        times("decodes", "memory_swing", "flops_swing", "network_swing", by=0.5),
        times("pools", "memory_idle", "flops_idle", "network_idle", by=0.5),
    ),
    "prefill is faster": times("paths", "busy", "held", by=0.8),
    "loads are smaller": times("paths", "load", "link", "network", "sent", by=0.8),
    "first tokens come sooner": every("paths", attained=lambda p: min(1.0, p.attained * 1.05)),
    "less must be in time": times("classes", "attainment", by=0.9),
    "shared prefixes are shorter": times("shared_prefixes", "bytes", "reads", by=0.5),
    "less safety": number("quantile", 0.5),
    "traffic is steadier": number("dispersion", 0.5),
    "flash wears less": number("write_amplification", 0.6),
    "less traffic": traffic(0.9),
    "each class keeps its own time": every("stores", lru=lambda s: False),
    "nothing is forced in": both(
        every("stores", min_bytes=lambda s: 0.0),
        every("skus", minimum=lambda s: 0),
        every("builds", minimum=lambda b: 0),
        every("enclosures", minimum=lambda e: 0),
    ),
    "tiers are not capped": every("stores", max_bytes=lambda s: None),
    "the planner's rows are gone": every("user_rows", minimum=lambda r: None, maximum=lambda r: None),
    "single servers are sold": every("skus", minimum_order=lambda s: 1),
    "the market gives one more": every("skus", supply=lambda s: None if s.supply is None else s.supply + 1),
    "the planner allows one more": both(plus("skus", "maximum"), plus("builds", "maximum")),
    "one more is owned": every("skus", owned=lambda s: s.owned + 1 if s.owned else 0),
    "one more build": limits(max_builds=lambda n: n + 1),
    "one spare less": unless(must_buy, limits(spares=lambda n: max(0, n - 1))),
    "no facility limits": limits(
        power_w=lambda _: None, rack_units=lambda _: None, budget_usd=lambda _: None
    ),
    "more returns reach their server": unless(
        is_lru,
        every(
            "holdings",
            found=lambda h: (h.found + 1.0) / 2.0,
            found_home=lambda h: max(0.0, h.found_home - (1.0 - h.found) / 2.0),
        ),
    ),
    "machines are cheaper": every(
        "builds", cost=lambda b: tuple(replace(c, usd=c.usd * 0.9) for c in b.cost)
    ),
}
"""Changes that can never make the cheapest layout dearer: what was possible stays possible, at no more."""

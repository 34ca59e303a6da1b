"""Random servers, nodes and CXL pools, sized by demand; the limits of facility and market."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from optimizer.instance.types import (
    Build,
    CostLine,
    Decode,
    Enclosure,
    Instance,
    Limits,
    Pool,
    Sku,
    Store,
    Tier,
    UserRow,
)

from .dice import Dice, short
from .plans import CXL, DRAM, DRAM_POOL, NVME, STORAGE
from .random_places import ENCLOSURE, UTILISATION, Demand, Places, demand
from .random_traffic import Traffic

HORIZON, AMPLIFICATION = 1.5e8, 2.0
PLENTY = 1e11
NO_DISKS: dict[str, Any] = {
    "drive": "", "drives": 0, "nvme_bytes": 0.0, "nvme_usable": 0.0, "nvme_read": 0.0, "nvme_write": 0.0,
    "nvme_endurance": 0.0, "replacement_usd": 0.0,
}


@dataclass(frozen=True)
class Machines:
    """What may be bought."""

    skus: tuple[Sku, ...]
    builds: tuple[Build, ...]
    enclosures: tuple[Enclosure, ...]


def machines(
    dice: Dice, traffic: Traffic, found: Places, pools: list[Pool], running: list[Decode], gpus: int
) -> Machines:
    """Builds of every SKU (the second holds more and costs more), nodes and enclosures."""
    plan, rng = dice.plan, dice.rng
    wanted = {t: demand(traffic, found, t, plan.exclusive) for t in Tier}
    skus, builds = [], []
    for n in range(plan.skus):
        skus.append(_sku(dice, traffic, wanted, running, f"s{n}", gpus, n))
        small = _server(dice, wanted, pools, running, skus[-1], n)
        builds.append(_diskless(small) if plan.diskless else small)
        if plan.builds == 2:
            builds.append(_larger(dice, small))
    for tier in (t for t in (DRAM_POOL, STORAGE) if t in plan.tiers):
        if plan.pooled and tier is DRAM_POOL and rng.random() < 0.5:
            continue
        node = _node(dice, wanted[tier], tier)
        builds.append(node)
        if plan.builds == 2 and DRAM not in plan.tiers:
            builds.append(_larger(dice, node))
    enclosures = (_enclosure(dice, wanted[CXL]),) if CXL in plan.tiers else ()
    return Machines(tuple(skus), tuple(builds), enclosures)


def _sku(
    dice: Dice,
    traffic: Traffic,
    wanted: dict[Tier, Demand],
    running: list[Decode],
    name: str,
    gpus: int,
    n: int,
) -> Sku:
    plan, rng = dice.plan, dice.rng
    remote = [wanted[t] for t in (DRAM_POOL, STORAGE) if t in plan.tiers]
    decoded = [
        max(d.rate * d.transfer + d.exchange_bytes for d in running if d.bucket == b.id)
        for b in traffic.buckets
    ]
    handed = [max(traffic.size[o.id, b.id] for o in traffic.options_of(b)) * b.rate for b in traffic.buckets]
    arriving = sum(d.reads for d in remote) * plan.remote + sum(decoded)
    leaving = sum(d.writes for d in remote) + (sum(handed) if plan.style != "mixed" else 0.0)
    speeds = [dice.sized(x, r) for x, r in ((arriving, "nic_in"), (leaving, "nic_out")) if x]
    slots = 1 if "cxl_slots" in plan.tight else rng.choice((2, 4))
    most = 4 if plan.spares == 0 else 5
    return Sku(
        id=name, accelerator=f"gpu{n}", gpus=gpus, minimum=0, maximum=most, supply=None,
        owned=plan.owned if n == 0 else 0, owned_saving_usd=1e3 * rng.randint(20, 60),
        minimum_order=plan.minimum_order if n == 0 else 1,
        nic_bytes_s=min(speeds, default=PLENTY) / UTILISATION, free_x16_slots=slots,
    )


def _cost(dice: Dice, low: int, high: int) -> tuple[CostLine, ...]:
    rng = dice.rng
    return (
        CostLine("purchase", 1e3 * rng.randint(low, high)),
        CostLine("energy", 1e2 * rng.randint(low, high)),
    )


def _server(
    dice: Dice, wanted: dict[Tier, Demand], pools: list[Pool], running: list[Decode], sku: Sku, n: int
) -> Build:
    plan, rng = dice.plan, dice.rng
    own = max((p.host_bytes / p.gpus for p in pools), default=0.0) * sku.gpus
    needed = own + sum({d.bucket: d.sequences * d.dram for d in running}.values())
    dram = short(needed / (rng.uniform(1.1, 3.0) if "own" in plan.tight else 0.5) + 1e10)
    if DRAM in plan.tiers or plan.pooled:
        dram = needed + dice.sized(wanted[DRAM_POOL if plan.pooled else DRAM].bytes, "capacity:dram")
    moved = wanted[DRAM].reads + wanted[DRAM].writes
    disks = _disks(dice, wanted[NVME], NVME) if NVME in plan.tiers else NO_DISKS
    return Build(
        id=f"{sku.id}/a",
        sku=sku.id,
        server=sku.id,
        tier=None,
        dimms="dimm",
        dram_bytes=short(dram / 0.9),
        dram_usable=dram,
        dram_bytes_s=dice.sized(moved, "read") / UTILISATION if moved else PLENTY,
        network_bytes_s=sku.nic_bytes_s,
        power_w=1e3 * (11 - 3 * n),
        rack_units=float(8 - 3 * n),
        capex_usd=1e3 * (260 - 90 * n),
        minimum=0,
        maximum=sku.maximum,
        cost=_cost(dice, 100 + 90 * n, 190 + 90 * n),
        **disks,
    )


def _disks(dice: Dice, d: Demand, tier: Tier) -> dict[str, Any]:
    """Drives that carry their part of a demand."""
    wear = "wear" in dice.plan.tight
    several = 21.0 * dice.need("wear") if wear else dice.need("endurance", 1.2, 6.0)
    usable = dice.sized(d.bytes, f"capacity:{tier}")
    written = d.mean_writes * AMPLIFICATION * HORIZON
    return {
        "drive": "drive",
        "drives": dice.rng.choice((2, 4)),
        "nvme_bytes": short(usable / 0.9),
        "nvme_usable": usable,
        "nvme_read": dice.sized(d.reads, "read") / UTILISATION,
        "nvme_write": dice.sized(d.writes, "write") / UTILISATION,
        "nvme_endurance": written / several,
        "replacement_usd": 0.0 if wear and dice.rng.random() < 0.5 else 1e2 * dice.rng.randint(5, 30),
    }


def _node(dice: Dice, d: Demand, tier: Tier) -> Build:
    disks = _disks(dice, d, tier) if tier is STORAGE else NO_DISKS
    dram = dice.sized(d.bytes, "capacity:dram_pool") if tier is DRAM_POOL else 0.0
    return Build(
        id=f"{tier}-node",
        sku=None,
        server=f"{tier}-node",
        tier=tier,
        dimms="",
        dram_bytes=short(dram / 0.9),
        dram_usable=dram,
        dram_bytes_s=PLENTY,
        network_bytes_s=min(dice.sized(d.reads, "read"), dice.sized(d.writes, "write")) / UTILISATION,
        power_w=900.0,
        rack_units=2.0,
        capex_usd=1e3 * dice.rng.randint(15, 60),
        minimum=dice.rng.choice((1, 2)) if dice.plan.least else 0,
        maximum=4,
        cost=_cost(dice, 15, 60),
        **disks,
    )


def _larger(dice: Dice, u: Build) -> Build:
    """The same machine with more memory and drives, a little slower for its size."""
    more = dice.rng.choice((1.5, 2.0))
    price = dice.rng.choice((10, 25, 60))
    return replace(
        u,
        id=f"{u.id}+",
        dram_bytes=short(u.dram_bytes * more),
        dram_usable=short(u.dram_usable * more),
        nvme_bytes=short(u.nvme_bytes * more),
        nvme_usable=short(u.nvme_usable * more),
        nvme_read=short(u.nvme_read * more),
        nvme_write=short(u.nvme_write * more),
        nvme_endurance=short(u.nvme_endurance * more),
        power_w=u.power_w + 500.0,
        capex_usd=u.capex_usd + 900.0 * price,
        cost=(*u.cost, CostLine("memory", 1e3 * price)),
    )


def _diskless(u: Build) -> Build:
    """The same machine without drives."""
    return replace(u, **NO_DISKS)


def _enclosure(dice: Dice, d: Demand) -> Enclosure:
    plan, rng = dice.plan, dice.rng
    served = d.reads + d.writes
    slots = 2 if "cxl_modules" in plan.tight else 6
    return Enclosure(
        id=ENCLOSURE, module="module", adapter="adapter", module_slots=slots,
        ports=1 if "cxl_ports" in plan.tight else rng.choice((2, 4)),
        module_bytes=dice.sized(d.bytes, "capacity:cxl", 1.5, 5.5),
        module_bytes_s=dice.sized(served, "read", 1.5, 5.5) / UTILISATION,
        enclosure_bytes_s=dice.sized(served, "cxl_fabric") / UTILISATION,
        adapter_read=dice.sized(d.reads, "adapter_read") / UTILISATION,
        adapter_write=dice.sized(d.writes, "adapter_write") / UTILISATION,
        minimum=rng.choice((1, 2)) if plan.least else 0, maximum=3, power_w=(300.0, 20.0, 15.0),
        rack_units=2.0, capex_usd=(3e4, 5e3, 1e3), enclosure_cost=_cost(dice, 20, 60),
        module_cost=_cost(dice, 4, 12), adapter_cost=_cost(dice, 1, 3),
    )


def limits(dice: Dice, m: Machines) -> Limits:
    """One limit of the facility, if the plan has one: room for some of the machines, not for all."""
    plan, rng = dice.plan, dice.rng
    several = rng.choice((2, 2, 3, 4))
    hungry = rng.randint(0, several - 1)
    units = {"power": (11e3, 8e3), "rack_units": (8.0, 5.0), "budget": (260e3, 170e3)}
    room = {
        k: hungry * a + (several - hungry) * b if k == plan.limit else None for k, (a, b) in units.items()
    }
    return Limits(
        power_w=room["power"], rack_units=room["rack_units"], budget_usd=room["budget"],
        max_builds=plan.max_builds, spares=plan.spares,
    )


def market(dice: Dice, skus: tuple[Sku, ...]) -> tuple[Sku, ...]:
    """Supply, and the planner's own least and most of a SKU."""
    plan, rng = dice.plan, dice.rng
    first, *others = skus
    if plan.limit == "supply":
        first = replace(first, supply=rng.choice((1, 2)))
    if plan.limit == "maximum":
        first = replace(first, maximum=rng.choice((1, 2)))
    if plan.least:
        others = [replace(s, minimum=rng.choice((1, 2))) for s in others]
    return (first, *others)


def bounded(
    dice: Dice, stores: tuple[Store, ...], builds: tuple[Build, ...], m: Machines
) -> tuple[Store, ...]:
    """A floor or ceiling on the bytes of a tier."""
    if dice.plan.limit not in ("floor", "ceiling"):
        return stores
    tier = dice.plan.tiers[0]
    if tier is CXL:
        unit = m.enclosures[0].module_bytes
    else:
        u = next((b for b in builds if b.tier is tier), builds[0])
        unit = u.nvme_bytes if tier in (NVME, STORAGE) else u.dram_bytes
    amount = unit * dice.rng.choice((1, 2, 3, 2.5) if dice.plan.limit == "floor" else (1, 2))
    if dice.plan.limit == "floor":
        return tuple(replace(s, min_bytes=amount) if s.tier is tier else s for s in stores)
    return tuple(replace(s, max_bytes=amount) if s.tier is tier else s for s in stores)


def user_rows(dice: Dice, m: Machines) -> tuple[UserRow, ...]:
    """Rows of the planner's own, of several kinds."""
    if not dice.plan.user:
        return ()
    rng = dice.rng
    dram = max(u.dram_bytes for u in m.builds)
    rows = [
        UserRow("few-watts", (("power", 1.0),), None, short(11e3 * rng.uniform(1.2, 2.6))),
        UserRow("some-memory", (("dram", 1e-9),), short(1e-9 * dram * rng.uniform(1.1, 2.6)), None),
        UserRow("few-first", ((f"servers.{m.skus[0].id}", 1.0),), None, float(rng.choice((1, 2)))),
    ]
    if len(m.skus) > 1:
        pair = tuple(
            (f"accelerators.{s.accelerator}", weight) for s, weight in zip(m.skus, (1.0, -0.5), strict=True)
        )
        rows.append(UserRow("balance", pair, 0.0, None))
        rows.append(UserRow("some-second", ((f"servers.{m.skus[1].id}", 1.0),), 1.0, 3.0))
    if (nvme := max(u.nvme_bytes for u in m.builds)) > 0.0:
        least = short(1e-9 * nvme * rng.uniform(1.1, 2.6))
        rows.append(UserRow("some-flash", (("nvme", 1e-9),), least, None))
    if m.enclosures:
        rows.append(UserRow("some-cxl", (("cxl", 1e-9),), short(m.enclosures[0].module_bytes * 2.5e-9), None))
    return tuple(rng.sample(rows, rng.choice((1, 2))))


def with_machines(instance: Instance, m: Machines) -> Instance:
    """The instance with its machines."""
    return replace(instance, skus=m.skus, builds=m.builds, enclosures=m.enclosures)

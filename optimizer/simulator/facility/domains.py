"""Each store cut into the domains whose bytes and bandwidth are their own.

The bandwidths are the devices' own: what a plan leaves unused by design (`Store.utilisation`), a replay
may use.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from optimizer.instance import Build, CxlHostRow, Pool, Role, Store, Tier
from optimizer.simulator.facility.bought import Bought
from optimizer.simulator.facility.packing import Packing

WITH_DRIVES = (Tier.NVME, Tier.STORAGE)


@dataclass(frozen=True)
class Domain:
    """Bytes for private contexts, bytes/s, drives; the servers that reach it without their NICs."""

    bytes: float
    read: float
    write: float
    drives: float = 0.0
    servers: tuple[int, ...] = ()


def domains(bought: Bought, packing: Packing, store: Store) -> list[Domain]:
    """The domains of one store."""
    match store.tier:
        case Tier.HBM:
            return list(_hbm(bought, store))
        case Tier.DRAM | Tier.NVME:
            return list(_of_servers(bought, store))
        case Tier.CXL:
            return list(_of_enclosures(bought, packing, store))
        case _:
            return [_of_the_facility(bought, store)]


def prefix_bytes(bought: Bought, store: Store, pool: Pool) -> float:
    """Bytes of shared prefixes that one instance of a pool makes a store keep: HBM holds one of each an
    instance, a server's tier one a node."""
    if pool.role is Role.DECODE:
        return 0.0
    copies = {"instances": 1.0, "nodes": pool.nodes}
    return sum(
        row.bytes * copies.get(row.per, 0.0)
        for row in bought.instance.shared_prefixes
        if row.store == store.id and row.option == pool.option
    )


def _hbm(bought: Bought, store: Store) -> Iterator[Domain]:
    """One an instance that prefills: what its weights leave, less shared prefixes."""
    for p in bought.pool_of_instance:
        pool = bought.pools[p]
        if pool.shape == store.scope and pool.role is not Role.DECODE:
            yield Domain(max(0.0, pool.room - prefix_bytes(bought, store, pool)), inf, inf)


def _of_servers(bought: Bought, store: Store) -> Iterator[Domain]:
    """One a server in use. What servers hold besides is spread over them as the law does, by what they have:
    contexts are placed evenly, and no server is too full for them because of where its instances stand."""
    drives = store.tier in WITH_DRIVES
    mine = [
        (v, m.build)
        for v, m in enumerate(bought.machines)
        if not m.spare and m.build.sku == store.scope and _usable(m.build, store.tier) > 0
    ]
    usable = sum(_usable(build, store.tier) for _, build in mine)
    left = max(0.0, 1.0 - used_by_instances(bought, store) / usable) if usable else 0.0
    for v, build in mine:
        yield Domain(
            bytes=_usable(build, store.tier) * left,
            read=build.nvme_read if drives else build.dram_bytes_s,
            write=build.nvme_write if drives else build.dram_bytes_s,
            drives=float(build.drives) if drives else 0.0,
            servers=(v,),
        )


def _usable(build: Build, tier: Tier) -> float:
    return build.nvme_usable if tier in WITH_DRIVES else build.dram_usable


def used_by_instances(bought: Bought, store: Store) -> float:
    """Bytes of a server tier that are not for private contexts: what instances keep in DRAM, their running
    sequences' offloaded parts, and shared prefixes."""
    used = 0.0
    for pool in bought.pools:
        if pool.sku == store.scope:
            own = instance_dram(bought, pool) if store.tier is Tier.DRAM else 0.0
            used += bought.counts[pool.id] * (own + prefix_bytes(bought, store, pool))
    return used


def instance_dram(bought: Bought, pool: Pool) -> float:
    """DRAM bytes that one instance takes: its tables, and its share of what its pool offloads."""
    weight = {row.bucket: row.dram for row in bought.instance.decodes if row.pool == pool.id}
    offloaded = sum(
        row.sequences * weight[row.bucket] for row in bought.layout.decodes if row.pool == pool.id
    )
    return pool.host_bytes + offloaded / bought.counts[pool.id]


def _of_enclosures(bought: Bought, packing: Packing, store: Store) -> Iterator[Domain]:
    """One an enclosure, modules and hosts spread evenly; enclosures that share their only host are one."""
    kind = next(e for e in bought.instance.enclosures if e.id == store.scope)
    row = next((row for row in bought.layout.cxl if row.enclosure == kind.id), None)
    if row is None or row.enclosures == 0:
        return
    hosts = [host for line in row.hosts for host in _hosts(bought, packing, kind.id, line)]
    count = min(row.enclosures, len(hosts)) if hosts else row.enclosures
    for d in range(count):
        mine = hosts[d::count]
        modules, boxes = _even(row.modules, count, d), _even(row.enclosures, count, d)
        adapters = sum(n for _, n in mine)
        media = min(modules * kind.module_bytes_s, boxes * kind.enclosure_bytes_s)
        yield Domain(
            bytes=modules * kind.usable_bytes,
            read=min(media, adapters * kind.adapter_read),
            write=min(media, adapters * kind.adapter_write),
            servers=tuple(v for v, _ in mine),
        )


def _hosts(bought: Bought, packing: Packing, kind: str, row: CxlHostRow) -> list[tuple[int, int]]:
    """The attached servers of a SKU and the adapters of each: those that prefill the most come first, and
    none attaches to two kinds of enclosure."""
    work: dict[int, float] = defaultdict(float)
    for i, p in enumerate(bought.pool_of_instance):
        if bought.pools[p].role is not Role.DECODE:
            for v in packing[i]:
                work[v] += bought.pools[p].gpus / len(packing[i])
    mine = [v for v, m in enumerate(bought.machines) if not m.spare and bought.skus[m.sku].id == row.sku]
    mine.sort(key=lambda v: -work[v])
    kinds = [other.enclosure for other in bought.layout.cxl]
    before = bought.layout.cxl[: kinds.index(kind)]
    taken = sum(host.hosts for other in before for host in other.hosts if host.sku == row.sku)
    free = mine[taken : taken + row.hosts]
    return [(v, _even(row.adapters, row.hosts, h)) for h, v in enumerate(free)]


def _even(total: int, parts: int, part: int) -> int:
    """The share of one of so many parts, as even as whole numbers are."""
    return total // parts + (part < total % parts)


def _of_the_facility(bought: Bought, store: Store) -> Domain:
    """One for all: nodes of the tier, and the servers' own DRAM where it is pooled."""
    pooled = bought.instance.dram_pooled and store.tier is Tier.DRAM_POOL
    supply = [b for b in bought.instance.builds if (pooled if b.sku else b.tier is store.tier)]
    builds = [(bought.in_use(b.id), b) for b in supply]
    own = sum(bought.counts[pool.id] * instance_dram(bought, pool) for pool in bought.pools if pooled)
    chosen = set(bought.option_of.values())
    prefixes = sum(
        row.bytes
        for row in bought.instance.shared_prefixes
        if row.store == store.id and row.per == "once" and row.option in chosen
    )
    drives = store.tier in WITH_DRIVES
    usable = sum(n * _usable(b, store.tier) for n, b in builds)
    return Domain(
        bytes=max(0.0, usable - own - prefixes),
        read=sum(n * (b.nvme_read if drives else b.network_bytes_s) for n, b in builds),
        write=sum(n * (b.nvme_write if drives else b.network_bytes_s) for n, b in builds),
        drives=float(sum(n * b.drives for n, b in builds)) if drives else 0.0,
    )

"""Law 6: what the tiers hold, and how large they may be."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.instance.types import Enclosure, Role, Store, Tier

from .book import DRIVE_TIERS, FACILITY_TIERS, Book
from .linear import Linear, Row, at_most, column, total


def hbm_room(book: Book) -> Iterator[Row]:
    """Idle contexts, those under prefill and those that mixed pools run share the HBM of one shape."""
    for store in book.instance.stores:
        if store.tier is not Tier.HBM:
            continue
        pools = book.prefilling(lambda p, s=store: p.shape == s.scope)
        count = book.over_instances(pools, lambda p: 1.0)
        mixed = [p for p in pools if p.role is Role.MIXED]
        variance = book.variance(store) + book.instance.dispersion * book.sequences(mixed, lambda d: d.square)
        used = book.mean_bytes(store) + book.margin(store.slope, variance, count)
        ids = {p.id for p in pools}
        used += total(i.held * x for i, x in book.paths_where(lambda i, ids=ids: i.pool in ids))
        used += book.sequences(mixed, lambda d: d.hbm)
        used += shared_bytes(book, store)
        yield at_most("hbm_room", (store.id,), used, book.over_instances(pools, lambda p: p.room))


def tier_capacity(book: Book) -> Iterator[Row]:
    """The mean of what is kept, its margin, shared prefixes and the servers' own use fit."""
    for store in book.instance.stores:
        if store.tier is Tier.HBM:
            continue
        usable, count = _room(book, store)
        used = book.mean_bytes(store) + book.margin(store.slope, book.variance(store), count)
        yield at_most(
            "tier_capacity", (store.id,), used + shared_bytes(book, store) + _own_use(book, store), usable
        )


def _own_use(book: Book, store: Store) -> Linear:
    """Weights that instances keep in their servers' DRAM, and offloaded KV."""
    if store.tier is not Tier.DRAM and not (store.tier is Tier.DRAM_POOL and book.instance.dram_pooled):
        return Linear()
    pools = book.pools_where(lambda p: store.tier is Tier.DRAM_POOL or p.sku == store.scope)
    return book.over_instances(pools, lambda p: p.host_bytes) + book.sequences(pools, lambda d: d.dram)


def _room(book: Book, store: Store) -> tuple[Linear, Linear]:
    """Usable bytes of a store, and the count of margins in it."""
    if store.tier is Tier.CXL:
        e = enclosure_of(book, store)
        return e.usable_bytes * column("modules", e.id), column("enclosures", e.id)
    builds = book.supply_of(store)
    drives = store.tier in DRIVE_TIERS
    usable = book.over_use(builds, lambda u: u.nvme_usable if drives else u.dram_usable)
    local = store.tier not in FACILITY_TIERS
    holding = [u for u in builds if u.drives or not drives]
    return usable, book.over_use(holding, lambda _: 1.0) if local else book.builds_chosen(builds)


def enclosure_of(book: Book, store: Store) -> Enclosure:
    """The kind of enclosure a CXL store lives in."""
    return next(e for e in book.instance.enclosures if e.id == store.scope)


def shared_bytes(book: Book, store: Store) -> Linear:
    """Bytes of shared prefixes: once per instance, per node under one, or once."""
    parts = []
    for shared in book.instance.shared_prefixes:
        if shared.store != store.id:
            continue
        pools = book.prefilling(lambda p, a=shared.option: p.option == a)
        if store.tier is Tier.HBM:
            pools = [p for p in pools if p.shape == store.scope]
        if store.tier in (Tier.DRAM, Tier.NVME):
            pools = [p for p in pools if p.sku == store.scope]
        count = {
            "instances": book.over_instances(pools, lambda p: 1.0),
            "nodes": book.over_instances(pools, lambda p: p.nodes),
            "once": column("option", shared.option),
        }[shared.per]
        parts.append(shared.bytes * count)
    return total(parts)


def installed_bytes(book: Book, tier: Tier) -> Linear:
    """Bytes of a tier that are bought or owned, spares too. Pooled, the servers' DRAM is the DRAM pool's."""
    if tier is Tier.CXL:
        return total(e.module_bytes * column("modules", e.id) for e in book.instance.enclosures)
    builds = book.nodes_of(tier)
    home = Tier.DRAM_POOL if book.instance.dram_pooled else Tier.DRAM
    if tier in (home, Tier.NVME):
        builds = builds + [u for u in book.instance.builds if u.sku is not None]
    drives = tier in DRIVE_TIERS
    return total((u.nvme_bytes if drives else u.dram_bytes) * column("servers", u.id) for u in builds)


def tier_floor(book: Book) -> Iterator[Row]:
    """At least so many bytes of a tier are installed."""
    for tier in Tier:
        least = max((s.min_bytes for s in book.instance.stores if s.tier is tier), default=0.0)
        if least > 0.0 and tier is not Tier.HBM:
            yield at_most("tier_floor", (tier,), Linear({}, least), installed_bytes(book, tier))


def tier_ceiling(book: Book) -> Iterator[Row]:
    """At most so many bytes of a tier are installed."""
    for tier in Tier:
        limits = [s.max_bytes for s in book.instance.stores if s.tier is tier and s.max_bytes is not None]
        if limits and tier is not Tier.HBM:
            yield at_most("tier_ceiling", (tier,), installed_bytes(book, tier), min(limits))


LAWS = (hbm_room, tier_capacity, tier_floor, tier_ceiling)

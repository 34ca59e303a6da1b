"""Law 7: what is read, written and moved, and how drives wear out."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.instance.types import Decode, Enclosure, Sku, Store, Tier

from .book import DRIVE_TIERS, FACILITY_TIERS, Book, prefill_part
from .laws_capacity import enclosure_of
from .linear import Linear, Row, at_most, column, total


def read_traffic(book: Book, store: Store) -> Linear:
    """Bytes per second loaded from a store; written ones too where they share its bandwidth."""
    reads = total(i.load * x for i, x in book.hits_in(store)) + shared_reads(book, store)
    return reads + book.store_writes(store) if store.shared_bandwidth else reads


def shared_reads(book: Book, store: Store) -> Linear:
    """Shared prefixes read from a store: by every request of their class that the store reaches."""
    local = store.scope if store.scope in book.skus else None
    parts = []
    for shared in (x for x in book.instance.shared_prefixes if x.store == store.id):
        paths = book.paths_where(lambda i, x=shared: i.cls == x.cls and i.option == x.option)
        parts += [shared.reads * x for i, x in paths if local in (None, book.pools[i.pool].sku)]
    return total(parts)


def tier_read(book: Book) -> Iterator[Row]:
    """Loads fit a store's bandwidth."""
    for store in book.instance.stores:
        if store.tier is Tier.HBM:
            continue
        if store.tier is Tier.CXL:
            e = enclosure_of(book, store)
            bandwidth = e.module_bytes_s * column("modules", e.id)
        elif store.tier is Tier.DRAM:
            bandwidth = book.over_use(book.supply_of(store), lambda u: u.dram_bytes_s)
        elif store.tier is Tier.DRAM_POOL:
            bandwidth = book.over_use(book.supply_of(store), lambda u: u.network_bytes_s)
        else:
            bandwidth = book.over_use(book.supply_of(store), lambda u: u.nvme_read)
        yield at_most("tier_read", (store.id,), read_traffic(book, store), store.utilisation * bandwidth)


def tier_write(book: Book) -> Iterator[Row]:
    """Writes fit a store's write bandwidth, where it is one of its own."""
    for store in book.instance.stores:
        if store.shared_bandwidth or store.tier is Tier.HBM:
            continue
        if store.tier in DRIVE_TIERS:
            bandwidth = book.over_use(book.supply_of(store), lambda u: u.nvme_write)
        elif store.tier is Tier.DRAM_POOL:
            bandwidth = book.over_use(book.supply_of(store), lambda u: u.network_bytes_s)
        else:
            raise ValueError(f"store {store.id}: {store.tier} has no write bandwidth of its own")
        yield at_most("tier_write", (store.id,), book.store_writes(store), store.utilisation * bandwidth)


def cxl_fabric(book: Book) -> Iterator[Row]:
    """The traffic of a CXL pool fits its enclosures."""
    for store in cxl_stores(book):
        e = enclosure_of(book, store)
        bandwidth = store.utilisation * e.enclosure_bytes_s * column("enclosures", e.id)
        yield at_most("cxl_fabric", (e.id,), read_traffic(book, store), bandwidth)


def host_link_read(book: Book) -> Iterator[Row]:
    """The loads of a pool fit the host links of its own instances."""
    for pool in book.prefilling(lambda p: True):
        links = book.instance.link_utilisation * book.over_instances([pool], lambda p: p.link_read)
        yield at_most("host_link_read", (pool.id,), _link_reads(book, {pool.id}), links)


def host_link_write(book: Book) -> Iterator[Row]:
    """What an option writes down fits the host links of its instances."""
    for option in book.instance.options:
        pools = book.pools_where(lambda p, a=option: p.option == a.id)
        links = book.instance.link_utilisation * book.over_instances(pools, lambda p: p.link_write)
        yield at_most("host_link_write", (option.id,), _option_writes(book, option.id), links)


def host_link_sum(book: Book) -> Iterator[Row]:
    """Both directions together fit the host links."""
    for option in book.instance.options:
        pools = book.pools_where(lambda p, a=option: p.option == a.id)
        used = _link_reads(book, {p.id for p in pools}) + _option_writes(book, option.id)
        links = book.instance.link_utilisation * book.over_instances(pools, lambda p: p.link_both)
        yield at_most("host_link_sum", (option.id,), used, links)


def _link_reads(book: Book, pools: set[str]) -> Linear:
    return total(i.link * x for i, x in book.paths_where(lambda i: i.pool in pools))


def _option_writes(book: Book, option: str) -> Linear:
    return total(book.writes(x, option) for x in book.instance.locations)


def decode_bytes_in(decode: Decode) -> float:
    """Bytes per second into the NICs when a whole bucket decodes on a pool: KV handed over per request,
    and the experts' traffic, which is stated per second."""
    return decode.rate * decode.transfer + decode.exchange_bytes


def network_in(book: Book) -> Iterator[Row]:
    """Remote hits, KV handed over and expert traffic fit the NICs of a SKU's servers."""
    for sku in book.instance.skus:
        pools = book.pools_where(lambda p, s=sku: p.sku == s.id)
        ids = {p.id for p in pools}
        used = total(i.network * x for i, x in book.paths_where(lambda i, ids=ids: i.pool in ids))
        used += total(decode_bytes_in(d) * column("decode", d.bucket, d.pool) for d in book.decodes_on(pools))
        yield at_most("network_in", (sku.id,), used, _nics(book, [sku]))


def network_out(book: Book) -> Iterator[Row]:
    """KV sent to decode pools fits the NICs of the SKU that sends it; with the writes to facility stores, all
    NICs together."""
    for sku in book.instance.skus:
        pools = {p.id for p in book.pools_where(lambda p, s=sku: p.sku == s.id)}
        sent = total(i.sent * x for i, x in book.paths_where(lambda i, here=pools: i.pool in here))
        yield at_most("network_out", (sku.id,), sent, _nics(book, [sku]))
    used = total(i.sent * x for i, x in book.paths_where(lambda i: True))
    used += total(book.store_writes(s) for s in book.instance.stores if s.tier in FACILITY_TIERS)
    yield at_most("network_out", (), used, _nics(book, book.instance.skus))


def _nics(book: Book, skus: list[Sku] | tuple[Sku, ...]) -> Linear:
    each = total(s.nic_bytes_s * book.sku_in_use(s.id) for s in skus)
    return book.instance.network_utilisation * each


def cxl_stores(book: Book) -> list[Store]:
    """The CXL stores."""
    return [s for s in book.instance.stores if s.tier is Tier.CXL]


def cxl_ports(book: Book) -> Iterator[Row]:
    """Every adapter takes a port."""
    for e in book.instance.enclosures:
        yield at_most("cxl_ports", (e.id,), adapters_of(book, e), float(e.ports) * column("enclosures", e.id))


def cxl_connected(book: Book) -> Iterator[Row]:
    """Every enclosure hangs on an adapter at least."""
    for e in book.instance.enclosures:
        yield at_most("cxl_connected", (e.id,), column("enclosures", e.id), adapters_of(book, e))


def adapters_of(book: Book, e: Enclosure) -> Linear:
    """Adapters of an enclosure kind in all servers."""
    return total(column("adapters", e.id, s.id) for s in book.instance.skus)


def cxl_slots(book: Book) -> Iterator[Row]:
    """Adapters sit in free slots of attached hosts."""
    for e in book.instance.enclosures:
        for s in book.instance.skus:
            slots = float(s.free_x16_slots) * column("hosts", e.id, s.id)
            yield at_most("cxl_slots", (e.id, s.id), column("adapters", e.id, s.id), slots)


def cxl_adapters(book: Book) -> Iterator[Row]:
    """A host is attached by at least one adapter."""
    for e in book.instance.enclosures:
        for s in book.instance.skus:
            hosts, adapters = column("hosts", e.id, s.id), column("adapters", e.id, s.id)
            yield at_most("cxl_adapters", (e.id, s.id), hosts, adapters)


def cxl_hosts(book: Book) -> Iterator[Row]:
    """Hosts are servers in use."""
    for s in book.instance.skus:
        hosts = total(column("hosts", e.id, s.id) for e in book.instance.enclosures)
        if hosts.terms:
            yield at_most("cxl_hosts", (s.id,), hosts, book.sku_in_use(s.id))


def cxl_modules(book: Book) -> Iterator[Row]:
    """Modules sit in enclosures."""
    for e in book.instance.enclosures:
        slots = float(e.module_slots) * column("enclosures", e.id)
        yield at_most("cxl_modules", (e.id,), column("modules", e.id), slots)


def cxl_read(book: Book) -> Iterator[Row]:
    """What a SKU's servers load from a CXL pool fits their adapters."""
    for store in cxl_stores(book):
        e = enclosure_of(book, store)
        for s in book.instance.skus:
            used = total(i.load * x for i, x in book.hits_in(store) if book.pools[i.pool].sku == s.id)
            bandwidth = store.utilisation * e.adapter_read * column("adapters", e.id, s.id)
            yield at_most("cxl_read", (e.id, s.id), used, bandwidth)


def cxl_write(book: Book) -> Iterator[Row]:
    """What is written to a CXL pool fits its adapters."""
    for store in cxl_stores(book):
        e = enclosure_of(book, store)
        limit = store.utilisation * e.adapter_write * adapters_of(book, e)
        yield at_most("cxl_write", (e.id,), book.store_writes(store), limit)


def cxl_attached(book: Book) -> Iterator[Row]:
    """Only attached servers serve from a CXL pool."""
    for store in cxl_stores(book):
        e = enclosure_of(book, store)
        for s in book.instance.skus:
            parts = []
            for i, x in book.hits_in(store):
                p = book.pools[i.pool]
                if p.sku == s.id:
                    parts.append(i.busy * p.nodes / (p.design_load * prefill_part(p)) * x)
            yield at_most("cxl_attached", (e.id, s.id), total(parts), column("hosts", e.id, s.id))


def nvme_endurance(book: Book) -> Iterator[Row]:
    """Drives, with their replacements, outlive what is written over the horizon."""
    seconds = sum(t.seconds for t in book.instance.periods)
    for store in book.instance.stores:
        if store.tier not in DRIVE_TIERS or not book.locations_in(store):
            continue
        builds = [u for u in book.supply_of(store) if u.drives > 0]
        written = book.instance.write_amplification * seconds * book.store_writes(store, mean=True)
        first = book.over_use(builds, lambda u: u.nvme_endurance)
        again = total(u.nvme_endurance / u.drives * column("replaced", u.id) for u in builds)
        yield at_most("nvme_endurance", (store.id,), written, first + again)


def drives_replaced(book: Book) -> Iterator[Row]:
    """A drive is replaced at most twenty times."""
    for u in book.instance.builds:
        if u.drives > 0:
            limit = 20.0 * u.drives * column("servers", u.id)
            yield at_most("drives_replaced", (u.id,), column("replaced", u.id), limit)


LAWS = (
    tier_read, tier_write, cxl_fabric, host_link_read, host_link_write, host_link_sum, network_in,
    network_out, cxl_ports, cxl_connected, cxl_slots, cxl_adapters, cxl_hosts, cxl_modules, cxl_read,
    cxl_write, cxl_attached, nvme_endurance, drives_replaced,
)

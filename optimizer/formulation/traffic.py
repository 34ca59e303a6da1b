"""Law 7: a byte has an address, and moving it takes bandwidth of every part on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from optimizer.formulation.capacity import machines, supply
from optimizer.formulation.contexts import Term, Terms
from optimizer.formulation.law import law
from optimizer.formulation.model import GB, TB, Model, Rows, scaled
from optimizer.instance import Enclosure, Role, Sku, Store, Tier

REPLACEMENTS = 20.0  # a drive replaced more often than this over the horizon is the wrong drive


def _stores(model: Model) -> Iterator[Store]:
    return (s for s in model.instance.stores if s.tier is not Tier.HBM)


def _written(model: Model, store: Store, *, mean: bool = False) -> Terms:
    return [
        t for loc in model.tables.locations_of.get(store.id, []) for t in model.written(loc.id, mean=mean)
    ]


@law("tier_read", unit="GB/s", price="one more GB/s of this tier", size=GB)
def tier_read(model: Model, rows: Rows) -> None:
    """Loads use a design share of a tier's read bandwidth; where reads and writes share one bandwidth,
    both count.

    sum path load (+ writes) <= utilisation x bandwidth   [bytes/s]
    """
    for store in _stores(model):
        used = [*model.read_from(store.id), *(_written(model, store) if store.shared_bandwidth else ())]
        rows.at_most(store.id, used, scaled(store.utilisation, supply(model, store, "read")))


@law("tier_write", unit="GB/s", price="one more GB/s of writing to this tier", size=GB)
def tier_write(model: Model, rows: Rows) -> None:
    """New bytes of every turn reach their tier.

    writes <= utilisation x write bandwidth   [bytes/s]
    """
    for store in _stores(model):
        if not store.shared_bandwidth:
            limit = scaled(store.utilisation, supply(model, store, "write"))
            rows.at_most(store.id, _written(model, store), limit)


def _fills(model: Model, option: str) -> list[Any]:
    return [p for p in model.tables.pools_of_option.get(option, []) if p.role is not Role.DECODE]


@law("host_link_read", unit="GB/s", price="one more GB/s into the model's own accelerators", size=GB)
def host_link_read(model: Model, rows: Rows) -> None:
    """Loads enter through the host links of the model's own prefill accelerators.

    sum path link <= utilisation x sum link_read instances   [bytes/s]
    """
    for option in model.instance.options:
        for sku in model.instance.skus:
            pools = [p for p in _fills(model, option.id) if p.sku == sku.id]
            loads = [t for p in pools for t in model.paths(model.tables.paths_on.get(p.id, []), "link")]
            links = scaled(model.instance.link_utilisation, model.count(pools, "link_read"))
            rows.at_most((option.id, sku.id), loads, links)


@law("host_link_write", unit="GB/s", price="one more GB/s out of the model's own accelerators", size=GB)
def host_link_write(model: Model, rows: Rows) -> None:
    """What is written to a tier leaves through the host links of the accelerators that made it.

    writes of a <= utilisation x sum link_write instances   [bytes/s]
    """
    for option in model.instance.options:
        pools = model.tables.pools_of_option.get(option.id, [])
        links = scaled(model.instance.link_utilisation, model.count(pools, "link_write"))
        rows.at_most(option.id, model.written_by_option(option.id), links)


@law("host_link_sum", unit="GB/s", price="one more GB/s both ways over the host links", size=GB)
def host_link_sum(model: Model, rows: Rows) -> None:
    """Both directions at once reach less than their sum.

    loads + writes of a <= utilisation x sum link_both instances   [bytes/s]
    """
    for option in model.instance.options:
        pools = model.tables.pools_of_option.get(option.id, [])
        loads = [t for p in pools for t in model.paths(model.tables.paths_on.get(p.id, []), "link")]
        links = scaled(model.instance.link_utilisation, model.count(pools, "link_both"))
        rows.at_most(option.id, [*loads, *model.written_by_option(option.id)], links)


def _nic(model: Model, sku: Sku) -> Terms:
    rate = model.instance.network_utilisation * sku.nic_bytes_s
    return [(rate * c, v) for c, v in model.servers_in_use(sku.id)]


@law("network_in", unit="GB/s", price="one more GB/s into this SKU's servers", size=GB)
def network_in(model: Model, rows: Rows) -> None:
    """Remote hits, KV handed to decode pools and expert traffic enter through the NICs.

    sum path network + sum decode (rate transfer + exchange) <= utilisation x nic in_use   [bytes/s]
    """
    for sku in model.instance.skus:
        pools = model.tables.pools_of_sku.get(sku.id, [])
        remote = [t for p in pools for t in model.paths(model.tables.paths_on.get(p.id, []), "network")]
        handed = [
            (d.rate * d.transfer + d.exchange_bytes, model.pyomo.decode[d.bucket, d.pool])
            for p in pools
            for d in model.tables.decodes.get(p.id, [])
        ]
        rows.at_most((sku.id, model.t), [*remote, *handed], _nic(model, sku))


@law("network_out", unit="GB/s", price="one more GB/s out of the accelerator servers", size=GB)
def network_out(model: Model, rows: Rows) -> None:
    """KV handed over and writes to facility-wide stores leave through the NICs.

    sum path sent + writes to facility stores <= utilisation x sum_s nic in_use   [bytes/s]
    """
    sent = model.paths(range(len(model.instance.paths)), "sent")
    remote = [
        t
        for store in _stores(model)
        if store.tier in (Tier.DRAM_POOL, Tier.STORAGE)
        for t in _written(model, store)
    ]
    rows.at_most(model.t, [*sent, *remote], [t for s in model.instance.skus for t in _nic(model, s)])


def _cxl(model: Model) -> Iterator[tuple[Enclosure, Store]]:
    stores = {s.scope: s for s in model.instance.stores if s.tier is Tier.CXL}
    return ((e, stores[e.id]) for e in model.instance.enclosures if e.id in stores)


def _attachable(model: Model, enclosure: Enclosure) -> list[Sku]:
    return [s for s in model.instance.skus if (enclosure.id, s.id, model.t) in model.pyomo.hosts]


@law("cxl_fabric", unit="GB/s", price="one more GB/s through the enclosures", size=GB)
def cxl_fabric(model: Model, rows: Rows) -> None:
    """The switch of an enclosure carries all its traffic.

    reads + writes <= utilisation x enclosures x enclosure bandwidth   [bytes/s]
    """
    for e, store in _cxl(model):
        limit = store.utilisation * e.enclosure_bytes_s
        rows.at_most(
            e.id,
            [*model.read_from(store.id), *_written(model, store)],
            [(limit, model.pyomo.enclosures[e.id, model.t])],
        )


def _adapters(model: Model, enclosure: Enclosure) -> Terms:
    return [(1.0, model.pyomo.adapters[enclosure.id, s.id, model.t]) for s in _attachable(model, enclosure)]


@law("cxl_ports", unit="ports", price="one more port")
def cxl_ports(model: Model, rows: Rows) -> None:
    """An adapter takes a port of an enclosure.

    sum_s adapters[e,s] <= ports x enclosures[e]   [ports]
    """
    for e in model.instance.enclosures:
        ports = [(float(e.ports), model.pyomo.enclosures[e.id, model.t])]
        rows.at_most(e.id, _adapters(model, e), ports)


@law("cxl_connected", unit="enclosures", price="one enclosure less to connect")
def cxl_connected(model: Model, rows: Rows) -> None:
    """An enclosure that no adapter reaches holds no byte of use.

    enclosures[e] <= sum_s adapters[e,s]   [enclosures]
    """
    for e in model.instance.enclosures:
        rows.at_most(e.id, [(1.0, model.pyomo.enclosures[e.id, model.t])], _adapters(model, e))


@law("cxl_slots", unit="adapters", price="one more free x16 slot")
def cxl_slots(model: Model, rows: Rows) -> None:
    """An adapter needs a free slot of an attached host.

    adapters[e,s] <= free_x16_slots x hosts[e,s]   [adapters]
    """
    for e in model.instance.enclosures:
        for s in _attachable(model, e):
            key = (e.id, s.id, model.t)
            rows.at_most(
                (e.id, s.id),
                [(1.0, model.pyomo.adapters[key])],
                [(float(s.free_x16_slots), model.pyomo.hosts[key])],
            )


@law("cxl_adapters", unit="adapters", price="one adapter less to buy")
def cxl_adapters(model: Model, rows: Rows) -> None:
    """An attached host has at least one adapter.

    hosts[e,s] <= adapters[e,s]   [adapters]
    """
    for e in model.instance.enclosures:
        for s in _attachable(model, e):
            key = (e.id, s.id, model.t)
            rows.at_most((e.id, s.id), [(1.0, model.pyomo.hosts[key])], [(1.0, model.pyomo.adapters[key])])


@law("cxl_hosts", unit="hosts", price="one more server to attach")
def cxl_hosts(model: Model, rows: Rows) -> None:
    """A server in use attaches to one pool at most.

    sum_e hosts[e,s] <= in_use[s]   [hosts]
    """
    for s in model.instance.skus:
        hosts = [
            (1.0, model.pyomo.hosts[e.id, s.id, model.t])
            for e in model.instance.enclosures
            if (e.id, s.id, model.t) in model.pyomo.hosts
        ]
        if hosts:
            rows.at_most(s.id, hosts, model.servers_in_use(s.id))


@law("cxl_modules", unit="modules", price="one more module slot")
def cxl_modules(model: Model, rows: Rows) -> None:
    """A module needs a slot of an enclosure.

    modules[e] <= module_slots x enclosures[e]   [modules]
    """
    for e in model.instance.enclosures:
        slots = [(float(e.module_slots), model.pyomo.enclosures[e.id, model.t])]
        rows.at_most(e.id, [(1.0, model.pyomo.modules[e.id, model.t])], slots)


def _pool_hits(model: Model, store: Store, sku: Sku) -> list[int]:
    return [
        i
        for loc in model.tables.locations_of.get(store.id, [])
        for i in model.tables.paths_from.get(loc.id, [])
        if model.tables.pools[model.instance.paths[i].pool].sku == sku.id
    ]


@law("cxl_read", unit="GB/s", price="one more GB/s through the host adapters", size=GB)
def cxl_read(model: Model, rows: Rows) -> None:
    """Accelerators read the pool through their hosts' adapters.

    sum path load <= utilisation x adapter_read x adapters[e,s]   [bytes/s]
    """
    for e, store in _cxl(model):
        for s in _attachable(model, e):
            adapters = [(store.utilisation * e.adapter_read, model.pyomo.adapters[e.id, s.id, model.t])]
            rows.at_most((e.id, s.id), model.paths(_pool_hits(model, store, s), "load"), adapters)


@law("cxl_write", unit="GB/s", price="one more GB/s of writing through the adapters", size=GB)
def cxl_write(model: Model, rows: Rows) -> None:
    """Writes to the pool cross the adapters too.

    writes <= utilisation x adapter_write x sum_s adapters[e,s]   [bytes/s]
    """
    for e, store in _cxl(model):
        adapters = [
            (store.utilisation * e.adapter_write, model.pyomo.adapters[e.id, s.id, model.t])
            for s in _attachable(model, e)
        ]
        rows.at_most(e.id, _written(model, store), adapters)


@law("cxl_attached", unit="hosts", price="one more attached host")
def cxl_attached(model: Model, rows: Rows) -> None:
    """Only attached servers prefill hits from the pool; elsewhere the byte has no address. Hosts are
    counted by the prefill work on them at the design load.

    sum path busy nodes / (rho phi) <= hosts[e,s]   [hosts]
    """
    for e, store in _cxl(model):
        for s in model.instance.skus:
            work: list[Term] = []
            for i in _pool_hits(model, store, s):
                path = model.instance.paths[i]
                pool = model.tables.pools[path.pool]
                load = pool.design_load * pool.prefill_share
                work.append((path.busy * pool.nodes / load, model.pyomo.path[i]))
            key = (e.id, s.id, model.t)
            hosts = [(1.0, model.pyomo.hosts[key])] if key in model.pyomo.hosts else []
            rows.at_most((e.id, s.id), work, hosts)


@law("nvme_endurance", unit="TB written", price="one more TB of endurance", size=TB)
def nvme_endurance(model: Model, rows: Rows) -> None:
    """Flash wears: mean-rate writes over the horizon stay within the drives' rating, or worn drives are
    replaced.

    writes x write amplification x horizon <= sum endurance in_use + endurance/drives replaced   [bytes]
    """
    seconds = model.instance.periods[0].seconds * model.instance.write_amplification
    for store in _stores(model):
        if store.tier not in (Tier.NVME, Tier.STORAGE):
            continue
        builds = [b for b in machines(model, store) if b.drives]
        worn = scaled(seconds, _written(model, store, mean=True))
        fresh = [(b.nvme_endurance / b.drives, model.pyomo.replaced[b.id, model.t]) for b in builds]
        rows.at_most(store.id, worn, [*model.in_use(builds, "nvme_endurance"), *fresh])


@law("drives_replaced", unit="drives", price="none: it ties replacements to drives bought")
def drives_replaced(model: Model, rows: Rows) -> None:
    """Only drives that were bought can be replaced, and not endlessly.

    replaced[u] <= 20 drives_u servers[u]   [drives]
    """
    for b in model.instance.builds:
        if b.drives:
            bought = [(REPLACEMENTS * b.drives, model.pyomo.servers[b.id, model.t])]
            rows.at_most((b.id, model.t), [(1.0, model.pyomo.replaced[b.id, model.t])], bought)


LAWS = (
    tier_read,
    tier_write,
    host_link_read,
    host_link_write,
    host_link_sum,
    network_in,
    network_out,
    cxl_fabric,
    cxl_ports,
    cxl_connected,
    cxl_slots,
    cxl_adapters,
    cxl_hosts,
    cxl_modules,
    cxl_read,
    cxl_write,
    cxl_attached,
    nvme_endurance,
    drives_replaced,
)

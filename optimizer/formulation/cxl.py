"""Law 7 for CXL pools: ports, slots, modules, adapters, and the servers that are attached."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.formulation.contexts import Term, Terms
from optimizer.formulation.law import law
from optimizer.formulation.model import GB, Model, Rows
from optimizer.formulation.traffic import written_to
from optimizer.instance import Enclosure, Sku, Store, Tier


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
            [*model.read_from(store.id), *written_to(model, store)],
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
        rows.at_most(e.id, written_to(model, store), adapters)


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


LAWS = (
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
)

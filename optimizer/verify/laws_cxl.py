"""Law 7, the CXL pool: ports, slots, modules, and only attached servers read from it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from optimizer.instance.types import Store, Tier
from optimizer.verify.amounts import Amount, of, product, total
from optimizer.verify.certificate import Row, at_most
from optimizer.verify.laws_time import prefill_share
from optimizer.verify.laws_traffic import store_reads
from optimizer.verify.plan import Plan


def cxl_stores(plan: Plan) -> list[Store]:
    """The stores that are CXL pools; their scope is the enclosure kind."""
    return [store for store in plan.instance.stores if store.tier is Tier.CXL]


def adapters_of(plan: Plan, enclosure: str) -> Amount:
    """Sum_s adapters[e,s]."""
    return total(host.adapters for host in plan.decisions.attached if host.enclosure == enclosure)


def by_host(plan: Plan, store: Store, *weights: str, attached: bool = False) -> dict[str, Amount]:
    """Sum of path(hit e on s) x the named numbers of the path, by SKU; with `attached` x nodes/(rho phi),
    which turns busy instances into servers under them."""
    terms: dict[str, list[Fraction]] = defaultdict(list)
    for host in plan.decisions.attached:
        if host.enclosure == store.scope:
            terms[host.sku] = []
    for routed in plan.hits_on_store.get(store.id, []):
        term = product(routed.rate, *(getattr(routed.path, weight) for weight in weights))
        if attached:
            pool = routed.pool
            term = term * Fraction(pool.nodes) / (Fraction(pool.design_load) * prefill_share(pool))
        terms[routed.pool.sku].append(term)
    return {sku: total(values) for sku, values in terms.items()}


def hosts_at(plan: Plan, enclosure: str, sku: str) -> tuple[Fraction, Fraction]:
    """hosts[e,s] and adapters[e,s]."""
    for host in plan.decisions.attached:
        if (host.enclosure, host.sku) == (enclosure, sku):
            return host.hosts, host.adapters
    return Fraction(0), Fraction(0)


def cxl_fabric(plan: Plan) -> Iterator[Row]:
    """Whatever modules a pool has, its switch carries no more.

    Sum path(hit l of sigma) load (+ writes) <= utilisation enclosures[e] enclosure_bytes_s  [B/s]
    """
    for store in cxl_stores(plan):
        enclosure = plan.tables.enclosures[store.scope]
        limit = of(product(plan.cxl(store.scope).enclosures, enclosure.enclosure_bytes_s))
        yield at_most(f"cxl_fabric[{store.scope}]", store_reads(plan, store), limit.times(store.utilisation))


def cxl_ports(plan: Plan) -> Iterator[Row]:
    """Every adapter takes a port.

    Sum_s adapters[e,s] <= ports enclosures[e]
    """
    for row in plan.decisions.cxl.values():
        limit = of(product(row.enclosures, plan.tables.enclosures[row.enclosure].ports))
        yield at_most(f"cxl_ports[{row.enclosure}]", adapters_of(plan, row.enclosure), limit)


def cxl_connected(plan: Plan) -> Iterator[Row]:
    """An enclosure that no adapter reaches serves nobody.

    enclosures[e] <= sum_s adapters[e,s]
    """
    for row in plan.decisions.cxl.values():
        have = of(row.enclosures)
        yield at_most(f"cxl_connected[{row.enclosure}]", have, adapters_of(plan, row.enclosure))


def cxl_slots(plan: Plan) -> Iterator[Row]:
    """Adapters sit in free slots of hosts.

    adapters[e,s] <= free_x16_slots_s hosts[e,s]
    """
    for host in plan.decisions.attached:
        limit = of(product(host.hosts, plan.tables.skus[host.sku].free_x16_slots))
        yield at_most(f"cxl_slots[{host.enclosure},{host.sku}]", of(host.adapters), limit)


def cxl_adapters(plan: Plan) -> Iterator[Row]:
    """A host is attached by at least one adapter.

    hosts[e,s] <= adapters[e,s]
    """
    for host in plan.decisions.attached:
        yield at_most(f"cxl_adapters[{host.enclosure},{host.sku}]", of(host.hosts), of(host.adapters))


def cxl_hosts(plan: Plan) -> Iterator[Row]:
    """Only servers in use are hosts, each of one pool.

    Sum_e hosts[e,s] <= in_use[s]  [servers]
    """
    for sku in plan.instance.skus:
        hosts = [host.hosts for host in plan.decisions.attached if host.sku == sku.id]
        if hosts:
            yield at_most(f"cxl_hosts[{sku.id}]", total(hosts), of(plan.sku_in_use(sku.id)))


def cxl_modules(plan: Plan) -> Iterator[Row]:
    """Modules sit in enclosures.

    modules[e] <= module_slots enclosures[e]
    """
    for row in plan.decisions.cxl.values():
        limit = of(product(row.enclosures, plan.tables.enclosures[row.enclosure].module_slots))
        yield at_most(f"cxl_modules[{row.enclosure}]", of(row.modules), limit)


def cxl_read(plan: Plan) -> Iterator[Row]:
    """A host reads no faster than its adapters.

    Sum path(hit e on s) load <= utilisation adapter_read adapters[e,s]  [B/s]
    """
    for store in cxl_stores(plan):
        enclosure = plan.tables.enclosures[store.scope]
        for sku, have in by_host(plan, store, "load").items():
            limit = of(product(hosts_at(plan, store.scope, sku)[1], enclosure.adapter_read))
            yield at_most(f"cxl_read[{store.scope},{sku}]", have, limit.times(store.utilisation))


def cxl_write(plan: Plan) -> Iterator[Row]:
    """A pool is written through the adapters of its hosts.

    writes <= utilisation adapter_write sum_s adapters[e,s]  [B/s]
    """
    for store in cxl_stores(plan):
        enclosure = plan.tables.enclosures[store.scope]
        limit = adapters_of(plan, store.scope).times(enclosure.adapter_write).times(store.utilisation)
        yield at_most(f"cxl_write[{store.scope}]", plan.accounts[store.id].write, limit)


def cxl_attached(plan: Plan) -> Iterator[Row]:
    """Only servers attached to the pool serve from it.

    Sum path(hit e on s) busy nodes / (rho phi) <= hosts[e,s]  [servers]
    """
    for store in cxl_stores(plan):
        for sku, have in by_host(plan, store, "busy", attached=True).items():
            yield at_most(f"cxl_attached[{store.scope},{sku}]", have, of(hosts_at(plan, store.scope, sku)[0]))


LAWS = (
    cxl_fabric,
    cxl_adapters,
    cxl_ports,
    cxl_connected,
    cxl_slots,
    cxl_hosts,
    cxl_modules,
    cxl_read,
    cxl_write,
    cxl_attached,
)

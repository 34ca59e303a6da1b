"""Law 7: a byte has an address, and moving it takes bandwidth of every part on the way."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.formulation.capacity import machines, supply
from optimizer.formulation.contexts import Terms
from optimizer.formulation.law import law
from optimizer.formulation.model import GB, TB, Model, Rows, scaled
from optimizer.instance import Role, Sku, Store, Tier

REPLACEMENTS = 20.0  # a drive replaced more often than this over the horizon is the wrong drive


def _stores(model: Model) -> Iterator[Store]:
    return (s for s in model.instance.stores if s.tier is not Tier.HBM)


def written_to(model: Model, store: Store, *, mean: bool = False) -> Terms:
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
        used = [*model.read_from(store.id), *(written_to(model, store) if store.shared_bandwidth else ())]
        rows.at_most(store.id, used, scaled(store.utilisation, supply(model, store, "read")))


@law("tier_write", unit="GB/s", price="one more GB/s of writing to this tier", size=GB)
def tier_write(model: Model, rows: Rows) -> None:
    """New bytes of every turn reach their tier.

    writes <= utilisation x write bandwidth   [bytes/s]
    """
    for store in _stores(model):
        if not store.shared_bandwidth:
            limit = scaled(store.utilisation, supply(model, store, "write"))
            rows.at_most(store.id, written_to(model, store), limit)


@law("host_link_read", unit="GB/s", price="one more GB/s into the accelerators of this pool", size=GB)
def host_link_read(model: Model, rows: Rows) -> None:
    """Loads enter through the host links of the pool that prefills them; those of another lane do not help.

    sum path link <= utilisation x link_read instances   [bytes/s]
    """
    for p in model.instance.pools:
        if p.role is not Role.DECODE:
            loads = model.paths(model.tables.paths_on.get(p.id, []), "link")
            rows.at_most(p.id, loads, scaled(model.instance.link_utilisation, model.count([p], "link_read")))


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


def _sent(model: Model, sku: Sku) -> Terms:
    pools = model.tables.pools_of_sku.get(sku.id, [])
    return [t for p in pools for t in model.paths(model.tables.paths_on.get(p.id, []), "sent")]


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
        rows.at_most(sku.id, [*remote, *handed], _nic(model, sku))


@law("network_out", unit="GB/s", price="one more GB/s out of these servers", size=GB)
def network_out(model: Model, rows: Rows) -> None:
    """KV handed over leaves through the NICs of the servers that prefilled it; writes to facility-wide stores
    leave through the NICs of any.

    sum path sent <= utilisation x nic in_use; sum_s path sent + writes to facility stores <= utilisation x
    sum_s nic in_use   [bytes/s]
    """
    for sku in model.instance.skus:
        rows.at_most(sku.id, _sent(model, sku), _nic(model, sku))
    sent = model.paths(range(len(model.instance.paths)), "sent")
    remote = [
        t
        for store in _stores(model)
        if store.tier in (Tier.DRAM_POOL, Tier.STORAGE)
        for t in written_to(model, store)
    ]
    rows.at_most(model.t, [*sent, *remote], [t for s in model.instance.skus for t in _nic(model, s)])


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
        worn = scaled(seconds, written_to(model, store, mean=True))
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
            rows.at_most(b.id, [(1.0, model.pyomo.replaced[b.id, model.t])], bought)


LAWS = (
    tier_read,
    tier_write,
    host_link_read,
    host_link_write,
    host_link_sum,
    network_in,
    network_out,
    nvme_endurance,
    drives_replaced,
)

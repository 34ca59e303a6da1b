"""Law 7: stores, host links, networks and drives carry what is read and written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from optimizer.instance.types import Store, Tier
from optimizer.verify.accounts import of_machines
from optimizer.verify.amounts import NOTHING, Amount, of, product, together, total
from optimizer.verify.certificate import Row, at_most
from optimizer.verify.plan import Plan
from optimizer.verify.tables import FACILITY


def bandwidth(plan: Plan, store: Store, *, write: bool) -> Amount:
    """What a store carries: DRAM dram_bytes_s, DRAM pool network_bytes_s, drives nvme_read or nvme_write, of
    the machines in use; CXL module_bytes_s of its modules."""
    if store.tier is Tier.CXL:
        return of(product(plan.cxl(store.scope).modules, plan.tables.enclosures[store.scope].module_bytes_s))
    drives = "nvme_write" if write else "nvme_read"
    field = {Tier.DRAM: "dram_bytes_s", Tier.DRAM_POOL: "network_bytes_s"}.get(store.tier, drives)
    return of_machines(plan, plan.tables.suppliers(store), field)


def store_reads(plan: Plan, store: Store) -> Amount:
    """Bytes per second loaded by hits, and those written where they share the bandwidth."""
    account = plan.accounts[store.id]
    return account.read.plus(account.write) if store.shared_bandwidth else account.read


def tier_read(plan: Plan) -> Iterator[Row]:
    """Hits load no faster than a store reads at its design utilisation.

    Sum path(hit l of sigma) load (+ writes where bandwidth is shared) <= utilisation bandwidth  [B/s]
    """
    for store in plan.instance.stores:
        if store.tier is not Tier.HBM:
            limit = bandwidth(plan, store, write=False).times(store.utilisation)
            yield at_most(f"tier_read[{store.id}]", store_reads(plan, store), limit)


def tier_write(plan: Plan) -> Iterator[Row]:
    """Contexts are written no faster than a store writes.

    writes <= utilisation bandwidth, where reads do not share it  [B/s]
    """
    for store in plan.instance.stores:
        if store.tier is not Tier.HBM and not store.shared_bandwidth:
            limit = bandwidth(plan, store, write=True).times(store.utilisation)
            yield at_most(f"tier_write[{store.id}]", plan.accounts[store.id].write, limit)


def host_reads(plan: Plan) -> dict[str, Amount]:
    """Sum path link by pool."""
    return {
        pool: total(product(routed.rate, routed.path.link) for routed in here)
        for pool, here in plan.paths_on_pool.items()
    }


def host_writes(plan: Plan) -> dict[str, Amount]:
    """Bytes per second an option writes to every store but HBM."""
    options = {option for option, _ in plan.peak_writes}
    return {
        option: together(amount for (owner, _), amount in plan.peak_writes.items() if owner == option)
        for option in options
    }


def host_link_read(plan: Plan) -> Iterator[Row]:
    """Loads pass the host links of the pool that prefills them.

    Sum path link <= utilisation link_read N, for every prefill and mixed pool  [B/s]
    """
    reads = host_reads(plan)
    for pool in plan.prefilling(plan.instance.pools):
        limit = of(product(plan.instances(pool.id), pool.link_read))
        have = reads.get(pool.id, NOTHING)
        yield at_most(f"host_link_read[{pool.id}]", have, limit.times(plan.instance.link_utilisation))


def host_link_write(plan: Plan) -> Iterator[Row]:
    """What is kept outside HBM leaves through the host links.

    writes of a to every store but HBM <= utilisation sum link_write N (all pools of a)  [B/s]
    """
    for option, have in host_writes(plan).items():
        pools = [pool for pool in plan.instance.pools if pool.option == option]
        limit = total(product(plan.instances(pool.id), pool.link_write) for pool in pools)
        yield at_most(f"host_link_write[{option}]", have, limit.times(plan.instance.link_utilisation))


def host_link_sum(plan: Plan) -> Iterator[Row]:
    """Both directions of a host link together have less than twice one.

    loads and writes of a <= utilisation sum link_both N (all pools of a)  [B/s]
    """
    traffic: dict[str, list[Amount]] = defaultdict(list)
    for pool_id, amount in host_reads(plan).items():
        traffic[plan.tables.pools[pool_id].option].append(amount)
    for option, amount in host_writes(plan).items():
        traffic[option].append(amount)
    for option, amounts in traffic.items():
        pools = [pool for pool in plan.instance.pools if pool.option == option]
        limit = total(product(plan.instances(pool.id), pool.link_both) for pool in pools)
        yield at_most(
            f"host_link_sum[{option}]", together(amounts), limit.times(plan.instance.link_utilisation)
        )


def network_in(plan: Plan) -> Iterator[Row]:
    """Remote hits, KV handed over and expert-parallel bytes come in through the servers' NICs.

    Sum path network + sum decode (rate transfer + exchange_bytes) on pools of s
    <= utilisation nic_s in_use[s]  [B/s]
    """
    terms: dict[str, list[Fraction]] = defaultdict(list)
    for routed in plan.decisions.routed:
        terms[routed.pool.sku].append(product(routed.rate, routed.path.network))
    for item in plan.decisions.decoded:
        terms[item.pool.sku].append(product(item.share, item.decode.rate, item.decode.transfer))
        terms[item.pool.sku].append(product(item.share, item.decode.exchange_bytes))
    for sku, values in terms.items():
        limit = of(product(plan.sku_in_use(sku), plan.tables.skus[sku].nic_bytes_s))
        yield at_most(f"network_in[{sku}]", total(values), limit.times(plan.instance.network_utilisation))


def network_out(plan: Plan) -> Iterator[Row]:
    """KV handed over leaves through the NICs of the SKU that made it, contexts for the facility through any.

    Sum path sent on pools of s <= utilisation nic_s in_use[s];
    sum path sent + writes to facility stores <= utilisation sum_s nic_s in_use[s]  [B/s]
    """
    share = plan.instance.network_utilisation
    nics = {sku.id: of(product(plan.sku_in_use(sku.id), sku.nic_bytes_s)) for sku in plan.instance.skus}
    for sku, nic in nics.items():
        routed_here = [routed for routed in plan.decisions.routed if routed.pool.sku == sku]
        handed = total(product(routed.rate, routed.path.sent) for routed in routed_here)
        yield at_most(f"network_out[{sku}]", handed, nic.times(share))
    sent = total(product(routed.rate, routed.path.sent) for routed in plan.decisions.routed)
    facility = [
        store.id for store in plan.instance.stores if store.scope == FACILITY and store.tier is not Tier.HBM
    ]
    written = together(plan.accounts[store].write for store in facility)
    yield at_most(f"network_out[{plan.t}]", sent.plus(written), together(nics.values()).times(share))


def nvme_endurance(plan: Plan) -> Iterator[Row]:
    """Drives, with those that replace them, outlive what is written on average over the horizon.

    mean-rate writes write_amplification seconds <= sum_u nvme_endurance in_use[u]
    + (nvme_endurance / drives) replaced[u]  [B]
    """
    for store in plan.instance.stores:
        if store.tier not in (Tier.NVME, Tier.STORAGE):
            continue
        builds = plan.tables.suppliers(store)
        worn = plan.writes_to(store.id, mean=True).times(plan.instance.write_amplification)
        fresh = [
            product(bought.replaced, bought.build.nvme_endurance) / bought.build.drives
            for bought in plan.decisions.bought.values()
            if bought.build in builds and bought.build.drives
        ]
        limit = of_machines(plan, builds, "nvme_endurance").plus(total(fresh))
        yield at_most(f"nvme_endurance[{store.id}]", worn.times(plan.tables.period.seconds), limit)


def drives_replaced(plan: Plan) -> Iterator[Row]:
    """Wear is a running cost only while it stays one: at most twenty sets of drives.

    replaced[u] <= 20 drives servers[u]  [drives]
    """
    for bought in plan.decisions.bought.values():
        limit = of(product(20, bought.build.drives, bought.count))
        yield at_most(f"drives_replaced[{bought.build.id}]", of(bought.replaced), limit)


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

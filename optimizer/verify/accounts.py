"""One store's account, from the decisions: what capacity and traffic laws and the stated rows rest on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from optimizer.instance.types import Build, Pool, Role, SharedPrefix, Store, Tier
from optimizer.verify.amounts import NOTHING, Amount, of, product, total
from optimizer.verify.tables import FACILITY

if TYPE_CHECKING:
    from optimizer.verify.plan import Plan


@dataclass(frozen=True)
class Account:
    """Bytes installed, usable, used on average and kept as margin; bytes per second at the peak."""

    installed: Amount
    usable: Amount
    used: Amount
    margin: Amount
    read: Amount
    write: Amount


def accounts(plan: Plan) -> dict[str, Account]:
    """The account of every store of the instance."""
    return {store.id: account(plan, store) for store in plan.instance.stores}


def account(plan: Plan, store: Store) -> Account:
    """The account of one store."""
    mean, variance = plan.occupancy.get(store.id, (NOTHING, NOTHING))
    used = mean.plus(total(shared_prefixes(plan, store))).plus(total(own_use(plan, store)))
    installed, usable, places = hbm_supply(plan, store) if store.tier is Tier.HBM else supply(plan, store)
    variance = variance.plus(running_variance(plan, store))
    return Account(
        installed=installed,
        usable=usable,
        used=used,
        margin=plan.margin(variance, places, store.slope),
        read=total(product(x.rate, x.path.load) for x in plan.hits_on_store.get(store.id, [])).plus(
            total(prefix_reads(plan, store))
        ),
        write=plan.writes_to(store.id),
    )


def running_variance(plan: Plan, store: Store) -> Amount:
    """psi times the sum of sequences x E[bytes^2] that mixed pools run in an HBM store; elsewhere nothing."""
    squares = NOTHING
    for pool in plan.tables.hbm_pools(store) if store.tier is Tier.HBM else []:
        if pool.role is Role.MIXED:
            squares = squares.plus(plan.on_pool(pool.id, "square"))
    return squares.times(plan.instance.dispersion)


def hbm_supply(plan: Plan, store: Store) -> tuple[Amount, Amount, Fraction]:
    """HBM of a shape: sum of room x instances over its prefill and mixed pools; n is their instances."""
    pools = plan.tables.hbm_pools(store)
    room = total(product(plan.instances(pool.id), pool.room) for pool in pools)
    return room, room, sum((plan.instances(pool.id) for pool in pools), Fraction(0))


def supply(plan: Plan, store: Store) -> tuple[Amount, Amount, Fraction]:
    """Installed bytes (of every machine bought), usable bytes (of those in use), and n, the places they are
    in: servers in use (for NVMe those with drives), enclosures, or for a facility store its builds."""
    if store.tier is Tier.CXL:
        row = plan.cxl(store.scope)
        kind = plan.tables.enclosures[store.scope]
        installed = of(product(row.modules, kind.module_bytes))
        return installed, of(product(row.modules, kind.usable_bytes)), Fraction(row.enclosures)
    builds = plan.tables.suppliers(store)
    drives = store.tier in (Tier.NVME, Tier.STORAGE)
    installed = of_machines(plan, builds, "nvme_bytes" if drives else "dram_bytes", in_use=False)
    usable = of_machines(plan, builds, "nvme_usable" if drives else "dram_usable")
    if store.scope == FACILITY:
        return installed, usable, sum((plan.chosen(build.id) for build in builds), Fraction(0))
    holding = [b for b in builds if b.drives or not drives]
    return installed, usable, sum((plan.in_use(build.id) for build in holding), Fraction(0))


def of_machines(plan: Plan, builds: Iterable[Build], field: str, *, in_use: bool = True) -> Amount:
    """Sum of a number of the builds over machines, in use or bought."""
    count = plan.in_use if in_use else plan.servers
    return total(product(count(build.id), getattr(build, field)) for build in builds)


def shared_prefixes(plan: Plan, store: Store) -> Iterator[Fraction]:
    """Bytes of every shared prefix kept at a store, times what it is kept once per."""
    for prefix in plan.tables.instance.shared_prefixes:
        if prefix.store == store.id:
            yield product(prefix.bytes, copies_of_prefix(plan, store, prefix))


def prefix_reads(plan: Plan, store: Store) -> Iterator[Fraction]:
    """Bytes per second of shared prefixes: reads x the requests of the class under the option on pools that
    the store's scope reaches."""
    for prefix in plan.instance.shared_prefixes:
        if prefix.store == store.id and prefix.reads:
            near = {pool.id for pool in pools_at(plan, store)}
            for routed in plan.decisions.routed:
                path = routed.path
                if path.cls == prefix.cls and path.option == prefix.option and path.pool in near:
                    yield product(routed.rate, prefix.reads)


def copies_of_prefix(plan: Plan, store: Store, prefix: SharedPrefix) -> Fraction:
    """instances: sum N; nodes: sum nodes N; once: option[a]. Over the option's prefill and mixed pools that
    the store's scope reaches: the shape for HBM, the SKU for a server's tier."""
    if prefix.per == "once":
        return plan.option(prefix.option)
    if prefix.per not in ("instances", "nodes"):
        raise ValueError(f"a shared prefix is kept per {prefix.per!r}, which the check does not know")
    reached = (
        plan.tables.hbm_pools(store) if store.tier is Tier.HBM else plan.prefilling(pools_at(plan, store))
    )
    return sum(
        (
            product(plan.instances(pool.id), 1 if prefix.per == "instances" else pool.nodes)
            for pool in reached
            if pool.option == prefix.option
        ),
        Fraction(0),
    )


def pools_at(plan: Plan, store: Store) -> Iterable[Pool]:
    """The pools on the SKU that a store belongs to; all of them where it belongs to no SKU."""
    return plan.tables.pools_on_sku.get(store.scope, plan.instance.pools)


def own_use(plan: Plan, store: Store) -> Iterator[Fraction]:
    """What takes a store's bytes besides idle contexts and shared prefixes.

    HBM: sum path held + sum sequences hbm decode of its mixed pools. Server DRAM (also as part of the DRAM
    pool): sum host_bytes N + sum sequences dram decode of the pools on those servers.
    """
    if store.tier is Tier.HBM:
        for pool in plan.tables.hbm_pools(store):
            yield from (product(x.rate, x.path.held) for x in plan.paths_on_pool.get(pool.id, []))
            if pool.role is Role.MIXED:
                yield plan.on_pool(pool.id, "hbm").value
    elif store.tier in (Tier.DRAM, Tier.DRAM_POOL):
        for sku in sorted({build.sku for build in plan.tables.suppliers(store) if build.sku is not None}):
            for pool in plan.tables.pools_on_sku[sku]:
                yield product(plan.instances(pool.id), pool.host_bytes)
                yield plan.on_pool(pool.id, "dram").value

"""Laws 3, 4 and 9: what is chosen and bought, and what the facility and the market allow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from optimizer.instance.types import Build
from optimizer.verify.amounts import NOTHING, Amount, of, product, total
from optimizer.verify.certificate import Row, at_least, at_most, equal
from optimizer.verify.plan import Plan


def one_option(plan: Plan) -> Iterator[Row]:
    """Every model runs one option.

    Sum_a option[a] = 1
    """
    for model in plan.instance.models:
        chosen = [plan.option(option.id) for option in plan.instance.options if option.model == model]
        yield equal(f"one_option[{model}]", total(chosen), of(1))


def build_chosen(plan: Plan) -> Iterator[Row]:
    """A build has its own largest number.

    servers[u] <= maximum_u chosen[u]  [machines]
    """
    for item in plan.decisions.bought.values():
        limit = of(product(item.build.maximum, plan.chosen(item.build.id)))
        yield at_most(f"build_chosen[{item.build.id},{plan.t}]", of(item.count), limit)


def max_builds(plan: Plan) -> Iterator[Row]:
    """Few different builds of a SKU, or of a node tier: a fleet that can be kept.

    Sum_u chosen[u] <= max_builds
    """
    groups: dict[str, list[Fraction]] = defaultdict(list)
    for item in plan.decisions.bought.values():
        group = item.build.sku if item.build.sku is not None else str(item.build.tier)
        groups[group].append(plan.chosen(item.build.id))
    for group, chosen in groups.items():
        yield at_most(f"max_builds[{group},{plan.t}]", total(chosen), of(plan.instance.limits.max_builds))


def spare_servers(plan: Plan) -> Iterator[Row]:
    """A build that is bought includes its spares.

    servers[u] >= spares chosen[u]  [machines]
    """
    for item in plan.decisions.bought.values():
        need = of(plan.instance.limits.spares * plan.chosen(item.build.id))
        yield at_least(f"spare_servers[{item.build.id},{plan.t}]", of(item.count), need)


def instances_fit_servers(plan: Plan) -> Iterator[Row]:
    """Instances run on the accelerators of servers in use.

    Sum_p gpus_charged instances[p] <= gpus_s in_use[s]  [accelerators]
    """
    for sku in plan.instance.skus:
        charged = [product(plan.instances(p.id), p.gpus_charged) for p in plan.tables.pools_on_sku[sku.id]]
        limit = of(product(sku.gpus, plan.sku_in_use(sku.id)))
        yield at_most(f"instances_fit_servers[{sku.id},{plan.t}]", total(charged), limit)


def server_limits(plan: Plan) -> Iterator[Row]:
    """The planner's own smallest and largest number of a SKU.

    minimum_s <= servers_of_sku[s] <= maximum_s  [servers]
    """
    for sku in plan.instance.skus:
        have = of(plan.servers_of_sku(sku.id))
        yield at_least(f"server_minimum[{sku.id},{plan.t}]", have, of(sku.minimum))
        yield at_most(f"server_maximum[{sku.id},{plan.t}]", have, of(sku.maximum))


def node_limits(plan: Plan) -> Iterator[Row]:
    """The planner's own smallest and largest number of a node type or a kind of enclosure.

    minimum <= machines of one node type <= maximum  [machines]
    """
    groups: dict[str, list[Build]] = defaultdict(list)
    for build in plan.instance.builds:
        if build.sku is None:
            groups[build.server].append(build)
    for server, builds in groups.items():
        have = total(plan.servers(build.id) for build in builds)
        yield at_least(f"node_limits[{server},min]", have, of(max(b.minimum for b in builds)))
        yield at_most(f"node_limits[{server},max]", have, of(max(b.maximum for b in builds)))
    for enclosure in plan.instance.enclosures:
        have = of(plan.cxl(enclosure.id).enclosures)
        yield at_least(f"node_limits[{enclosure.id},min]", have, of(enclosure.minimum))
        yield at_most(f"node_limits[{enclosure.id},max]", have, of(enclosure.maximum))


def supply(plan: Plan) -> Iterator[Row]:
    """No more servers than can be had and are there.

    servers_of_sku[s] <= supply_s + owned_s  [servers]
    """
    for sku in plan.instance.skus:
        if sku.supply is not None:
            have = of(plan.servers_of_sku(sku.id))
            yield at_most(f"supply[{sku.id},{plan.t}]", have, of(sku.supply + sku.owned))


def owned_used(plan: Plan) -> Iterator[Row]:
    """Owned servers are used once, and only where there is a server to be one of them.

    owned_used[s] <= owned_s and owned_used[s] <= servers_of_sku[s]  [servers]
    """
    for sku, used in plan.decisions.owned.items():
        yield at_most(f"owned_used[{sku},{plan.t}]", of(used), of(plan.tables.skus[sku].owned))
        yield at_most(f"owned_used[{sku},{plan.t}]", of(used), of(plan.servers_of_sku(sku)))


def minimum_order(plan: Plan) -> Iterator[Row]:
    """What is bought new is at least one order.

    servers_of_sku[s] - owned_used[s] >= minimum_order_s, if any is bought  [servers]
    """
    for sku in plan.instance.skus:
        owned = plan.decisions.owned.get(sku.id, Fraction(0))
        bought = plan.servers_of_sku(sku.id) - owned
        if bought > 0:
            yield at_least(f"minimum_order[{sku.id},least]", of(bought), of(sku.minimum_order))


def machine_total(plan: Plan, field: str, *, per_module: bool = True) -> Amount:
    """Sum of `power_w`, `rack_units` or `capex_usd` over every machine bought. Enclosures state it for
    enclosure, module and adapter, or for the enclosure alone."""
    terms = [product(item.count, getattr(item.build, field)) for item in plan.decisions.bought.values()]
    for row in plan.decisions.cxl.values():
        each = getattr(plan.tables.enclosures[row.enclosure], field)
        adapters = sum(host.adapters for host in row.hosts)
        units = zip(
            (row.enclosures, row.modules, adapters), each if per_module else (each, 0, 0), strict=True
        )
        terms += [product(count, number) for count, number in units]
    return total(terms)


def power(plan: Plan) -> Iterator[Row]:
    """Nameplate power of everything bought, spares too.

    Sum of machines, enclosures, modules and adapters x watts <= limit  [W]
    """
    if plan.instance.limits.power_w is not None:
        yield at_most(f"power[{plan.t}]", machine_total(plan, "power_w"), of(plan.instance.limits.power_w))


def rack_space(plan: Plan) -> Iterator[Row]:
    """Everything bought has to stand somewhere.

    Sum of machines and enclosures x rack units <= limit  [U]
    """
    if plan.instance.limits.rack_units is not None:
        have = machine_total(plan, "rack_units", per_module=False)
        yield at_most(f"rack_space[{plan.t}]", have, of(plan.instance.limits.rack_units))


def budget(plan: Plan) -> Iterator[Row]:
    """What may be spent on purchases; owned servers are not purchased.

    Sum of machines, enclosures, modules and adapters x capex - owned_used x saving <= limit  [USD]
    """
    if plan.instance.limits.budget_usd is not None:
        owned = plan.decisions.owned.items()
        saved = total(-product(used, plan.tables.skus[sku].owned_saving_usd) for sku, used in owned)
        have = machine_total(plan, "capex_usd").plus(saved)
        yield at_most(f"budget[{plan.t}]", have, of(plan.instance.limits.budget_usd))


def installed(plan: Plan, quantity: str) -> Amount:
    """A quantity the planner may limit: servers.<id>, accelerators.<id>, dram, cxl, nvme (bytes), power."""
    kind, _, name = quantity.partition(".")
    bought = plan.decisions.bought.values()
    if kind == "servers" and name:
        return total(item.count for item in bought if name in (item.build.sku, item.build.server))
    if kind == "accelerators" and name:
        skus = (sku for sku in plan.instance.skus if sku.accelerator == name)
        return total(sku.gpus * plan.servers_of_sku(sku.id) for sku in skus)
    if quantity == "dram":
        return total(product(item.count, item.build.dram_bytes) for item in bought)
    if quantity == "nvme":
        return total(product(item.count, item.build.nvme_bytes) for item in bought)
    if quantity == "cxl":
        rows = plan.decisions.cxl.values()
        return total(product(row.modules, plan.tables.enclosures[row.enclosure].module_bytes) for row in rows)
    if quantity == "power":
        return machine_total(plan, "power_w")
    raise ValueError(f"a user row limits {quantity!r}, which the check does not know")


def user(plan: Plan) -> Iterator[Row]:
    """The planner's own rows.

    minimum <= sum of coefficient x quantity <= maximum  [the planner's unit]
    """
    for limit in plan.instance.user_rows:
        have = NOTHING
        for quantity, coefficient in limit.terms:
            have = have.plus(installed(plan, quantity).times(coefficient))
        if limit.minimum is not None:
            yield at_least(f"user[{limit.name},min]", have, of(limit.minimum))
        if limit.maximum is not None:
            yield at_most(f"user[{limit.name},max]", have, of(limit.maximum))


LAWS = (
    one_option,
    build_chosen,
    max_builds,
    spare_servers,
    instances_fit_servers,
    server_limits,
    node_limits,
    supply,
    owned_used,
    minimum_order,
    power,
    rack_space,
    budget,
    user,
)

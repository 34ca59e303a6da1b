"""Laws 3 and 4: one option per model, few builds per SKU, instances that fit, and totals to branch on."""

from __future__ import annotations

from optimizer.formulation.law import law
from optimizer.formulation.model import Model, Rows


@law("one_option", unit="options", price="none: a choice has no price")
def one_option(model: Model, rows: Rows) -> None:
    """Two deployments of one model are two model entries.

    sum_a option[a] = 1   [options]
    """
    for name in model.instance.models:
        mine = [(1.0, model.pyomo.option[o.id]) for o in model.instance.options if o.model == name]
        rows.equal(name, mine, constant=1.0)


@law("build_chosen", unit="servers", price="none: it ties a count to a choice")
def build_chosen(model: Model, rows: Rows) -> None:
    """Machines are bought only of a chosen build.

    servers[u] <= maximum_u chosen[u]   [servers]
    """
    for b in model.instance.builds:
        rows.at_most(
            (b.id, model.t),
            [(1.0, model.pyomo.servers[b.id, model.t])],
            [(float(b.maximum), model.pyomo.chosen[b.id, model.t])],
        )


@law("max_builds", unit="builds", price="allowing one more build of this SKU")
def max_builds(model: Model, rows: Rows) -> None:
    """Few kinds of machine, so that spares and support stay simple.

    sum_u chosen[u] <= max_builds, per SKU and per kind of node   [builds]
    """
    kinds = {**model.tables.builds_of, **{tier.value: b for tier, b in model.tables.nodes_of.items()}}
    for kind, builds in kinds.items():
        rows.at_most(
            (kind, model.t),
            [(1.0, model.pyomo.chosen[b.id, model.t]) for b in builds],
            constant=float(model.instance.limits.max_builds),
        )


@law("spare_servers", unit="servers", price="one spare less")
def spare_servers(model: Model, rows: Rows) -> None:
    """Capacity rows count machines in use only: a used build keeps its spares besides.

    servers[u] >= spares chosen[u]   [servers]
    """
    if not model.instance.limits.spares:
        return
    for b in model.instance.builds:
        rows.at_most(
            (b.id, model.t),
            [(float(model.instance.limits.spares), model.pyomo.chosen[b.id, model.t])],
            [(1.0, model.pyomo.servers[b.id, model.t])],
        )


@law("instances_fit_servers", unit="accelerators", price="one more accelerator of this SKU")
def instances_fit_servers(model: Model, rows: Rows) -> None:
    """An instance takes whole accelerators of servers in use.

    sum_p gpus_charged_p instances[p] <= gpus_s in_use[s]   [accelerators]
    """
    for sku in model.instance.skus:
        supply = [(sku.gpus * c, v) for c, v in model.servers_in_use(sku.id)]
        pools = model.tables.pools_of_sku.get(sku.id, [])
        rows.at_most((sku.id, model.t), model.count(pools, "gpus_charged"), supply)


@law("servers_of_sku_total", unit="servers", price="none: it defines a total")
def servers_of_sku_total(model: Model, rows: Rows) -> None:
    """Integer totals give branching something that matters.

    servers_of_sku[s] = sum_u servers[u]   [servers]
    """
    for sku in model.instance.skus:
        builds = model.tables.builds_of.get(sku.id, [])
        rows.equal(
            (sku.id, model.t),
            [(1.0, model.pyomo.servers_of_sku[sku.id, model.t])],
            [(1.0, model.pyomo.servers[b.id, model.t]) for b in builds],
        )


@law("servers_in_all_total", unit="servers", price="none: it defines a total")
def servers_in_all_total(model: Model, rows: Rows) -> None:
    """All accelerator servers together.

    servers_in_all = sum_s servers_of_sku[s]   [servers]
    """
    rows.equal(
        model.t,
        [(1.0, model.pyomo.servers_in_all[model.t])],
        [(1.0, model.pyomo.servers_of_sku[s.id, model.t]) for s in model.instance.skus],
    )


@law("accelerators_of_model_total", unit="accelerators", price="none: it defines a total")
def accelerators_of_model_total(model: Model, rows: Rows) -> None:
    """All accelerators that run one model.

    accelerators_of_model[m] = sum_p gpus_p instances[p]   [accelerators]
    """
    for name in model.instance.models:
        pools = [p for p in model.instance.pools if p.model == name]
        rows.equal(
            (name, model.t),
            [(1.0, model.pyomo.accelerators_of_model[name, model.t])],
            model.count(pools, "gpus"),
        )


LAWS = (
    one_option,
    build_chosen,
    max_builds,
    spare_servers,
    instances_fit_servers,
    servers_of_sku_total,
    servers_in_all_total,
    accelerators_of_model_total,
)

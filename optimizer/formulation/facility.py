"""Law 9: what the building, the budget and the market give, and the planner's own rows."""

from __future__ import annotations

from optimizer.formulation.capacity import installed
from optimizer.formulation.contexts import Terms
from optimizer.formulation.law import law
from optimizer.formulation.model import KW, Model, Rows, scaled
from optimizer.formulation.tables import group
from optimizer.instance import Enclosure, Tier

THOUSAND_USD = 1e3


def _parts(model: Model, enclosure: Enclosure, worth: tuple[float, float, float]) -> Terms:
    """worth of (enclosure, module, adapter) x how many are bought."""
    per_enclosure, per_module, per_adapter = worth
    m, t = model.pyomo, model.t
    adapters = [(per_adapter, v) for (e, _, _), v in m.adapters.items() if e == enclosure.id]
    return [
        (per_enclosure, m.enclosures[enclosure.id, t]),
        (per_module, m.modules[enclosure.id, t]),
        *adapters,
    ]


def _machines(model: Model, worth: str) -> Terms:
    return [(getattr(b, worth), model.pyomo.servers[b.id, model.t]) for b in model.instance.builds]


def _power(model: Model) -> Terms:
    return [
        *_machines(model, "power_w"),
        *(t for e in model.instance.enclosures for t in _parts(model, e, e.power_w)),
    ]


@law("power", unit="kW of IT load", price="one more kW", size=KW)
def power(model: Model, rows: Rows) -> None:
    """The building feeds nameplate power.

    sum power x machines <= limit   [W]
    """
    if (limit := model.instance.limits.power_w) is not None:
        rows.at_most(model.t, _power(model), constant=limit)


@law("rack_space", unit="rack units", price="one more rack unit")
def rack_space(model: Model, rows: Rows) -> None:
    """Machines take rack units.

    sum rack_units x machines <= limit   [U]
    """
    if (limit := model.instance.limits.rack_units) is not None:
        boxes = [(e.rack_units, model.pyomo.enclosures[e.id, model.t]) for e in model.instance.enclosures]
        rows.at_most(model.t, [*_machines(model, "rack_units"), *boxes], constant=limit)


@law("budget", unit="thousand USD", price="a thousand dollars more to spend at once", size=THOUSAND_USD)
def budget(model: Model, rows: Rows) -> None:
    """Purchases stay within the budget of their period.

    sum capex - owned savings <= budget   [USD]
    """
    if (limit := model.instance.limits.budget_usd) is not None:
        parts = [t for e in model.instance.enclosures for t in _parts(model, e, e.capex_usd)]
        saved = [
            (-s.owned_saving_usd, model.pyomo.owned_used[s.id, model.t])
            for s in model.instance.skus
            if s.owned
        ]
        rows.at_most(model.t, [*_machines(model, "capex_usd"), *parts, *saved], constant=limit)


@law("supply", unit="servers", price="one more server that can be had")
def supply(model: Model, rows: Rows) -> None:
    """The market gives so many; what is owned comes besides.

    servers_of_sku[s] <= supply + owned   [servers]
    """
    for s in model.instance.skus:
        if s.supply is not None:
            total = [(1.0, model.pyomo.servers_of_sku[s.id, model.t])]
            rows.at_most((s.id, model.t), total, constant=float(s.supply + s.owned))


@law("server_maximum", unit="servers", price="allowing one more server of this SKU")
def server_maximum(model: Model, rows: Rows) -> None:
    """The planner's own upper limit on a SKU.

    servers_of_sku[s] <= maximum   [servers]
    """
    for s in model.instance.skus:
        total = [(1.0, model.pyomo.servers_of_sku[s.id, model.t])]
        rows.at_most((s.id, model.t), total, constant=float(s.maximum))


@law("server_minimum", unit="servers", price="insisting on one server less of this SKU")
def server_minimum(model: Model, rows: Rows) -> None:
    """The planner's own lower limit on a SKU.

    servers_of_sku[s] >= minimum   [servers]
    """
    for s in model.instance.skus:
        if s.minimum:
            total = [(-1.0, model.pyomo.servers_of_sku[s.id, model.t])]
            rows.at_most((s.id, model.t), total, constant=-float(s.minimum))


@law("node_limits", unit="nodes", price="moving the planner's own limit by one node")
def node_limits(model: Model, rows: Rows) -> None:
    """The planner's own limits on a kind of node, over all its builds.

    minimum <= sum_u servers[u] <= maximum   [nodes]
    """
    nodes = group((b for b in model.instance.builds if b.sku is None), lambda b: b.server)
    for server, builds in nodes.items():
        count = [(1.0, model.pyomo.servers[b.id, model.t]) for b in builds]
        rows.at_most((server, "max"), count, constant=float(max(b.maximum for b in builds)))
        if least := max(b.minimum for b in builds):
            rows.at_most((server, "min"), scaled(-1.0, count), constant=-float(least))


@law("minimum_order", unit="servers", price="a minimum order one smaller")
def minimum_order(model: Model, rows: Rows) -> None:
    """Some machines are sold only in lots; what is owned is not ordered.

    minimum_order ordered[s] <= servers_of_sku[s] - owned_used[s] <= maximum ordered[s]   [servers]
    """
    for s in model.instance.skus:
        if s.minimum_order <= 1:
            continue
        ordered = model.pyomo.ordered[s.id, model.t]
        bought = [(1.0, model.pyomo.servers_of_sku[s.id, model.t])]
        if s.owned:
            bought.append((-1.0, model.pyomo.owned_used[s.id, model.t]))
        rows.at_most((s.id, "any"), bought, [(float(s.maximum), ordered)])
        rows.at_most((s.id, "least"), [(float(s.minimum_order), ordered)], bought)


@law("owned_used_limit", unit="servers", price="one more owned server")
def owned_used_limit(model: Model, rows: Rows) -> None:
    """Owned servers replace purchases, no more than are used (how many there are is a bound).

    owned_used[s] <= servers_of_sku[s]   [servers]
    """
    for s in model.instance.skus:
        if s.owned:
            rows.at_most(
                (s.id, model.t),
                [(1.0, model.pyomo.owned_used[s.id, model.t])],
                [(1.0, model.pyomo.servers_of_sku[s.id, model.t])],
            )


def _quantity(model: Model, name: str) -> Terms:
    """A quantity of a user row: servers.<id>, accelerators.<id>, dram, cxl, nvme (bytes), power (W)."""
    kind, _, item = name.partition(".")
    if kind == "servers":
        return [
            (1.0, model.pyomo.servers[b.id, model.t])
            for b in model.instance.builds
            if item in (b.server, b.sku)
        ]
    if kind == "accelerators":
        return [
            (float(s.gpus), model.pyomo.servers_of_sku[s.id, model.t])
            for s in model.instance.skus
            if item in (s.id, s.accelerator)
        ]
    if kind == "power":
        return _power(model)
    if kind == "cxl":
        return list(installed(model, Tier.CXL))
    worth = {"dram": "dram_bytes", "nvme": "nvme_bytes"}[kind]
    return _machines(model, worth)


@law("user", unit="as written", price="relaxing the planner's own row by one")
def user(model: Model, rows: Rows) -> None:
    """The planner's own rows.

    minimum <= sum coefficient x quantity <= maximum   [as written]
    """
    for row in model.instance.user_rows:
        terms = [(weight * c, v) for name, weight in row.terms for c, v in _quantity(model, name)]
        size = max((abs(c) for c, _ in terms), default=1.0) or 1.0
        own = rows.in_units_of(size)
        if row.maximum is not None:
            own.at_most((row.name, "max"), terms, constant=row.maximum)
        if row.minimum is not None:
            own.at_most((row.name, "min"), scaled(-1.0, terms), constant=-row.minimum)


LAWS = (
    power,
    rack_space,
    budget,
    supply,
    server_maximum,
    server_minimum,
    node_limits,
    minimum_order,
    owned_used_limit,
    user,
)

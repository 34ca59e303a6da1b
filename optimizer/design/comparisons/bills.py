"""The same accelerators by the hour, and the same tokens by the million, beside what the layout costs."""

from __future__ import annotations

from collections import defaultdict

from optimizer.catalog import ApiPrice, Catalog
from optimizer.design.comparisons.result import ApiBill, ApiClass, ApiPlan, Rent, RentLine
from optimizer.design.tokens import Bill, bills
from optimizer.formulation import Model
from optimizer.instance import Layout
from optimizer.instance.money import Money
from optimizer.physics.money import annuity
from optimizer.workload import Workload

QUOTES = ("low", "base", "high")
KINDS = ("cached", "missed", "output")
RENT_RULE = (
    "All accelerators of the layout, spares too, every hour of the horizon at the card's quotes, discounted "
    "at the rate of the layout. A quote is all-in: power, network, room and a usual host. Beside it the "
    "accelerator servers with everything in them, their network, power, room and upkeep, less what is owned."
)
API_RULE = (
    "The tokens of the horizon at the mean rate, by kind, at the plan's prices of today; spread evenly over "
    "the horizon and discounted at the rate of the layout. A cached token of the layout is billed as cached."
)


def rent(workload: Workload, catalog: Catalog, model: Model, layout: Layout) -> Rent:
    """Rent at the low, base and high quote of each accelerator (USD over the horizon, discounted)."""
    gpus, usd = _accelerators(model, layout)
    lines, without = [], []
    for name, count in gpus.items():
        if catalog.accelerator(name).rent is None:
            without.append(name)
            continue
        low, base, high = (_rented(workload, catalog, name, count, quote) for quote in QUOTES)
        lines.append(
            RentLine(
                accelerator=name, accelerators=count, low_usd=low, base_usd=base, high_usd=high,
                layout_usd=usd[name],
            )
        )  # fmt: skip
    return Rent(lines=tuple(lines), without_quote=tuple(without), rule=RENT_RULE)


def _accelerators(model: Model, layout: Layout) -> tuple[dict[str, int], dict[str, float]]:
    """Accelerators of each kind, and what their servers cost less what is owned."""
    gpus: dict[str, int] = defaultdict(int)
    usd: dict[str, float] = defaultdict(float)
    for row in layout.servers:
        if sku := model.tables.skus.get(model.tables.builds[row.build].sku or ""):
            gpus[sku.accelerator] += sku.gpus * row.count
            usd[sku.accelerator] += row.usd
    for owned in layout.owned:
        usd[model.tables.skus[owned.sku].accelerator] += owned.usd
    return gpus, usd


def _rented(workload: Workload, catalog: Catalog, name: str, gpus: int, quote: str) -> float:
    """The rent of that many accelerators, as a study that rents them would be charged."""
    rate = Money.of(catalog.devices, workload).rate
    asked = workload.economics.model_copy(update={"ownership": "rent", "prices": quote, "discount": rate})
    money = Money.of(catalog.devices, workload.model_copy(update={"economics": asked}))
    return money.contract(catalog.accelerator(name), gpus).usd


def api_bill(workload: Workload, catalog: Catalog, model: Model, layout: Layout) -> ApiBill:
    """Each class's tokens at every price plan of its model (USD over the horizon, discounted)."""
    money = Money.of(catalog.devices, workload)
    evenly = annuity(money.rate, money.years) / money.years
    found, without = [], []
    of_class = bills(model, layout)
    for cls in model.instance.classes:
        prices = catalog.model(cls.model).api_prices
        if not prices:
            without.append(cls.model)
            continue
        bill = of_class[cls.id]
        plans = sorted((billed(bill, price, evenly) for price in prices), key=lambda plan: plan.usd)
        found.append(
            ApiClass(cls=cls.id, model=cls.model, layout_usd=sum(bill.usd.values()), plans=tuple(plans))
        )
    return ApiBill(classes=tuple(found), without_price=tuple(dict.fromkeys(without)), rule=API_RULE)


def billed(bill: Bill, price: ApiPrice, worth: float) -> ApiPlan:
    """Tokens at one plan; `worth` is today's value of a dollar of the bill."""
    cached, missed, output = (bill.tokens[kind] * getattr(price, kind) * worth for kind in KINDS)
    return ApiPlan(
        plan=price.plan, cached_usd=cached, missed_usd=missed, output_usd=output, source=price.source,
        date=price.date,
    )  # fmt: skip

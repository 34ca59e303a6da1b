"""Money: every stated dollar recomputed from the price lines of what is bought."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction

from optimizer.instance.types import CostLine
from optimizer.verify.amounts import Amount, of, product, total
from optimizer.verify.certificate import Row, Violation, stated
from optimizer.verify.plan import Plan
from optimizer.verify.reading import Bought

OWNED = "owned hardware"
REPLACEMENTS = "replacement drives"

Charge = tuple[str, Fraction]


def lines(cost: Iterable[CostLine], count: int | Fraction) -> Iterator[Charge]:
    """The price lines of one unit, times the units bought."""
    for line in cost:
        yield line.component, product(count, line.usd)


def server_charges(bought: Bought) -> Iterator[Charge]:
    """count x price lines + replaced x replacement_usd."""
    yield from lines(bought.build.cost, bought.count)
    yield REPLACEMENTS, product(bought.replaced, bought.build.replacement_usd)


def owned_charges(plan: Plan, sku: str) -> Iterator[Charge]:
    """used x owned_saving_usd, a saving."""
    yield OWNED, -product(plan.decisions.owned[sku], plan.tables.skus[sku].owned_saving_usd)


def cxl_charges(plan: Plan, enclosure_id: str) -> Iterator[Charge]:
    """Price lines of enclosures, modules and adapters."""
    row, enclosure = plan.cxl(enclosure_id), plan.tables.enclosures[enclosure_id]
    yield from lines(enclosure.enclosure_cost, row.enclosures)
    yield from lines(enclosure.module_cost, row.modules)
    yield from lines(enclosure.adapter_cost, sum(host.adapters for host in row.hosts))


def all_charges(plan: Plan) -> Iterator[Charge]:
    """Every charge of the layout."""
    for bought in plan.decisions.bought.values():
        yield from server_charges(bought)
    for sku in plan.decisions.owned:
        yield from owned_charges(plan, sku)
    for enclosure in plan.decisions.cxl:
        yield from cxl_charges(plan, enclosure)


def objective(plan: Plan) -> Amount:
    """The cost of the layout: sum of all charges."""
    return total(usd for _, usd in all_charges(plan))


def component_sums(plan: Plan) -> dict[str, Amount]:
    """The charges added up by component."""
    groups: dict[str, list[Fraction]] = defaultdict(list)
    for component, usd in all_charges(plan):
        groups[component].append(usd)
    return {component: total(terms) for component, terms in groups.items()}


def cost_rows(plan: Plan) -> Iterator[Row]:
    """Dollars per machine row, per component, and in all."""
    for bought in plan.decisions.bought.values():
        yield stated(
            f"ServerRow.usd[{bought.build.id}]", bought.row.usd, total(u for _, u in server_charges(bought))
        )
    for row in plan.decisions.layout.owned:
        if row.sku in plan.decisions.owned:
            yield stated(
                f"OwnedRow.usd[{row.sku}]", row.usd, total(u for _, u in owned_charges(plan, row.sku))
            )
    for enclosure, pool in plan.decisions.cxl.items():
        yield stated(f"CxlRow.usd[{enclosure}]", pool.usd, total(u for _, u in cxl_charges(plan, enclosure)))
    sums = component_sums(plan)
    given = {row.component: row.usd for row in plan.decisions.layout.costs}
    for component in sorted(sums.keys() | given.keys()):
        yield stated(f"CostRow.usd[{component}]", given.get(component, 0.0), sums.get(component, of(0)))
    yield stated("objective_usd", plan.decisions.layout.objective_usd, objective(plan))


def components_known(plan: Plan) -> Iterator[Violation]:
    """Every component stands once, and is one the instance has."""
    machines = [build.cost for build in plan.instance.builds]
    for enclosure in plan.instance.enclosures:
        machines += [enclosure.enclosure_cost, enclosure.module_cost, enclosure.adapter_cost]
    known = {OWNED, REPLACEMENTS} | {line.component for cost in machines for line in cost}
    seen: set[str] = set()
    for row in plan.decisions.layout.costs:
        if row.component not in known:
            yield Violation(f"admissible[CostRow,{row.component}]", "the instance has no such component")
        if row.component in seen:
            yield Violation(f"stated_once[CostRow,{row.component}]", "stands twice in the layout")
        seen.add(row.component)

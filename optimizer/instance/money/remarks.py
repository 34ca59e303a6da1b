"""What a reader of a result has to know about its money: warnings, and cost lines as assumptions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from optimizer.catalog import Accelerator, Catalog, Per, Preset, Server
from optimizer.instance.assumptions import estimates
from optimizer.instance.money.bill import Money
from optimizer.instance.money.lines import Line
from optimizer.instance.money.prices import YEAR
from optimizer.instance.types import Assumption
from optimizer.workload import Workload

HOUR = 3600.0


def warnings(workload: Workload, catalog: Catalog) -> tuple[str, ...]:
    """Choices that flip inside the prices' bands, and what a lease is taken to do after its term."""
    money = Money.of(catalog.devices, workload)
    named = [server for server in catalog.devices.servers if server.id in workload.hardware.servers]
    offered = [(server, catalog.accelerator(server.accelerator)) for server in named if server.accelerator]
    found = [
        text
        for one, other in combinations(offered, 2)
        if one[1].family == other[1].family and one[1].scale_up.domain != other[1].scale_up.domain
        if (text := _flips(money, one, other))
    ]
    return (*found, *_lease(money))


def _flips(money: Money, one: tuple[Server, Accelerator], other: tuple[Server, Accelerator]) -> str:
    """Whether the cheaper of two is the dearer one elsewhere in the bands: of one family, in two sizes of
    scale-up domain, they run the same models."""
    offers = [(server.id, _band(money, server, accelerator)) for server, accelerator in (one, other)]
    (cheap, (_, _, most)), (dear, (least, _, _)) = sorted(offers, key=lambda offer: offer[1][1])
    if most <= least:
        return ""
    unit = "an accelerator" if money.economics.ownership == "purchase" else "a GPU-hour"
    said = {name: _range(low, high) for name, (low, _, high) in offers}
    return (
        f"{cheap} at {said[cheap]} and {dear} at {said[dear]} {unit}: which of the two is cheaper flips "
        "inside these bands, so that the choice between them needs quotes (prices.servers)"
    )


def _band(money: Money, server: Server, accelerator: Accelerator) -> tuple[float, float, float]:
    """Low, base and high price of an accelerator with its part of the server; of an hour when hired."""
    if money.economics.ownership == "purchase":
        low, base, high = (money.price(server, preset) / server.accelerators for preset in Preset)
        return low, base, high
    price = accelerator.rent if money.economics.ownership == "rent" else accelerator.tco.get("lease_3yr")
    return (0.0, 0.0, 0.0) if price is None else (price.low * HOUR, price.base * HOUR, price.high * HOUR)


def _range(low: float, high: float) -> str:
    shown = [f"${value:,.0f}" if value >= 100 else f"${value:,.2f}" for value in (low, high)]
    return " to ".join(dict.fromkeys(shown))


def _lease(money: Money) -> Iterator[str]:
    """A lease ends before the horizon, or runs past it."""
    if money.economics.ownership != "lease":
        return
    term, horizon = money.devices.facility.lease_term.value / YEAR, money.years
    share = money.devices.facility.lease_upfront.value
    if horizon > term:
        yield (
            f"a lease runs {term:g} years, {share:.0%} of it paid at its start; for the rest of {horizon:g} "
            "years it is taken to be renewed at the same price a GPU-hour"
        )
    elif horizon < term:
        yield (
            f"a lease runs {term:g} years: {horizon:g} of them are counted, and the commitment beyond the "
            "horizon is not"
        )


def assumptions(workload: Workload, catalog: Catalog) -> Iterator[Assumption]:
    """Every estimated figure of the cost lines in force, and every figure of the planner's own."""
    money = Money.of(catalog.devices, workload)
    for line in money.in_force:
        if not _paid(line, workload, catalog):
            continue
        name = f"economics.lines.{line.card.id}"
        own = {f"{name}.price"} if line.own else set()
        if line.own:
            yield Assumption(name, f"{line.value:g} {line.card.price.unit}", "workload file", "input")
        if line.card.lead_time is not None and workload.economics.lead_time is not None:
            own.add(f"{name}.lead_time")
        yield from (found for found in estimates(name, line.card, money.preset) if found.name not in own)


def _paid(line: Line, workload: Workload, catalog: Catalog) -> bool:
    """Whether a line can reach the bill: where every machine is hired, contracts contain most of them."""
    if workload.economics.ownership == "purchase" or not line.card.in_contract:
        return True
    kinds = {server.id: server.kind for server in catalog.devices.servers}
    bought = any(kinds.get(name) != "accelerator" for name in workload.hardware.servers)
    return bought or line.card.per is Per.EQUIPMENT_PRICE

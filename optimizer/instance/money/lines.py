"""Which cost lines a study pays, and what is wrong with how a planner asked for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from optimizer.catalog import Catalog, CostCard, DeviceCatalog, Per, Preset
from optimizer.errors import Problem
from optimizer.files import alike
from optimizer.units.amounts import EXAMPLES, Amount, written
from optimizer.workload import Workload
from optimizer.workload.economics import Economics


@dataclass(frozen=True)
class Line:
    """A cost line in force: its card, its figure (SI, in the card's dimension), whether the planner's own."""

    card: CostCard
    value: float
    own: bool


def every(devices: DeviceCatalog) -> dict[str, CostCard]:
    """Every cost line of the catalogue by id, both bases of the network included."""
    network = devices.network
    return {card.id: card for card in (*network.itemised, network.share, *devices.cost_lines)}


def in_force(devices: DeviceCatalog, economics: Economics) -> tuple[Line, ...]:
    """The lines that are paid: the network's on its basis and the rest, as cards and planner switch them."""
    network = devices.network.itemised if economics.network == "itemised" else (devices.network.share,)
    found = []
    for card in (*network, *devices.cost_lines):
        choice = economics.lines.get(card.id)
        usual = card.enabled and card.only_in in (None, economics.space)
        if usual if choice is None else choice.on:
            own = choice.amount if choice is not None else None
            value = card.price.at(Preset(economics.prices)) if own is None else own.value
            found.append(Line(card, float(value), own is not None))
    return tuple(found)


def problems(workload: Workload, catalog: Catalog) -> Iterator[Problem]:
    """Every cost line that is named is one, has the right unit, and is not paid twice."""
    cards = every(catalog.devices)
    for name, choice in workload.economics.lines.items():
        card = cards.get(name)
        if card is None:
            remedy = alike(name, cards) or f"one of: {', '.join(cards)}"
            yield _at(name, "is no cost line of the catalogue", remedy)
            continue
        if choice.amount is not None:
            yield from _fitting(card, choice.amount)
        yield from _one_network(name, workload.economics, catalog.devices)
        if choice.on:
            yield from _not_in_contract(card, workload.economics)
            yield from _priced_modules(card, workload, catalog)
    yield from _lead_time_is_read(workload.economics, catalog.devices)


def _lead_time_is_read(economics: Economics, devices: DeviceCatalog) -> Iterator[Problem]:
    deposits = [card.id for card in devices.cost_lines if card.lead_time is not None]
    paid = {line.card.id for line in in_force(devices, economics)}
    if economics.lead_time is not None and not paid & {*deposits}:
        keys = ("economics", "lead_time")
        message = f"is how long a deposit lies idle, and none is paid: {', '.join(deposits)} is off"
        yield Problem("", ".".join(keys), message, "switch it on under economics.lines, or leave this", keys)


def _at(name: str, message: str, remedy: str) -> Problem:
    return Problem("", f"economics.lines.{name}", message, remedy, ("economics", "lines", name))


def _fitting(card: CostCard, amount: Amount) -> Iterator[Problem]:
    if amount.dimension != card.dimension:
        remedy = f'write it like "{EXAMPLES[card.dimension]}"'
        yield _at(card.id, f"is {card.charged}: {written(amount)} is no such figure", remedy)
    elif card.per.is_share and amount.value > 1:
        remedy = f'did you mean "{amount.value:g}%"?'
        yield _at(card.id, f"{written(amount)} is more than the price it is a share of", remedy)


def _one_network(name: str, economics: Economics, devices: DeviceCatalog) -> Iterator[Problem]:
    share = devices.network.share.id
    if economics.network == "itemised" and name == share:
        yield _at(name, "is the other basis of the network: it is itemised here",
                  "set economics.network to percent, or leave it out")
    if economics.network == "percent" and name in {card.id for card in devices.network.itemised}:
        yield _at(name, "is in the percentage already: economics.network is percent",
                  f"give {share}, or set economics.network to itemised")


def _not_in_contract(card: CostCard, economics: Economics) -> Iterator[Problem]:
    about_accelerators = card.per in (Per.ACCELERATOR, Per.ACCELERATOR_PRICE)
    if economics.ownership != "purchase" and card.in_contract and about_accelerators:
        paid = f"is in the price per GPU-hour already: economics.ownership is {economics.ownership}"
        yield _at(card.id, paid, "leave it out")


def _priced_modules(card: CostCard, workload: Workload, catalog: Catalog) -> Iterator[Problem]:
    if card.per is not Per.ACCELERATOR_PRICE:
        return
    servers = {server.id: server for server in catalog.devices.servers}
    named = [servers[name].accelerator for name in workload.hardware.servers if name in servers]
    for accelerator in dict.fromkeys(name for name in named if name):
        if catalog.accelerator(accelerator).module_price is None:
            yield _at(card.id, f"is a share of the price of a module, and none of {accelerator} is known",
                      "switch the line off")

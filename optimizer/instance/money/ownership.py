"""What an hour of an owned accelerator costs, from its cards, beside the figure that was published.

The published figures are a hyperscaler's over four years, from surveys of August 2025. They are recomputed by
the same bill that prices a layout, with that time's memory price; no card is adjusted to meet them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from optimizer.catalog import Catalog, Preset, Resale, Server
from optimizer.instance.money.bill import Money
from optimizer.instance.money.parts import Part, Things
from optimizer.instance.types import CostLine
from optimizer.physics.money import capital_recovery
from optimizer.workload.economics import Economics, Prices

PUBLISHED: Literal["hyperscaler_4yr"] = "hyperscaler_4yr"
HOUR = 3600.0
TOLERANCE = 0.25  # docs/physics.md section 8: a recomputed figure is within a quarter of the published one
APART = 0.10  # published figures further apart than this keep their order
ROOM_AND_POWER = 0.20  # share of the whole that room and electricity normally stay below

Space = Literal["owned-building", "colocation"]


@dataclass(frozen=True)
class Ownership:
    """One accelerator server: USD per accelerator and hour by component, and in all; the published figure.

    `placeholder`: the published figure is a multiple of another part's and no survey. `capital` is the
    horizon over its annuity.
    """

    server: str
    accelerator: str
    parts: tuple[CostLine, ...]
    published: float
    placeholder: bool
    capital: float

    @property
    def levelised(self) -> float:
        """USD per hour where the hours are discounted like the dollars: the price that just repays them."""
        return self.usd * self.capital

    @property
    def usd(self) -> float:
        """USD per accelerator and hour."""
        return sum(line.usd for line in self.parts)

    @property
    def deviation(self) -> float:
        """How far the recomputed figure is from the published one, as a share of it."""
        return self.usd / self.published - 1.0

    def share(self, *components: str) -> float:
        """What components make of the whole."""
        return sum(line.usd for line in self.parts if line.component in components) / self.usd


def terms(catalog: Catalog, space: Space = "owned-building") -> Money:
    """The terms of the published figures: a purchase, their horizon and memory price, network as a share."""
    check = catalog.devices.facility.ownership_check
    economics = {"horizon": f"{check.horizon.value!r} s", "network": "percent", "space": space}
    prices = {"dram": f"${check.dram.value!r}/B"}
    return Money(catalog.devices, Economics.model_validate(economics), Prices.model_validate(prices))


def ownership(catalog: Catalog, space: Space = "owned-building") -> tuple[Ownership, ...]:
    """Every server of accelerators with a published figure, in the catalogue's order."""
    money = terms(catalog, space)
    return tuple(
        _ownership(money, server, catalog)
        for server in catalog.devices.servers
        if server.accelerator and PUBLISHED in catalog.accelerator(server.accelerator).tco
    )


def out_of_order(rows: tuple[Ownership, ...]) -> Iterator[tuple[Ownership, Ownership]]:
    """Pairs of surveyed figures further apart than APART, cheaper first, that the cards turn round."""
    surveyed = sorted((row for row in rows if not row.placeholder), key=lambda row: row.published)
    for cheaper, dearer in combinations(surveyed, 2):
        if dearer.published > cheaper.published * (1 + APART) and dearer.usd <= cheaper.usd:
            yield cheaper, dearer


def _ownership(money: Money, server: Server, catalog: Catalog) -> Ownership:
    card = catalog.accelerator(server.accelerator or "")
    price, count = money.price(server), server.accelerators
    things = Things(count, 1, server.nic_links, price, money.modules(card, count))
    base = Part("accelerator servers", price, server.max_power.value, server.rack_units.value)
    bill = money.bill([base, *money.equipment(things), *_memory(money, server, catalog)], things)
    hours = count * money.economics.horizon / HOUR
    return Ownership(
        server=server.id,
        accelerator=card.id,
        parts=tuple(CostLine(line.component, line.usd / hours) for line in bill.cost),
        published=card.tco[PUBLISHED].at(Preset.BASE) * HOUR,
        capital=money.years * capital_recovery(money.rate, money.years),
        placeholder=card.id in catalog.devices.facility.ownership_check.placeholders,
    )


def _memory(money: Money, server: Server, catalog: Catalog) -> Iterator[Part]:
    """The smallest population with what such servers really carry, or the largest; none where it is fixed."""
    sized = sorted(
        (population.count * catalog.dimm(population.dimm).bytes.value, position)
        for position, population in enumerate(server.populations)
    )
    wanted = float(server.typical_dram) if server.typical_dram is not None else 0.0
    for size, position in sized:
        if size >= wanted or (size, position) == sized[-1]:
            chosen = server.populations[position]
            dimm = catalog.dimm(chosen.dimm)
            usd, watts = chosen.count * money.price(dimm), chosen.count * float(dimm.power)
            yield Part("dram", usd, watts, resale=Resale.MEMORY)
            return

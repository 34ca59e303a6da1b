"""The bill of a machine or part: purchase, upkeep, energy, room, residual value, cost lines in force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from optimizer.catalog import Accelerator, Paid, Per, Resale, Server
from optimizer.instance.money.lines import Line, in_force
from optimizer.instance.money.parts import Part, Things
from optimizer.instance.money.prices import YEAR, PriceList
from optimizer.instance.types import CostLine
from optimizer.physics.money import annuity, financing, renewed

NOTHING = Things()


class Bill(NamedTuple):
    """Discounted USD by component over the horizon; and what of it is spent at the start."""

    cost: tuple[CostLine, ...]
    upfront_usd: float


class Money(PriceList):
    """Prices in force, and the bills they make."""

    @cached_property
    def in_force(self) -> tuple[Line, ...]:
        """The cost lines of the study."""
        return in_force(self.devices, self.economics)

    def equipment(self, things: Things) -> list[Part]:
        """What cost lines buy with a machine: switch ports, optics, ..."""
        found = []
        for line in self.in_force:
            number = line.card.count * _number(line.card.per, things)
            if line.card.equipment and number:
                watts = float(line.card.power) * number if line.card.power is not None else 0.0
                found.append(Part(line.card.component, line.value * number, watts, resale=Resale.NETWORK))
        return found

    def bill(self, parts: Sequence[Part], things: Things = NOTHING, *, hired: bool = False) -> Bill:
        """What is paid for parts bought at the start, and for the things of their machine.

        `hired`: the machine itself is under a contract, and `parts` are what is bought beside it; of its
        things only what the contract does not contain is paid.
        """
        totals: dict[str, float] = {}
        spent = sum(part.usd for part in parts)
        for component, usd in self._standing(parts):
            totals[component] = totals.get(component, 0.0) + usd
        for line in self.in_force:
            if line.card.equipment:
                continue
            mine = NOTHING if hired and line.card.in_contract else things
            usd = self._charge(line, parts, mine)
            totals[line.card.component] = totals.get(line.card.component, 0.0) + usd
            spent += usd if line.card.paid is Paid.ONCE else 0.0
        return Bill(tuple(CostLine(name, usd) for name, usd in totals.items() if usd), spent)

    def _standing(self, parts: Sequence[Part]) -> Iterator[tuple[str, float]]:
        """Purchase, maintenance, energy, room and residual value: what every part has."""
        facility, worth = self.devices.facility, annuity(self.rate, self.years)
        for part in parts:
            drawn = part.watts * facility.mean_power_fraction.at(self.preset) * YEAR
            yield part.component, part.usd
            yield "maintenance", part.usd * facility.maintenance_per_year.at(self.preset) * worth
            yield "energy", drawn * self.electricity() * worth
            yield "space", part.watts * self.room() * YEAR * worth
            yield "residual value", -part.usd * self.sold(part.resale)

    def _charge(self, line: Line, parts: Sequence[Part], things: Things) -> float:
        """One line that is no equipment, discounted."""
        per = line.card.per
        if per is Per.EQUIPMENT_PRICE:
            number = sum(part.usd for part in parts)
        elif per is Per.RACK:
            number = sum(part.rack_units for part in parts) / self.devices.facility.rack_height.value
        elif per is Per.RESERVED_POWER:
            number = sum(part.watts for part in parts) * YEAR
        else:
            number = _number(per, things) * (YEAR if line.card.dimension == "USD/s" else 1.0)
        usd = line.value * line.card.count * number
        if line.card.paid is Paid.YEARLY:
            return usd * annuity(self.rate, self.years)
        return usd * financing(self.rate, self._lead_years(line)) if line.card.lead_time else usd

    def _lead_years(self, line: Line) -> float:
        """Years from order to delivery, for a deposit."""
        stated, card = self.economics.lead_time, line.card.lead_time
        seconds = card.at(self.preset) if stated is None and card is not None else stated or 0.0
        return seconds / YEAR

    def contract(self, accelerator: Accelerator, gpus: int) -> CostLine:
        """Rent or lease of one server's accelerators over the horizon, all-in (a quote is checked before).

        A $/GPU-hour figure already contains power, network and room: nothing of that is added. A lease is
        renewed at the same price until the horizon ends, its share upfront at the start of each term.
        """
        facility = self.devices.facility
        if self.economics.ownership == "lease":
            price, upfront = accelerator.tco.get("lease_3yr"), facility.lease_upfront.value
        else:
            price, upfront = accelerator.rent, 0.0
        if price is None:
            raise ValueError(f"{accelerator.id} has no {self.economics.ownership} price")
        yearly = price.at(self.preset) * gpus * YEAR
        paid = renewed(yearly, self.rate, self.years, facility.lease_term.value / YEAR, upfront)
        return CostLine(self.economics.ownership, paid)

    def owned_saving(self, server: Server) -> float:
        """What an owned server spares (USD): its price and what is charged once on it, less what it brings
        less at the end for its age."""
        price = self.price(server)
        things = Things(accelerators=server.accelerators, servers=1, server_usd=price)
        once = sum(
            self._charge(line, [Part("", price)], things)
            for line in self.in_force
            if line.card.paid is Paid.ONCE and not line.card.equipment
        )
        age = self.economics.owned_age.get(server.id, 0.0) / YEAR
        kind = Resale.SERVERS
        return price + once - price * (self.sold(kind) - self.sold(kind, age))


def _number(per: Per, things: Things) -> float:
    """How many of what a line is charged for a machine has; the price it is a share of, for a share."""
    return {
        Per.ACCELERATOR: things.accelerators,
        Per.SERVER: things.servers,
        Per.LINK: things.links,
        Per.SERVER_PRICE: things.server_usd,
        Per.ACCELERATOR_PRICE: things.accelerators_usd,
    }.get(per, 0.0)

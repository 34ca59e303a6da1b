"""Checks of money: one basis of power, one of the room, one of who owns the machines."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.files import Keys, alike
from optimizer.workload.checks.fault import Check, Fault
from optimizer.workload.schema import Workload

LONGEST = 50 * 365 * 86400.0


def power_of_a_contract_is_in_its_price(workload: Workload) -> Iterator[Fault]:
    """A price per GPU-hour contains power, cooling and room: no figure of these stands beside it."""
    ownership = workload.economics.ownership
    if ownership == "purchase":
        return
    for keys in _power_figures(workload):
        yield Fault(keys, f"is in the price per GPU-hour already: economics.ownership is {ownership}",
                    "leave it out; what is bought beside draws at the catalogue's prices")


def overhead_belongs_to_an_own_building(workload: Workload) -> Iterator[Fault]:
    """PUE is of a building of one's own: colocation rents kilowatts of IT load."""
    if workload.prices.pue is not None and _hosted(workload) and _bought(workload):
        yield Fault(("prices", "pue"), "stands beside economics.space: colocation, whose rent contains it",
                    "set economics.space to owned-building, or leave it out")


def rent_belongs_to_colocation(workload: Workload) -> Iterator[Fault]:
    """A rent per kilowatt is of colocation: an own building has PUE and racks instead."""
    if not _hosted(workload) and _bought(workload):
        for keys in _room_figures(workload):
            yield Fault(keys, "stands beside economics.space: owned-building",
                        "set economics.space to colocation, or leave it out")


def energy_is_paid_once(workload: Workload) -> Iterator[Fault]:
    """Where the rent contains the electricity, no price of electricity is given."""
    if workload.economics.colocation_includes_energy and _hosted(workload) and _bought(workload):
        for keys in _electricity_figures(workload):
            yield Fault(keys, "is in the rent already: economics.colocation_includes_energy is true",
                        "leave one of them out")


def owned_age_is_of_owned_servers(workload: Workload) -> Iterator[Fault]:
    """An age is of servers that are owned, and is not planned beside a budget.

    A budget spends purchase prices; what an old server brings less at the end is no purchase.
    """
    servers = workload.hardware.servers
    for name, age in workload.economics.owned_age.items():
        keys = ("economics", "owned_age", name)
        if name not in servers or not servers[name].owned:
            owned = [server for server, choice in servers.items() if choice.owned]
            yield Fault(keys, "names no server that is owned",
                        alike(name, owned) or f"set hardware.servers.{name}.owned")
        elif age > LONGEST:
            yield Fault(keys, f"{age / (365 * 86400):g} years is too old", "check the unit")
        elif age and workload.facility.budget is not None:
            yield Fault(keys, "is not planned beside facility.budget", "leave one of them out")


CHECKS: tuple[Check, ...] = (
    power_of_a_contract_is_in_its_price, overhead_belongs_to_an_own_building, rent_belongs_to_colocation,
    energy_is_paid_once, owned_age_is_of_owned_servers,
)


def _bought(workload: Workload) -> bool:
    return workload.economics.ownership == "purchase"


def _hosted(workload: Workload) -> bool:
    return workload.economics.space == "colocation"


def _electricity_figures(workload: Workload) -> Iterator[Keys]:
    if workload.prices.electricity is not None:
        yield "prices", "electricity"
    if "electricity" in workload.prices.scale:
        yield "prices", "scale", "electricity"


def _room_figures(workload: Workload) -> Iterator[Keys]:
    if workload.prices.colocation is not None:
        yield "prices", "colocation"
    if workload.economics.colocation_includes_energy:
        yield "economics", "colocation_includes_energy"


def _power_figures(workload: Workload) -> Iterator[Keys]:
    yield from _electricity_figures(workload)
    yield from _room_figures(workload)
    if workload.prices.pue is not None:
        yield "prices", "pue"

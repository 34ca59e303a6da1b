"""Cash flows of one purchase, discounted: the cost lines of every machine and part. USD before tax."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from optimizer.catalog import Accelerator, CxlModule, DeviceCatalog, Dimm, Drive, Preset, Server
from optimizer.instance.types import CostLine
from optimizer.physics.money import annuity, discount, residual
from optimizer.workload import Workload

YEAR = 365 * 86400.0
MONTHS = 12.0
DRAM_REFERENCE = "RDIMM-64"  # prices.dram is its $/byte; other modules and CXL media keep their ratio to it
NVME_REFERENCE = "9550-15.36"  # prices.nvme is its $/byte; other drives keep their ratio to it
UPFRONT = 0.25  # the 3-year lease column of the ownership-cost table is priced with 25% paid upfront


@dataclass(frozen=True)
class Part:
    """One thing on a bill: a component, its price, its nameplate power and its rack units."""

    component: str
    usd: float
    watts: float = 0.0
    rack_units: float = 0.0


@dataclass(frozen=True)
class Money:
    """Prices and rates in force for one study."""

    devices: DeviceCatalog
    workload: Workload

    @property
    def preset(self) -> Preset:
        """Which point of each price range applies."""
        return Preset(self.workload.economics.prices)

    @property
    def years(self) -> float:
        """The horizon."""
        return self.workload.economics.horizon / YEAR

    @property
    def rate(self) -> float:
        """Yearly discount rate."""
        stated = self.workload.economics.discount
        return self.devices.facility.cost_of_capital.at(self.preset) if stated is None else stated

    def price(self, part: object) -> float:
        """The price of a catalogue part (USD): the planner's own, or the preset scaled by its media."""
        identifier, own = part.id, self.workload.prices  # type: ignore[attr-defined]
        for table in (own.servers, own.parts):
            if identifier in table:
                return table[identifier]
        return part.price.at(self.preset) * self._media(part)  # type: ignore[attr-defined]

    def _media(self, part: object) -> float:
        """How far the planner's $/byte moves this part: DIMMs and CXL media with DRAM, drives with NVMe."""
        own, devices = self.workload.prices, self.devices
        if isinstance(part, (Dimm, CxlModule)):
            rdimm = next(d for d in devices.dimms if d.id == DRAM_REFERENCE)
            base = rdimm.price.at(self.preset) / rdimm.bytes.value
            return own.scale.get("dram", 1.0) * (1.0 if own.dram is None else own.dram / base)
        if isinstance(part, Drive):
            tlc = next(d for d in devices.drives if d.id == NVME_REFERENCE)
            base = tlc.price.at(self.preset) / tlc.bytes.value
            return own.scale.get("nvme", 1.0) * (1.0 if own.nvme is None else own.nvme / base)
        return 1.0

    def electricity(self) -> float:
        """USD per joule at the meter of the IT load: building overhead included where it is ours."""
        stated = self.workload.prices.electricity
        usd = self.devices.facility.electricity.at(self.preset) if stated is None else stated
        usd *= self.workload.prices.scale.get("electricity", 1.0)
        own_building = self.workload.economics.space == "owned-building"
        return usd * (self.devices.facility.pue.at(self.preset) if own_building else 1.0)

    def lines(self, parts: Iterable[Part]) -> tuple[CostLine, ...]:
        """Purchase, upkeep, energy, space and residual value of parts bought at the start."""
        totals: dict[str, float] = {}
        facility, years = self.devices.facility, self.years
        worth = annuity(self.rate, years)
        kept = residual(facility.residual_36_months.at(self.preset), years * MONTHS)
        sold = kept * discount(self.rate, years)
        for part in parts:
            drawn = part.watts * facility.mean_power_fraction.at(self.preset) * YEAR
            for component, usd in (
                (part.component, part.usd),
                ("maintenance", part.usd * facility.maintenance_per_year.at(self.preset) * worth),
                ("energy", drawn * self.electricity() * worth),
                ("space", self._space(part, worth)),
                ("residual value", -part.usd * sold),
            ):
                totals[component] = totals.get(component, 0.0) + usd
        return tuple(CostLine(name, usd) for name, usd in totals.items() if usd)

    def _space(self, part: Part, worth: float) -> float:
        facility = self.devices.facility
        if self.workload.economics.space == "colocation":
            return part.watts * facility.colocation.at(self.preset) * YEAR * worth
        return facility.rack_price.at(self.preset) * part.rack_units / facility.rack_height.value

    def network(self, server: Server, price: float) -> Part:
        """Switch ports, optics and cables of one machine's links."""
        net = self.devices.network
        if self.workload.economics.network == "percent":
            return Part("network", price * net.percent_of_capex.at(self.preset))
        optics = net.optics_per_link
        usd = net.switch_port.at(self.preset) + optics * net.optic.at(self.preset)
        watts = net.switch_port_power.value + optics * net.optic_power.value
        return Part("network", server.nic_links * usd, server.nic_links * watts)

    def contract(self, accelerator: Accelerator, gpus: int) -> CostLine:
        """Rent or lease of one server's accelerators over the horizon, all-in (a quote is checked before).

        A $/GPU-hour figure already contains power, network and room: nothing of that is added.
        """
        if self.workload.economics.ownership == "lease":
            price, upfront = accelerator.tco.get("lease_3yr"), UPFRONT
        else:
            price, upfront = accelerator.rent, 0.0
        if price is None:
            raise ValueError(f"{accelerator.id} has no {self.workload.economics.ownership} price")
        yearly = price.at(self.preset) * gpus * YEAR
        paid = yearly * (upfront * self.years + (1 - upfront) * annuity(self.rate, self.years))
        return CostLine(self.workload.economics.ownership, paid)

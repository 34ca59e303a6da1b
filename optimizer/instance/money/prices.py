"""Prices and rates in force: the catalogue's at a preset, or the planner's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from optimizer.catalog import Accelerator, CxlModule, DeviceCatalog, Dimm, Drive, Preset, Resale
from optimizer.physics.money import discount, residual
from optimizer.workload import Workload
from optimizer.workload.economics import Economics, Prices

YEAR = 365 * 86400.0
MONTHS = 12.0
DRAM_REFERENCE = "RDIMM-64"  # prices.dram is its $/byte; other modules and CXL media keep their ratio to it
NVME_REFERENCE = "9550-15.36"  # prices.nvme is its $/byte; other drives keep their ratio to it


@dataclass(frozen=True)
class PriceList:
    """Prices and rates of one study."""

    devices: DeviceCatalog
    economics: Economics
    prices: Prices

    @classmethod
    def of(cls, devices: DeviceCatalog, workload: Workload) -> Self:
        """Those of a workload."""
        return cls(devices, workload.economics, workload.prices)

    @property
    def preset(self) -> Preset:
        """Which point of each price range applies."""
        return Preset(self.economics.prices)

    @property
    def years(self) -> float:
        """The horizon."""
        return self.economics.horizon / YEAR

    @property
    def rate(self) -> float:
        """Yearly discount rate."""
        stated = self.economics.discount
        return self.devices.facility.cost_of_capital.at(self.preset) if stated is None else stated

    def price(self, part: object, preset: Preset | None = None) -> float:
        """The price of a catalogue part (USD): the planner's own, or the preset scaled by its media."""
        at = preset or self.preset
        identifier, own = part.id, self.prices  # type: ignore[attr-defined]
        for table in (own.servers, own.parts):
            if identifier in table:
                return table[identifier]
        return part.price.at(at) * self._media(part, at)  # type: ignore[attr-defined]

    def modules(self, accelerator: Accelerator, count: int) -> float:
        """The price of so many accelerators as spare parts (USD); 0 where no price of a module is known."""
        price = accelerator.module_price
        return 0.0 if price is None else count * float(price.at(self.preset))

    def _media(self, part: object, at: Preset) -> float:
        """How far the planner's $/byte moves this part: DIMMs and CXL media with DRAM, drives with NVMe."""
        own, devices = self.prices, self.devices
        if isinstance(part, (Dimm, CxlModule)):
            rdimm = next(d for d in devices.dimms if d.id == DRAM_REFERENCE)
            base = rdimm.price.at(at) / rdimm.bytes.value
            return own.scale.get("dram", 1.0) * (1.0 if own.dram is None else own.dram / base)
        if isinstance(part, Drive):
            tlc = next(d for d in devices.drives if d.id == NVME_REFERENCE)
            base = tlc.price.at(at) / tlc.bytes.value
            return own.scale.get("nvme", 1.0) * (1.0 if own.nvme is None else own.nvme / base)
        return 1.0

    def electricity(self) -> float:
        """USD per joule of the IT load: with the building's overhead where it is ours, nothing where the
        rent of the room contains it."""
        ours = self.economics.space == "owned-building"
        if not ours and self.economics.colocation_includes_energy:
            return 0.0
        stated = self.prices.electricity
        usd = self.devices.facility.electricity.at(self.preset) if stated is None else stated
        return float(usd * self.prices.scale.get("electricity", 1.0) * (self.pue() if ours else 1.0))

    def pue(self) -> float:
        """Watts at the meter of one's own building for a watt of IT load."""
        stated = self.prices.pue
        return float(self.devices.facility.pue.at(self.preset) if stated is None else stated)

    def room(self) -> float:
        """Rent of colocation, USD per reserved watt and second; nothing in one's own building."""
        if self.economics.space != "colocation":
            return 0.0
        stated = self.prices.colocation
        return float(self.devices.facility.colocation.at(self.preset) if stated is None else stated)

    def sold(self, kind: Resale, age: float = 0.0) -> float:
        """Share of its price that a part of a kind brings at the end of the horizon, discounted.

        `age` (years) is how old it is at the start: f^((horizon + age) / 36 months).
        """
        card, stated = self.devices.facility, self.economics.residual_36_months
        kept = card.residual_by_kind.get(kind, card.residual_36_months).at(self.preset)
        after = residual(float(kept if stated is None else stated), (self.years + age) * MONTHS)
        return after * discount(self.rate, self.years)

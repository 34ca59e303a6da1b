"""The cards of what money is paid for beside machines: cost lines, the network, the building, contracts."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from optimizer.catalog.figures import (
    Bytes,
    Count,
    Figure,
    Fraction,
    Price,
    PriceFraction,
    PricePerJoule,
    PricePerWattSecond,
    RackUnits,
    Seconds,
    Watts,
)
from optimizer.units import Strict, quantity
from optimizer.units.amounts import EXAMPLES, Amount, parse_amount
from optimizer.units.quantities import UnitError

LineId = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=40)]
Positive = Annotated[int, Field(gt=0)]


class Per(StrEnum):
    """What a cost line is charged for."""

    ACCELERATOR = "accelerator"
    SERVER = "server"
    LINK = "link"
    RACK = "rack"
    RESERVED_POWER = "reserved kW"
    SERVER_PRICE = "server price"
    ACCELERATOR_PRICE = "accelerator price"
    EQUIPMENT_PRICE = "equipment price"

    @property
    def is_share(self) -> bool:
        """Whether the line is a share of a price."""
        return self in (Per.SERVER_PRICE, Per.ACCELERATOR_PRICE, Per.EQUIPMENT_PRICE)


class Paid(StrEnum):
    """When: at the start, or every year of the horizon."""

    ONCE = "once"
    YEARLY = "yearly"


class Resale(StrEnum):
    """Kinds of parts that may keep their worth differently."""

    SERVERS = "servers"
    MEMORY = "memory"
    DRIVES = "drives"
    CXL = "cxl"
    NETWORK = "network"


class LinePrice(Price):
    """A price range whose own suffix says its dimension: `$500`, `$4,500/year`, `$12/kW-month` or `3%`."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        read: dict[str, Amount] = {}
        for name in ("low", "base", "high"):
            if name in data:
                try:
                    read[name] = parse_amount(data[name])
                except UnitError as fault:
                    raise ValueError(f"{name}: {fault} (one of: {', '.join(EXAMPLES.values())})") from None
        dimensions = {amount.dimension for amount in read.values()}
        if len(dimensions) > 1:
            raise ValueError(f"low, base and high are not of one kind: {', '.join(sorted(dimensions))}")
        return {**data, **{name: amount.value for name, amount in read.items()}, "unit": "".join(dimensions)}


class LeadTime(Price):
    """A range of time from order to delivery (seconds)."""

    low: quantity("seconds", ge=0)  # type: ignore[valid-type]
    base: quantity("seconds", ge=0)  # type: ignore[valid-type]
    high: quantity("seconds", ge=0)  # type: ignore[valid-type]
    unit: Literal["seconds"] = "seconds"


class CostCard(Strict):
    """One line of the bill beside the price of a machine: what it is charged for, how much, when; a switch.

    `count` things a unit (two optics a link). `power` is what one thing draws (W). `equipment` lines are
    hardware: maintained, resold at the end, part of the equipment price that other lines are a share of.
    `in_contract`: a price per GPU-hour of a leased or rented server contains the line. `only_in`: on by
    default in that space alone. `lead_time` makes the line a deposit: what is charged is the cost of
    capital of that share of the price over the time from order to delivery.
    """

    id: LineId
    what: str = Field(min_length=1)
    per: Per
    paid: Paid
    price: LinePrice
    count: Positive = 1
    power: Watts | None = None
    equipment: bool = False
    in_contract: bool = True
    only_in: Literal["owned-building", "colocation"] | None = None
    lead_time: LeadTime | None = None
    enabled: bool = False

    @property
    def component(self) -> str:
        """The line's name among the costs of a result."""
        return self.id.replace("-", " ")

    @property
    def dimension(self) -> str:
        """What its price must be in."""
        if self.per.is_share:
            return "fraction"
        if self.per is Per.RESERVED_POWER:
            return "USD/W-s"
        return "USD" if self.paid is Paid.ONCE else "USD/s"

    @property
    def charged(self) -> str:
        """For what and when, in words."""
        what = f"a share of the {self.per.value}" if self.per.is_share else f"charged per {self.per.value}"
        return f"{what}, paid {self.paid.value}"

    @model_validator(mode="after")
    def _consistent(self) -> CostCard:
        if self.price.unit != self.dimension:
            example = EXAMPLES[self.dimension]
            raise ValueError(f'what is {self.charged}, is written like "{example}"')
        if self.per is Per.RESERVED_POWER and self.paid is Paid.ONCE:
            raise ValueError("reserved power is paid yearly")
        if self.equipment and (self.paid is Paid.YEARLY or self.per is Per.EQUIPMENT_PRICE):
            raise ValueError("equipment is bought once, and is no share of the equipment price")
        if self.lead_time is not None and (self.paid, self.per) != (Paid.ONCE, Per.EQUIPMENT_PRICE):
            raise ValueError("a deposit is a share of the equipment price, paid once")
        return self


class Network(Strict):
    """The cluster network on two bases, of which a study uses one: by line, or as a share of servers."""

    itemised: tuple[CostCard, ...]
    share: CostCard

    @model_validator(mode="after")
    def _share_is_one(self) -> Network:
        if self.share.per is not Per.SERVER_PRICE:
            raise ValueError("the share basis of the network is per server price")
        return self


class BytePrice(Figure):
    """A price per byte (USD/byte)."""

    value: quantity("USD/byte", ge=0)  # type: ignore[valid-type]
    unit: Literal["USD/byte"] = "USD/byte"


class OwnershipCheck(Strict):
    """How the published ownership figures were set, for recomputing them from the cards.

    `dram` is the price of the 64 GB module (USD per byte) at the time of the survey. `placeholders` are
    accelerators whose published figure is no survey but a multiple of another part's.
    """

    horizon: Seconds
    dram: BytePrice
    placeholders: tuple[str, ...] = ()


class Facility(Strict):
    """Figures of the building and of money. Presets pick low, base or high.

    `residual_36_months` is the share of its price a part is worth after 36 months; `residual_by_kind`
    overrides it where a kind of part has a figure of its own. `lease_term` and `lease_upfront` are those
    of the accelerators' lease prices.
    """

    electricity: PricePerJoule
    pue: PriceFraction
    colocation: PricePerWattSecond
    maintenance_per_year: PriceFraction
    cost_of_capital: PriceFraction
    residual_36_months: PriceFraction
    residual_by_kind: dict[Resale, PriceFraction] = Field(default_factory=dict)
    mean_power_fraction: PriceFraction
    lease_term: Seconds
    lease_upfront: Fraction
    ownership_check: OwnershipCheck
    rack_height: RackUnits
    design_utilisation: Fraction
    dram_usable: Fraction
    nvme_usable: Fraction
    write_amplification: Fraction
    hbm_utilisation: Fraction
    runtime_bytes: Bytes
    graph_bytes_per_sequence: Bytes
    index_logit_bytes: Count
    safety_quantile: Fraction
    tp_hop: Seconds

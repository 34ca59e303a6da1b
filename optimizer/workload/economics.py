"""How things are paid for, and the planner's own prices: the money of a workload file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from optimizer.units import Strict, quantity
from optimizer.units.amounts import AMOUNTS, EXAMPLES, Amount, parse_amount
from optimizer.units.quantities import UnitError

if TYPE_CHECKING:
    Share = float
else:
    Share = quantity("fraction", ge=0, le=1)
PresetName = Literal["low", "base", "high"]
PricedKind = Literal["dram", "nvme", "electricity"]
_SWITCH = {"on": True, "off": False, True: True, False: False}


class LineChoice(NamedTuple):
    """What a planner says of one cost line: its switch, or a figure that also switches it on."""

    on: bool
    amount: Amount | None = None


def _line(value: object) -> LineChoice:
    """`on`, `off`, or a figure with its unit. The unit is held against the line's card later."""
    if isinstance(value, (str, bool)) and value in _SWITCH:
        return LineChoice(_SWITCH[value])
    try:
        return LineChoice(True, parse_amount(value))
    except UnitError as fault:
        raise ValueError(f"{fault} (one of: on, off, {', '.join(EXAMPLES.values())})") from None


def _said(choice: LineChoice) -> list[object]:
    """The choice as plain data, for the digest of a workload."""
    return [choice.on, *(choice.amount or ())]


if TYPE_CHECKING:
    Choice = LineChoice
else:
    Choice = Annotated[
        LineChoice, PlainValidator(_line), PlainSerializer(_said),
        WithJsonSchema({"switch": ["on", "off"], "dimensions": list(AMOUNTS)}),
    ]  # fmt: skip


class Economics(Strict):
    """Ownership, horizon, and which price preset; rates are real or nominal as stated, before tax.

    `lines` switches the catalogue's cost lines on or off, or gives a figure of the planner's own.
    `colocation_includes_energy`: the rent per kilowatt contains the electricity. `lead_time` is the time
    from order to delivery that a deposit lies idle. `owned_age`: how old the owned servers of a SKU are.
    """

    ownership: Literal["purchase", "lease", "rent"] = "purchase"
    horizon: quantity("seconds", gt=0) = 5 * 365 * 86400.0  # type: ignore[valid-type]
    discount: Share | None = None
    terms: Literal["nominal", "real"] = "nominal"
    prices: PresetName = "base"
    space: Literal["owned-building", "colocation"] = "colocation"
    colocation_includes_energy: bool = False
    network: Literal["itemised", "percent"] = "itemised"
    lines: dict[str, Choice] = Field(default_factory=dict)
    residual_36_months: Share | None = None
    lead_time: quantity("seconds", ge=0) | None = None  # type: ignore[valid-type]
    owned_age: dict[str, quantity("seconds", ge=0)] = Field(default_factory=dict)  # type: ignore[valid-type]


class Prices(Strict):
    """Overrides. dram is $/byte of the 64 GB RDIMM, nvme of the TLC drives; other modules, CXL media and
    QLC keep their ratio to them. `servers` and `parts` set one item's price. `scale` multiplies the
    catalogue's price, or the one given here: `--set prices.dram=x3` sets it where no price is given.
    `pue` and `colocation` are the building's: overhead on energy in one's own, or rent of another's."""

    dram: quantity("USD/byte", gt=0) | None = None  # type: ignore[valid-type]
    nvme: quantity("USD/byte", gt=0) | None = None  # type: ignore[valid-type]
    electricity: quantity("USD/J", ge=0) | None = None  # type: ignore[valid-type]
    pue: Annotated[float, Field(ge=1, le=10)] | None = None
    colocation: quantity("USD/W-s", ge=0) | None = None  # type: ignore[valid-type]
    servers: dict[str, quantity("USD", ge=0)] = Field(default_factory=dict)  # type: ignore[valid-type]
    parts: dict[str, quantity("USD", ge=0)] = Field(default_factory=dict)  # type: ignore[valid-type]
    scale: dict[PricedKind, Annotated[float, Field(gt=0, le=1000)]] = Field(default_factory=dict)

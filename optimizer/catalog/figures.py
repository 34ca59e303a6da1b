"""A number with its provenance: what every card is made of."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from optimizer.units import Strict, quantity


class Basis(StrEnum):
    """How a number came to be known."""

    MEASURED = "measured"
    VENDOR = "vendor"
    ESTIMATED = "estimated"


class Preset(StrEnum):
    """Which point of a price's range a study uses."""

    LOW = "low"
    BASE = "base"
    HIGH = "high"


class Sourced(Strict):
    """A block whose numbers share one provenance."""

    source: str = Field(min_length=1, description="source key of this card, or an address")
    date: str = Field(pattern=r"^\d{4}(-\d{2}(-\d{2})?|-Q\d|-H\d)?$")
    basis: Basis
    note: str = ""


class Figure(Sourced):
    """One sourced number. Subclasses fix the dimension; `value` is SI."""

    value: float
    unit: str = ""

    def __float__(self) -> float:
        return self.value


def _figure(name: str, dimension: str) -> type[Figure]:
    return type(name, (Figure,), {
        "__annotations__": {"value": quantity(dimension), "unit": Literal[dimension]},
        "__doc__": f"A sourced number in {dimension}.", "__module__": __name__, "unit": dimension,
    })


Bytes: Any = _figure("Bytes", "bytes")
BytesPerSecond: Any = _figure("BytesPerSecond", "bytes/s")
Seconds: Any = _figure("Seconds", "seconds")
FlopPerSecond: Any = _figure("FlopPerSecond", "FLOP/s")
Watts: Any = _figure("Watts", "watts")
Tokens: Any = _figure("Tokens", "tokens")
Fraction: Any = _figure("Fraction", "fraction")
Count: Any = _figure("Count", "count")
Points: Any = _figure("Points", "points")
RackUnits: Any = _figure("RackUnits", "rack units")


class Price(Sourced):
    """A price as a range: low, base, high, in the dimension of the subclass, USD before tax."""

    low: float
    base: float
    high: float
    unit: str = ""

    def at(self, preset: Preset) -> float:
        """The price at a preset, SI."""
        return float(getattr(self, preset.value))


def _price(name: str, dimension: str) -> type[Price]:
    q = quantity(dimension)
    return type(name, (Price,), {
        "__annotations__": {"low": q, "base": q, "high": q, "unit": Literal[dimension]},
        "__doc__": f"A sourced price range in {dimension}.", "__module__": __name__, "unit": dimension,
    })


UnitPrice: Any = _price("UnitPrice", "USD")
PricePerSecond: Any = _price("PricePerSecond", "USD/s")
PricePerJoule: Any = _price("PricePerJoule", "USD/J")
PricePerWattSecond: Any = _price("PricePerWattSecond", "USD/W-s")
PriceFraction: Any = _price("PriceFraction", "fraction")
PricePerToken: Any = _price("PricePerToken", "USD/token")

"""Numbers of cards with every digit they have, in the unit people quote: they can be read back."""

from __future__ import annotations

from decimal import Decimal

from optimizer.catalog import Figure, Price
from optimizer.units import DIMENSIONS

DIGITS = 14  # significant ones: more than any card states, fewer than binary fractions spoil
_LADDERS = {
    "bytes": (("B", 0.0), ("kB", 1e4), ("MB", 1e6), ("GB", 1e9), ("TB", 1e15)),
    "bytes/s": (("B/s", 0.0), ("MB/s", 1e6), ("GB/s", 1e9)),
    "seconds": (("ns", 0.0), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("days", 86400.0)),
    "watts": (("W", 0.0), ("kW", 1e4)),
}
"""Dimension -> suffixes with the value from which each is used. Memory stays in GB up to a drive's wear."""
_ONE = {
    "FLOP/s": "TFLOP/s", "USD": "$", "USD/byte": "$/GB", "USD/s": "$/h", "USD/J": "$/kWh",
    "USD/W-s": "$/kW-month", "USD/token": "$/Mtok", "tokens": "tok", "points": "pt", "rack units": "U",
}


def exact(value: float, unit: str) -> str:
    """An SI amount of a dimension with its suffix, as the parser of cards reads it back."""
    suffix = _suffix(abs(value), unit)
    number = digits(value / DIMENSIONS[unit][suffix]) if unit else digits(value)
    if suffix.startswith("$"):
        cents = "0" if len(number.partition(".")[2]) == 1 else ""
        return f"${number}{cents}{suffix[1:]}"
    return f"{number}{suffix}" if suffix in ("", "%") else f"{number} {suffix}"


def digits(value: float) -> str:
    """A number in full, with separators between thousands and no exponent."""
    text = f"{Decimal(f'{value:.{DIGITS}g}'):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def stated(figure: Figure | Price) -> str:
    """The number of a figure; of a price its base, and its range where it has one."""
    if isinstance(figure, Figure):
        return exact(figure.value, figure.unit)
    base, low, high = (exact(v, figure.unit) for v in (figure.base, figure.low, figure.high))
    return base if low == high else f"{base} ({low} to {high})"


def _suffix(size: float, unit: str) -> str:
    if unit == "fraction":
        return "%" if size < 1 else ""
    ladder = _LADDERS.get(unit)
    if ladder is None:
        return _ONE.get(unit, "")
    return [suffix for suffix, least in ladder if size >= least][-1]

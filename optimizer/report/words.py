"""Numbers and names as a planner reads them: with units and separators, and no more digits than help."""

from __future__ import annotations

import math

MONTH = 365 * 86400.0 / 12
YEAR = 365 * 86400.0

TIERS = {
    "hbm": "HBM", "dram": "DRAM", "cxl": "CXL", "dram_pool": "DRAM pool", "nvme": "NVMe",
    "storage": "storage",
}
"""Every tier from fast to slow, as it is written on a page."""

_SPANS = (("day", 86400.0), ("h", 3600.0), ("min", 60.0))
_DECIMAL = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_SHORT = {"tokens": "tok", "points": "pt", "rack units": "U"}
_PER_KWH, _PER_KW_MONTH = 3.6e6, 1e3 * MONTH
_ROUND = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def number(value: float, figures: int = 4) -> str:
    """The figures that count, and separators: 1,328 or 32.67 or 0.00109."""
    if not math.isfinite(value):
        return "unlimited" if value > 0 else "none"
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    places = max(0, figures - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(places, 12)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def usd(value: float) -> str:
    """Dollars: whole ones from a hundred on, four figures below."""
    sign = "-" if value < 0 else ""
    size = abs(value)
    if size < 0.005:
        return f"{sign}${number(size)}"
    return f"{sign}${size:,.0f}" if size >= 100 else f"{sign}${size:,.2f}"


def per_million(value: float | None) -> str:
    """Dollars per million tokens; a dash where there are no such tokens."""
    if value is None:
        return "-"
    return f"${value:,.2f}" if value >= 10 else f"${value:.4f}"


def share(value: float) -> str:
    """A share in per cent, one place; small ones are not called zero, nor near ones all."""
    if 0 < value < 0.0005:
        return "<0.1%"
    if 0.9995 <= value < 1 - 1e-9:
        return ">99.9%"
    return "100%" if value >= 0.9995 else f"{value:.1%}"


def rate(value: float) -> str:
    """Requests per second, two places."""
    return "<0.01" if 0 < value < 0.005 else f"{value:,.2f}"


def span(seconds: float) -> str:
    """A time in the largest unit that leaves a short number: 30 s, 2 min, 1.5 h, 1 day."""
    if not math.isfinite(seconds):
        return "ever"
    for name, size in _SPANS:
        if seconds >= size:
            amount = f"{seconds / size:.4g}"
            return f"{amount} {name}{'s' if name == 'day' and amount != '1' else ''}"
    return f"{seconds:.4g} s"


def horizon(seconds: float) -> str:
    """The horizon: whole years, or months."""
    years, months = seconds / YEAR, seconds / MONTH
    if math.isclose(years, round(years)) and years >= 1:
        return f"{years:.0f} year{'' if round(years) == 1 else 's'}"
    return f"{months:.4g} months"


def size(value: float, figures: int = 4) -> str:
    """Bytes where a table has no room for both conventions: decimal units."""
    for factor, unit in _DECIMAL:
        if abs(value) >= factor:
            return f"{number(value / factor, figures)} {unit}"
    return f"{number(value, figures)} B"


def scaled(value: float, unit: str, figures: int = 4) -> str:
    """A large SI amount with its prefix: 98 GFLOP, 3.35 TB/s."""
    for factor, prefix in _ROUND:
        if abs(value) >= factor:
            return f"{number(value / factor, figures)} {prefix}{unit}"
    return f"{number(value, figures)} {unit}"


def tier(name: str) -> str:
    """A tier as it is written on a page."""
    return TIERS.get(name, name)


def codec(location: str) -> str:
    """The codec in a location's name, `storage@facility+lossless-ans/option`; nothing where it is plain."""
    _, plus, coded = location.partition("+")
    return coded.split("/", 1)[0] if plus else ""


def counted(count: int, noun: str, plural: str = "s") -> str:
    """`1 row`, `12 rows`, `2 classes`."""
    return f"{count:,} {noun}{'' if count == 1 else plural}"


def si(value: float, unit: str) -> str:
    """An SI amount of a card or an assumption in the unit people quote: $/h, $/kWh, GB, ms."""
    match unit:
        case "USD":
            return usd(value)
        case "USD/s":
            return f"${value * 3600:,.2f}/h"
        case "USD/J":
            return f"${value * _PER_KWH:.3f}/kWh"
        case "USD/W-s":
            return f"${value * _PER_KW_MONTH:,.0f}/kW-mo"
        case "USD/token":
            return f"${number(value * 1e6)}/Mtok"
        case "bytes":
            return size(value)
        case "bytes/s":
            return f"{size(value)}/s"
        case "FLOP/s":
            return scaled(value, unit)
        case "watts":
            return scaled(value, "W")
        case "seconds":
            return span(value) if value >= 1 else brief(value)
        case "fraction":
            return f"{value * 100:.4g}%" if abs(value) <= 1 else number(value)
        case "tokens" | "points" | "rack units":
            return f"{number(value)} {_SHORT[unit]}"
        case _:
            return number(value)


def brief(seconds: float) -> str:
    """A time below a second."""
    if seconds >= 1e-3:
        return f"{number(seconds * 1e3)} ms"
    return f"{number(seconds * 1e6)} us" if seconds >= 1e-6 else f"{number(seconds * 1e9)} ns"

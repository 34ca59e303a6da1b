"""The suffix tables of every dimension, and the one parser that reads them."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping

_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_BYTES = {f"{p}B": f for p, f in (_DECIMAL | _BINARY).items()}
_HOUR = 3600.0
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY  # the year of a price sheet: 8,760 hours
_MONTH = _YEAR / 12

DIMENSIONS: Mapping[str, Mapping[str, float]] = {
    "bytes": _BYTES,
    "bytes/s": {f"{unit}/s": f for unit, f in _BYTES.items()},
    "seconds": {
        "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": _HOUR, "day": _DAY,
        "days": _DAY, "month": _MONTH, "months": _MONTH, "year": _YEAR, "years": _YEAR,
    },
    "FLOP/s": {f"{p}FLOP/s": f for p, f in _DECIMAL.items()},
    "FLOP": {f"{p}FLOP": f for p, f in _DECIMAL.items()},
    "watts": {"W": 1.0, "kW": 1e3, "MW": 1e6},
    "USD": {"$": 1.0, "$k": 1e3, "$M": 1e6},
    "USD/byte": {f"$/{unit}": 1.0 / f for unit, f in _BYTES.items()},
    "USD/s": {"$/h": 1.0 / _HOUR, "$/month": 1.0 / _MONTH, "$/year": 1.0 / _YEAR},
    "USD/J": {"$/kWh": 1.0 / 3.6e6, "$/MWh": 1.0 / 3.6e9},
    "USD/W-s": {"$/kW-month": 1.0 / (1e3 * _MONTH), "$/kW-year": 1.0 / (1e3 * _YEAR)},
    "USD/token": {"$/Mtok": 1e-6, "$/ktok": 1e-3},
    "1/s": {"req/s": 1.0, "req/min": 1 / 60.0, "req/h": 1 / _HOUR, "req/day": 1 / _DAY},
    "tokens": {"tok": 1.0, "ktok": 1e3, "Mtok": 1e6, "Kitok": 2.0**10, "Mitok": 2.0**20},
    "tokens/s": {"tok/s": 1.0, "ktok/s": 1e3, "Mtok/s": 1e6},
    "IO/s": {"IOPS": 1.0, "kIOPS": 1e3, "MIOPS": 1e6},
    "fraction": {"": 1.0, "%": 0.01},
    "count": {"": 1.0},
    "points": {"pt": 1.0},
    "rack units": {"U": 1.0},
}
"""Dimension -> suffix -> factor to SI. Money is USD before tax; a month is 1/12 of a 365-day year."""

USUAL: Mapping[str, str] = {
    "bytes": "GB", "bytes/s": "GB/s", "seconds": "s", "FLOP/s": "TFLOP/s", "FLOP": "TFLOP", "watts": "kW",
    "USD": "$", "USD/byte": "$/GB", "USD/s": "$/h", "USD/J": "$/kWh", "USD/W-s": "$/kW-month",
    "USD/token": "$/Mtok", "1/s": "req/s", "tokens": "tok", "tokens/s": "tok/s", "IO/s": "IOPS",
    "fraction": "%", "points": "pt", "rack units": "U",
}
"""Dimension -> the suffix a planner is likely to mean."""

WHOLE = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+(?:_[0-9]+)*)"
"""Digits; a comma is between thousands and nowhere else, so that `1,5 GB` is not read as 15 GB."""
NUMBER = rf"(?:{WHOLE}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
"""A number without its sign."""

_QUANTITY = re.compile(rf"([+-]?{NUMBER})(?![0-9])\s*(.*)", re.DOTALL)
_LONGEST = 80


class UnitError(ValueError):
    """A quantity that cannot be read: the message says what was found and what would do."""


def suffixes(dimension: str) -> list[str]:
    """The suffixes a quantity of this dimension may carry, as written."""
    return [suffix for suffix in DIMENSIONS[dimension] if suffix]


def parse(text: object, dimension: str) -> float:
    """Read a suffixed quantity and return its SI value.

    `"$20/GB"` and `"20 $/GB"` are the same; `"$345k"` too. Raises UnitError for a missing, unknown or
    wrong-case suffix, and for anything not a finite number.
    """
    table = DIMENSIONS[dimension]
    if isinstance(text, bool) or not isinstance(text, (int, float, str)):
        raise UnitError(f"expected {_example(dimension)}, found {type(text).__name__}")
    if not isinstance(text, str):
        if "" in table:
            return _finite(float(text), text)
        raise UnitError(f'"{text}" has no unit (did you mean "{example(text, dimension)}"?)')
    shown = _cut(text)
    parts = split(text)
    if parts is None:
        raise UnitError(f'"{shown}" is not a number with a unit, expected {_example(dimension)}')
    written, suffix = parts
    number = _finite(parse_number(written), shown)
    if suffix in table:
        return _finite(number * table[suffix], shown)
    raise UnitError(_wrong_suffix(shown, _cut(written), suffix, dimension))


def split(text: str) -> tuple[str, str] | None:
    """The number of a quantity as it is written, and its suffix: `$20/GB` is (`20`, `$/GB`). None for other
    texts."""
    body = text.strip()
    money = body.startswith(("$", "-$"))
    match = _QUANTITY.fullmatch(body.replace("$", "", 1) if money else body)
    return (match[1], ("$" if money else "") + match[2].strip()) if match else None


def parse_number(number: str) -> float:
    """The value of a number as `split` gives it; infinity where it is too large."""
    return float(number.replace(",", "").replace("_", ""))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def _finite(number: float, shown: object) -> float:
    if not math.isfinite(number):
        raise UnitError(f'"{shown}" is not a finite number')
    return number


def _example(dimension: str) -> str:
    return f'{dimension} such as "{example(1, dimension)}"' if suffixes(dimension) else "a plain number"


def example(number: object, dimension: str, suffix: str = "") -> str:
    """A number with a suffix, the usual one if none is named, as people write it: 2.5 s, $4/GB, 30%."""
    suffix = suffix or USUAL[dimension]
    if suffix.startswith("$"):
        return f"${number}{suffix[1:]}"
    return f"{number}{suffix}" if suffix == "%" else f"{number} {suffix}"


def _wrong_suffix(shown: str, number: str, suffix: str, dimension: str) -> str:
    known = suffixes(dimension)
    if not suffix:
        return f'"{shown}" has no unit (did you mean "{example(number, dimension)}"?)'
    if re.match(r",[0-9]", suffix):
        meant = shown.replace(",", ".") if shown.count(",") == 1 else example(1500, dimension)
        return f'"{shown}" has a comma that is not between thousands (did you mean "{meant}"?)'
    alike = [unit for unit in known if unit.lower() == suffix.lower()]
    if alike:
        return f'"{suffix}" is not a unit here: case matters (did you mean "{number} {alike[0]}"?)'
    near = difflib.get_close_matches(suffix, known, n=1, cutoff=0.6)
    remedy = f'did you mean "{number} {near[0]}"?' if near else f"one of: {', '.join(known) or 'none'}"
    return f'"{_cut(suffix)}" is not a unit of {dimension} ({remedy})'


def format_bytes(value: float) -> str:
    """Memory for people, in GB and GiB both: `141.0 GB (131.3 GiB)`; TB and TiB past a thousand."""
    if abs(value) >= 1e12:
        return f"{value / 1e12:,.2f} TB ({value / 2**40:,.2f} TiB)"
    return f"{value / 1e9:,.1f} GB ({value / 2**30:,.1f} GiB)"

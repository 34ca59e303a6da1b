"""Reading the values of options: suffixed quantities, refused as usage errors."""

from __future__ import annotations

import re
from dataclasses import dataclass

import typer

_WHOLE, _DECIMAL = re.compile(r"[+-]?\d{1,18}"), re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SHOWN = 60


def gap(text: str | float) -> float:
    """A share such as 0.01 or `1%`."""
    value = _quantity(text, "fraction")
    if not 0 <= value < 1:
        raise typer.BadParameter(f'"{_cut(text)}" is not a gap: 0 or more and below 1, such as 0.01 or 1%')
    return value


def share(text: str | float) -> float:
    """A share such as 0.01 or `1%`."""
    value = _quantity(text, "fraction")
    if not 0 <= value < 1:
        raise typer.BadParameter(f'"{_cut(text)}" is not a share: 0 or more and below 1, such as 0.01 or 1%')
    return value


def seconds(text: str | float) -> float:
    """A time with its unit, such as `60 s` or `5 min`; a float is a default of ours, in seconds."""
    value = text if isinstance(text, float) else _quantity(text, "seconds", "s")
    if value <= 0:
        raise typer.BadParameter(f'"{_cut(text)}" is not a time limit: above 0, such as "60 s"')
    return value


def tokens(text: str | float) -> float:
    """A length such as `128 Kitok`, `100 ktok` or a whole number of tokens."""
    if isinstance(text, float):
        return text
    plain = text.replace(",", "").replace("_", "").strip()
    value = float(plain) if plain.isascii() and plain.isdigit() else _quantity(text, "tokens")
    if not 1 <= value < 1e12:
        raise typer.BadParameter(f'"{_cut(text)}" is not a context length: 1 token or more')
    return value


@dataclass(frozen=True)
class Capacities:
    """Sizes of a cache, in blocks, rising."""

    blocks: tuple[int, ...]


def capacities(text: str) -> Capacities:
    """Whole numbers of blocks between commas, such as `1000,4000`."""
    parts = [part.strip().replace("_", "") for part in text.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,15}", part) and int(part) > 0 for part in parts):
        raise typer.BadParameter(f'"{_cut(text)}" is no list of whole numbers of blocks, such as 1000,4000')
    return Capacities(tuple(sorted({int(part) for part in parts})))


def rate(text: str | float) -> float:
    """Requests over time, such as `20 req/s` or `900 req/h`."""
    value = _quantity(text, "1/s", "req/s")
    if not 1e-4 <= value <= 1e9:
        raise typer.BadParameter(f'"{_cut(text)}" is not a rate: above 0, such as "20 req/s"')
    return value


def class_name(text: str) -> str:
    """The name of a traffic class."""
    from optimizer.workload.presets import LONGEST_NAME, NAME

    if len(text) > LONGEST_NAME or not NAME.fullmatch(text):
        said = f"letters, digits, '.', '_' and '-', at most {LONGEST_NAME}, a letter or digit first"
        raise typer.BadParameter(f'"{_cut(text)}" is no name of a class: {said}')
    return text


def of_class(text: str) -> tuple[str, str]:
    """`[CLASS=]FILE`: the class ("" where none is named) and the file. A path may hold a `=` behind a `/`."""
    cls, equals, file = text.partition("=")
    if not equals or "/" in cls:
        return "", text
    return cls.strip(), file


def solver_option(text: str) -> tuple[str, bool | int | float | str]:
    """`NAME=VALUE` of an option of the solver: a value is a flag, a number, or else a word."""
    name, equals, value = text.partition("=")
    name, value = name.strip(), value.strip()
    if not equals or not name:
        raise typer.BadParameter(f'"{_cut(text)}" is not NAME=VALUE, such as mip_heuristic_effort=0.1')
    if value.lower() in ("true", "false"):
        return name, value.lower() == "true"
    if _WHOLE.fullmatch(value):
        return name, int(value)
    return name, float(value) if _DECIMAL.fullmatch(value) else value


def _cut(text: str | float) -> str:
    return str(text)[:_SHOWN]


def _quantity(text: str | float, dimension: str, likely: str = "") -> float:
    from optimizer.units import UnitError, parse

    try:
        return parse(text, dimension)
    except UnitError as fault:
        said = str(fault)
    number = str(text).strip()
    if likely and number.replace(".", "", 1).isdigit():
        said = f'"{number}" has no unit (did you mean "{number} {likely}"?)'
    raise typer.BadParameter(said)

"""An amount of money whose dimension its own suffix says: the price of a cost line, wherever it stands."""

from __future__ import annotations

from typing import NamedTuple

from optimizer.units.quantities import USUAL, UnitError, parse

AMOUNTS = ("fraction", "USD", "USD/s", "USD/W-s")
"""What a cost line may be charged in: a share of a price, once, by the year, by the kilowatt and month."""

LONGEST = 80  # characters of what was found that are shown

EXAMPLES = {"fraction": "3%", "USD": "$500", "USD/s": "$4,500/year", "USD/W-s": "$12/kW-month"}


class Amount(NamedTuple):
    """An SI number and its dimension, one of `AMOUNTS`."""

    value: float
    dimension: str


def parse_amount(text: object) -> Amount:
    """Read `3%`, `$500`, `$4,500/year` or `$12/kW-month`; no suffix belongs to two of them.

    Raises UnitError for anything else, and for an amount below nothing.
    """
    for dimension in AMOUNTS:
        try:
            found = Amount(parse(text, dimension), dimension)
        except UnitError:
            continue
        if found.value < 0:
            raise UnitError(f'"{text}" is less than nothing')
        return found
    shown = str(text)
    raise UnitError(f'"{shown[:LONGEST]}{"..." if len(shown) > LONGEST else ""}" is no amount of a cost line')


def written(amount: Amount) -> str:
    """The amount with the suffix people use: `3%`, `$4500/year`."""
    suffix = {"USD/s": "$/year"}.get(amount.dimension, USUAL[amount.dimension])
    number = f"{amount.value / parse(f'1 {suffix}', amount.dimension):.6g}"
    return f"{number}%" if suffix == "%" else f"${number}{suffix[1:]}"

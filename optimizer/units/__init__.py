"""Suffixed quantities at the door, SI floats inside.

`parse("141 GB", "bytes")` is 141e9. Suffixes are case-sensitive (`Gb` is not `GB`), and a bare number
where a unit is due is refused: a unit is never assumed.
"""

from optimizer.units.fields import Strict, quantity
from optimizer.units.patterns import pattern
from optimizer.units.quantities import (
    DIMENSIONS,
    UnitError,
    example,
    format_bytes,
    parse,
    parse_number,
    split,
    suffixes,
)

__all__ = [
    "DIMENSIONS", "Strict", "UnitError", "example", "format_bytes", "parse", "parse_number", "pattern",
    "quantity", "split", "suffixes",
]

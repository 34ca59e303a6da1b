"""Checks of how large a quantity is: beyond what any facility has, a unit is wrong or a digit too many.

The bounds are far from every real plan. They keep the arithmetic of what follows finite, and a solver away
from numbers that it would take for zero or infinity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from optimizer.files import Keys, schema
from optimizer.units import DIMENSIONS
from optimizer.units.amounts import Amount
from optimizer.units.quantities import USUAL
from optimizer.workload.checks.fault import Check, Fault
from optimizer.workload.schema import Workload

YEAR = 365 * 86400.0
BOUNDS: Mapping[str, tuple[float, float]] = {
    "bytes": (1.0, 1e21), "bytes/s": (1.0, 1e18), "seconds": (1e-6, 100 * YEAR), "FLOP/s": (1.0, 1e24),
    "FLOP": (1.0, 1e30), "watts": (1.0, 1e12), "USD": (1e-2, 1e15), "USD/byte": (1e-18, 1e-3),
    "USD/s": (1e-12, 1e6), "USD/J": (1e-15, 1e-2), "USD/W-s": (1e-15, 1e-2), "USD/token": (1e-15, 1e3),
    "1/s": (1e-4, 1e9), "tokens": (1e-3, 1e9), "tokens/s": (1e-2, 1e8), "IO/s": (1e-3, 1e15),
    "fraction": (1e-9, 1e3), "count": (1e-9, 1e9), "points": (1e-6, 1e3), "rack units": (1e-3, 1e9),
}  # fmt: skip
"""Dimension -> the smallest and the largest size that is planned with, SI; nothing at all is no size."""
PLAIN = (1e-3, 1e6)
"""The same of numbers without a dimension: ratios, shares of time."""
OWN = (1e-15, 1e21)
"""The same of the numbers of a row of the planner's own, which may be about bytes."""
TYPICAL: Mapping[str, float] = {"dram": 1e12, "cxl": 1e12, "nvme": 1e13, "power": 1e4}
"""About how much of a quantity a machine has: bytes, watts; one of everything else."""
APART = 1e11
"""Times that the terms of a row of one's own may differ: a smaller one would be lost beside the largest."""
MOST = 10_000_000
"""The largest whole number."""


def quantities_are_plausible(workload: Workload) -> Iterator[Fault]:
    """Every quantity is of a size that some facility could have."""
    yield from _inside((), workload)


def _inside(keys: Keys, value: Any, annotation: Any = None) -> Iterator[Fault]:
    """The faults of a value and of what is in it."""
    if isinstance(value, BaseModel):
        for name, info in (schema.fields(type(value)) or {}).items():
            attribute = name if name in type(value).model_fields else f"{name}_"
            own = schema.dimension(info) or info.annotation
            yield from _inside((*keys, name), getattr(value, attribute), own)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _inside((*keys, name), item, annotation)
    elif isinstance(value, Amount):
        yield from _sized(keys, value.value, value.dimension)
    elif isinstance(value, tuple):
        for position, item in enumerate(value):
            at = keys if hasattr(value, "_fields") else (*keys, position)  # a named tuple is one value
            yield from _inside(at, item, annotation)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _sized(keys, value, dimension_of(annotation))


def _sized(keys: Keys, value: float, dimension: str) -> Iterator[Fault]:
    low, high = _bounds(keys, value, dimension)
    if value == 0 or low <= abs(value) <= high:
        return
    unit = USUAL.get(dimension, "")
    factor = DIMENSIONS[dimension][unit] if dimension and unit else 1.0
    size, bound = value / factor, (high if abs(value) > high else low) / factor
    more = "more" if abs(value) > high else "less"
    message = f"{size:.4g} {unit}".rstrip() + f" is {more} than is planned with ({bound:.4g})"
    yield Fault(keys, message, "check the unit and the digits")


def _bounds(keys: Keys, value: float, dimension: str) -> tuple[float, float]:
    if dimension:
        return BOUNDS[dimension]
    if keys[:1] == ("limits",):
        return OWN
    return (1, MOST) if isinstance(value, int) else PLAIN


def own_rows_are_balanced(workload: Workload) -> Iterator[Fault]:
    """No term of a row of the planner's own is lost beside another: bytes beside machines need a factor."""
    for name, limit in workload.limits.items():
        weights = {term: abs(c) * TYPICAL.get(term, 1.0) for term, c in limit.terms.items() if c}
        if weights and max(weights.values()) > APART * min(weights.values()):
            least, most = min(weights, key=weights.__getitem__), max(weights, key=weights.__getitem__)
            ratio = weights[most] / weights[least]
            yield Fault(("limits", name, "terms", least),
                        f"counts for nothing beside {most}, whose term is about {ratio:.0e} times as large",
                        "choose coefficients that make the terms of one size")


def dimension_of(annotation: Any) -> str:
    """The dimension that an annotation carries anywhere, as that of the values of a mapping; or nothing."""
    if isinstance(annotation, str):
        return annotation if annotation in DIMENSIONS else ""
    if isinstance(annotation, FieldInfo):
        return schema.dimension(annotation)
    if get_origin(annotation) is Annotated:
        return next((found for part in get_args(annotation)[1:] if (found := dimension_of(part))), "")
    return next((found for part in get_args(annotation) if (found := dimension_of(part))), "")


CHECKS: tuple[Check, ...] = (quantities_are_plausible, own_rows_are_balanced)

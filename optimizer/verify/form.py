"""The form of a layout: every field is what its type says. Without that nothing can be recomputed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from optimizer.instance.layout import Layout
from optimizer.verify.certificate import Violation


def malformed(layout: Layout) -> list[Violation]:
    """Numbers that are not finite, counts that are not whole, text where a number is due and the reverse."""
    return [
        Violation(f"readable[{place}]", f"{value!r} {wrong}")
        for place, kind, value in leaves(layout, "layout")
        if (wrong := complaint(kind, value))
    ]


def complaint(kind: str, value: Any) -> str:
    """What is wrong with one field of a declared type; empty if nothing is."""
    if kind == "str":
        return "" if isinstance(value, str) else "is not text"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "is not a number"
    if not math.isfinite(value):
        return "is not finite"
    return "is not a whole number" if kind == "int" and value != int(value) else ""


def leaves(value: Any, place: str) -> Iterator[tuple[str, str, Any]]:
    """Every scalar field below a dataclass: where it stands, its declared type, its value."""
    for field in fields(value):
        here, inner = f"{place}.{field.name}", getattr(value, field.name)
        if not isinstance(inner, tuple):
            yield here, str(field.type), inner
            continue
        for position, item in enumerate(inner):
            if is_dataclass(item):
                yield from leaves(item, f"{here}[{position}]")

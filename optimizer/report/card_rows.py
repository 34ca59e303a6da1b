"""What a card says, line by line: every number with a source of its own, and the facts that have none.

A line is a number, a price range, or a block of numbers that share one source (a memory component with its
bytes by profile). Facts without a source are counts of the thing itself: bays, slots, ports, shapes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from optimizer.catalog import Catalog, Figure, Population, Price, Shape, Sourced, figures_in
from optimizer.files import schema
from optimizer.report.exact import digits, exact, stated

PROVENANCE = frozenset({"source", "date", "basis", "note", "unit"})
KINDS = {
    "accelerators": "Accelerators", "servers": "Servers, racks and nodes", "dimms": "Memory modules",
    "drives": "Data drives", "cxl_modules": "CXL modules", "cxl_enclosures": "CXL pools",
    "cxl_adapters": "CXL adapters", "cost_lines": "Cost lines", "network": "Network",
    "paths": "Transfer paths", "facility": "Building, money and engines",
}
"""List or block of the device catalogue -> heading, in the order of the page."""
MODELS = "Models"


@dataclass(frozen=True)
class Line:
    """One sourced entry of a card. `basis` is empty for an option of a model, which only names its source."""

    name: str
    text: str
    basis: str
    source: str
    date: str
    note: str


@dataclass(frozen=True)
class Card:
    """One card: its heading on the page, what it holds, and where its sources are explained."""

    kind: str
    id: str
    block: BaseModel

    @property
    def enabled(self) -> bool:
        """Whether it is offered to a workload that does not name it."""
        return bool(getattr(self.block, "enabled", True))

    @property
    def lines(self) -> list[Line]:
        """Every sourced entry, in the order of the schema."""
        return [_line(name, block) for name, block in figures_in(self.block)]

    @property
    def facts(self) -> list[str]:
        """What the card says without a source, as `name value`."""
        return list(_facts(self.block, ""))


def cards(catalog: Catalog) -> list[Card]:
    """Every card of the catalogue: what can be bought by kind, then the models by name."""
    found = []
    for name, kind in KINDS.items():
        block = getattr(catalog.devices, name)
        parts = block if isinstance(block, tuple) else (block,)
        found += [Card(kind, _heading(part, name), part) for part in parts]
    return found + [Card(MODELS, card.id, card) for _, card in sorted(catalog.models.items())]


def _heading(part: BaseModel, name: str) -> str:
    """What a card goes by: its id, a path's tier, the name of a block that stands once."""
    return str(getattr(part, "id", getattr(part, "tier", name)))


def _line(name: str, block: Any) -> Line:
    basis = block.basis.value if isinstance(block, Sourced) else ""
    date = getattr(block, "date", "")
    return Line(name, _text(block, name), basis, block.source, date, getattr(block, "note", ""))


def _text(block: BaseModel, where: str) -> str:
    """The numbers of one entry. A block leaves out what is an entry of its own, and the name it goes by."""
    if isinstance(block, (Figure, Price)):
        return stated(block)
    words = []
    for name, info in type(block).model_fields.items():
        value = getattr(block, name)
        known = name in PROVENANCE or value == where.rpartition(".")[2]
        if name in block.model_fields_set and not known and _is_plain(value):
            words.append(f"{name} {_plain(value, _dimension(info))}")
    return ", ".join(words)


def _facts(block: BaseModel, where: str) -> Iterator[str]:
    """Facts of a block without a source and of those inside it; a sourced block is a line of its own."""
    for name, info in type(block).model_fields.items():
        if name not in block.model_fields_set or name in ("id", "enabled", "sources"):
            continue
        value, path = getattr(block, name), f"{where}.{name}" if where else name
        if _is_plain(value):
            yield f"{path} {_plain(value, _dimension(info))}"
        elif isinstance(value, BaseModel) and not _is_sourced(value):
            yield from _facts(value, path)
        elif isinstance(value, tuple):
            yield from _listed(value, path)


def _listed(items: tuple[Any, ...], path: str) -> Iterator[str]:
    written = [text for item in items if (text := _one_of_many(item))]
    if written:
        yield f"{path}: {'; '.join(written)}"
        return
    for item in items:
        if not _is_sourced(item):
            label = getattr(item, "id", None) or getattr(item, "format", "")
            yield from _facts(item, f"{path}.{label}")


def _one_of_many(item: object) -> str:
    """A DIMM population or a shape of a model, in a few words."""
    if isinstance(item, Population):
        return f"{item.count} x {item.dimm}"
    if isinstance(item, Shape):
        spread = f"TP {item.tensor_parallel} x DP {item.data_parallel}"
        copies = "" if item.redundancy == 1 else f", redundancy {digits(item.redundancy)}"
        return f"{item.gpus} {item.accelerator} as {spread}{copies}"
    return ""


def _is_sourced(value: object) -> bool:
    return isinstance(value, BaseModel) and "source" in type(value).model_fields


def _is_plain(value: object) -> bool:
    """A number, a word, or a list or mapping of these."""
    if isinstance(value, dict):
        return all(_is_plain(item) for item in value.values())
    if isinstance(value, tuple):
        return all(isinstance(item, (str, int, float)) for item in value)
    return value is not None and not isinstance(value, BaseModel)


def _plain(value: Any, dimension: str) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} {_plain(item, '')}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(str, value)) + "]"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return exact(float(value), dimension) if dimension else digits(float(value))
    return str(getattr(value, "value", value))


def _dimension(info: FieldInfo) -> str:
    return schema.dimension(info) or _inside(info.annotation)


def _inside(annotation: Any) -> str:
    """The dimension of a quantity that may be absent."""
    for part in get_args(annotation):
        found = schema.dimension(part) if isinstance(part, FieldInfo) else _inside(part)
        if found:
            return found
    return ""

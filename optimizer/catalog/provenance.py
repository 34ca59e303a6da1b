"""One `provenance:` line per block: what it says holds for every number below that does not say otherwise.

A card would repeat the same source and date beside twenty numbers of one data sheet. Instead any block may
carry `provenance: {source, date, basis}`; it is handed down to the figures inside, and a figure (or an inner
block) that knows better overrides any of the three. A bare `tdp: 700 W` is then a complete figure, and a
bare price one without a range. `complete` writes all of it out before a card is validated: nothing else in
the program knows about the short form, and a figure without provenance is refused.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from optimizer.errors import InputError, Problem
from optimizer.files import Document, Keys, alike

PROVENANCE = ("source", "date", "basis")
KEY = "provenance"
Shared = dict[str, object]


def complete(model: type[BaseModel], document: Document) -> Document:
    """The document with every short form written out. InputError where a `provenance:` is not one."""
    writer = _Writer(document)
    data = writer.block(model, document.data, {}, ())
    if writer.problems:
        raise InputError(writer.problems)
    return replace(document, data=data)


class _Writer:
    """Walks a document beside its schema; `shared` is what holds at a place, `keys` the place."""

    def __init__(self, document: Document):
        self.document = document
        self.problems: list[Problem] = []

    def block(self, model: type[BaseModel], data: object, shared: Shared, keys: Keys) -> object:
        """A mapping that stands for `model`, with what it inherits and hands down; or a bare figure."""
        fields = model.model_fields
        if not isinstance(data, dict):
            return _bare(model, data, shared)
        shared = self.handed(data, shared, keys)
        block: dict[str, object] = {
            name: shared[name] for name in PROVENANCE if name in fields and name in shared
        }
        for key, value in data.items():
            annotation: Any = fields[key].annotation if key in fields else None
            if _models(annotation):
                block[key] = self.field(annotation, value, shared, (*keys, key))
            elif key != KEY:
                block[key] = value
        return block

    def field(self, annotation: Any, value: object, shared: Shared, keys: Keys) -> object:
        """The value of a field that mentions a model: one block, a list or a mapping of blocks."""
        model = _models(annotation)[0]
        if isinstance(value, list):
            return [self.block(model, item, shared, (*keys, row)) for row, item in enumerate(value)]
        if isinstance(value, dict) and _is_mapping(annotation):
            inner = self.handed(value, shared, keys)
            return {key: self.block(model, item, inner, (*keys, key))
                    for key, item in value.items() if key != KEY}
        return self.block(model, value, shared, keys)

    def handed(self, data: dict[str, object], shared: Shared, keys: Keys) -> Shared:
        """What holds inside a mapping: what came from above, overridden by its own `provenance:` line."""
        own = data.get(KEY, {})
        if not isinstance(own, dict):
            self.refuse((*keys, KEY), "is not a mapping", "write {source, date, basis}")
            return shared
        for name in sorted(set(own) - set(PROVENANCE)):
            remedy = alike(name, PROVENANCE) or f"one of: {', '.join(PROVENANCE)}"
            self.refuse((*keys, KEY, name), "unknown key", remedy)
        return {**shared, **own}

    def refuse(self, keys: Keys, message: str, remedy: str) -> None:
        """Note a problem at a place."""
        self.problems.append(self.document.problem(keys, message, remedy))


def _bare(model: type[BaseModel], data: object, shared: Shared) -> object:
    """`700 W` where a figure is due is its value, `$1.30/h` where a price is due its whole range."""
    names = [name for name in ("value", "low", "base", "high") if name in model.model_fields]
    scalar = isinstance(data, (str, int, float)) and not isinstance(data, bool)
    if not (scalar and names and shared):
        return data
    return shared | dict.fromkeys(names, data)


def figures_in(block: object, where: str = "") -> Iterator[tuple[str, Any]]:
    """Every block below that names a source, with its dotted path; list items by their id or name."""
    if isinstance(block, BaseModel):
        if "source" in type(block).model_fields:
            yield where, block
        for name in type(block).model_fields:
            yield from figures_in(getattr(block, name), f"{where}.{name}" if where else name)
    elif isinstance(block, tuple):
        for position, item in enumerate(block):
            label = getattr(item, "id", None) or getattr(item, "name", None) or position
            yield from figures_in(item, f"{where}.{label}")
    elif isinstance(block, dict):
        for key, item in block.items():
            yield from figures_in(item, f"{where}.{key}")


@cache
def _models(annotation: Hashable) -> tuple[type[BaseModel], ...]:
    """Every block type that an annotation mentions: `tuple[Figure, ...] | None` mentions Figure."""
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return (annotation,) if issubclass(annotation, BaseModel) else ()
    return tuple(found for part in get_args(annotation) for found in _models(part))


@cache
def _is_mapping(annotation: Hashable) -> bool:
    return get_origin(annotation) is dict or any(get_origin(part) is dict for part in get_args(annotation))

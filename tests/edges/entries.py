"""Where every scalar of a workload file stands in its text, and what the schema says of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_origin

from optimizer.files import Keys, data_path, read_text_yaml, schema
from optimizer.workload import Workload
from optimizer.workload.checks.sizes import dimension_of
from tests.docs.markdown import PAGES, blocks

FIRST = r""":[ ]+(?P<value>[^\s,{}\[\]#"'&*!|>]"""
FLOW = re.compile(FIRST + r"""[^,{}\[\]#\n"']*?)(?=\s*(?:[,}\]]|[ ]#|$))""", re.MULTILINE)
BLOCK = re.compile(FIRST + r"""[^#\n"']*?)(?=\s*(?:[ ]#|$))""", re.MULTILINE)
"""A plain value behind its key, inside brackets and on a line of its own."""


@dataclass(frozen=True)
class Entry:
    """A key with a plain scalar. `start` and `end` enclose the value in the text; `place` is the key's."""

    keys: Keys
    place: tuple[int, int]
    at: int
    start: int
    end: int
    value: str
    kind: str
    dimension: str
    required: bool
    own_line: bool
    known: tuple[str, ...]

    @property
    def key(self) -> str:
        """The last of the keys."""
        return str(self.keys[-1])


@dataclass(frozen=True)
class Base:
    """A good workload file."""

    name: str
    text: str
    entries: tuple[Entry, ...]

    @property
    def lines(self) -> list[str]:
        """Its lines."""
        return self.text.split("\n")

    def with_value(self, entry: Entry, value: str) -> str:
        """The text with another value for an entry."""
        return self.text[: entry.start] + value + self.text[entry.end :]


@cache
def bases() -> tuple[Base, ...]:
    """The shipped workloads, and the example of the docs, which uses nearly every key."""
    paths = sorted(data_path("workloads").glob("*.yaml"))
    texts = {path.stem: path.read_text(encoding="utf-8") for path in paths}
    (example,) = [block for block in blocks(*PAGES) if block.info == "yaml workload"]
    return tuple(base(name, text) for name, text in {**texts, "docs": example.text}.items())


def base(name: str, text: str) -> Base:
    """A workload file with its entries."""
    document = read_text_yaml(text, name)
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    found = []
    for keys, (line, column) in document.places.items():
        if not keys or not isinstance(keys[-1], str):
            continue
        at = starts[line - 1] + column - 1
        if not text.startswith(f"{keys[-1]}:", at):
            continue
        own_line = text[starts[line - 1] : at].strip(" -") == ""
        match = (BLOCK if own_line else FLOW).match(text, at + len(keys[-1]))
        value = _get(document.data, keys)
        if match is None or isinstance(value, (dict, list)):
            continue
        found.append(_entry(keys, (line, column), at, match, own_line))
    return Base(name, text, tuple(found))


def _entry(keys: Keys, place: tuple[int, int], at: int, match: re.Match[str], own_line: bool) -> Entry:
    siblings = schema.fields(schema.at(Workload, keys[:-1])) or {}
    info = siblings.get(str(keys[-1]))
    annotation = info.annotation if info else schema.at(Workload, keys)
    dimension = (schema.dimension(info) if info else "") or dimension_of(annotation)
    required = info is not None and info.is_required()
    kind = "quantity" if dimension else _kind(annotation)
    span = match.span("value")
    return Entry(keys, place, at, *span, match["value"], kind, dimension, required, own_line, tuple(siblings))


def _kind(annotation: Any) -> str:
    bare = schema.bare(annotation)
    if get_origin(bare) is Literal:
        return "choice"
    names = {bool: "flag", int: "whole", float: "number", str: "text"}
    if isinstance(bare, type) and issubclass(bare, str) and bare is not str:
        return "choice"
    return names.get(bare, "other")


def _get(data: Any, keys: Keys) -> Any:
    for key in keys:
        data = data[key]
    return data

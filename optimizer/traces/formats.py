"""Which format a trace is written in, told from its first lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Protocol

from optimizer.errors import InputError, Problem
from optimizer.traces import azure
from optimizer.traces.columns import Row
from optimizer.traces.jsonl import HEADER, Mooncake, Project, record_of
from optimizer.traces.lines import Line
from optimizer.traces.values import BadLine


class Format(Enum):
    """The formats of traces."""

    PROJECT = "project"
    MOONCAKE = "mooncake"
    AZURE = "azure"


class Parser(Protocol):
    """What reads the lines of one format. BadLine for one that is no request, None for one of names."""

    header: Mapping[str, Any]
    block_tokens: int | None

    def __init__(self, block_tokens: int | None) -> None:
        """`block_tokens`: as the user says it, for a file that does not."""

    def row(self, text: str) -> Row | None:
        """The request of a line."""


PARSERS: dict[Format, type[Parser]] = {
    Format.PROJECT: Project, Format.MOONCAKE: Mooncake, Format.AZURE: azure.Azure,
}
_JSON_KEYS = {
    frozenset({"t", "in", "out"}): Format.PROJECT,
    frozenset({"timestamp", "input_length", "output_length"}): Format.MOONCAKE,
}
_ACCEPTED = (
    'gzip or plain: JSON lines with "t", "in", "out"; Mooncake\'s with "timestamp", "input_length", '
    f'"output_length", "hash_ids"; CSV with the columns {",".join(azure.COLUMNS)}'
)


def format_of(first: Iterable[Line], name: str) -> Format:
    """The format that the first of these lines shows that shows any. InputError where none does."""
    fault = None
    for line in first:
        if line.text.startswith("#"):
            continue
        found = None if line.fault else _recognised(line.text)
        if found is not None:
            return found
        fault = fault or (line.number, line.fault or _hint(line.text))
    if fault is None:
        raise InputError(Problem(name, "", "is empty", f"a trace is {_ACCEPTED}"))
    said = f"is no trace of a known format: {fault[1]}"
    raise InputError(Problem(f"{name}:{fault[0]}", "", said, f"accepted: {_ACCEPTED}"))


def _recognised(text: str) -> Format | None:
    if text.startswith("{"):
        try:
            keys = record_of(text).keys()
        except BadLine:
            return None
        if HEADER in keys:
            return Format.PROJECT
        return next((form for marks, form in _JSON_KEYS.items() if marks <= keys), None)
    return Format.AZURE if azure.recognised(text) else None


def _hint(text: str) -> str:
    """What a line that is none of a trace may be."""
    lowered = text.lower()
    if "requests_per_s" in lowered:
        return "it tells rates of arrival, not requests"
    if "cache" in lowered and "token" in lowered:
        return "it may be a token ledger, which `tierplan trace stats` reads with --denominator"
    return "the first line is neither JSON nor a line of column names"

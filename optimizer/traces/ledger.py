"""A token ledger: tokens read from cache, written to it, computed and answered, added up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from optimizer.errors import InputError, Problem
from optimizer.files import resolve_trace, shown
from optimizer.traces.faults import MAX_FAULTY, Faults
from optimizer.traces.ledger_columns import (
    Column,
    LedgerColumns,
    Meaning,
    Tokens,
    cells,
    columns_of,
    names_reads,
)
from optimizer.traces.lines import Line, lines
from optimizer.traces.types import Fault
from optimizer.traces.values import BadLine

NOTHING: Tokens = (0, 0, 0, 0)


class Denominator(Enum):
    """What the tokens read from cache are divided by. Each is in use under the name of hit ratio."""

    READ_OVER_READ_PLUS_INPUT = "read+input"
    WITH_WRITES = "read+write+input"
    WITH_OUTPUT = "read+write+input+output"


@dataclass(frozen=True)
class Ledger:
    """The sums of a ledger, in tokens; `input` is what was neither read from the cache nor written to it.

    `used`: the columns they are made of; `unused`: the others.
    """

    name: str
    rows: int
    read: int
    write: int
    input: int
    output: int
    used: dict[Column, str]
    unused: tuple[str, ...]
    faulty: int
    faults: tuple[Fault, ...]

    def total(self, denominator: Denominator) -> int:
        """Tokens of the denominator."""
        write = 0 if denominator is Denominator.READ_OVER_READ_PLUS_INPUT else self.write
        output = self.output if denominator is Denominator.WITH_OUTPUT else 0
        return self.read + write + self.input + output

    def hit_ratio(self, denominator: Denominator) -> float | None:
        """The share of the denominator that was read from cache; None where there is nothing to divide by."""
        total = self.total(denominator)
        return self.read / total if total else None

    def storage_to_compute(self, denominator: Denominator) -> float | None:
        """Tokens read for each other token of the same denominator; None where there is no other."""
        others = self.total(denominator) - self.read
        return self.read / others if others else None


def denominator_named(name: str | None) -> Denominator:
    """The denominator that the user names. InputError for another name, and for none."""
    for each in Denominator:
        if each.value == name:
            return each
    unnamed = "the hit ratio of a ledger means nothing until its denominator is named"
    said = unnamed if name is None else f'there is no denominator "{name}"'
    known = ", ".join(each.value for each in Denominator)
    raise InputError(Problem("--denominator", "", said, f"one of: {known}"))


def is_ledger(path: str | Path) -> bool:
    """Whether the first line of a file names a column of cache reads. InputError if it cannot be opened."""
    for line in _rows(resolve_trace(path)):
        try:
            return not line.fault and names_reads(cells(line.text))
        except BadLine:
            return False
    return False


def read_ledger(
    path: str | Path, *, meaning: Meaning | None = None, max_faulty: float = MAX_FAULTY
) -> Ledger:
    """The sums of a CSV file with a line of column names, or of the shipped ledger of that name.

    `meaning`: of a column called just input. InputError where the columns leave a doubt, where more than the
    share `max_faulty` of the rows is faulty, and where the last row is the total of the others.
    """
    file = resolve_trace(path)
    name = shown(file)
    stream = _rows(file)
    columns = _columns(stream, name, meaning)
    faults = Faults(name, max_faulty)
    rows, sums, last = 0, NOTHING, NOTHING
    for line in stream:
        try:
            if line.fault:
                raise BadLine(line.fault)
            last = columns.tokens(cells(line.text))
        except BadLine as fault:
            faults.add(line.number, str(fault))
            continue
        rows += 1
        sums = _sum(sums, last)
    faults.judge(rows, "row of tokens")
    if rows > 2 and sums == _sum(last, last) != NOTHING:
        said = "the last row is the total of the others: every token would count twice"
        raise InputError(Problem(name, "", said, "remove it"))
    return Ledger(
        file.name, rows, *sums, used=columns.used, unused=columns.unused, faulty=faults.count,
        faults=tuple(faults.first),
    )


def _rows(file: Path) -> Iterator[Line]:
    """The lines that are no comment."""
    return (line for line in lines(file) if not line.text.startswith("#"))


def _columns(stream: Iterator[Line], name: str, meaning: Meaning | None) -> LedgerColumns:
    """The columns that the first line names. InputError where it cannot be read."""
    first = next(stream, None)
    if first is None:
        raise InputError(Problem(name, "", "is empty", "a ledger is CSV that begins with its column names"))
    where = f"{name}:{first.number}"
    try:
        if first.fault:
            raise BadLine(first.fault)
        names = cells(first.text)
    except BadLine as fault:
        raise InputError(Problem(where, "", f"the column names cannot be read: {fault}")) from None
    return columns_of(names, where, meaning)


def _sum(one: Tokens, other: Tokens) -> Tokens:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3]

"""The columns of a token ledger: which name means which kind of token."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from optimizer.errors import InputError, Problem
from optimizer.traces.values import BadLine, shown, whole

MOST_TOKENS = 10**15
_WHOLE = re.compile(r"[0-9]{1,16}")


class Column(Enum):
    """What a column counts. No token is in two of the first four; `ALL_INPUT` is the first three together."""

    READ = "cache reads"
    WRITE = "cache writes"
    INPUT = "input"
    OUTPUT = "output"
    ALL_INPUT = "all input"


class Meaning(Enum):
    """What a column called just `input` counts: all input, or what was neither read nor written."""

    ALL = "all"
    REST = "rest"


NAMES: dict[Column, tuple[str, ...]] = {
    Column.READ: (
        "cache_read", "cache_read_tokens", "cache_read_input_tokens", "cached_tokens", "cached_input_tokens",
        "prompt_cache_hit_tokens",
    ),
    Column.WRITE: (
        "cache_write", "cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens",
    ),
    Column.INPUT: ("uncached", "uncached_tokens", "uncached_input_tokens", "prompt_cache_miss_tokens"),
    Column.OUTPUT: ("output", "output_tokens", "completion_tokens"),
    Column.ALL_INPUT: ("prompt_tokens",),
}
"""Column names, without regard to capitals."""
JUST_INPUT = ("input", "input_tokens")
"""Names that some ledgers give to all input, and others to what was neither read nor written."""
KNOWN_NAMES = (*JUST_INPUT, *(name for names in NAMES.values() for name in names))
_OF_NAME = {name: column for column, names in NAMES.items() for name in names}
Tokens = tuple[int, int, int, int]
"""Read, written, input, output."""


@dataclass(frozen=True)
class LedgerColumns:
    """Where each kind stands in a row, and how the columns are called."""

    names: tuple[str, ...]
    place: Mapping[Column, int]

    @property
    def used(self) -> dict[Column, str]:
        """The name of each column that the sums are made of."""
        return {column: self.names[at] for column, at in self.place.items()}

    @property
    def unused(self) -> tuple[str, ...]:
        """The names of all others."""
        return tuple(name for at, name in enumerate(self.names) if at not in self.place.values())

    def tokens(self, row: Sequence[str]) -> Tokens:
        """The tokens of a row. BadLine where they are none, or where the parts do not add up to all input."""
        if len(row) != len(self.names):
            raise BadLine(f"{len(row)} columns, not {len(self.names)}")
        cell = {column: _tokens(row[at], self.names[at]) for column, at in self.place.items()}
        read, write = cell[Column.READ], cell.get(Column.WRITE, 0)
        every = cell.get(Column.ALL_INPUT)
        rest = cell[Column.INPUT] if every is None else cell.get(Column.INPUT, every - read - write)
        if rest < 0 or every not in (None, read + write + rest):
            parts = f"{read:,} + {write:,} + {max(rest, 0):,}"
            raise BadLine(f"all input is {every:,}, but its parts are {parts}")
        return read, write, rest, cell[Column.OUTPUT]


def meaning_named(name: str | None) -> Meaning | None:
    """The meaning that the user names, if any. InputError for another name."""
    for each in Meaning:
        if each.value == name:
            return each
    if name is None:
        return None
    known = " or ".join(each.value for each in Meaning)
    raise InputError(Problem("--input", "", f'there is no meaning "{name}"', known))


def cells(text: str) -> list[str]:
    """The cells of a line of CSV."""
    try:
        return [cell.strip() for cell in next(csv.reader([text], strict=True))]
    except csv.Error as fault:
        raise BadLine(f"no CSV: {fault}") from None


def names_reads(names: Sequence[str]) -> bool:
    """Whether a line of column names is one of a ledger."""
    return any(_OF_NAME.get(name.lower()) is Column.READ for name in names)


def columns_of(names: Sequence[str], where: str, meaning: Meaning | None) -> LedgerColumns:
    """The columns of a line of names. InputError where one is missing, stands twice or may mean two."""
    place: dict[Column, int] = {}
    vague = [at for at, name in enumerate(names) if name.lower() in JUST_INPUT]
    for at, name in enumerate(names):
        column = _OF_NAME.get(name.lower())
        if column in place:
            both = f"{names[place[column]]} and {name}"
            raise InputError(Problem(where, "", f"two columns tell the {column.value}: {both}", "remove one"))
        if column is not None:
            place[column] = at
    if vague:
        column = _meant(names[vague[0]], place, where, meaning)
        if len(vague) > 1 or column in place:
            said = f"two columns tell the {column.value}: {', '.join(names[at] for at in vague)}"
            raise InputError(Problem(where, "", said, "remove one"))
        place[column] = vague[0]
    for needed in (Column.READ, Column.INPUT, Column.OUTPUT):
        if needed not in place and not (needed is Column.INPUT and Column.ALL_INPUT in place):
            known = (*NAMES[needed], *(JUST_INPUT if needed is Column.INPUT else ()))
            raise InputError(
                Problem(where, "", f"no column tells the {needed.value}", f"known: {', '.join(known)}")
            )
    return LedgerColumns(tuple(names), place)


def _meant(name: str, place: Mapping[Column, int], where: str, meaning: Meaning | None) -> Column:
    """What a column called just input counts: as the user says, else as its neighbours leave no doubt."""
    if meaning is not None:
        return Column.ALL_INPUT if meaning is Meaning.ALL else Column.INPUT
    if Column.INPUT in place:
        return Column.ALL_INPUT  # what it is made of stands beside it, and is checked row by row
    if Column.WRITE in place:
        return Column.INPUT  # reads, writes and input side by side are three kinds
    said = f'"{name}" may count the cache reads or not'
    raise InputError(Problem(where, "", said, "--input all if it does, --input rest if not"))


def _tokens(cell: str, name: str) -> int:
    if not _WHOLE.fullmatch(cell):
        raise BadLine(f"{name} is no whole number: {shown(cell)}")
    return whole(int(cell), name, MOST_TOKENS)

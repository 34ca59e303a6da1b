"""Requests gathered into compact columns while a file streams by, and handed on as a `Trace`."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optimizer.errors import InputError, Problem
from optimizer.traces.labels import Ids, Labels, run_starts
from optimizer.traces.types import Chains, Fault, Trace

MOST_REQUESTS = 100_000_000
"""Requests of the largest trace: some 5 GB of columns."""
MOST_ACCESSES = 10_000_000_000
"""Block accesses of the largest trace."""
MOST_BLOCKS = 2**28
"""Different blocks of the largest trace: 2 GB for a number a block."""
MOST_LOOKED_UP = 50_000_000
"""Different blocks whose ids have no order: 800 MB for the table that numbers them."""
REMARKS = "_remarks"
"""Key of a trace's header under which reading says what it had to assume or put right."""
LONGEST_SPAN = 20 * 365 * 86400.0
"""Seconds from the first request to the last: a longer trace has its time in another unit."""
_CHUNK = 2**17  # blocks, or runs, whose ids are made dense at once
_SELDOM: dict[str, tuple[str, Any]] = {
    "session": ("q", -1), "sub": ("b", 0), "api": ("d", math.nan), "think": ("d", math.nan),
}
_TYPES = {"q": np.int64, "b": np.bool_, "d": np.float64}


class Row(NamedTuple):
    """One request as its line says it, None where it says nothing; `runs`: (first, count) of block ids."""

    time: float
    input: int
    output: int
    session: int | None = None
    sub: bool | None = None
    api: float | None = None
    think: float | None = None
    runs: tuple[Ids, Ids] | None = None


class Columns:
    """Columns that grow by a row. One that no row has recorded takes no memory."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._time, self._input, self._output = array("d"), array("q"), array("q")
        self._seldom: dict[str, array[Any]] = {name: array(code) for name, (code, _) in _SELDOM.items()}
        self._start, self._first, self._count = array("q", [0]), array("q"), array("q")
        self._labels = Labels()
        self._dense = 0  # requests whose ids are final
        self._accesses = self._pending = 0

    def __len__(self) -> int:
        return len(self._time)

    def add(self, row: Row) -> None:
        """One more request. InputError past the largest trace that is read."""
        for name, value in zip(_SELDOM, (row.session, row.sub, row.api, row.think), strict=True):
            self._record(name, value)
        self._time.append(row.time)
        self._input.append(row.input)
        self._output.append(row.output)
        if row.runs is not None:
            self._add_chain(*row.runs)
        self._refuse_more(len(self), MOST_REQUESTS, "requests")

    def _add_chain(self, first: Ids, count: Ids) -> None:
        """The blocks of one more request. A file has a chain for every request, or for none."""
        self._first.frombytes(first.tobytes())
        self._count.frombytes(count.tobytes())
        self._start.append(len(self._first))
        blocks = int(count.sum())
        self._accesses += blocks
        self._pending += blocks
        self._refuse_more(self._accesses, MOST_ACCESSES, "block accesses")
        if self._pending > _CHUNK or len(self._first) - self._start[self._dense] > _CHUNK:
            self._make_dense()

    def _record(self, name: str, value: float | None) -> None:
        """One more entry of a column that most files lack."""
        column, (code, default) = self._seldom[name], _SELDOM[name]
        if value is not None and not column:
            column.extend(array(code, [default]) * len(self))
        if value is not None or column:
            column.append(default if value is None else value)

    def _make_dense(self) -> None:
        """Give the blocks of the requests since the last call their final ids."""
        begin = self._start[self._dense]
        first = np.frombuffer(self._first[begin:], dtype=np.int64)
        count = np.frombuffer(self._count[begin:], dtype=np.int64)
        if not self._labels.are_dense(first, count):
            ends = np.concatenate(([0], np.cumsum(count)))
            ids = self._labels.of(np.repeat(first - ends[:-1], count) + np.arange(ends[-1]))
            owners = ends[np.frombuffer(self._start[self._dense :], dtype=np.int64) - begin]
            at = run_starts(ids, owners)
            del self._first[begin:], self._count[begin:], self._start[self._dense :]
            self._first.frombytes(ids[at].tobytes())
            self._count.frombytes(np.diff(at, append=len(ids)).tobytes())
            self._start.frombytes((np.searchsorted(at, owners) + begin).tobytes())
        self._dense, self._pending = len(self._start) - 1, 0
        self._refuse_more(self._labels.unique, MOST_BLOCKS, "different blocks")
        self._refuse_more(self._labels.looked_up, MOST_LOOKED_UP, "different blocks with ids in no order")

    def _refuse_more(self, number: int, most: int, noun: str) -> None:
        """InputError past the largest trace that is read."""
        if number > most:
            raise InputError(Problem(self._name, "", f"has more than {most:,} {noun}", "split it"))

    def trace(
        self, header: Mapping[str, Any], block_tokens: int | None, faulty: int, faults: tuple[Fault, ...]
    ) -> Trace:
        """The whole, in order of time. InputError where it spans decades."""
        self._make_dense()
        columns, chains = self._columns(), self._chains() if block_tokens is not None else None
        time = columns["time"]
        if late := int(np.count_nonzero(time[1:] < time[:-1])):
            order = np.argsort(time, kind="stable")
            columns = {name: _reordered(column, order) for name, column in columns.items()}
            chains = _ordered(chains, order) if chains is not None else None
            time = columns["time"]
            times = "request came" if late == 1 else "requests came"
            remark = f"{late:,} {times} before the line above: sorted by time"
            header = {**header, REMARKS: (*header.get(REMARKS, ()), remark)}
        if (span := float(time[-1] - time[0])) > LONGEST_SPAN:
            said = f"spans {span / (365 * 86400):,.0f} years"
            raise InputError(Problem(self._name, "", said, "are all times in the unit of the format?"))
        if time[0] < 0:  # counted from the first line, which was not the earliest
            columns["time"] = time - time[0]
        return Trace(
            name=self._name, block_tokens=block_tokens, chains=chains, header=header, faulty=faulty,
            faults=faults, **columns,
        )

    def _columns(self) -> dict[str, NDArray[Any]]:
        """The columns as arrays over the same memory, by the names of a trace."""
        columns: dict[str, NDArray[Any]] = {
            "time": np.frombuffer(self._time), "input": np.frombuffer(self._input, np.int64),
            "output": np.frombuffer(self._output, np.int64),
        }
        for name, (code, default) in _SELDOM.items():
            kind, column = _TYPES[code], self._seldom[name]
            nothing = np.broadcast_to(kind(default), len(self))
            columns[name] = np.frombuffer(column, kind) if column else nothing
        return columns

    def _chains(self) -> Chains:
        start, first, count = (
            np.frombuffer(column, np.int64) for column in (self._start, self._first, self._count)
        )
        return Chains(start, first, count, self._labels.unique)


def _reordered(column: NDArray[Any], order: NDArray[np.int64]) -> NDArray[Any]:
    """A column in another order; one that nobody recorded is the same in every order, and stays small."""
    return column if column.strides == (0,) else column[order]


def _ordered(chains: Chains, order: NDArray[np.int64]) -> Chains:
    """The chains of the requests in another order."""
    runs = np.diff(chains.start)[order]
    start = np.concatenate(([0], np.cumsum(runs)))
    at = np.repeat(chains.start[order] - start[:-1], runs) + np.arange(start[-1])
    return Chains(start, chains.first[at], chains.count[at], chains.unique)

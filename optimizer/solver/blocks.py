"""A bound and a start from parts: price the few rows that the parts share, and each part is a small program.

For prices y of the shared rows with the right signs, weak duality gives

    min c·x  >=  y·b + sum over parts k of  min { (c_k - A_k'y)·x_k : x_k integer, keeps k's own rows },

where b is the side of each row that its price points at. The right side is a bound for *every* such y; the
duals of the linear relaxation are good ones. A part counts by its own proven bound, never by its solution.
(Lagrangean relaxation of the coupling rows: Geoffrion 1974; Fisher 1981.)
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from optimizer.errors import SolverFailure
from optimizer.solver.arrays import LinearProgram
from optimizer.solver.engine import Interrupt
from optimizer.solver.highs import solve
from optimizer.solver.options import SolveOptions
from optimizer.solver.outcome import Outcome

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

LEAST_SECONDS = 0.5
FINER = 10.0
"""A part is solved to this fraction of the gap asked for the whole: its own gap weakens the bound."""


@dataclass(frozen=True, eq=False)
class Part:
    """Columns that meet the other parts in shared rows only, with the rows that are theirs alone."""

    owner: Hashable
    columns: Numbers
    own: LinearProgram
    shared: sparse.csc_array


@dataclass(frozen=True, eq=False)
class Blocks:
    """A program cut by the owner of each column. `rows` are the shared rows."""

    lp: LinearProgram
    rows: Numbers
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, lp: LinearProgram, owners: Sequence[Hashable]) -> Blocks:
        """Cut `lp`: one part per distinct owner, one owner per column. A row whose entries all have one
        owner is that part's own; a row without entries goes to the first part."""
        if len(owners) != lp.c.size:
            raise ValueError(f"{len(owners)} owners for {lp.c.size} columns")
        names = list(dict.fromkeys(owners))
        number = {name: k for k, name in enumerate(names)}
        label = np.array([number[owner] for owner in owners], dtype=np.int64)
        entries = sparse.coo_array(lp.A)
        rows = lp.A.shape[0]
        low, high = np.full(rows, len(names)), np.full(rows, -1)
        np.minimum.at(low, entries.row, label[entries.col])
        np.maximum.at(high, entries.row, label[entries.col])
        low[high < 0] = high[high < 0] = 0
        by_row = sparse.csr_array(lp.A)
        shared = np.flatnonzero(low != high)
        parts = []
        for k, name in enumerate(names):
            columns, own = np.flatnonzero(label == k), np.flatnonzero((low == k) & (high == k))
            parts.append(Part(name, columns, _restricted(lp, by_row, own, columns),
                              sparse.csc_array(by_row[shared][:, columns])))
        return cls(lp, shared, tuple(parts))

    @cached_property
    def sides(self) -> tuple[Floats, Floats]:
        """Lower and upper sides of the shared rows."""
        return self.lp.row_lower[self.rows], self.lp.row_upper[self.rows]

    def prices(self, row_duals: Floats) -> Floats:
        """The duals of the shared rows, without a sign that their sides do not admit."""
        low, high = self.sides
        prices: Floats = row_duals[self.rows].copy()
        prices[~np.isfinite(low)] = np.minimum(prices[~np.isfinite(low)], 0.0)
        prices[~np.isfinite(high)] = np.maximum(prices[~np.isfinite(high)], 0.0)
        return prices

    def constant(self, prices: Floats) -> float:
        """y·b + offset: what the prices are worth at the sides they point at."""
        low, high = self.sides
        side = np.where(prices > 0, low, np.where(prices < 0, high, 0.0))
        return float(prices @ side) + self.lp.offset


@dataclass(frozen=True, eq=False)
class Bound:
    """A proven bound of the whole, and the parts' solutions side by side: integers to try, no solution.
    `x` is NaN where a part found none; `bound` is -inf when a part has no bound. `outcomes` by owner."""

    bound: float
    x: Floats
    outcomes: dict[Hashable, Outcome]


def bound_by_parts(
    blocks: Blocks,
    row_duals: Floats,
    options: SolveOptions,
    *,
    interrupt: Interrupt | None = None,
) -> Bound:
    """Solve every part at the given prices (duals of all rows of `lp`), as many at once as there are threads.

    Parts share the time limit by their size; one that is not finished counts by the bound it has. Nothing
    fails silently: a part that HiGHS cannot decide makes the bound -inf.
    """
    prices = blocks.prices(row_duals)
    given_up = threading.Event()
    outcomes: dict[Hashable, Outcome] = {}
    waiting = sorted(blocks.parts, key=lambda part: -part.columns.size)
    turns = _Turns(options, waiting)

    def stop() -> bool:
        return given_up.is_set() or bool(interrupt and interrupt())

    def answer(part: Part) -> tuple[Part, Outcome | None]:
        priced = replace(part.own, c=part.own.c - part.shared.T @ prices)
        own = replace(options, gap=options.gap / FINER, threads=1, time_limit=turns.next(part))
        if stop():
            return part, None
        try:
            return part, solve(priced, own, interrupt=stop)
        except SolverFailure:
            return part, None

    with ThreadPoolExecutor(max(1, options.threads)) as pool:
        try:
            outcomes |= {part.owner: outcome for part, outcome in pool.map(answer, waiting) if outcome}
        finally:  # on Ctrl-C the runs that are under way must not be waited for
            given_up.set()
    return _side_by_side(blocks, prices, outcomes)


def _side_by_side(blocks: Blocks, prices: Floats, outcomes: dict[Hashable, Outcome]) -> Bound:
    total, x = blocks.constant(prices), np.full(blocks.lp.c.size, math.nan)
    for part in blocks.parts:
        outcome = outcomes.get(part.owner)
        total += outcome.bound if outcome and math.isfinite(outcome.bound) else -math.inf
        if outcome and outcome.x is not None:
            x[part.columns] = outcome.x
    return Bound(total, x, outcomes)


class _Turns:
    """Shares the seconds of all threads among the parts by size; what one leaves, the later ones get."""

    def __init__(self, options: SolveOptions, parts: Sequence[Part]):
        self.options, self.waiting = options, sum(part.columns.size for part in parts)
        self.began, self.lock = time.perf_counter(), threading.Lock()

    def next(self, part: Part) -> float:
        """Seconds for a part that begins now: never none, since a late bound is better than no bound."""
        left = self.options.time_limit - (time.perf_counter() - self.began)
        with self.lock:
            share = part.columns.size / max(1, self.waiting)
            self.waiting -= part.columns.size
        return max(LEAST_SECONDS, min(left, left * max(1, self.options.threads) * share))


def _restricted(
    lp: LinearProgram, by_row: sparse.csr_array, rows: Numbers, columns: Numbers
) -> LinearProgram:
    """The program of some rows and columns, without offset."""
    return LinearProgram(
        c=lp.c[columns],
        offset=0.0,
        A=sparse.csc_array(by_row[rows][:, columns]),
        row_lower=lp.row_lower[rows],
        row_upper=lp.row_upper[rows],
        col_lower=lp.col_lower[columns],
        col_upper=lp.col_upper[columns],
        integrality=lp.integrality[columns],
        row_names=[lp.row_names[row] for row in rows],
        col_names=[lp.col_names[column] for column in columns],
    )

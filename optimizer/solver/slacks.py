"""Rows that may give way: each gets a nonnegative slack, priced by the row's scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from optimizer.solver.arrays import LinearProgram

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class WithSlacks:
    """A program with slack columns behind its own; `rows`, `signs` and `scales` describe them."""

    lp: LinearProgram
    rows: NDArray[np.int64]
    signs: Floats
    scales: Floats


def row_scales(lp: LinearProgram) -> Floats:
    """The size of a row in its own units: its sides, or its largest coefficient when they are 0."""
    sides = np.maximum(
        *(np.where(np.isfinite(side), np.abs(side), 0.0) for side in (lp.row_lower, lp.row_upper))
    )
    largest = abs(lp.A).max(axis=1).toarray().ravel() if lp.A.nnz else np.zeros(len(sides))
    scales = np.where(sides > 0, sides, largest)
    return np.where(scales > 0, scales, 1.0)


def with_slacks(lp: LinearProgram, rows: NDArray[np.int64]) -> WithSlacks:
    """Add +s to rows with a lower side and −s to rows with an upper side; cost Σ s / scale, nothing else."""
    low, high = rows[np.isfinite(lp.row_lower[rows])], rows[np.isfinite(lp.row_upper[rows])]
    where = np.concatenate([low, high])
    signs = np.concatenate([np.ones(len(low)), -np.ones(len(high))])
    scales = row_scales(lp)[where]
    count, width = len(where), len(lp.c)
    slack_columns = sparse.coo_array((signs, (where, np.arange(count))), shape=(len(lp.row_names), count))
    program = LinearProgram(
        c=np.concatenate([np.zeros(width), 1.0 / scales]),
        offset=0.0,
        A=sparse.hstack([lp.A, slack_columns], format="csc"),
        row_lower=lp.row_lower,
        row_upper=lp.row_upper,
        col_lower=np.concatenate([lp.col_lower, np.zeros(count)]),
        col_upper=np.concatenate([lp.col_upper, np.full(count, np.inf)]),
        integrality=np.concatenate([lp.integrality, np.zeros(count, dtype=np.bool_)]),
        row_names=lp.row_names,
        col_names=[*lp.col_names, *(f"slack[{lp.row_names[row]}]" for row in where)],
    )
    return WithSlacks(program, where, signs, scales)

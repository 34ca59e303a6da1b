"""Small programs whose answers are known, and one that keeps HiGHS busy."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import sparse

from optimizer.solver import LinearProgram

INF = np.inf


def program(c, A, row_lower, row_upper, col_lower, col_upper, integer, offset=0.0) -> LinearProgram:
    """A LinearProgram from plain lists, rows named r0.. and columns x0.."""
    A = np.atleast_2d(np.asarray(A, dtype=float))
    return LinearProgram(
        c=np.asarray(c, dtype=float),
        offset=offset,
        A=sparse.csc_array(A),
        row_lower=np.asarray(row_lower, dtype=float),
        row_upper=np.asarray(row_upper, dtype=float),
        col_lower=np.asarray(col_lower, dtype=float),
        col_upper=np.asarray(col_upper, dtype=float),
        integrality=np.asarray(integer, dtype=bool),
        row_names=[f"r{i}" for i in range(A.shape[0])],
        col_names=[f"x{i}" for i in range(A.shape[1])],
    )


def covering(seed: int, columns: int = 5, rows: int = 3, top: int = 3) -> LinearProgram:
    """min c·x, A·x ≥ b, x integer in 0..top; always feasible."""
    random = np.random.default_rng(seed)
    A = random.integers(0, 6, (rows, columns)).astype(float)
    need = np.floor(A.sum(axis=1) * top * random.uniform(0.2, 0.8, rows))
    cost = random.integers(1, 20, columns).astype(float)
    return program(
        cost, A, need, [INF] * rows, [0] * columns, [top] * columns, [True] * columns, offset=float(seed)
    )


def best_by_enumeration(lp: LinearProgram) -> float:
    """The optimum of an all-integer program, by looking at every point; inf if there is none."""
    ranges = [range(int(low), int(high) + 1) for low, high in zip(lp.col_lower, lp.col_upper, strict=True)]
    points = np.array(list(itertools.product(*ranges)), dtype=float)
    activity = points @ lp.A.toarray().T
    inside = (activity >= lp.row_lower - 1e-9) & (activity <= lp.row_upper + 1e-9)
    costs = points @ lp.c + lp.offset
    return float(costs[inside.all(axis=1)].min(initial=INF))


def market_split(columns: int = 60, rows: int = 5, seed: int = 0) -> LinearProgram:
    """Split each row in halves, paying for what is left over: first solutions at once, proofs in years."""
    random = np.random.default_rng(seed)
    A = random.integers(0, 100, (rows, columns)).astype(float)
    half = np.floor(A.sum(axis=1) / 2)
    return program(
        c=np.concatenate([np.zeros(columns), np.ones(2 * rows)]),
        A=np.hstack([A, np.eye(rows), -np.eye(rows)]),
        row_lower=half,
        row_upper=half,
        col_lower=np.zeros(columns + 2 * rows),
        col_upper=np.concatenate([np.ones(columns), np.full(2 * rows, INF)]),
        integer=[True] * columns + [False] * 2 * rows,
    )


def transport() -> LinearProgram:
    """min 2x0 + 3x1, x0 + x1 ≥ 10 (price 3), x0 ≤ 4 by a row (price −1): costs 26."""
    return program([2, 3], [[1, 1], [1, 0]], [10, -INF], [INF, 4], [0, 0], [INF, INF], [False, False])

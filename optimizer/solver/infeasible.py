"""Before the word infeasible is used: a second opinion, and the smallest change that mends the rows.

HiGHS's own irreducible subsystem does not see conflicts of integers only, so the witness is an elastic
solve: the rows that may give way each get a nonnegative slack priced by the row's scale, and the cheapest
sum of slacks is the answer.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from optimizer.errors import SolverFailure
from optimizer.solver.arrays import LinearProgram
from optimizer.solver.highs import solve
from optimizer.solver.linear import relaxation, row_scales
from optimizer.solver.options import SolveOptions
from optimizer.solver.outcome import Outcome, Status

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-6
"""Slack, relative to the row's scale, that is rounding and not a conflict."""


@dataclass(frozen=True)
class Slack:
    """One row that must give way: a ≤ row needs more than its limit, a ≥ row has less than it demands."""

    row: int
    name: str
    need: float
    have: float
    slack: float

    def __str__(self) -> str:
        return f"{self.name}: have {self.have:g}, need {self.need:g}, smallest fix {self.slack:g}"


@dataclass(frozen=True)
class _Elastic:
    """The program with slack columns behind its own; `rows`, `signs` and `scales` describe them."""

    lp: LinearProgram
    rows: NDArray[np.int64]
    signs: Floats
    scales: Floats


def is_infeasible(lp: LinearProgram, options: SolveOptions) -> bool:
    """True only with a proof that needs no presolve: of the relaxation, else of the integer program.

    False says that there is a solution or that the limit came first; the caller still has the first opinion.
    """
    plain = replace(options, highs_options={**options.highs_options, "presolve": "off"})
    if relaxation(lp, plain).status is Status.INFEASIBLE:
        return True
    return bool(lp.integrality.any()) and solve(lp, plain).status is Status.INFEASIBLE


EXACTLY = {"mip_feasibility_tolerance": 1e-9, "primal_feasibility_tolerance": 1e-9}
"""Slacks are small beside the rows they stand for: at the usual tolerances they drown in it."""


def elastic(lp: LinearProgram, rows_allowed: Sequence[int], options: SolveOptions) -> list[Slack]:
    """The least total relative slack on the allowed rows that admits a solution, worst first; [] if none is
    needed.

    The relaxation is asked first (a conflict seen there is no matter of integers), then the integer
    program, whose slacks are the ones a planner can act on; the relaxation's stand in when the integer
    program finds none in time. When the conflict lies outside the allowed rows, every row may give way.
    SolverFailure: the column bounds conflict, or nothing was found within the limit.
    """
    started = time.perf_counter()
    options = replace(options, highs_options={**EXACTLY, **options.highs_options})
    widened = _with_slacks(lp, np.asarray(rows_allowed, dtype=np.int64))
    first = relaxation(widened.lp, options)
    if first.status is Status.INFEASIBLE and len(rows_allowed) < len(lp.row_names):
        return elastic(lp, range(len(lp.row_names)), options)
    if not lp.integrality.any():
        return _slacks(lp, widened, first)
    left = max(1.0, options.time_limit - (time.perf_counter() - started))
    second = solve(widened.lp, replace(options, time_limit=left))
    if second.status is Status.INFEASIBLE and len(rows_allowed) < len(lp.row_names):
        return elastic(lp, range(len(lp.row_names)), replace(options, time_limit=left))
    return _slacks(lp, widened, second if second.has_solution else first)


def _with_slacks(lp: LinearProgram, rows: NDArray[np.int64]) -> _Elastic:
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
    return _Elastic(program, where, signs, scales)


def _slacks(lp: LinearProgram, widened: _Elastic, outcome: Outcome) -> list[Slack]:
    if outcome.x is None:
        raise SolverFailure(f"no witness of the infeasibility was found: the elastic program ended {outcome}")
    width = len(lp.c)
    amounts = outcome.x[width:]
    activity = lp.A @ outcome.x[:width]
    found = []
    for index in np.argsort(-amounts / widened.scales, kind="stable"):
        if amounts[index] <= NEGLIGIBLE * widened.scales[index]:
            break
        row, amount = int(widened.rows[index]), float(amounts[index])
        reached = float(activity[row])
        if widened.signs[index] > 0:
            found.append(Slack(row, lp.row_names[row], float(lp.row_lower[row]), reached, amount))
        else:
            found.append(Slack(row, lp.row_names[row], reached, float(lp.row_upper[row]), amount))
    return found

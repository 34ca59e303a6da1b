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

from optimizer.errors import SolverFailure
from optimizer.solver.arrays import LinearProgram
from optimizer.solver.highs import solve
from optimizer.solver.linear import relaxation
from optimizer.solver.options import EXACTLY, SolveOptions
from optimizer.solver.outcome import Outcome, Status
from optimizer.solver.slacks import WithSlacks, with_slacks

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-6
"""Slack, relative to the row's scale, that is rounding and not a conflict, beside one that is a conflict."""
ROUNDING = 1e-10
"""The same where no slack is large: a demand missed by a hair is missed."""


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
class Given:
    """What gave way, worst first; the sum of it relative to the rows; and a solution with that."""

    slacks: tuple[Slack, ...]
    total: float
    x: Floats


def is_infeasible(lp: LinearProgram, options: SolveOptions) -> bool:
    """True only with a proof that needs no presolve: of the relaxation, else of the integer program.

    False says that there is a solution or that the limit came first; the caller still has the first opinion.
    """
    plain = replace(options, highs_options={**options.highs_options, "presolve": "off"})
    if relaxation(lp, plain).status is Status.INFEASIBLE:
        return True
    return bool(lp.integrality.any()) and solve(lp, plain).status is Status.INFEASIBLE


def elastic(lp: LinearProgram, rows_allowed: Sequence[int], options: SolveOptions) -> list[Slack]:
    """The least total relative slack on the allowed rows that admits a solution, worst first; [] if none is
    needed. As `give_way`, of which it is the slacks."""
    return list(give_way(lp, rows_allowed, options).slacks)


def give_way(lp: LinearProgram, rows_allowed: Sequence[int], options: SolveOptions) -> Given:
    """The least total relative slack on the allowed rows that admits a solution, and that solution.

    The relaxation is asked first (a conflict seen there is no matter of integers), then the integer
    program, whose slacks are the ones a planner can act on; the relaxation's stand in when the integer
    program finds none in time. When the conflict lies outside the allowed rows, every row may give way.
    SolverFailure: the column bounds conflict, or nothing was found within the limit.
    """
    started = time.perf_counter()
    # slacks are small beside the rows they stand for: at the usual tolerances they drown in them
    options = replace(options, highs_options={**EXACTLY, **options.highs_options})
    widened = with_slacks(lp, np.asarray(rows_allowed, dtype=np.int64))
    first = relaxation(widened.lp, options)
    if first.status is Status.INFEASIBLE and len(rows_allowed) < len(lp.row_names):
        return give_way(lp, range(len(lp.row_names)), options)
    if not lp.integrality.any():
        return _given(lp, widened, first)
    left = max(1.0, options.time_limit - (time.perf_counter() - started))
    try:
        second = solve(widened.lp, replace(options, time_limit=left))
    except SolverFailure:
        return _given(lp, widened, first)
    if second.status is Status.INFEASIBLE and len(rows_allowed) < len(lp.row_names):
        return give_way(lp, range(len(lp.row_names)), replace(options, time_limit=left))
    return _given(lp, widened, second if second.has_solution else first)


def _given(lp: LinearProgram, widened: WithSlacks, outcome: Outcome) -> Given:
    if outcome.x is None:
        raise SolverFailure(f"no witness of the infeasibility was found: the elastic program ended {outcome}")
    width = len(lp.c)
    amounts = outcome.x[width:]
    activity = lp.A @ outcome.x[:width]
    relative = amounts / widened.scales
    nothing = min(NEGLIGIBLE, max(ROUNDING, NEGLIGIBLE * relative.max(initial=0.0)))
    found = []
    for index in np.argsort(-relative, kind="stable"):
        if relative[index] <= nothing:
            break
        row, amount = int(widened.rows[index]), float(amounts[index])
        reached = float(activity[row])
        if widened.signs[index] > 0:
            found.append(Slack(row, lp.row_names[row], float(lp.row_lower[row]), reached, amount))
        else:
            found.append(Slack(row, lp.row_names[row], reached, float(lp.row_upper[row]), amount))
    return Given(tuple(found), float(relative.sum()), outcome.x[:width])

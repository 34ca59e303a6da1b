"""The best integer answer: incumbent, bound and gap, whatever ends the run."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from highspy import HighsModelStatus, SolutionStatus
from numpy.typing import NDArray

from optimizer.errors import SolverFailure
from optimizer.solver import engine
from optimizer.solver.arrays import LinearProgram
from optimizer.solver.engine import Interrupt, Progress, Run
from optimizer.solver.linear import fix, nothing, relaxation
from optimizer.solver.options import EXACTLY, OptionValue, SolveOptions
from optimizer.solver.outcome import OPTIMAL_GAP, Outcome, Status, relative_gap

Floats = NDArray[np.float64]

FEASIBLE = 1e-6
"""Relative to the row's scale: what a start may breach and still count as a solution."""
_UNDECIDED = {HighsModelStatus.kUnknown, HighsModelStatus.kUnboundedOrInfeasible}


def solve(
    lp: LinearProgram,
    options: SolveOptions,
    *,
    start: Floats | None = None,
    fixed: Mapping[int, float] | None = None,
    interrupt: Interrupt | None = None,
    progress: Progress | None = None,
    known_bound: float = -math.inf,
) -> Outcome:
    """Solve to the gap or the limit, and say what is known then.

    `start` is a solution or, with NaN for what is unknown, a part of one; the answer is never worse than a
    feasible start. `fixed` holds columns at values. `known_bound` is a proven bound from elsewhere; the
    reported bound is never below it. `progress(seconds, incumbent, bound, gap)` and `interrupt()` are called
    in this thread. Ctrl-C returns the incumbent as INTERRUPTED, or raises when there is none yet.
    """
    lp = fix(lp, fixed or {})
    if not lp.integrality.any():
        return relaxation(lp, options, interrupt=interrupt)
    if start is not None and start.shape != lp.c.shape:
        raise ValueError(f"the start has {start.shape} entries, the program {lp.c.shape}")

    usual: dict[str, OptionValue] = {"mip_lp_solver": "ipx"} if lp.is_large else {}
    if known_bound > 0:  # an incumbent within the gap of a bound from elsewhere ends the search
        usual["objective_target"] = known_bound / (1.0 - min(options.gap, 0.5))

    def attempt(settings: Mapping[str, OptionValue]) -> Run:
        highs = engine.load(lp, options, {**usual, **settings})
        if start is not None:
            _pass_start(highs, lp, start)
        return engine.run(highs, options, interrupt=interrupt, progress=progress)

    ended = attempt({})
    if ended.model in _UNDECIDED:
        ended = attempt({"presolve": "off"})
    complete = start if start is not None and lp.violation(start) <= FEASIBLE else None
    try:
        outcome = _outcome(lp, options, ended, complete, known_bound)
    except SolverFailure:  # against itself or a bound: tolerances and presolve are suspected
        ended = attempt({"presolve": "off", **EXACTLY})
        outcome = _outcome(lp, options, ended, complete, known_bound)
    if ended.by_keyboard and not outcome.has_solution:
        raise KeyboardInterrupt
    return outcome


def _pass_start(highs: engine.Highs, lp: LinearProgram, start: Floats) -> None:
    """Give HiGHS the known entries; it completes the rest from the integers."""
    known = np.flatnonzero(~np.isnan(start))
    if known.size:
        values = np.where(lp.integrality, np.round(start), start)
        values = np.clip(values, lp.col_lower, lp.col_upper)[known]  # outside a bound HiGHS drops them all
        engine.demand(highs.setSolution(len(known), known.astype(np.int32), values), "take the start")


def _outcome(
    lp: LinearProgram, options: SolveOptions, ended: Run, start: Floats | None, known_bound: float
) -> Outcome:
    proven = ended.model == HighsModelStatus.kOptimal
    if not proven and ended.model not in engine.LIMITS | engine.STOPPED | {HighsModelStatus.kInfeasible}:
        raise SolverFailure(f"HiGHS ended with {ended.model.name}: neither an answer nor a proof")
    x, bound, nodes = _answer(lp, ended)
    bound = max(bound, known_bound)
    if ended.model == HighsModelStatus.kInfeasible:
        if start is not None:
            raise SolverFailure("HiGHS calls a program infeasible that the given start solves")
        return nothing(Status.INFEASIBLE, math.inf, ended, nodes)
    if start is not None and (x is None or lp.objective(start) < lp.objective(x)):
        x = start
    if x is None:
        if proven:
            raise SolverFailure("HiGHS reports an optimum and gives no solution")
        return nothing(Status.INTERRUPTED if ended.interrupted else Status.LIMIT, bound, ended, nodes)
    objective = lp.objective(x)
    if bound > objective + FEASIBLE * max(1.0, abs(objective)):
        raise SolverFailure(f"bound {bound!r} lies above solution {objective!r}: one of them is wrong")
    bound = min(bound, objective)
    return Outcome(
        status=_status(options, ended, objective, bound),
        x=x,
        objective=objective,
        bound=bound,
        gap=relative_gap(objective, bound),
        seconds=ended.seconds,
        nodes=nodes,
        row_activity=lp.A @ x,
        violation=lp.violation(x),
        notes=() if ended.finished else ("HiGHS did not stop when told; its last solution was taken",),
    )


def _answer(lp: LinearProgram, ended: Run) -> tuple[Floats | None, float, int]:
    """Solution, bound and nodes: from HiGHS when it finished, else from what the callbacks saw."""
    watch = ended.watch
    if not ended.finished:
        return watch.x, watch.bound, watch.nodes
    info, solution = ended.highs.getInfo(), ended.highs.getSolution()
    feasible = info.primal_solution_status == int(SolutionStatus.kSolutionStatusFeasible)
    x = None
    if solution.value_valid and feasible:  # column bounds are met exactly or they are no bounds
        x = np.clip(np.array(solution.col_value), lp.col_lower, lp.col_upper)
    return x, max(info.mip_dual_bound, watch.bound), max(info.mip_node_count, 0)


def _status(options: SolveOptions, ended: Run, objective: float, bound: float) -> Status:
    proven = ended.model == HighsModelStatus.kOptimal
    gap = relative_gap(objective, bound)
    if ended.interrupted and not proven:
        return Status.INTERRUPTED
    if gap <= OPTIMAL_GAP or objective - bound <= OPTIMAL_GAP:
        return Status.OPTIMAL
    return Status.WITHIN_GAP if proven or gap <= options.gap else Status.LIMIT

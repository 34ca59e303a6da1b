"""Linear programs: the relaxation of a mixed-integer one, and the prices at fixed integers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from highspy import HighsBasis, HighsModelStatus
from numpy.typing import NDArray

from optimizer.errors import SolverFailure
from optimizer.solver import engine
from optimizer.solver.arrays import LinearProgram
from optimizer.solver.engine import Interrupt, Run
from optimizer.solver.options import OptionValue, SolveOptions
from optimizer.solver.outcome import Duals, Outcome, Status
from optimizer.solver.slacks import row_scales, with_slacks

Floats = NDArray[np.float64]
Settings = Mapping[str, OptionValue]

SMALL_WAYS: tuple[Settings, ...] = (
    {"solver": "simplex"},
    {"solver": "simplex", "presolve": "off"},
    {"solver": "ipx"},
    {"solver": "simplex", "simplex_strategy": 4},
    {"solver": "ipx", "presolve": "off"},
)
"""Usual first. An infeasible program with rows of very different sizes can leave dual simplex undecided."""
LARGE_WAYS = (SMALL_WAYS[2], *(way for way in SMALL_WAYS if way != SMALL_WAYS[2]))

EDGE = 1e-7
"""By how much rows give way, relative to their scale, where no way can tell feasible from infeasible."""
LEAST_PATIENCE = 1.0
"""Seconds that simplex from a known basis may take at least."""
TIGHTEST = 1e-10
"""The least feasibility tolerance HiGHS accepts."""
USUAL = 1e-7
"""The feasibility tolerance of HiGHS itself: the last way where a limit leaves no room for a finer one."""
CONTRADICTION = 1e-6
"""The least sum of what rows must give way, relative to their scales, that is none of rounding."""


def relaxation(
    lp: LinearProgram,
    options: SolveOptions,
    *,
    near: Outcome | None = None,
    interrupt: Interrupt | None = None,
) -> Outcome:
    """The LP without integrality, with prices: simplex when small, interior point and crossover when large.

    From the basis of a `near` one, an LP of the same rows and columns, simplex takes a tenth of the
    time or less; where it takes longer than that one took, it is left for the usual ways.

    An undecided end is tried in other ways, then by how much rows would have to give way (a program that
    always has an answer), at last with rows eased by a hair: a program that stands on the edge of feasibility
    has no other answer. The notes say so. SolverFailure when nothing decides.
    """
    lp = relaxed(lp)
    notes: list[str] = []
    if near is not None and (outcome := _from_basis(lp, options, near, interrupt)) is not None:
        return outcome
    ways = LARGE_WAYS if lp.is_large else SMALL_WAYS
    for loose in (0.0, EDGE):
        if loose and (contradiction := _contradiction(lp, options, ways, interrupt)) is not None:
            return replace(contradiction, notes=(*notes, *contradiction.notes))
        program = loosened(lp, loose) if loose else lp
        for way in ways:
            described = ", ".join(f"{name} {value}" for name, value in way.items())
            described += f", rows loosened by {loose:g} of their scale" if loose else ""
            try:
                outcome = _solve(program, options, way, interrupt)
            except SolverFailure as failure:
                notes.append(f"{described}: {failure}")
                continue
            return replace(outcome, notes=(*notes, f"solved by {described}") if notes else ())
    raise SolverFailure("the relaxation was not solved: " + "; ".join(notes))


def _from_basis(
    lp: LinearProgram, options: SolveOptions, near: Outcome, interrupt: Interrupt | None
) -> Outcome | None:
    """The optimum from the basis of another LP; None where that is no shorter way."""
    basis = near.basis
    if basis is None or (len(basis.row_status), len(basis.col_status)) != lp.A.shape:
        return None
    patience = min(options.time_limit, max(LEAST_PATIENCE, near.seconds))
    try:
        way: Settings = {"solver": "simplex", "presolve": "off"}
        outcome = _solve(lp, replace(options, time_limit=patience), way, interrupt, basis)
    except SolverFailure:
        return None
    return outcome if outcome.x is not None or outcome.status is Status.INTERRUPTED else None


def _contradiction(
    lp: LinearProgram, options: SolveOptions, ways: tuple[Settings, ...], interrupt: Interrupt | None
) -> Outcome | None:
    """INFEASIBLE where the rows cannot be met even by giving way no more than rounding; None where they can,
    or where nothing decides that either."""
    widened = with_slacks(lp, np.arange(lp.A.shape[0])).lp
    for way in ways:
        try:
            outcome = _solve(widened, options, way, interrupt)
        except SolverFailure:
            continue
        if outcome.status is Status.INFEASIBLE:  # the bounds of the columns cross
            return outcome
        if outcome.x is None or outcome.objective <= CONTRADICTION:
            return None
        said = f"the rows would have to give way by {outcome.objective:.3g} of their scales"
        return Outcome(
            Status.INFEASIBLE, None, math.inf, math.inf, math.inf, outcome.seconds, 0, None, notes=(said,)
        )
    return None


def loosened(lp: LinearProgram, share: float) -> LinearProgram:
    """Every row eased by a share of its scale: a relaxation, so that its optimum is a bound still."""
    give = share * row_scales(lp)
    return replace(lp, row_lower=lp.row_lower - give, row_upper=lp.row_upper + give)


def fixed_lp(lp: LinearProgram, x: Floats, options: SolveOptions, tolerance: float = TIGHTEST) -> Outcome:
    """Round the integers of x, hold them there, and solve the remaining LP as exactly as HiGHS can.

    When HiGHS cannot meet the tolerance in one way, others are tried, and the notes say so. INFEASIBLE means
    that two ways agree that the rounded integers admit no continuous part.
    """
    columns = np.flatnonzero(lp.integrality)
    held = fix(relaxed(lp), dict(zip(columns.tolist(), np.round(x[columns]).tolist(), strict=True)))
    tight: Settings = {
        "primal_feasibility_tolerance": tolerance,
        "dual_feasibility_tolerance": tolerance,
        "solver": "simplex",
    }
    ways: tuple[Settings, ...] = (
        {},
        {"presolve": "off"},
        {"presolve": "off", "simplex_scale_strategy": 0},
        {"presolve": "off", "simplex_strategy": 4},
        {"primal_feasibility_tolerance": USUAL, "dual_feasibility_tolerance": USUAL},
    )
    notes: list[str] = []
    best: Outcome | None = None
    called_infeasible = False
    for way in ways:
        described = ", ".join(f"{name} {value}" for name, value in way.items()) or "as usual"
        try:
            outcome = _solve(held, options, {**tight, **way}, None)
        except SolverFailure as failure:
            notes.append(f"{described}: {failure}")
            continue
        if outcome.status is Status.INFEASIBLE:
            notes.append(f"{described}: infeasible")
            if called_infeasible:
                return replace(outcome, notes=tuple(notes))
            called_infeasible = True
        elif outcome.x is None:
            return replace(outcome, notes=tuple(notes))
        else:
            best = outcome if best is None or outcome.violation < best.violation else best
            if outcome.violation <= 10 * tolerance:
                break
            notes.append(f"{described}: rows breached by {outcome.violation:.1e} of their scale")
    if best is None:
        raise SolverFailure("the LP at fixed integers was not solved: " + "; ".join(notes))
    return replace(best, notes=tuple(notes))


def fix(lp: LinearProgram, values: Mapping[int, float]) -> LinearProgram:
    """The same program with columns held at values."""
    if not values:
        return lp
    columns, held = np.array(list(values)), np.array(list(values.values()), dtype=np.float64)
    lower, upper = lp.col_lower.copy(), lp.col_upper.copy()
    lower[columns] = upper[columns] = held
    return replace(lp, col_lower=lower, col_upper=upper)


def relaxed(lp: LinearProgram) -> LinearProgram:
    """The same program without integrality."""
    return replace(lp, integrality=np.zeros_like(lp.integrality))


def _solve(
    lp: LinearProgram,
    options: SolveOptions,
    settings: Settings,
    interrupt: Interrupt | None,
    basis: HighsBasis | None = None,
) -> Outcome:
    """One LP run, from a basis if there is one. SolverFailure when HiGHS gives no answer and no proof."""
    highs = engine.load(lp, options, settings)
    if basis is not None:
        engine.demand(highs.setBasis(basis), "take the basis")
    ended = engine.run(highs, options, interrupt=interrupt)
    if ended.by_keyboard:
        raise KeyboardInterrupt  # half an LP is no answer
    if ended.model in engine.LIMITS | engine.STOPPED:
        return nothing(Status.INTERRUPTED if ended.interrupted else Status.LIMIT, -math.inf, ended)
    if ended.model == HighsModelStatus.kInfeasible:
        return nothing(Status.INFEASIBLE, math.inf, ended)
    if ended.model == HighsModelStatus.kModelEmpty:  # no columns: HiGHS does not look at the rows
        x, duals = np.zeros(0), Duals(np.zeros(lp.A.shape[0]), np.zeros(0))
        if lp.violation(x) > 0:
            return nothing(Status.INFEASIBLE, math.inf, ended)
    else:
        solution = ended.highs.getSolution()
        if ended.model != HighsModelStatus.kOptimal or not (solution.value_valid and solution.dual_valid):
            raise SolverFailure(f"HiGHS ended with {ended.model.name}: neither an answer nor a proof")
        x = np.clip(np.array(solution.col_value), lp.col_lower, lp.col_upper)
        duals = Duals(np.array(solution.row_dual), np.array(solution.col_dual))
    objective = lp.objective(x)
    return Outcome(
        status=Status.OPTIMAL,
        x=x,
        objective=objective,
        bound=objective,
        gap=0.0,
        seconds=ended.seconds,
        nodes=0,
        row_activity=lp.A @ x,
        violation=lp.violation(x),
        duals=duals,
        basis=found if (found := ended.highs.getBasis()).valid else None,
    )


def nothing(status: Status, bound: float, ended: Run, nodes: int = 0) -> Outcome:
    """The outcome of a run without a solution."""
    return Outcome(status, None, math.inf, bound, math.inf, ended.seconds, nodes, None)

"""An MPS file and HiGHS, nothing between them: its own defaults, a gap and a time limit."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import highspy
from highspy import HighsModelStatus, HighsStatus, cb

from benchmarks.trajectory import Trajectory
from optimizer.errors import SolverFailure
from optimizer.solver.engine import SMALLEST_COEFFICIENT, Highs, demand
from optimizer.solver.options import OptionValue

RELAXATIONS = ("ipx", "simplex", "pdlp")
"""HiGHS's ways to a linear program. HiPO is in no wheel of it."""
AGAIN, FAST = 2, 5.0
"""Times more that a way of fewer seconds is run."""
_HEARD = (cb.kCallbackMipImprovingSolution, cb.kCallbackMipInterrupt, cb.kCallbackMipLogging)


@dataclass(frozen=True)
class Solved:
    """One solver on one file: seconds of reading and of solving, what it knew when, and how it ended."""

    read_seconds: float
    seconds: float
    trajectory: Trajectory
    status: str


def opened(file: Path, limit: float, settings: Mapping[str, OptionValue]) -> tuple[Highs, float]:
    """HiGHS with the file read, and the seconds that took; the limit is for what comes after. Entries that it
    would drop by default are kept: without them it would be another problem."""
    quiet = {"output_flag": False, "log_to_console": False, "small_matrix_value": SMALLEST_COEFFICIENT}
    solver = Highs()
    for name, value in {**quiet, **settings}.items():
        demand(solver.setOptionValue(name, value), f"set {name} = {value!r}")
    began = time.perf_counter()
    if (read := solver.readModel(str(file))) not in (HighsStatus.kOk, HighsStatus.kWarning):
        raise SolverFailure(f"HiGHS did not read {file}: {read.name}")
    seconds = time.perf_counter() - began
    demand(solver.setOptionValue("time_limit", limit), f"set time_limit = {limit!r}")
    return solver, seconds


def highs(file: Path, gap: float, limit: float, settings: Mapping[str, OptionValue] | None = None) -> Solved:
    """Solve a file to a gap or a limit. `settings` are HiGHS options; without any it has its defaults."""
    solver, read = opened(file, limit, {"mip_rel_gap": gap, **(settings or {})})
    seen = Trajectory()
    began = time.perf_counter()

    def heard(kind: Any, message: str, told: Any, answer: Any, _: Any) -> None:
        seen.add(time.perf_counter() - began, told.mip_primal_bound, told.mip_dual_bound)

    demand(solver.setCallback(heard, None), "take the callback")
    for kind in _HEARD:
        demand(solver.startCallback(kind), f"start callback {kind}")
    solver.run()
    seconds, info, status = time.perf_counter() - began, solver.getInfo(), solver.getModelStatus()
    if info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible):
        seen.add(seconds, info.objective_function_value, info.mip_dual_bound)
    else:
        seen.add(seconds, None, info.mip_dual_bound)
    return Solved(read, seconds, seen, status.name.removeprefix("k"))


def relaxation(file: Path, way: str, limit: float) -> tuple[float, float]:
    """Seconds of one of HiGHS's ways to the linear relaxation, reading apart, and the optimum; inf and NaN
    where it does not get there in time."""
    solver, _ = opened(file, limit, {"solve_relaxation": True, "solver": way})
    began = time.perf_counter()
    solver.run()
    seconds = time.perf_counter() - began
    if solver.getModelStatus() != HighsModelStatus.kOptimal:
        return math.inf, math.nan
    return seconds, float(solver.getInfo().objective_function_value)


def relaxed(file: Path, limit: float) -> tuple[float, str, float]:
    """The fastest way to the linear relaxation: its seconds, its name, the optimum.

    A way is given the time of the best before it, since more would not make it the best; a fast winner runs
    again, and its least seconds count. Inf and no name where none gets there.
    """
    best, name, optimum = limit, "", math.nan
    for way in RELAXATIONS:
        seconds, value = relaxation(file, way, best)
        if seconds < best:
            best, name, optimum = seconds, way, value
    if not name:
        return math.inf, "", optimum
    again = (relaxation(file, name, limit)[0] for _ in range(AGAIN if best < FAST else 0))
    return min(best, *again, best), name, optimum

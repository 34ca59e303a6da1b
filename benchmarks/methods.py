"""Who is measured: the product's search, the plain formulation with HiGHS, with HiGHS as the product sets
it, and with SCIP. Each runs in a process of its own and says what it knew, and when.

The clock of a search starts when its program is there, as arrays or as a file that is read; what it takes
to get there is `benchmarks.building`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from benchmarks.cases import alone, given
from benchmarks.plain import bare, scip
from benchmarks.plain.bare import Solved
from benchmarks.problems import Task
from benchmarks.resident import peak
from benchmarks.trajectory import Trajectory
from optimizer.design.gates import gated
from optimizer.design.search import Clock, search
from optimizer.formulation import Model, write
from optimizer.formulation.owners import owners
from optimizer.solver import Compiled, SolveOptions, compile, relaxation

PATIENCE = 900.0
"""Seconds beyond twice the limit after which a process that does not end is given up."""


def product(task: Task) -> Solved:
    """One round of the product's search, its relaxation included."""
    began = time.perf_counter()
    model = write(task.problem.instance)
    arrays = compile(model.pyomo)
    return searched(model, arrays, task.options, time.perf_counter() - began)


def searched(model: Model, arrays: Compiled, options: SolveOptions, before: float = 0.0) -> Solved:
    """The product's search of a compiled model; `before` are the seconds it took to get there."""
    seen, clock = Trajectory(), Clock.start(options.time_limit)

    def heard(_: str, seconds: float, incumbent: float | None, bound: float | None, __: float | None) -> None:
        seen.add(seconds, incumbent, bound)

    lp = gated(model, arrays)
    relaxed = relaxation(lp, clock.within(options))
    seen.add(clock.elapsed, None, relaxed.bound)
    outcome = search(
        lp, options, clock, "search",
        owners=owners(model, arrays.variables), relaxed=relaxed, progress=heard,
    )  # fmt: skip
    seen.add(clock.elapsed, outcome.objective, outcome.bound)
    return Solved(before, clock.elapsed, seen, outcome.status.value)


def plain(task: Task) -> Solved:
    """The plain formulation and HiGHS, its defaults as they are."""
    return bare.highs(task.problem.file, task.gap, task.limit)


def as_set(task: Task) -> Solved:
    """The plain formulation and HiGHS with the product's threads and seed."""
    settings = {"threads": task.threads, "random_seed": task.seed}
    return bare.highs(task.problem.file, task.gap, task.limit, settings)


def by_scip(task: Task) -> Solved:
    """The plain formulation and SCIP."""
    return scip.scip(task.problem.file, task.gap, task.limit)


METHODS: dict[str, Callable[[Task], Solved]] = {
    "product": product,
    "plain": plain,
    "bare HiGHS": as_set,
    "SCIP": by_scip,
}


def missing(method: str) -> str:
    """Why a method cannot be asked; nothing where it can."""
    return scip.ABSENT if method == "SCIP" and not scip.installed() else ""


def asked(method: str, task: Task) -> dict[str, Any]:
    """What a method says of a task, in a process of its own: `trajectory`, `seconds`, `read_seconds`,
    `status` and `peak_bytes`."""
    return alone("methods", task, method, seconds=2 * task.limit + PATIENCE)


def main() -> None:
    """One method, for `alone`."""
    task, (method,) = given()
    solved = METHODS[method](task)
    said = {
        "status": solved.status,
        "seconds": solved.seconds,
        "read_seconds": solved.read_seconds,
        "trajectory": solved.trajectory.told(),
        "peak_bytes": peak(),
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main()

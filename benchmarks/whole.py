"""From file to layout: the whole of what `tierplan solve --no-simulate` does, beside HiGHS on the exported
file.

The product's seconds hold everything: reading, building, writing, searching, the rounds of touching points,
the exact check, prices and reasons. HiGHS is given the problem ready, as a file, and only searches it.
"""

from __future__ import annotations

import json
import math
import time

from benchmarks.bench import Bench, figure, percent, ratio
from benchmarks.cases import alone, given
from benchmarks.families import Cell, cell
from benchmarks.methods import PATIENCE, asked
from benchmarks.problems import Task
from benchmarks.tables import AtLeast, Figure, Section
from benchmarks.trajectory import Trajectory
from optimizer.catalog import load_catalog
from optimizer.design.planning import plan
from optimizer.solver import SolveOptions

GAP = 0.01
"""What `tierplan solve` asks for by default."""
QUESTION = "From file to layout"


def measure(bench: Bench) -> Section:
    """Every cell by both."""
    return Section(
        QUESTION,
        f"To a gap of {GAP:.0%}, both with the same threads, seed and limit. *Product* is everything from "
        "the file to a layout that passed the exact check, comparisons and replay left out; *bare* is "
        "HiGHS alone on the plain formulation of the same problem, exported to MPS, from the read file "
        "on. *Over relaxation*: the product's seconds over those of the linear relaxation. A gap in "
        "percent is what was proven at the end; a dash: no layout.",
        tuple(measured(bench, of) for of in bench.cells()),
    )


def measured(bench: Bench, of: Cell) -> dict[str, Figure]:
    """One cell by both."""
    problem, limit = bench.problem(of), bench.scope.limits[of.family]
    ours = alone("whole", (of.family, of.size, limit, bench.seed), seconds=2 * limit + PATIENCE)
    theirs = asked("bare HiGHS", Task(problem, GAP, limit, bench.seed))
    bare = Trajectory.read(theirs["trajectory"])
    done, bare_done = ours["gap"] is not None and ours["gap"] <= GAP, bare.gap <= GAP
    over = ratio(ours["seconds"] if done else math.inf, problem.relaxed_seconds, limit)
    bench.say(
        QUESTION, {f"{of.name}, file to layout": over},
        family=of.family, size=of.size, method="product", limit=limit, **ours,
    )  # fmt: skip
    found = bare.incumbent if math.isfinite(bare.incumbent) else None
    bench.say(
        QUESTION, {}, family=of.family, size=of.size, method="bare HiGHS", limit=limit,
        objective=found, bound=bare.bound, **theirs,
    )  # fmt: skip
    faster = theirs["seconds"] / ours["seconds"]
    return {
        "cell": of.name,
        "GPUs": ours["gpus"],
        "product s": ours["seconds"],
        "gap %": None if ours["gap"] is None else percent(ours["gap"]),
        "over relaxation": figure(over),
        "bare s": theirs["seconds"],
        "bare gap %": percent(bare.gap),
        "times as fast as bare": (faster if bare_done else AtLeast(faster)) if done else None,
        "limit s": limit,
    }


def main() -> None:
    """One cell by the product, for `alone`."""
    (family, size, limit, seed), _ = given()
    began = time.perf_counter()
    asked_for = cell(family, size).loaded
    result = plan(
        asked_for, load_catalog(), SolveOptions(gap=GAP, time_limit=limit, seed=seed),
        simulate=False, compare=False,
    )  # fmt: skip
    bought = result.layout.servers if result.layout else ()
    said = {
        "seconds": time.perf_counter() - began,
        "status": result.status,
        "objective": result.objective_usd,
        "bound": result.bound_usd,
        "gap": result.gap,
        "gpus": sum(row.accelerators for row in bought) or None,
        "rounds": [
            {"status": r.status, "objective": r.objective_usd, "bound": r.bound_usd, "seconds": r.seconds}
            for r in result.rounds
        ],
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main()

"""What it takes to get to the arrays and back: building, writing, compiling, patching, reading back.

Seconds of the processor and bytes that the process grows by, phase by phase, in a process of its own. The
size of a facility changes coefficients only, so that one size of every family is enough.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from benchmarks.bench import LP_LIMIT, Bench
from benchmarks.cases import alone, given
from benchmarks.families import Cell, cell
from benchmarks.resident import growth
from benchmarks.tables import Figure, Section
from optimizer.formulation import read_back, write
from optimizer.solver import Compiled, SolveOptions, compile, relaxation
from optimizer.solver.arrays import LinearProgram

T = TypeVar("T")
QUESTION = "To the arrays and back"
PHASES = ("build", "write", "compile", "patch", "read back")
PATCHED = 1000
"""Coefficients that change at once: a rate moves about as many."""


def measure(bench: Bench) -> Section:
    """Every family, at the first of its sizes that is asked for."""
    first = {of.family: of for of in reversed(bench.cells())}
    return Section(
        QUESTION,
        "Seconds of the processor: *build* from the file to the instance, *write* to a Pyomo model, "
        f"*compile* to arrays, *patch* {PATCHED:,} coefficients and every cost, *read back* from a "
        "solution of the arrays to a layout. *MB* is what the process grows by at its peak in the phase "
        "that takes most.",
        tuple(measured(bench, of) for of in sorted(first.values(), key=lambda of: of.name, reverse=True)),
    )


def measured(bench: Bench, of: Cell) -> dict[str, Figure]:
    """One family."""
    said = alone("building", (of.family, of.size))
    unit = bench.problem(of).relaxed_seconds
    ratios = {f"{of.family}, {phase}": said["seconds"][phase] / unit for phase in PHASES}
    bench.say(QUESTION, ratios, family=of.family, size=of.size, method="product", **said)
    most = max(said["bytes"], key=said["bytes"].get)
    return {
        "family": of.family,
        "columns": said["columns"],
        "nonzeros": said["nonzeros"],
        **{f"{phase} s": said["seconds"][phase] for phase in PHASES},
        "MB": said["bytes"][most] / 1e6,
        "in": most,
        "relaxation s": unit,
    }


def patched(lp: LinearProgram) -> LinearProgram:
    """The program with some coefficients and all costs changed."""
    columns = np.repeat(np.arange(lp.c.size), np.diff(lp.A.indptr))
    some = np.linspace(0, lp.A.nnz - 1, PATCHED).astype(np.int64)
    changed = lp.with_entries(lp.A.indices[some], columns[some], 1.01 * lp.A.data[some])
    return replace(changed, c=1.01 * lp.c)


def rounded_up(arrays: Compiled) -> np.ndarray:
    """The relaxation's answer with its integers rounded up: no layout that keeps the laws, and as large."""
    outcome = relaxation(arrays.lp, SolveOptions(time_limit=LP_LIMIT))
    if outcome.x is None:
        raise RuntimeError(f"the relaxation ended with {outcome.status.value}")
    return np.where(arrays.lp.integrality, np.ceil(outcome.x - 1e-6), outcome.x)


def phases(family: str, size: str) -> dict[str, object]:
    """Seconds and bytes of every phase, one after the other."""
    seconds: dict[str, float] = {}
    grown: dict[str, float] = {}

    def phase(name: str, run: Callable[[], T]) -> T:
        began = time.process_time()
        more, result = growth(run)
        seconds[name], grown[name] = time.process_time() - began, max(0.0, more)
        return result

    instance = phase("build", lambda: cell(family, size).instance())
    model = phase("write", lambda: write(instance))
    arrays = phase("compile", lambda: compile(model.pyomo))
    phase("patch", lambda: patched(arrays.lp))
    answer = rounded_up(arrays)

    def back() -> None:
        arrays.read_back(answer)
        read_back(model)

    phase("read back", back)
    rows, columns = arrays.lp.A.shape
    return {"rows": rows, "columns": columns, "nonzeros": arrays.lp.A.nnz, "seconds": seconds, "bytes": grown}


def main() -> None:
    """One family, for `alone`."""
    (family, size), _ = given()
    print(json.dumps(phases(family, size)))


if __name__ == "__main__":
    main()

"""How time grows with classes, with models, and with the size of the facility, one at a time.

An exponent is the slope of log seconds over log size by least squares: 1 is in proportion, 0 is not at all. A
search that the limit cut off has no seconds, and takes no part.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks import families
from benchmarks.bench import Bench
from benchmarks.cases import alone, given
from benchmarks.methods import PATIENCE, searched
from benchmarks.tables import AtLeast, Figure, Section
from optimizer.catalog import load_catalog
from optimizer.formulation import write
from optimizer.instance.build import build
from optimizer.solver import SolveOptions, compile, relaxation
from optimizer.workload import Loaded

QUESTION = "Growth"
GAP = 0.01
TIMES = ("build", "write", "relaxation", "search")
FEWEST = 3
"""Points that a slope needs."""


def points(longest: int) -> Iterator[tuple[str, float]]:
    """What grows, and the value it has: the first `longest` steps of every ladder."""
    for what, steps in families.LADDERS.items():
        yield from ((what, float(step)) for step in steps[:longest])
    yield from (("facility", factor) for factor in families.FACTORS[:longest])


def question(what: str, value: float) -> Loaded:
    """The workload at a step of a ladder, everything else held."""
    held = families.HELD
    if what == "facility":
        return families.shipped(families.SHIPPED["S"], value)
    count = {"models": int(held["models"]), "classes": int(held["classes"]), what: int(value)}
    count["models"] = min(count["models"], count["classes"])
    return families.drawn(count["models"], count["classes"], held["rates"])


def measure(bench: Bench) -> tuple[Section, Section]:
    """Every step, and the exponents."""
    rows = [row(bench, what, value) for what, value in points(bench.scope.ladder)]
    steps = Section(
        QUESTION,
        f"Classes with {families.HELD['models']:g} models, models with {families.HELD['classes']:g} "
        "classes, both drawn from the catalogue; the facility is S with its rates times a factor. "
        "Seconds of building the instance, of writing and compiling it, of its relaxation, and of the "
        f"search to {GAP:.0%}.",
        tuple(rows),
    )
    return steps, Section(
        "Exponents",
        "Seconds in proportion to size to this power; in brackets the steps that it rests on.",
        tuple(exponents(bench, rows)),
    )


def row(bench: Bench, what: str, value: float) -> dict[str, Figure]:
    """One step, in a process of its own."""
    limit = bench.scope.growth_limit
    said = alone("growth", (what, value, limit, bench.seed), seconds=2 * limit + PATIENCE)
    bench.say(QUESTION, {}, family=what, size=value, method="product", limit=limit, **said)
    search = said["seconds"]["search"]
    return {
        "what": what,
        "size": value,
        "columns": said["columns"],
        **{f"{name} s": said["seconds"][name] for name in TIMES[:-1]},
        "search s": AtLeast(limit) if search is None else search,
    }


def exponents(bench: Bench, rows: Sequence[dict[str, Figure]]) -> Iterator[dict[str, Figure]]:
    """One line for every ladder."""
    for what in dict.fromkeys(row["what"] for row in rows):
        mine = [row for row in rows if row["what"] == what]
        fitted = {name: _fitted(mine, f"{name} s") for name in TIMES}
        bench.say(
            "Exponents", {}, family=what, size="", method="product",
            exponents={name: slope for name, (slope, _) in fitted.items()},
        )  # fmt: skip
        yield {"what": what, **{name: _slope(*of) for name, of in fitted.items()}}


def _slope(slope: float | None, count: int) -> str:
    return "-" if slope is None else f"{slope:.2f} ({count})"


def _fitted(rows: Sequence[dict[str, Figure]], name: str) -> tuple[float | None, int]:
    known = [(row["size"], row[name]) for row in rows if not isinstance(row[name], AtLeast)]
    return exponent([float(size) for size, _ in known], [float(s) for _, s in known]), len(known)


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float | None:
    """The slope of log seconds over log size by least squares; None from fewer than three points."""
    if len(sizes) < FEWEST:
        return None
    x, y = np.log(sizes), np.log(seconds)
    return float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())


def step(what: str, value: float, limit: float, seed: int) -> dict[str, object]:
    """One step: wall seconds of everything."""
    asked = question(what, value)
    began = time.perf_counter()
    instance = build(asked.workload, load_catalog())
    built = time.perf_counter()
    model = write(instance)
    arrays = compile(model.pyomo)
    wrote = time.perf_counter()
    options = SolveOptions(gap=GAP, time_limit=limit, seed=seed)
    relaxation(arrays.lp, SolveOptions(time_limit=math.inf))
    relaxed = time.perf_counter()
    found = searched(model, arrays, options)
    reached = found.trajectory.seconds_to(GAP)
    seconds = {
        "build": built - began,
        "write": wrote - built,
        "relaxation": relaxed - wrote,
        "search": reached if math.isfinite(reached) else None,
    }
    rows, columns = arrays.lp.A.shape
    end = found.trajectory
    return {
        "rows": rows,
        "columns": columns,
        "seconds": seconds,
        "objective": end.incumbent if math.isfinite(end.incumbent) else None,
        "bound": end.bound if math.isfinite(end.bound) else None,
    }


def main() -> None:
    """One step, for `alone`."""
    asked, _ = given()
    print(json.dumps(step(*asked)))


if __name__ == "__main__":
    main()

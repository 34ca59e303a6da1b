"""How long to a proven gap: the product, the plain formulation with HiGHS as it comes, and with SCIP.

Seconds are told in units of the fastest way to the plain formulation's linear relaxation, which another
machine changes as much as the rest.
"""

from __future__ import annotations

from typing import Any

from benchmarks.bench import Bench, Ratio, figure, percent, ratio, share
from benchmarks.families import Cell
from benchmarks.methods import asked, missing
from benchmarks.problems import Problem, Task
from benchmarks.tables import Figure, Section
from benchmarks.trajectory import Trajectory
from optimizer.solver import relative_gap

WHO = ("product", "plain", "SCIP")
GAPS = (0.01, 0.005, 0.001)
EARLY = 5.0
"""Seconds after which a planner looks for a first layout."""
ONE_NUMBER = 1e-4
"""By how much of it a bound may lie above somebody else's solution: tolerances of rows, and no more."""


def measure(bench: Bench) -> Section:
    """Every cell by everybody."""
    rows = [row for of in bench.cells() for row in measured(bench, of)]
    return Section(
        "Seconds to a proven gap",
        "Of one problem: an instance whose touching points stand still, from its arrays (product) or its "
        "file (others) on, in units of its linear relaxation by the fastest way. *Plain* is the "
        "formulation of `benchmarks/plain` and HiGHS with its defaults. In percent: *left*, the proven gap "
        "when the time was up; *below*, how far the bound then lay below the best layout of anybody; "
        f"*early*, how much dearer than that the layout known after {EARLY:g} s is. A dash: no layout.",
        tuple(rows),
    )


def measured(bench: Bench, of: Cell) -> list[dict[str, Figure]]:
    """One cell by everybody: a row each."""
    problem, limit = bench.problem(of), bench.scope.limits[of.family]
    task = Task(problem, GAPS[-1], limit, bench.seed)
    said = {who: asked(who, task) for who in WHO if not missing(who)}
    seen = {who: Trajectory.read(of_who["trajectory"]) for who, of_who in said.items()}
    best = agreed(problem, seen)
    for who, told in said.items():
        bench.say(
            "Seconds to a proven gap", compared(of, who, seen[who], problem, limit, best),
            family=of.family, size=of.size, method=who, limit=limit,
            columns=problem.columns, rows=problem.rows, integers=problem.integers,
            relaxed_seconds=problem.relaxed_seconds, relaxed_by=problem.relaxed_by,
            relaxed_usd=problem.relaxed_usd,
            objective=_finite(seen[who].incumbent), bound=_finite(seen[who].bound), **told,
        )  # fmt: skip
    return [row(of, who, problem, limit, best, seen.get(who)) for who in WHO]


def compared(
    of: Cell, who: str, seen: Trajectory, problem: Problem, limit: float, best: float
) -> dict[str, Ratio]:
    """What a run is compared by with an earlier one."""
    unit, name = problem.relaxed_seconds, f"{of.name}, {who}"
    return {
        **{f"{name}, to {gap:.1%}": ratio(seen.seconds_to(gap), unit, limit) for gap in GAPS},
        f"{name}, gap left": share(seen.gap, GAPS[-1]),
        f"{name}, below": share(relative_gap(best, seen.bound), GAPS[-1]),
        f"{name}, early": share(seen.primal_gap(EARLY, best), GAPS[-1]),
    }


def row(
    of: Cell, who: str, problem: Problem, limit: float, best: float, seen: Trajectory | None
) -> dict[str, Figure]:
    """A line of the table; who was not asked has the reason in place of figures."""
    unit = problem.relaxed_seconds
    reached = {f"to {gap:.1%}": ratio(seen.seconds_to(gap), unit, limit) if seen else None for gap in GAPS}
    return {
        "cell": of.name,
        "method": who if seen else f"{who} ({missing(who)})",
        "columns": problem.columns,
        "integers": problem.integers,
        "relaxation s": unit,
        "by": problem.relaxed_by,
        **{name: None if of_it is None else figure(of_it) for name, of_it in reached.items()},
        "left %": percent(seen.gap) if seen else None,
        "below %": percent(relative_gap(best, seen.bound)) if seen else None,
        "early %": percent(seen.primal_gap(EARLY, best)) if seen else None,
        "limit s": limit,
    }


def agreed(problem: Problem, seen: dict[str, Trajectory]) -> float:
    """The best solution of anybody. Raises ArithmeticError where somebody's bound lies above it: then they do
    not solve one problem, or one of them is wrong."""
    best = min(t.incumbent for t in seen.values())
    for who, of_who in seen.items():
        if of_who.bound > best + ONE_NUMBER * abs(best):
            raise ArithmeticError(f"{problem.name}: {who} proves {of_who.bound!r}, and there is {best!r}")
    return best


def _finite(value: float) -> Any:
    return value if abs(value) < 1e300 else None

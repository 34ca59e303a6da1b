"""Asking again after a change of prices, rates or limits: from the answer that is known, beside from nothing.

A planner changes one figure and wants the new answer. `nearby` begins with the instances, the touching points
and the basis of the answer at hand; a fresh search begins with nothing. Both prove the same gap.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from benchmarks.bench import Bench
from benchmarks.families import RATES, SHIPPED, Cell, shipped
from benchmarks.tables import Figure, Section
from optimizer.catalog import load_catalog
from optimizer.design.comparisons.nearby import known, nearby
from optimizer.design.rounds import Candidate, improve
from optimizer.design.search import Clock
from optimizer.instance import Instance
from optimizer.instance.build import build
from optimizer.solver import SolveOptions

T = TypeVar("T")
QUESTION = "Asking again"
GAP = 0.025
"""Proven on both sides: what every cell that is asked reaches."""


def changes(of: Cell) -> dict[str, str]:
    """A price, a rate and, where the question has one, a limit."""
    asked = of.loaded.workload
    busier = f"classes.{next(iter(asked.classes))}.peak_rate=x1.05"
    found = {"DRAM at $20/GB": "prices.dram=$20/GB", "the first class 5% busier": busier}
    return found | ({"a tenth less power": "facility.power=x0.9"} if asked.facility.power else {})


def measure(bench: Bench) -> Section:
    """Every shipped family, at the largest of its sizes that is asked for."""
    cells = {of.family: of for of in bench.cells() if of.family in SHIPPED}
    rows = [row for of in cells.values() for row in measured(bench, of)]
    return Section(
        QUESTION,
        f"Seconds to a layout within {GAP:.1%} of what is possible, after one change: *fresh* builds, writes "
        "and searches anew, *again* begins at the known answer. *apart*: how far the costs are from another.",
        tuple(rows),
    )


def measured(bench: Bench, of: Cell) -> list[dict[str, Figure]]:
    """Every change of one cell."""
    limit = bench.scope.limits[of.family]
    options = SolveOptions(gap=GAP, time_limit=limit, seed=bench.seed)
    before, _, _ = improve(of.instance(), options, Clock.start(limit), rounds=1)
    if before is None:
        return []
    answer = known(before)
    rows: list[dict[str, Figure]] = []
    for change, words in changes(of).items():

        def changed(words: str = words) -> Instance:
            asked = shipped(SHIPPED[of.family], RATES[of.family][of.size], words)
            return build(asked.workload, load_catalog())

        fresh, fresh_seconds = timed(lambda: improve(changed(), options, Clock.start(limit), rounds=1)[0])
        again, again_seconds = timed(
            lambda: nearby(changed(), answer, options, Clock.start(limit), "again", rounds=1).candidate
        )
        ratio = again_seconds / fresh_seconds
        bench.say(
            QUESTION, {f"{of.name}, {change}": ratio}, family=of.family, size=of.size, method="again",
            seconds=again_seconds, fresh_seconds=fresh_seconds,
            fresh_gap=gap(fresh), again_gap=gap(again), apart=apart(fresh, again),
        )  # fmt: skip
        rows.append({
            "cell": of.name, "change": change, "fresh s": fresh_seconds, "again s": again_seconds,
            "times sooner": 1 / ratio, "fresh gap %": gap(fresh), "again gap %": gap(again),
            "apart %": apart(fresh, again),
        })  # fmt: skip
    return rows


def timed(ask: Callable[[], T]) -> tuple[T, float]:
    """An answer and the seconds it took."""
    began = time.perf_counter()
    found = ask()
    return found, time.perf_counter() - began


def gap(found: Candidate | None) -> float | None:
    """Proven, in percent."""
    return None if found is None else 100 * found.outcome.gap


def apart(one: Candidate | None, other: Candidate | None) -> float | None:
    """Of two costs, in percent."""
    if one is None or other is None:
        return None
    return 100 * abs(one.layout.objective_usd / other.layout.objective_usd - 1)

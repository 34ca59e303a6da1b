"""The exact check: every law and every stated number, from the instance and the layout alone."""

from __future__ import annotations

import math
from collections.abc import Iterator

from optimizer.instance.layout import Layout
from optimizer.instance.types import Instance
from optimizer.verify import (
    laws_capacity,
    laws_contexts,
    laws_cxl,
    laws_machines,
    laws_routing,
    laws_time,
    laws_traffic,
)
from optimizer.verify.certificate import Activity, Certificate, Row, Sense, Violation, violation_of
from optimizer.verify.costs import components_known, cost_rows, objective
from optimizer.verify.entries import ENTRIES
from optimizer.verify.form import malformed
from optimizer.verify.plan import Plan
from optimizer.verify.reading import Decisions
from optimizer.verify.tables import Tables

LAWS = (
    *laws_routing.LAWS,
    *laws_contexts.LAWS,
    *laws_machines.LAWS,
    *laws_time.LAWS,
    *laws_capacity.LAWS,
    *laws_traffic.LAWS,
    *laws_cxl.LAWS,
)


def check(instance: Instance, layout: Layout) -> Certificate:
    """Judge a layout in exact arithmetic. Passed: every label is the instance's, every law holds and every
    stated number is what the decisions make it, to 1e-9 of the row's scale."""
    tables = Tables(instance)
    unreadable = malformed(layout)
    if unreadable:
        return Certificate(False, 0, tuple(unreadable), math.inf, math.nan, ())
    plan = Plan(tables, Decisions(tables, layout))
    rows = list(rows_of(plan))
    problems: list[Violation] = [*plan.decisions.problems, *components_known(plan)]
    judged = [(float(row.relative_excess), row) for row in rows if row.excess]
    broken = sorted((each for each in judged if each[1].violated), key=lambda each: each[0], reverse=True)
    largest = max((relative for relative, _ in judged), default=0.0)
    return Certificate(
        passed=not problems and not broken,
        rows_checked=len(rows),
        violations=(*problems, *(violation_of(row) for _, row in broken)),
        worst=math.inf if problems else largest,
        recomputed_usd=float(objective(plan).value),
        activities=tuple(
            Activity(row.name, float(row.have), float(row.need))
            for row in rows
            if row.sense is not Sense.EQUAL
        ),
    )


def rows_of(plan: Plan) -> Iterator[Row]:
    """Every row of every law, and every stated number."""
    for law in LAWS:
        yield from law(plan)
    for entry in ENTRIES:
        yield from entry(plan)
    yield from cost_rows(plan)

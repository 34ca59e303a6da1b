"""Why: the limits that decide, with what one more unit would save."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from optimizer.design.result import Binding
from optimizer.formulation import LAWS, Law, Model
from optimizer.solver import Compiled, Outcome
from optimizer.verify import Certificate

LAW_OF: dict[str, Law] = {law.row: law for law in LAWS}
PRICELESS = 0.01  # USD: below a cent a price is rounding
REACHED = 1e-6  # a row this close to its limit stands at it
BOOKKEEPING = {
    "route_hits",
    "contexts_only_sink",
    "contexts_split",
    "context_entry",
    "build_chosen",
    "one_age_per_lru_tier",
    "drives_replaced",
    "owned_used_limit",
}
"""Row families that say what words mean, not what there is too little of: no limit of a facility."""


def row_name(constraint: Any) -> str:
    """A row in the planner's words: family[ids]; one period needs no name."""
    index = constraint.index()
    parts = index if isinstance(index, tuple) else (index,)
    return f"{constraint.parent_component().name}[{','.join(str(part) for part in parts)}]"


def bindings(
    model: Model, compiled: Compiled, priced: Outcome, relaxed: Outcome | None, certificate: Certificate
) -> tuple[Binding, ...]:
    """The limits that the layout stands at, most money at stake first.

    Two prices, both local. As bought: the machines stay and only the rest may move (most limits are then
    worth nothing, since dollars hang on machines). Long run: counts may follow in fractions.
    """
    found = _bindings(model, compiled, priced, relaxed, certificate)
    return tuple(sorted(found, key=lambda b: -abs(b.long_run_price_usd * b.need)))


def _bindings(
    model: Model, compiled: Compiled, priced: Outcome, relaxed: Outcome | None, certificate: Certificate
) -> Iterator[Binding]:
    if relaxed is None or priced.duals is None or relaxed.duals is None:
        return
    stated = {a.name: a for a in certificate.activities}
    lp = compiled.lp
    for i, constraint in enumerate(compiled.constraints):
        law = LAW_OF.get(constraint.parent_component().name)
        activity = stated.get(row_name(constraint))
        if law is None or law.row in BOOKKEEPING or activity is None or lp.row_lower[i] == lp.row_upper[i]:
            continue
        unit = row_unit(model, constraint) / law.size
        now, later = -float(priced.duals.row[i]) / unit, -float(relaxed.duals.row[i]) / unit
        slack = abs(activity.have - activity.need)
        reached = slack <= REACHED * abs(activity.need) or (
            abs(later) > PRICELESS and slack < _largest_step(compiled, priced, i) * unit * law.size
        )
        if reached and activity.need and max(abs(now), abs(later)) > PRICELESS:
            yield Binding(
                row=activity.name,
                law=law.row,
                have=activity.have / law.size,
                need=activity.need / law.size,
                unit=law.unit,
                price_usd=now,
                long_run_price_usd=later,
                price_means=law.price,
            )


def row_unit(model: Model, constraint: Any) -> float:
    """SI size of the unit a row is written in."""
    return model.units[constraint.parent_component().local_name][constraint.index()]


def _largest_step(compiled: Compiled, priced: Outcome, row: int) -> float:
    """What one more of the largest machine in use takes of a row of whole machines (0: a row of others too).

    Machines are whole, so that a limit is seldom met to the watt: it binds when none of them fits any more.
    """
    lp = compiled.lp
    entries = compiled.by_row.indptr[row], compiled.by_row.indptr[row + 1]
    columns = compiled.by_row.indices[slice(*entries)]
    if priced.x is None or not lp.integrality[columns].all():
        return 0.0
    used = np.abs(compiled.by_row.data[slice(*entries)])[priced.x[columns] > 0.5]
    return float(used.max(initial=0.0))

"""What stands in the way of a demand: every conflict at once, as have, need and the smallest fix.

Pre-checks speak first, with names and numbers: a demand that nothing on offer meets. Such a demand would hide
the rest, so each is given its smallest fix and the question is asked again; what then still conflicts is a
matter of amounts, and an elastic solve names it. The fixes are `--set` overrides: applied together, they make
the demand one that can be met.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from optimizer.catalog import Catalog
from optimizer.design.explain import LAW_OF, row_name, row_unit
from optimizer.design.mending import Mend, mend
from optimizer.design.result import Shortfall
from optimizer.design.rounds import improve
from optimizer.design.search import Clock
from optimizer.errors import Problem
from optimizer.formulation import Model, write
from optimizer.instance import Instance
from optimizer.instance.build import build
from optimizer.instance.checks import Unmeetable
from optimizer.solver import Compiled, Slack, SolveOptions, Status, compile, elastic
from optimizer.workload import Loaded, loaded

ROUNDS = 5  # of mending what the pre-checks refuse: one mended demand can uncover another
AT_MOST = 10_000  # machines: more than any answer
ANY = 0.5  # the gap of a search that only asks whether there is a layout
HAIR = 1e-6  # a fix is told this much on the safe side, so that applying it is enough


@dataclass(frozen=True)
class Remedy:
    """How a planner gives way on a row family: in words, and as an override (None: said in words only)."""

    words: str
    path: str | None
    shown: str = "{:.9g}"
    whole: bool = False
    demand: bool = False  # written with both sides negated: a demand, not a limit


REMEDIES = {
    "power": Remedy("raise facility.power", "facility.power", "{:.9g} kW"),
    "rack_space": Remedy("raise facility.rack_units", "facility.rack_units", "{:.9g} U"),
    "budget": Remedy("raise facility.budget", "facility.budget", "${:.9g}k"),
    "supply": Remedy("raise hardware.servers.*.supply", "hardware.servers.{}.supply", "{:.0f}", whole=True),
    "server_maximum": Remedy("raise hardware.servers.*.max", "hardware.servers.{}.max", "{:.0f}", whole=True),
    "server_minimum": Remedy(
        "lower hardware.servers.*.min", "hardware.servers.{}.min", "{:.0f}", whole=True, demand=True
    ),
    "node_limits": Remedy(
        "move hardware.servers.*.max or min", "hardware.servers.{}.{}", "{:.0f}", whole=True
    ),
    "ttft_attainment": Remedy(
        "raise classes.*.slo.ttft, or lower attainment", "classes.{}.slo.attainment", demand=True
    ),
    "tier_ceiling": Remedy("raise tiers.*.max_bytes", "tiers.{}.max_bytes", "{:.9g} GB"),
    "tier_floor": Remedy("lower tiers.*.min_bytes", "tiers.{}.min_bytes", "{:.9g} GB", demand=True),
    "user": Remedy("relax the row under limits", "limits.{}.{}"),
    "max_builds": Remedy("raise hardware.max_builds", "hardware.max_builds", "{:.0f}", whole=True),
    "spare_servers": Remedy("lower hardware.spares", "hardware.spares", "{:.0f}", whole=True, demand=True),
}
"""Row families a planner can give way on, and how."""


def refused(
    asked: Loaded, catalog: Catalog, unmeetable: Unmeetable, options: SolveOptions
) -> tuple[Shortfall, ...]:
    """Every conflict of a demand that the pre-checks refuse, those that hide behind them included."""
    found: dict[str, Shortfall] = {}
    problems, mended = unmeetable.problems, asked
    for _ in range(ROUNDS):
        fixes = [mend(problem, mended.workload, catalog) for problem in problems]
        told = [_told(asked, problem, fix) for problem, fix in zip(problems, fixes, strict=True)]
        found |= {lack.row: lack for lack in told}
        if not all(fix.sets for fix in fixes):
            break  # what is left cannot be asked while one demand has no fix
        mended = loaded(mended.document, [one for fix in fixes for one in fix.sets])
        try:
            build(mended.workload, catalog)
        except Unmeetable as more:
            problems = more.problems
            continue
        return enough(asked, catalog, tuple(found.values()), options)
    return tuple(found.values())


def enough(
    asked: Loaded, catalog: Catalog, known: tuple[Shortfall, ...], options: SolveOptions
) -> tuple[Shortfall, ...]:
    """The conflicts with fixes that were tried: applied together there is a layout, or more is told.

    The margins for fluctuation stand at other touching points once a limit has moved, and a limit that moved
    can show the next, so the fixed demand is asked again until it can be met.
    """
    found = {lack.row: lack for lack in known}
    for _ in range(ROUNDS):
        fixed = loaded(asked.document, [one for lack in found.values() for one in lack.sets])
        try:
            instance = build(fixed.workload, catalog)
        except Unmeetable:  # a moved limit met a pre-check; the fixes found so far are told
            break
        easily = replace(options, gap=max(options.gap, ANY))
        best, _, (failed, outcome) = improve(instance, easily, Clock.start(options.time_limit), rounds=1)
        if best is not None or outcome.status is not Status.INFEASIBLE:
            break
        more = conflicts(*room_to_give(failed), options)
        if not more:
            break
        found |= {lack.row: _further(found.get(lack.row), lack) for lack in more}
    return tuple(found.values())


def _further(before: Shortfall | None, now: Shortfall) -> Shortfall:
    """A row that must give way once more: from what was asked first to what is needed last."""
    if before is None or before.have is None or before.need is None or now.have is None or now.need is None:
        return now
    family = now.row.partition("[")[0]
    demand = _is_demand(family, now.row)
    have, need = (now.have, before.need) if demand else (before.have, now.need)
    fix = _words(family, abs(need - have), now.unit)
    return now.model_copy(update={"have": have, "need": need, "fix": fix})


def _told(asked: Loaded, problem: Problem, fix: Mend) -> Shortfall:
    placed = asked.document.placed(problem)
    remedy = f"smallest fix: {fix.words}" if fix.words else problem.remedy
    return Shortfall(
        row=f"{placed.where} {placed.path}".strip(),
        have=None,
        need=None,
        unit="",
        fix=f"{problem.message}; {remedy}",
        sets=fix.sets,
    )


def room_to_give(instance: Instance) -> tuple[Model, Compiled]:
    """The same demand without the bounds on counts that its limits imply: a limit can only be seen to be
    too low where the counts may exceed it."""
    builds = tuple(replace(b, maximum=AT_MOST) if b.sku else b for b in instance.builds)
    model = write(replace(instance, builds=builds))
    return model, compile(model.pyomo)


def conflicts(model: Model, compiled: Compiled, options: SolveOptions) -> tuple[Shortfall, ...]:
    """Have, need and the smallest fix of every conflict at once, on rows a planner can give way on; () when
    there is none."""
    allowed = [i for i, c in enumerate(compiled.constraints) if c.parent_component().name in REMEDIES]
    return tuple(_shortfall(model, compiled, slack) for slack in elastic(compiled.lp, allowed, options))


def _shortfall(model: Model, compiled: Compiled, slack: Slack) -> Shortfall:
    constraint = compiled.constraints[slack.row]
    family = constraint.parent_component().name
    law, remedy = LAW_OF[family], REMEDIES.get(family)
    unit = row_unit(model, constraint) / law.size
    low, high = slack.have * unit, slack.need * unit
    demand = _is_demand(family, row_name(constraint))
    have, need = (-high, -low) if demand else (low, high)
    return Shortfall(
        row=row_name(constraint),
        have=have,
        need=need,
        unit=law.unit,
        fix=_words(family, slack.slack * unit, law.unit),
        sets=_overrides(model, constraint, remedy, have if demand else need, demand) if remedy else (),
    )


def _is_demand(family: str, row: str) -> bool:
    """Whether a row asks for something and does not limit it: it is written with both sides negated."""
    remedy = REMEDIES.get(family)
    return (remedy is not None and remedy.demand) or row.endswith(",min]")


def _words(family: str, amount: float, unit: str) -> str:
    remedy = REMEDIES.get(family)
    return f"{remedy.words if remedy else 'relax this row'} by {amount:,.4g} {unit}"


def _overrides(
    model: Model, constraint: Any, remedy: Remedy, value: float, demand: bool
) -> tuple[str, ...]:
    """The override that moves a row's limit to where it can be kept, a hair on the safe side."""
    index = constraint.index()
    keys = [str(key) for key in (index if isinstance(index, tuple) else (index,)) if key != model.t]
    family = constraint.parent_component().name
    value += -HAIR * abs(value) if demand else HAIR * abs(value)
    if family == "ttft_attainment":
        value = max(0.0, value / model.tables.classes[keys[0]].rate)
    if family == "supply":
        value -= model.tables.skus[keys[0]].owned
    if remedy.whole:  # a count found within the solver's tolerance is that count
        value = math.floor(value + 1e-4) if demand else math.ceil(value - 1e-4)
    if remedy.path is None:
        return ()
    return (f"{remedy.path.format(*keys)}={remedy.shown.format(value)}",)

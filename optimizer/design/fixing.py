"""Every conflict of a demand that cannot be met, with fixes that were tried.

Pre-checks speak first, with names and numbers: a demand that nothing on offer meets. Such a demand would hide
the rest, so each is given its smallest fix and the question is asked again; what then still conflicts is a
matter of amounts, and an elastic solve names it. A limit that moved can show the next, so the fixed demand is
asked until it can be met: the fixes are `--set` overrides that, applied together, were seen to be enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import Enum, auto

from optimizer.catalog import Catalog
from optimizer.design.conflicts import HAIR, Conflict, standing
from optimizer.design.mending import mend
from optimizer.design.result import Shortfall
from optimizer.design.rounds import improve
from optimizer.design.search import Clock
from optimizer.errors import InputError, Problem
from optimizer.instance import Instance
from optimizer.instance.build import build
from optimizer.instance.checks import Unmeetable
from optimizer.solver import SolveOptions, Status
from optimizer.workload import Loaded, loaded

ROUNDS = 12  # of asking the fixed demand again
HAIRS = (HAIR, 10 * HAIR, 100 * HAIR)  # safe sides, in turn, while the exact check rejects the layout
ANY = 0.5  # the gap of a search that only asks whether there is a layout


def shortfalls(
    asked: Loaded, catalog: Catalog, options: SolveOptions, known: Iterable[Conflict] = ()
) -> tuple[Shortfall, ...]:
    """Every conflict of a demand that cannot be met, beginning with those known, within the time limit.

    Where time or the catalogue runs out the fixes are those found so far: a conflict without `sets` is one
    that nothing on offer mends, and what hides behind it is not told.
    """
    clock = Clock.start(options.time_limit)
    found: dict[str, _Found] = {conflict.row: conflict for conflict in known}
    hairs = list(HAIRS)
    for _ in range(ROUNDS):
        told = _told(found, hairs[0])
        if not clock.left or not all(lack.sets for lack in told):
            break
        try:
            fixed = loaded(asked.document, [one for lack in told for one in lack.sets])
            instance = build(fixed.workload, catalog)
        except Unmeetable as refusal:
            found = _with_refusals(found, refusal, asked, fixed, catalog)
            continue
        except InputError:  # fixes that do not go together: those found so far are told
            break
        verdict, more = _again(instance, fixed, clock.within(options))
        if verdict is _Verdict.REJECTED and len(hairs) > 1:
            hairs.pop(0)
        elif verdict is _Verdict.CONFLICTS:
            found = _with_conflicts(found, more)
        else:
            break
    return _told(found, hairs[0])


_Found = Conflict | Shortfall


class _Verdict(Enum):
    """How the fixed demand was answered. UNKNOWN: not in time."""

    MET = auto()
    REJECTED = auto()
    CONFLICTS = auto()
    UNKNOWN = auto()


def _again(
    instance: Instance, fixed: Loaded, options: SolveOptions
) -> tuple[_Verdict, tuple[Conflict, ...]]:
    """Ask the fixed demand: any layout will do."""
    easily = replace(options, gap=max(options.gap, ANY))
    best, _, (failed, outcome) = improve(instance, easily, Clock.start(options.time_limit), rounds=1)
    if best is not None:
        return (_Verdict.MET if best.certificate.passed else _Verdict.REJECTED), ()
    if outcome.status is not Status.INFEASIBLE:
        return _Verdict.UNKNOWN, ()
    more, _ = standing(failed, fixed.workload, options)
    return (_Verdict.CONFLICTS if more else _Verdict.UNKNOWN), more


def _with_conflicts(found: dict[str, _Found], more: Iterable[Conflict]) -> dict[str, _Found]:
    """What is found, with rows that must give way, or give way once more."""
    merged = dict(found)
    for conflict in more:
        before = merged.get(conflict.row)
        merged[conflict.row] = before.further(conflict) if isinstance(before, Conflict) else conflict
    return merged


def _with_refusals(
    found: dict[str, _Found], refusal: Unmeetable, asked: Loaded, fixed: Loaded, catalog: Catalog
) -> dict[str, _Found]:
    """What is found, with the demands that nothing on offer meets and what mends each."""
    told = (_refused(asked, fixed, problem, catalog) for problem in refusal.problems)
    return found | {lack.row: lack for lack in told}


def _refused(asked: Loaded, fixed: Loaded, problem: Problem, catalog: Catalog) -> Shortfall:
    placed, fix = asked.document.placed(problem), mend(problem, fixed.workload, catalog)
    remedy = f"smallest fix: {fix.words}" if fix.words else problem.remedy
    return Shortfall(
        row=f"{placed.where} {placed.path}".strip(),
        have=None,
        need=None,
        unit="",
        fix=f"{problem.message}; {remedy}",
        sets=fix.sets,
    )


def _told(found: dict[str, _Found], hair: float) -> tuple[Shortfall, ...]:
    return tuple(x.shortfall(hair) if isinstance(x, Conflict) else x for x in found.values())

"""Every conflict of a demand that cannot be met, with fixes that were tried.

Pre-checks speak first, with names and numbers: a demand that nothing on offer meets. Such a demand would hide
the rest, so each is given its smallest fix and the question is asked again; what then still conflicts is a
matter of amounts, and an elastic solve names it. A limit that moved can show the next, so the fixed demand is
asked until it can be met: the fixes are `--set` overrides that, applied together, were seen to be enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto

from optimizer.catalog import Catalog
from optimizer.design.conflicts import HAIR, Conflict, standing
from optimizer.design.mending import mend
from optimizer.design.result import Round, Shortfall
from optimizer.design.rounds import ROUNDS, Candidate, improve
from optimizer.design.search import Clock, Interrupt, Progress
from optimizer.errors import InputError, Problem
from optimizer.instance import Instance
from optimizer.instance.build import build
from optimizer.instance.checks import Unmeetable
from optimizer.solver import Outcome, SolveOptions, Status
from optimizer.workload import Loaded, Workload, loaded

AGAIN = 12  # times of asking the fixed demand again
HAIRS = (HAIR, 10 * HAIR, 100 * HAIR)  # safe sides, in turn, while the exact check rejects the layout
REMEDY = "; smallest fix: "
PATIENCE = 10.0  # seconds that reasons get at least, however little there was for the search
ANY = 0.5  # the gap of a search that only asks whether there is a layout


@dataclass(frozen=True)
class Searched:
    """The best layout, or the conflicts, or (out of time) neither; the rounds; the instance solved last."""

    best: Candidate | None
    rounds: list[Round]
    failed: tuple[Instance, Outcome]
    conflicts: tuple[Conflict, ...] = ()


def search(
    instance: Instance,
    workload: Workload,
    options: SolveOptions,
    clock: Clock,
    *,
    rounds: int = ROUNDS,
    progress: Progress | None = None,
    interrupt: Interrupt | None = None,
) -> Searched:
    """Rounds of search; where none finds a layout, the conflicts with the margins touching where they ask for
    least, or the search again from there where that leaves none."""

    def improved(instance: Instance, *, touched: bool) -> Searched:
        best, done, failed = improve(
            instance, options, clock, rounds=rounds, touched=touched, progress=progress, interrupt=interrupt
        )
        return Searched(best, done, failed)

    first = improved(instance, touched=False)
    if first.best is not None or first.failed[1].status is not Status.INFEASIBLE:
        return first
    patient = replace(options, time_limit=max(PATIENCE, options.time_limit))
    found, there = standing(first.failed[0], workload, patient)
    if all(conflict.hair for conflict in found):
        again = improved(there, touched=True)
        if again.best is not None or again.failed[1].status is not Status.INFEASIBLE:
            return again
    return replace(first, conflicts=found, failed=(there, first.failed[1]))


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
    for _ in range(AGAIN):
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
    searched = search(instance, fixed.workload, easily, Clock.start(options.time_limit), rounds=1)
    if searched.best is not None:
        return (_Verdict.MET if searched.best.certificate.passed else _Verdict.REJECTED), ()
    if searched.conflicts:
        return _Verdict.CONFLICTS, searched.conflicts
    edge = searched.failed[1].status is Status.INFEASIBLE  # missed by less than any row would say
    return (_Verdict.REJECTED if edge else _Verdict.UNKNOWN), ()


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
    merged = dict(found)
    for problem in refusal.problems:
        lack = _refused(asked, fixed, problem, catalog)
        before = merged.get(lack.row)
        if isinstance(before, Shortfall):  # mended once already: what was missing is what was missing first
            missing, _, _ = before.fix.partition(REMEDY)
            lack = lack.model_copy(update={"fix": missing + REMEDY + lack.fix.partition(REMEDY)[2]})
        merged[lack.row] = lack
    return merged


def _refused(asked: Loaded, fixed: Loaded, problem: Problem, catalog: Catalog) -> Shortfall:
    placed = asked.document.placed(problem)
    fix = mend(problem, fixed.workload, catalog, asked.workload)
    return Shortfall(
        row=f"{placed.where} {placed.path}".strip(),
        have=None,
        need=None,
        unit="",
        fix=f"{problem.message}{REMEDY}{fix.words or problem.remedy}",
        sets=fix.sets,
    )


def _told(found: dict[str, _Found], hair: float) -> tuple[Shortfall, ...]:
    return tuple(x.shortfall(hair) if isinstance(x, Conflict) else x for x in found.values())

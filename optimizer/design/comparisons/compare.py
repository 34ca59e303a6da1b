"""Everything beside a layout, one after the other, inside one budget of seconds.

What the answer itself settles needs no search; the rest share the budget, and what one leaves goes to those
after it. Whatever happens here, the answer stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from optimizer.catalog import Accelerator, Catalog
from optimizer.design.comparisons.bills import api_bill, rent
from optimizer.design.comparisons.changes import CHOSEN, Change, bent, in_play
from optimizer.design.comparisons.nearby import known, nearby
from optimizer.design.comparisons.questions import BASELINE, HIGH, LOW, Question, questions, without
from optimizer.design.comparisons.result import Comparisons, ErrorBand, Factor, Neighbour
from optimizer.design.comparisons.stated import Answer, found, same, unsearched
from optimizer.design.conflicts import conflicts, room_to_give
from optimizer.design.result import Shortfall
from optimizer.design.rounds import Candidate
from optimizer.design.search import Clock, Interrupt, Progress
from optimizer.design.tighten import Tightening, tightened
from optimizer.errors import InputError, SolverFailure
from optimizer.instance import Instance, Tier
from optimizer.instance.build import build
from optimizer.solver import SolveOptions, Status, is_infeasible
from optimizer.workload import Workload

GAP = 0.01  # no comparison is asked for a smaller gap than this
LEAST = 1.0  # seconds: with less there is nothing to search
PATIENCE = 5.0  # seconds at least for the reasons of what cannot be met
STOPPED = "interrupted before it was answered"
UNPROVEN = "no layout was found, and no proof that there is none"
LATE = "the time for comparisons was up before it was searched"


@dataclass(frozen=True)
class _Watch:
    """What every search is given besides its question."""

    answer: Answer
    by: Tightening
    options: SolveOptions
    progress: Progress | None
    interrupt: Interrupt | None

    def told_to_stop(self) -> bool:
        """Whether somebody wants no more."""
        return self.interrupt is not None and self.interrupt()


def beside(
    workload: Workload,
    catalog: Catalog,
    options: SolveOptions,
    best: Candidate,
    bought: set[Tier],
    *,
    by: Tightening | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
    interrupt: Interrupt | None = None,
) -> Comparisons:
    """Make every comparison with a layout; `bought` are the tiers that money was spent on, `by` what replays
    asked for: the other questions are asked at the same coefficients. What they find is not replayed.

    `seconds` is the budget of all searches together: without one, as much again as the answer was given.
    """
    clock = Clock.start(options.time_limit if seconds is None else seconds)
    wanted = replace(options, gap=max(options.gap, GAP))
    watch = _Watch(Answer(best), by or Tightening(), wanted, progress, interrupt)
    of = _all(list(questions(workload, catalog, best, bought)), watch, clock)
    return Comparisons(
        budget_s=clock.limit,
        seconds=clock.elapsed,
        baseline=of[BASELINE],
        without=tuple(of[without(tier)] for tier in CHOSEN),
        error_band=ErrorBand(
            low=of[LOW],
            high=of[HIGH],
            bands={a.id: float(a.efficiency.error_band) for a in in_play(workload, catalog)},
            factors=tuple(_factors(workload, catalog)),
        ),
        rent=rent(workload, catalog, best.model, best.layout),
        api_bill=api_bill(workload, catalog, best.model, best.layout),
    )


def _all(asked: list[Question], watch: _Watch, clock: Clock) -> dict[str, Neighbour]:
    """Every question by name: first what is settled without a search, then the rest."""
    of = {q.name: settled for q in asked if (settled := _settled(q, watch.answer))}
    searched = [q for q in asked if q.name not in of]
    stopped = False
    for left, question in zip(range(len(searched), 0, -1), searched, strict=True):
        began = clock.elapsed
        stopped = stopped or watch.told_to_stop()
        if stopped or clock.left < LEAST:
            of[question.name] = unsearched(question, "not_done", STOPPED if stopped else LATE)
            continue
        try:
            got = _searched(question, watch, Clock.start(clock.left / left))
        except KeyboardInterrupt:  # a second Ctrl-C: no more of this, but the answer is there
            stopped = True
            got = unsearched(question, "not_done", STOPPED)
        of[question.name] = got.model_copy(update={"seconds": clock.elapsed - began})
    return of


def _settled(question: Question, answer: Answer) -> Neighbour | None:
    """What needs no search: nothing to take away, a change that is refused, a layout that keeps it."""
    if not question.offered:
        return unsearched(question, "not_offered")
    try:
        change = question.change()
    except InputError as error:
        return unsearched(question, "infeasible", *_said(error))
    if change.refused:
        return unsearched(question, "infeasible", *map(str, change.refused), notes=change.notes)
    return same(question, answer, change.notes) if question.kept else None


def _searched(question: Question, watch: _Watch, clock: Clock) -> Neighbour:
    """Build the changed question and search for its best layout."""
    change = question.change()
    try:
        instance = tightened(build(change.workload, change.catalog), watch.by)
    except InputError as error:
        return unsearched(question, "infeasible", *_said(error), notes=change.notes)
    try:
        got = nearby(
            instance, known(watch.answer.best), watch.options, clock, f"comparing {question.name}",
            progress=watch.progress, interrupt=watch.interrupt,
        )  # fmt: skip
        if got.candidate is None and got.outcome.status is Status.INFEASIBLE:
            return _infeasible(question, change, instance, watch.options, clock)
    except SolverFailure as failure:
        return unsearched(question, "not_done", f"the solver failed: {failure}", notes=change.notes)
    return found(question, watch.answer, got, change.notes)


def _infeasible(
    question: Question, change: Change, instance: Instance, options: SolveOptions, clock: Clock
) -> Neighbour:
    """Infeasible with a witness, as the answer itself would be; without one, no layout in time."""
    patient = replace(options, time_limit=max(PATIENCE, clock.left))
    model, compiled = room_to_give(instance, change.workload)
    if not is_infeasible(compiled.lp, patient):
        return unsearched(question, "limit", UNPROVEN, notes=change.notes)
    reasons = [_short(s) for s in conflicts(model, compiled, patient)]
    return unsearched(question, "infeasible", *reasons, notes=change.notes)


def _short(lack: Shortfall) -> str:
    if lack.have is None or lack.need is None:
        return f"{lack.row}: {lack.fix}"
    return f"{lack.row}: have {lack.have:,.4g}, need {lack.need:,.4g} {lack.unit}; {lack.fix}"


def _said(error: InputError) -> list[str]:
    return [str(problem) for problem in error.problems]


def _factors(workload: Workload, catalog: Catalog) -> Iterable[Factor]:
    """Every factor of every accelerator on offer at the two ends of its band."""
    ends = {end: _by_id(bent(workload, catalog, end).catalog) for end in (-1, 1)}
    for accelerator in in_play(workload, catalog):
        low, high = (_named(ends[end][accelerator.id]) for end in (-1, 1))
        for name, base in _named(accelerator).items():
            unit = "seconds" if name == "step_overhead" else "fraction"
            yield Factor(
                accelerator=accelerator.id, factor=name, unit=unit, low=low[name], base=base, high=high[name]
            )


def _by_id(catalog: Catalog) -> dict[str, Accelerator]:
    return {a.id: a for a in catalog.devices.accelerators}


def _named(accelerator: Accelerator) -> dict[str, float]:
    e = accelerator.efficiency
    families = {f"prefill.{family}": float(f) for family, f in e.prefill_by_family.items()}
    single = {name: float(getattr(e, name)) for name in ("hbm", "prefill", "decode_flops", "step_overhead")}
    return single | families

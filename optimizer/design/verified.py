"""Solve, replay, ask for more of what failed, solve again: until a replay finds every promise kept.

A layout that passed the exact check keeps every law of the model; the replay is the witness that the model
was right about it. Where a promise breaks, the coefficients of the resource to blame are raised
(`tighten.py`) and the problem is solved again from the layout at hand. A bound holds at the coefficients it
was found at: the one in the result is that of the layout in the result, and earlier ones are void.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from optimizer.design.basis import Tightened
from optimizer.design.comparisons.nearby import known as starting_point
from optimizer.design.comparisons.nearby import nearby
from optimizer.design.comparisons.stated import bought
from optimizer.design.replay import Rejected, failures, finite, span, state_of
from optimizer.design.result import Round
from optimizer.design.rounds import Candidate
from optimizer.design.search import Clock, Interrupt, Progress
from optimizer.design.tighten import Tightening, harder, known, tightened
from optimizer.errors import SolverFailure
from optimizer.instance import Instance, Layout
from optimizer.simulator.types import Failing, Verdict
from optimizer.solver import Outcome, SolveOptions, Status

ROUNDS = 5  # times of solving again
LEAST = 1.0  # seconds: with less there is nothing to search
STAGE = "replay"

Replaying = Callable[[Layout], Verdict]


@dataclass(frozen=True)
class Judged:
    """A layout, the coefficients it was found at, and what the replay says of it."""

    best: Candidate
    by: Tightening
    verdict: Verdict

    @property
    def wanting(self) -> float:
        """How far it is from passing: the largest need / have of what failed, in logarithms."""
        return max((_excess(failure) for failure in self.verdict.failing), default=0.0)


@dataclass(frozen=True)
class Verified:
    """The layout to return, those rejected on the way, the solves in between, and why there were no more."""

    judged: Judged
    rejected: tuple[Rejected, ...]
    rounds: tuple[Round, ...]
    ended: str


def verified(
    instance: Instance,
    best: Candidate,
    replay: Replaying,
    options: SolveOptions,
    clock: Clock,
    *,
    progress: Progress | None = None,
    interrupt: Interrupt | None = None,
) -> Verified:
    """Replay a layout of `instance`, and solve again until one passes, at most ROUNDS times and in time.

    `instance` is the problem before any touching point moved, `replay` judges a layout at its coefficients.
    The time limit is one of search: a replay is made however little is left of it, and takes nothing of it.
    Where no layout passes, the one that came nearest is returned.
    """
    judged: list[Judged] = []
    asked: list[tuple[tuple[Tightened, ...], dict[str, float]]] = []
    rounds: list[Round] = []
    by = Tightening()
    while True:
        if progress:
            progress(STAGE, clock.elapsed, best.layout.objective_usd, None, None)
        began = clock.elapsed
        judged.append(Judged(best, by, replay(best.layout)))
        clock = replace(clock, limit=clock.limit + clock.elapsed - began)
        verdict = judged[-1].verdict
        if state_of(verdict) != "failed":
            return _ended(judged, judged[-1], asked, rounds, "")
        more = harder(by, [f for f in verdict.failing if known(instance, f)], verdict.waits)
        if why := _over(len(rounds), by, more, clock, interrupt):
            return _ended(judged, _nearest(judged), asked, rounds, why)
        asked.append(_step(by, more))
        by, began = more, clock.elapsed
        again, outcome = _again(instance, by, best, options, clock, progress, interrupt)
        rounds.append(_round(len(rounds) + 1, outcome, clock.elapsed - began))
        if again is None:
            return _ended(judged, _nearest(judged), asked, rounds, _without(outcome))
        if not again.certificate.passed:
            why = "the exact check rejected the layout found next"
            return _ended(judged, _nearest(judged), asked, rounds, why)
        best = again


def _over(
    solved: int, by: Tightening, more: Tightening, clock: Clock, interrupt: Interrupt | None
) -> str:
    """Why the problem is not solved again; nothing where it is."""
    if not more.asks_beyond(by):
        return "nothing that failed can be asked for more of"
    if solved >= ROUNDS:
        return f"solved again {ROUNDS} times, as often as it is tried"
    if interrupt is not None and interrupt():
        return "interrupted"
    if clock.left < LEAST:
        return f"the time limit came before round {solved + 1} of {ROUNDS}: raise --time-limit"
    return ""


def _without(outcome: Outcome | None) -> str:
    """Why solving again gave no layout."""
    if outcome is None:
        return "the solver failed at what the replay asks for"
    if outcome.status is Status.INFEASIBLE:
        return "what the replay asks for cannot be met: no layout gives so much more of what failed"
    if outcome.status is Status.INTERRUPTED:
        return "interrupted"
    return "the time limit came before another layout was found: raise --time-limit"


def _again(
    instance: Instance,
    by: Tightening,
    best: Candidate,
    options: SolveOptions,
    clock: Clock,
    progress: Progress | None,
    interrupt: Interrupt | None,
) -> tuple[Candidate | None, Outcome | None]:
    """The best layout at harder coefficients, searched for from the one at hand."""
    harder_one = tightened(instance, by)
    try:
        found = nearby(
            harder_one, starting_point(best), options, Clock.start(clock.left), "solving again",
            progress=progress, interrupt=interrupt,
        )  # fmt: skip
    except SolverFailure:
        return None, None
    return found.candidate, found.outcome


def _round(number: int, outcome: Outcome | None, seconds: float) -> Round:
    """One more solve on the way, as the rounds before it."""
    if outcome is None:
        return Round(what=f"after replay {number}", status="failed", objective_usd=None, bound_usd=0.0,
                     gap=None, seconds=seconds)
    there = outcome.x is not None
    return Round(
        what=f"after replay {number}",
        status=outcome.status.name.lower(),
        objective_usd=outcome.objective if there else None,
        bound_usd=outcome.bound if abs(outcome.bound) < 1e300 else 0.0,
        gap=outcome.gap if there else None,
        seconds=seconds,
    )


def _step(by: Tightening, more: Tightening) -> tuple[tuple[Tightened, ...], dict[str, float]]:
    """What one round asks for beyond the last: factors, and waits that are reckoned otherwise."""
    factors = tuple(
        Tightened(law=law.value, resource=resource, factor=factor / by.factors.get((law, resource), 1.0))
        for (law, resource), factor in more.factors.items()
        if factor != by.factors.get((law, resource), 1.0)
    )
    return factors, {p: f for p, f in more.waits.items() if f != by.waits.get(p, 1.0)}


def _nearest(judged: list[Judged]) -> Judged:
    """The layout that comes nearest to its promises; of those that are as near, the cheapest."""
    return min(judged, key=lambda j: (round(j.wanting, 3), j.best.layout.objective_usd))


def _excess(failure: Failing) -> float:
    if failure.have > 0 and failure.need > 0 and math.isfinite(failure.need):
        return abs(math.log(failure.need / failure.have))
    return math.inf


def _ended(
    judged: list[Judged],
    chosen: Judged,
    asked: list[tuple[tuple[Tightened, ...], dict[str, float]]],
    rounds: list[Round],
    why: str,
) -> Verified:
    steps = [*asked, *[((), {})] * (len(judged) - len(asked))]
    rejected = tuple(
        _rejected(one, *step) for one, step in zip(judged, steps, strict=False) if one is not chosen
    )
    return Verified(chosen, rejected, tuple(rounds), why)


def _rejected(judged: Judged, factors: tuple[Tightened, ...], waits: dict[str, float]) -> Rejected:
    layout, verdict = judged.best.layout, judged.verdict
    return Rejected(
        objective_usd=layout.objective_usd,
        machines=bought(judged.best),
        reasons=verdict.reasons,
        failing=failures(verdict),
        attainment={c.cls: span(c.attainment) for c in verdict.classes},
        tightened=factors,
        waits={pool: factor for pool, factor in waits.items() if finite(factor) is not None},
        seconds=verdict.wall_seconds,
    )

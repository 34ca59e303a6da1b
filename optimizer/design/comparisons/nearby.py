"""The best layout of a question that differs a little from one already answered, in the seconds it is given.

The answer knows how full its places are, so a neighbour starts from its touching points and spares a round.
The answer's own instances with the cheapest machines around them are often a layout within a second; whatever
time is left improves it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from optimizer.design import margins
from optimizer.design.gates import gated
from optimizer.design.rounds import ROUNDS, UNFINISHED, WORTH_A_ROUND, Candidate, settle
from optimizer.design.search import Clock, Interrupt, Progress, search
from optimizer.formulation import Model, write
from optimizer.formulation.owners import owners
from optimizer.instance import Instance
from optimizer.solver import Compiled, LinearProgram, Outcome, SolveOptions, compile, relaxation, solve

Floats = NDArray[np.float64]
BRIEF = 0.25  # of the seconds left go to each first layout at most; it usually takes half a second
LEAST = 3.0  # seconds for the relaxation and for it when hardly any are left: better late than nothing
JUDGING = 0.3  # what judging a layout takes of the seconds that writing and relaxing its model took


@dataclass(frozen=True)
class Known:
    """What an answer knows that helps its neighbours: its instances, the touching points of the places it
    fills (those of empty places are worth nothing), and its relaxation, to begin theirs from."""

    instances: dict[str, int]
    stores: dict[str, float]
    pools: dict[str, float]
    relaxed: Outcome | None = None


def known(best: Candidate) -> Known:
    """Read it off a layout."""
    instance, layout = best.model.instance, best.layout
    filled = {s.store for s in layout.stores if s.used_bytes > 0}
    running = {p.pool for p in layout.pools if p.sequences > 0}
    return Known(
        instances={row.pool: row.instances for row in layout.pools},
        stores={s.id: s.slope for s in instance.stores if s.id in filled},
        pools={p.id: p.slope for p in instance.pools if p.id in running},
        relaxed=best.relaxed,
    )


@dataclass(frozen=True)
class Found:
    """How a search ended: the layout if there is one, and the last solve, whose bound is one of the whole."""

    candidate: Candidate | None
    outcome: Outcome


@dataclass(frozen=True)
class _Ready:
    """A model written and compiled, its relaxation, and the seconds all that took."""

    model: Model
    compiled: Compiled
    gated: LinearProgram
    relaxed: Outcome
    seconds: float


def nearby(
    instance: Instance,
    answer: Known,
    options: SolveOptions,
    clock: Clock,
    stage: str,
    *,
    rounds: int = ROUNDS,
    progress: Progress | None = None,
    interrupt: Interrupt | None = None,
) -> Found:
    """Rounds as those of the answer, from its touching points, until they settle or time is up; at most
    `rounds` of them."""
    instance = margins.first_guess(instance).with_slopes(answer.stores, answer.pools)
    best: Candidate | None = None
    relaxed, left = answer.relaxed, rounds
    while True:
        began, left = clock.elapsed, left - 1
        ready = _ready(instance, options, clock, interrupt, relaxed)
        relaxed = ready.relaxed
        if ready.relaxed.x is None:
            return Found(best, best.outcome if best else ready.relaxed)
        in_time = replace(clock, limit=max(0.0, clock.limit - JUDGING * ready.seconds))
        outcome = search(
            ready.gated,
            options,
            in_time,
            stage,
            owners=owners(ready.model, ready.compiled.variables),
            relaxed=ready.relaxed,
            start=best.outcome.x if best else _begun(ready, answer, options, in_time, interrupt),
            progress=progress,
            interrupt=interrupt,
        )
        if outcome.x is None:
            return Found(best, best.outcome if best else outcome)
        candidate = settle(ready.model, ready.compiled, outcome, options, ready.relaxed)
        idle = best is not None and not _cheaper(candidate, best, WORTH_A_ROUND)
        if best is None or _cheaper(candidate, best):
            best = candidate
        instance, moved = margins.touching(candidate.model)
        done = idle or not left or moved < margins.SETTLED or outcome.status in UNFINISHED
        if done or clock.left < clock.elapsed - began:
            return Found(best, best.outcome)


def _cheaper(this: Candidate, that: Candidate, by: float = 0.0) -> bool:
    return this.layout.objective_usd < that.layout.objective_usd * (1 - by)


def _ready(
    instance: Instance,
    options: SolveOptions,
    clock: Clock,
    interrupt: Interrupt | None,
    near: Outcome | None,
) -> _Ready:
    began = clock.elapsed
    model = write(instance)
    compiled = compile(model.pyomo)
    patient = replace(options, time_limit=max(LEAST, clock.left))
    lp = gated(model, compiled)
    relaxed = relaxation(lp, patient, near=near, interrupt=interrupt)
    return _Ready(model, compiled, lp, relaxed, clock.elapsed - began)


def _begun(
    ready: _Ready, answer: Known, options: SolveOptions, clock: Clock, interrupt: Interrupt | None
) -> Floats | None:
    """The answer's own instances in the cheapest machines, if they serve. A small program needs none."""
    lp, t = ready.compiled.lp, ready.model.t
    if ready.relaxed.x is None or not lp.is_large:
        return None
    instances = ready.model.pyomo.instances
    column = {p.id: ready.compiled.column_of[instances[p.id, t]] for p in ready.model.instance.pools}
    if not answer.instances.keys() <= column.keys():
        return None
    same = {column[name]: float(answer.instances.get(name, 0)) for name in column}
    brief = replace(options, time_limit=max(LEAST, BRIEF * clock.left))
    return solve(lp, brief, fixed=same, interrupt=interrupt).x

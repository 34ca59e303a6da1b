"""Rounds of search: solve, check exactly, move the occupancy margins' touching points, solve again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from optimizer.design import margins
from optimizer.design.gates import gated
from optimizer.design.result import Round
from optimizer.design.search import Clock, Interrupt, Progress, search
from optimizer.errors import SolverFailure
from optimizer.formulation import Model, read_back, write
from optimizer.formulation.owners import owners
from optimizer.formulation.readback import let_idle_go
from optimizer.instance import Instance, Layout
from optimizer.solver import (
    EXACTLY,
    Compiled,
    LinearProgram,
    Outcome,
    SolveOptions,
    Status,
    compile,
    fixed_lp,
    relaxation,
)
from optimizer.verify import Certificate, check

ROUNDS = 5
WORTH_A_ROUND = 1e-4  # a round that saves a smaller share of the cost is the last
ANOTHER = 1.5  # a round is begun when there is this much of the time that the last one took
TIE_USD = 0.01  # per busy prefill instance: far below any price, so that it only breaks ties
UNFINISHED = (Status.LIMIT, Status.INTERRUPTED)


@dataclass(frozen=True)
class Candidate:
    """One verified layout with the model it came from, its relaxation, and its prices at fixed integers."""

    model: Model
    compiled: Compiled
    outcome: Outcome
    relaxed: Outcome | None
    priced: Outcome
    layout: Layout
    certificate: Certificate


def improve(
    instance: Instance,
    options: SolveOptions,
    clock: Clock,
    *,
    rounds: int = ROUNDS,
    touched: bool = False,
    progress: Progress | None = None,
    interrupt: Interrupt | None = None,
) -> tuple[Candidate | None, list[Round], tuple[Instance, Outcome]]:
    """Rounds: solve, check, move the margins' touching points to the layout, until they settle.

    Every round is safe by itself and its bound holds at its own touching points. A layout stays feasible
    when they move to it, so the next round starts from it and can only be cheaper; a round that is not
    proven in time does not replace one that is, and one whose layout the exact check rejects is done again
    with finer tolerances. At most `rounds` of them. `touched`: the touching points of
    `instance` are good ones already.
    """
    first = _ready if touched else _from_relaxation
    ready = first(instance if touched else margins.first_guess(instance), options, clock, interrupt)
    best: Candidate | None = None
    done: list[Round] = []
    exactly = False
    while True:
        began = clock.elapsed
        start = best.outcome.x if best and best.certificate.passed else None
        outcome = search(
            ready.gated,
            options,
            clock,
            f"round {len(done) + 1}",
            owners=owners(ready.model, ready.compiled.variables),
            relaxed=ready.relaxed,
            start=start,
            progress=progress,
            interrupt=interrupt,
        )
        done.append(_round(len(done) + 1, outcome, clock.elapsed - began))
        failed = (ready.model.instance, outcome)
        if outcome.x is None:
            refuted = outcome.status is Status.INFEASIBLE and best is not None and not best.certificate.passed
            return None if refuted else best, done, failed
        candidate = settle(ready.model, ready.compiled, outcome, options, ready.relaxed)
        if not candidate.certificate.passed and not exactly and outcome.status not in UNFINISHED:
            best, exactly = best or candidate, True
            options = replace(options, highs_options={**EXACTLY, **options.highs_options})
            continue
        idle = best is not None and best.certificate.passed and _saves_nothing(candidate, best)
        if best is None or _better(candidate, best):
            best = candidate
        instance, moved = margins.touching(candidate.model)
        settled = moved < margins.SETTLED
        no_time = clock.left < ANOTHER * (clock.elapsed - began)
        if settled or idle or no_time or len(done) >= rounds or outcome.status in UNFINISHED:
            return best, done, failed
        before, ready = ready, _ready(instance, options, clock, interrupt, ready.relaxed)
        if ready.relaxed.objective > before.relaxed.objective * (1 - WORTH_A_ROUND):
            return best, done, failed


def _saves_nothing(candidate: Candidate, best: Candidate) -> bool:
    """Whether moving the touching points has stopped paying."""
    return candidate.layout.objective_usd > best.layout.objective_usd * (1 - WORTH_A_ROUND)


def _better(candidate: Candidate, best: Candidate) -> bool:
    """Verified beats unverified; then a proven layout that costs no more."""
    if candidate.certificate.passed != best.certificate.passed:
        return candidate.certificate.passed
    proven = candidate.outcome.status not in UNFINISHED or best.outcome.status in UNFINISHED
    return proven and candidate.layout.objective_usd <= best.layout.objective_usd


@dataclass(frozen=True)
class Ready:
    """A model written and compiled, the program with its gates, and the relaxation of that."""

    model: Model
    compiled: Compiled
    gated: LinearProgram
    relaxed: Outcome


def _ready(
    instance: Instance,
    options: SolveOptions,
    clock: Clock,
    interrupt: Interrupt | None,
    near: Outcome | None = None,
) -> Ready:
    """`near`: the relaxation at other touching points, from whose basis this one is a few steps."""
    model = write(instance)
    compiled = compile(model.pyomo)
    lp = gated(model, compiled)
    found = relaxation(lp, clock.within(options), near=near, interrupt=interrupt)
    return Ready(model, compiled, lp, found)


def _from_relaxation(
    instance: Instance, options: SolveOptions, clock: Clock, interrupt: Interrupt | None
) -> Ready:
    """Move the touching points to the LP's answer before any integer is asked for: it costs seconds."""
    ready = _ready(instance, options, clock, interrupt)
    if ready.relaxed.x is None:
        return ready
    ready.compiled.read_back(ready.relaxed.x)
    return _ready(margins.touching(ready.model)[0], options, clock, interrupt, ready.relaxed)


def _less_work(model: Model, compiled: Compiled) -> NDArray[np.float64]:
    """Costs that break ties: of layouts of one price, the one whose prefill instances work least, so that
    memory that is there anyway is used."""
    costs = np.zeros(compiled.lp.c.size)
    for i, path in enumerate(model.instance.paths):
        costs[compiled.column_of[model.pyomo.path[i]]] = TIE_USD * path.busy
    return costs


def settle(
    model: Model,
    compiled: Compiled,
    outcome: Outcome,
    options: SolveOptions,
    relaxed: Outcome | None = None,
) -> Candidate:
    """Integers rounded, the rest solved to 1e-10, put on the safe side, and judged exactly."""
    if outcome.x is None:
        raise ValueError("there is no solution to settle")
    priced = _held(compiled.lp, outcome.x, options)
    tied = replace(compiled.lp, c=compiled.lp.c + _less_work(model, compiled))
    settled = _held(tied, outcome.x, options)
    compiled.read_back(next(o.x for o in (settled, priced, outcome) if o.x is not None))
    layout = read_back(model)
    certificate = check(model.instance, layout)
    if certificate.passed and let_idle_go(model):
        leaner = read_back(model)
        if (judged := check(model.instance, leaner)).passed:
            layout, certificate = leaner, judged
    return Candidate(model, compiled, outcome, relaxed, priced, layout, certificate)


def _held(lp: LinearProgram, x: NDArray[np.float64], options: SolveOptions) -> Outcome:
    """The LP at the integers of x. Where nothing decides it, there is no answer to it, and the exact check
    judges x as it is."""
    try:
        return fixed_lp(lp, x, options)
    except SolverFailure as failure:
        inf = float("inf")
        return Outcome(Status.LIMIT, None, inf, -inf, inf, 0.0, 0, None, notes=(str(failure),))


def _round(number: int, outcome: Outcome, seconds: float) -> Round:
    known = outcome.x is not None
    return Round(
        what=f"round {number}",
        status=outcome.status.name.lower(),
        objective_usd=outcome.objective if known else None,
        bound_usd=outcome.bound if abs(outcome.bound) < 1e300 else 0.0,
        gap=outcome.gap if known else None,
        seconds=seconds,
    )

"""One round of search: the integer program solved to the gap or the time left, watched.

A small program is handed to HiGHS whole. A large one is opened first: LLMs couple only through the machines,
and each with its stored contexts only through hits and room, so prices of the shared rows give one small
program per LLM, their sum is a bound, and their integers a start (`optimizer.solver.blocks`). Then each LLM
anew beside the others, a search near that, and at last the whole.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from optimizer.errors import SolverFailure
from optimizer.solver import (
    Blocks,
    LinearProgram,
    Outcome,
    SolveOptions,
    Status,
    bound_by_parts,
    relative_gap,
    solve,
)

Floats = NDArray[np.float64]
Progress = Callable[[str, float, float | None, float | None, float | None], None]
Interrupt = Callable[[], bool]
TIDY_GAP = 1e-5  # what the machines around given instances are solved to
TIDY_SECONDS = 8.0  # at most; it usually takes one
LEAST_SECONDS = 1.0  # what a solve is given when the time is up: enough to return its start
CLOSER = 10.0  # the machines around instances on trial are solved to this part of the gap asked for
ONE_TURN = 0.2  # of the time left, for one LLM anew
PART_OF_THE_TIME = 0.5  # of what is left, for the parts; then for the search near their answers
COUNTS = "instances["  # columns that may be rounded up: an option may not
CONTEXTS = "contexts"  # the owner of what says where contexts lie, where it is opened apart
OF_CONTEXTS = ("kept[", "share[", "entry[")
FEW = 1200  # columns of contexts that a search for layouts may use besides those in use
USED = 1e-6  # an integer column above it has a place in a solution


@dataclass
class Clock:
    """Seconds since the start, and those left of the limit."""

    limit: float
    started: float

    @classmethod
    def start(cls, limit: float) -> Clock:
        """A clock that runs from now."""
        return cls(limit, time.monotonic())

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def left(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.limit - self.elapsed)

    def within(self, options: SolveOptions, share: float = 1.0) -> SolveOptions:
        """The options with a share of the time that is left."""
        return replace(options, time_limit=max(LEAST_SECONDS, share * self.left))


def search(
    lp: LinearProgram,
    options: SolveOptions,
    clock: Clock,
    stage: str,
    *,
    owners: list[str | None] | None = None,
    relaxed: Outcome | None = None,
    start: Floats | None = None,
    known_bound: float = -math.inf,
    progress: Progress | None = None,
    interrupt: Interrupt | None = None,
) -> Outcome:
    """Solve to the gap or the time left; the bound of the answer is one of `lp` itself, however it was found.

    `owners` names the LLM of each column (None: shared) and `relaxed` is the relaxation of `lp`: with both, a
    large program is opened by parts. `known_bound` is proven for `lp` elsewhere.
    """
    work = _Watched(lp, owners or [None] * lp.c.size, options, clock, stage, progress, interrupt)
    known = max(known_bound, relaxed.bound) if relaxed is not None and relaxed.x is not None else known_bound
    found: Outcome | None = None
    if lp.is_large and owners and relaxed is not None and relaxed.x is not None and relaxed.duals is not None:
        found, known = _from_parts(work, relaxed.x, relaxed.duals.row, start, known)
        enough = found is not None and found.gap <= options.gap
        if found is not None and (enough or (interrupt and interrupt())):
            return _tidied(work, found)
    return _tidied(work, work.solve(start=start if found is None else found.x, known_bound=known))


@dataclass(frozen=True, eq=False)
class _Watched:
    """A program under search: whose column is whose, how long it may take, and who is told."""

    lp: LinearProgram
    owners: list[str | None]
    options: SolveOptions
    clock: Clock
    stage: str
    progress: Progress | None
    interrupt: Interrupt | None

    def solve(self, share: float = 1.0, *, start: Floats | None = None, fixed: dict[int, float] | None = None,
              known_bound: float = -math.inf, gap: float | None = None, seconds: float = math.inf) -> Outcome:
        """One run within a share of the time left, with what is known so far shown to whoever watches."""
        options = self.clock.within(self.options, share)
        options = replace(options, gap=self.options.gap if gap is None else gap,
                          time_limit=min(options.time_limit, seconds))
        return solve(self.lp, options, start=start, fixed=fixed, known_bound=known_bound,
                     interrupt=self.interrupt,
                     progress=None if fixed and gap else self._heard(known_bound, restricted=bool(fixed)))

    def _heard(
        self, known: float, *, restricted: bool = False
    ) -> Callable[[float, float, float, float], None]:
        """Tells the progress; of a restriction, whose own bound says nothing of the whole, what is known."""

        def heard(_: float, incumbent: float, bound: float, gap: float) -> None:
            if self.progress:
                best = known if restricted else max(bound, known)
                seen = (incumbent, best, relative_gap(incumbent, best))
                told = (value if math.isfinite(value) else None for value in seen)
                self.progress(self.stage, self.clock.elapsed, *told)

        return heard

    def say(self, incumbent: float, bound: float) -> None:
        """Show what is known between two runs."""
        self._heard(bound)(0.0, incumbent, bound, 0.0)

    @cached_property
    def apart(self) -> list[str | None]:
        """The owners where contexts are nobody's."""
        names = self.lp.col_names
        return [CONTEXTS if n.startswith(OF_CONTEXTS) else o for n, o in zip(names, self.owners, strict=True)]

    @property
    def integers(self) -> Iterable[int]:
        """The integer columns that belong to some LLM: options and instances."""
        return (int(k) for k in np.flatnonzero(self.lp.integrality) if self.owners[k] is not None)


def _from_parts(
    work: _Watched, relaxed: Floats, prices: Floats, start: Floats | None, known: float
) -> tuple[Outcome | None, float]:
    """The best layout near the parts' answers, and the bound that the parts prove.

    The parts are opened twice. First stored contexts are a part of their own: their columns are four of five
    and none an integer, so that an LLM's part is solved in a second or two, with what contexts offer it paid
    for at the relaxation's prices. Where that is not enough, every LLM keeps its contexts, which takes ten
    times as long and tells more.
    """
    begun = _rounded_up(work, relaxed, known) if start is None else _held(work, start, known)
    if _enough(work, begun):
        return begun, known
    seldom = _seldom(work, relaxed, prices)
    for owners in (work.apart, work.owners):
        within = work.clock.within(work.options, PART_OF_THE_TIME)
        parts = bound_by_parts(Blocks.of(work.lp, owners), prices, within, interrupt=work.interrupt)
        known = max(known, parts.bound)
        begun = begun and _proven(work, begun, known)
        if begun is None or owners is work.owners:
            begun = _best(begun, _held(work, parts.x, known))
        work.say(math.inf if begun is None else begun.objective, known)
        if begun is not None and not _enough(work, begun):
            begun = _one_by_one(work, begun, known, seldom)
        if _enough(work, begun):
            return begun, known
    at = None if begun is None else begun.x
    places = [parts.x, relaxed] if at is None else [parts.x, relaxed, at]
    idle = {k: 0.0 for k in work.integers if not any(x[k] > USED for x in places)}
    idle |= {k: 0.0 for k in seldom if at is None or at[k] <= USED}
    near = work.solve(PART_OF_THE_TIME, start=at, fixed=idle, known_bound=known)
    return _best(begun, _proven(work, near, known)), known


def _enough(work: _Watched, found: Outcome | None) -> bool:
    """Whether a layout is good enough, or nobody wants a better one."""
    stopped = work.interrupt is not None and work.interrupt()
    return found is not None and (stopped or found.gap <= work.options.gap)


def _seldom(work: _Watched, relaxed: Floats, prices: Floats) -> dict[int, float]:
    """Columns of contexts that a search for layouts does without: all but those in use and the FEW of least
    reduced cost. A bound never rests on them."""
    idle = np.flatnonzero([owner == CONTEXTS for owner in work.apart] & (relaxed <= USED))
    costs = (work.lp.c - work.lp.A.T @ prices)[idle]
    return {int(k): 0.0 for k in idle[np.argsort(costs, kind="stable")[FEW:]]}


def _held(work: _Watched, x: Floats, known: float, gap: float | None = None) -> Outcome | None:
    """The LLMs' integers of x, where it has them, and the cheapest machines around them; None also where x
    stands on an edge at which HiGHS contradicts itself."""
    held = {k: float(round(x[k])) for k in work.integers if math.isfinite(x[k])}
    close = work.options.gap / CLOSER if gap is None else gap
    try:
        return _proven(work, work.solve(start=x, fixed=held, gap=close, seconds=TIDY_SECONDS), known)
    except SolverFailure:
        return None


def _one_by_one(work: _Watched, found: Outcome, known: float, seldom: dict[int, float]) -> Outcome:
    """Each LLM anew while the others keep their instances, largest first, until the gap is small enough.

    Apart, every LLM pays for machines by the fraction; together they are bought whole, and whoever can run in
    what the others leave half empty should.
    """
    names = {name for name in work.owners if name is not None}
    if len(names) < 2 or found.x is None:
        return found
    x = found.x
    counts = {name: sum(x[k] for k in work.integers if work.owners[k] == name) for name in names}
    for name in sorted(names, key=lambda name: (-counts[name], name)):
        if found.x is None or found.gap <= work.options.gap or (work.interrupt and work.interrupt()):
            break
        others = {k: float(round(found.x[k])) for k in work.integers if work.owners[k] != name}
        without = {k: 0.0 for k in seldom if found.x[k] <= USED}
        again = work.solve(ONE_TURN, start=found.x, fixed=others | without, known_bound=known)
        found = _best(found, _proven(work, again, known)) or found
    return found


def _rounded_up(work: _Watched, relaxed: Floats, known: float) -> Outcome | None:
    """A first layout in a second or two: every count of the relaxation rounded up serves what it serves."""
    counts = (k for k in work.integers if work.lp.col_names[k].startswith(COUNTS))
    up = {k: float(math.ceil(relaxed[k] - USED)) for k in counts}
    close = work.options.gap / CLOSER
    return _proven(work, work.solve(fixed=up, gap=close, seconds=TIDY_SECONDS), known)


def _best(*outcomes: Outcome | None) -> Outcome | None:
    return min((o for o in outcomes if o is not None), key=lambda o: o.objective, default=None)


def _proven(work: _Watched, outcome: Outcome, bound: float) -> Outcome | None:
    """A solution of a restriction as one of the whole: its own bound says nothing there, `bound` does."""
    if outcome.x is None:
        return None
    gap = relative_gap(outcome.objective, bound)
    status = outcome.status
    if status is not Status.INTERRUPTED:
        status = Status.WITHIN_GAP if gap <= work.options.gap else Status.LIMIT
    return replace(outcome, bound=min(bound, outcome.objective), gap=gap, status=status)


def _tidied(work: _Watched, found: Outcome) -> Outcome:
    """The same instances in the cheapest machines: within a gap of a percent a useless box may stand about.

    Instances held, the rest is a small program. The bound stays the one of the whole.
    """
    if found.x is None or found.gap <= TIDY_GAP or found.status is Status.INTERRUPTED:
        return found
    tidy = _held(work, found.x, found.bound, TIDY_GAP)
    if tidy is None or tidy.objective >= found.objective:
        return found
    gap = relative_gap(tidy.objective, found.bound)
    status = Status.WITHIN_GAP if gap <= work.options.gap else found.status
    return replace(
        tidy,
        status=status,
        bound=found.bound,
        gap=gap,
        nodes=found.nodes + tidy.nodes,
        seconds=found.seconds + tidy.seconds,
        notes=found.notes,
    )

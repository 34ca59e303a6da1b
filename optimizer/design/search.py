"""One round of search: the integer program solved to the gap or the time left, watched."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from optimizer.solver import LinearProgram, Outcome, SolveOptions, Status, relative_gap, solve

Floats = NDArray[np.float64]
Progress = Callable[[str, float, float | None, float | None, float | None], None]
Interrupt = Callable[[], bool]
TIDY_GAP = 1e-5  # what the machines around given instances are solved to
TIDY_SECONDS = 8.0  # at most; it usually takes one
LEAST_SECONDS = 1.0  # what a solve is given when the time is up: enough to return its start


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

    def within(self, options: SolveOptions) -> SolveOptions:
        """The options with the time that is left."""
        return replace(options, time_limit=max(LEAST_SECONDS, self.left))


def search(
    lp: LinearProgram,
    options: SolveOptions,
    clock: Clock,
    stage: str,
    *,
    start: Floats | None = None,
    known_bound: float = -math.inf,
    progress: Progress | None = None,
    interrupt: Interrupt | None = None,
) -> Outcome:
    """Solve to the gap or the time left. `known_bound` is one proven for `lp` itself (its relaxation)."""

    def heard(_: float, incumbent: float, bound: float, gap: float) -> None:
        if progress:
            progress(
                stage, clock.elapsed, *(v if math.isfinite(v) else None for v in (incumbent, bound, gap))
            )

    found = solve(
        lp, clock.within(options), start=start, known_bound=known_bound, interrupt=interrupt, progress=heard
    )
    if found.x is None or found.gap <= TIDY_GAP or found.status is Status.INTERRUPTED:
        return found
    return _tidied(lp, options, clock, found, interrupt)


def _tidied(
    lp: LinearProgram, options: SolveOptions, clock: Clock, found: Outcome, interrupt: Interrupt | None
) -> Outcome:
    """The same instances in the cheapest machines: within a gap of a percent a useless box may stand about.

    Instances held, the rest is a small program. The bound stays the one of the whole.
    """
    if found.x is None:
        return found
    held = {
        int(k): float(round(found.x[k]))
        for k in np.flatnonzero(lp.integrality)
        if lp.col_names[k].startswith("instances[")
    }
    brief = Clock(min(clock.limit, clock.elapsed + TIDY_SECONDS), clock.started)
    tidy = solve(
        lp, replace(brief.within(options), gap=TIDY_GAP), start=found.x, fixed=held, interrupt=interrupt
    )
    if tidy.x is None or tidy.objective >= found.objective:
        return found
    gap = relative_gap(tidy.objective, found.bound)
    status = Status.WITHIN_GAP if gap <= options.gap else found.status
    return replace(
        tidy,
        status=status,
        bound=found.bound,
        gap=gap,
        nodes=found.nodes + tidy.nodes,
        seconds=found.seconds + tidy.seconds,
        notes=found.notes,
    )

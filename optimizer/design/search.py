"""One round: from the LP to a proven layout.

The LP says which pools are worth having; the small program over those alone gives a good layout in
seconds; with it as a start the full program only has to prove, or to find better. The bound is always the
full program's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from optimizer.solver import LinearProgram, Outcome, SolveOptions, Status, relaxation, relative_gap, solve

Floats = NDArray[np.float64]
Watch = Callable[[str, float, float | None, float | None, float | None], None]
Interrupt = Callable[[], bool]

SMALL = 4_000  # columns below which the full program is solved at once
WORTH_A_START = 0.5  # the share of the gap asked for that the small program is solved to
START_SHARE = 0.3  # of the time left, for the small program
TRACE = 1e-7


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


def search(
    lp: LinearProgram, options: SolveOptions, clock: Clock, *, start: Floats | None = None,
    watch: Watch | None = None, interrupt: Interrupt | None = None, small_columns: int = SMALL,
) -> Outcome:
    """Solve to the gap or the time left. The bound holds for `lp` itself, whatever the way."""
    def tell(stage: str) -> Callable[[float, float, float, float], None]:
        def heard(seconds: float, incumbent: float, bound: float, gap: float) -> None:
            if watch:
                watch(stage, clock.elapsed, *(v if np.isfinite(v) else None for v in (incumbent, bound, gap)))
        return heard

    if lp.c.size > small_columns and start is None:
        relaxed = relaxation(lp, replace(options, time_limit=max(1.0, clock.left)), interrupt=interrupt)
        if relaxed.x is None:
            return relaxed
        tell("relaxation")(0.0, np.inf, relaxed.objective, np.inf)
        first = _small(lp, relaxed.x, options, clock, tell("first layout"), interrupt)
        start = first.x
        if first.status is Status.INTERRUPTED:
            bound = relaxed.objective
            return replace(first, bound=bound, gap=relative_gap(first.objective, bound))
        known = relaxed.objective
    else:
        known = -np.inf
    return solve(
        lp, replace(options, time_limit=max(1.0, clock.left)), start=start, interrupt=interrupt,
        progress=tell("proof"), known_bound=known,
    )


def _small(
    lp: LinearProgram, relaxed: Floats, options: SolveOptions, clock: Clock,
    heard: Callable[[float, float, float, float], None], interrupt: Interrupt | None,
) -> Outcome:
    """The program over the integers that the relaxation uses: the others are held at zero."""
    held = {
        int(k): 0.0 for k in np.flatnonzero(lp.integrality)
        if relaxed[k] <= TRACE and lp.col_lower[k] <= 0.0 and lp.col_names[k].startswith("instances")
    }
    small = replace(
        options, gap=options.gap * WORTH_A_START, time_limit=max(1.0, clock.left * START_SHARE)
    )
    return solve(lp, small, fixed=held, interrupt=interrupt, progress=heard)

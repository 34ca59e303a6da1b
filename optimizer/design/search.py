"""One round of search: the integer program solved to the gap or the time left, watched."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from optimizer.solver import LinearProgram, Outcome, SolveOptions, solve

Floats = NDArray[np.float64]
Progress = Callable[[str, float, float | None, float | None, float | None], None]
Interrupt = Callable[[], bool]
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

    return solve(
        lp, clock.within(options), start=start, known_bound=known_bound, interrupt=interrupt, progress=heard
    )

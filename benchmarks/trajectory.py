"""What a search knew, and when: incumbent and proven bound over seconds, and the figures read from them.

Both are steps: what was known at a moment is the last thing told before it. Gaps are those of the product,
(incumbent - bound) / |incumbent|, so that a gap reached here is one the product would stop at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from optimizer.solver import relative_gap

KEPT = 200
"""Points of a trajectory that a line of JSON carries: enough to draw it."""
ROUNDING = 1 + 1e-9
"""A gap that is met is met whatever order of operations found it."""
Point = tuple[float, float, float]


@dataclass
class Trajectory:
    """Seconds, the best incumbent and the best bound so far, in the order in which they became known."""

    points: list[Point] = field(default_factory=list)

    def add(self, seconds: float, incumbent: float | None, bound: float | None) -> None:
        """What is told at a moment; None or no number where nothing is. What is known is never unlearned: a
        part of a search that knows less than an earlier one moves nothing."""
        _, best, proven = self.points[-1] if self.points else (0.0, math.inf, -math.inf)
        at = max(seconds, self.points[-1][0]) if self.points else seconds
        known = (at, min(best, _number(incumbent, math.inf)), max(proven, _number(bound, -math.inf)))
        if known[1:] != (best, proven):
            self.points.append(known)

    @property
    def incumbent(self) -> float:
        """The best solution at the end; inf without one."""
        return self.points[-1][1] if self.points else math.inf

    @property
    def bound(self) -> float:
        """The best bound at the end; -inf without one."""
        return self.points[-1][2] if self.points else -math.inf

    @property
    def gap(self) -> float:
        """The proven gap at the end."""
        return relative_gap(self.incumbent, self.bound)

    def seconds_to(self, gap: float) -> float:
        """When the proven gap was first no larger than this; inf where it never was."""
        reached = (t for t, best, proven in self.points if relative_gap(best, proven) <= gap * ROUNDING)
        return next(reached, math.inf)

    def primal_gap(self, seconds: float, best: float) -> float:
        """How much dearer the incumbent of a moment is than the best that anyone knows, as a share of it;
        inf where there was none yet."""
        known = [incumbent for t, incumbent, _ in self.points if t <= seconds]
        if not known or math.isinf(known[-1]):
            return math.inf
        return max(0.0, known[-1] - best) / abs(best) if best else math.inf

    def told(self) -> list[list[float | None]]:
        """The points for a line of JSON, thinned from the middle; None for what was not known yet."""
        step = max(1, math.ceil(len(self.points) / KEPT))
        kept = [*self.points[:-1:step], *self.points[-1:]]
        return [[round(t, 3), *(x if math.isfinite(x) else None for x in known)] for t, *known in kept]

    @classmethod
    def read(cls, told: Iterable[Iterable[float | None]]) -> Trajectory:
        """The trajectory that a line of JSON carries."""
        read = cls()
        for seconds, incumbent, bound in told:
            read.add(seconds or 0.0, incumbent, bound)
        return read


def _number(value: float | None, unknown: float) -> float:
    """HiGHS and SCIP say 1e20 and more where they know nothing."""
    known = value is not None and math.isfinite(value) and abs(value) < 1e20
    return float(value) if known and value is not None else unknown

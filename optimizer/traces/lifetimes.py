"""How long contexts lie idle until they are asked for again, where a trace ends before all have been.

A context whose thread ends with the trace may have been asked for later: it counts as *not asked for while it
was watched*, not as never. The product-limit estimator (Kaplan and Meier, 1958) makes S of both: with n_t
contexts still watched and idle just before t, of which d_t are asked for at t,

    S(tau) = product over t <= tau of (1 - d_t / n_t)

S levels off at the longest gap that was seen; what it levels off at is taken for S(inf).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Lifetime:
    """S as steps: `survival[i]` from `times[i]` on, 1 before the first. `returns` gaps were seen; `cut`
    contexts were watched, idle, until the trace ended."""

    times: Floats
    survival: Floats
    returns: int
    cut: int

    @property
    def return_probability(self) -> float:
        """1 - S(inf): the share of contexts that are asked for again."""
        return 1.0 - float(self.survival[-1]) if len(self.survival) else 0.0

    @property
    def longest(self) -> float:
        """The longest gap that was seen, seconds."""
        return float(self.times[-1]) if len(self.times) else 0.0

    def at(self, tau: float) -> float:
        """S(tau); tau in seconds."""
        place = int(np.searchsorted(self.times, tau, side="right"))
        return float(self.survival[place - 1]) if place else 1.0

    def shares(self, times: Sequence[float]) -> tuple[tuple[float, float], ...]:
        """(within, share of the returns that come within it), up to the first time by which all have come,
        and at least two of them."""
        points: list[tuple[float, float]] = []
        for time in times:
            points.append((time, min(1.0, (1.0 - self.at(time)) / self.return_probability)))
            if time >= self.longest and len(points) >= 2:
                break
        return tuple(points)


def lifetime(gaps: Floats, watched: Floats) -> Lifetime:
    """S from the idle seconds of contexts that were asked for again, and of those that were not while
    watched.

    A context that is asked for at the moment where another's watch ends was still idle: it counts among n_t.
    """
    times, asked = np.unique(gaps, return_counts=True)
    at_risk = len(gaps) - np.searchsorted(np.sort(gaps), times) + len(watched)
    at_risk -= np.searchsorted(np.sort(watched), times)
    return Lifetime(times, np.cumprod(1.0 - asked / at_risk, dtype=np.float64), len(gaps), len(watched))

"""Distributions of the idle gap between the end of a request and the return: tails and their integrals.

Each has `tail(t)` = P(gap > t) and `tail_integral(t)` = the integral of the tail from 0 to t in seconds,
both exact, and both sums of terms >= 0, so that nothing cancels at large ages.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

from optimizer.workload import schema

_SQRT2 = math.sqrt(2.0)
Z90 = NormalDist().inv_cdf(0.9)


class GapDistribution(Protocol):
    """What a distribution of gaps can be asked."""

    def tail(self, t: float) -> float:
        """P(gap > t)."""
        ...

    def tail_integral(self, t: float) -> float:
        """Integral of the tail from 0 to t, seconds."""
        ...


@dataclass(frozen=True)
class ExponentialGap:
    """Memoryless: tail exp(-t/mean), integral mean (1 - exp(-t/mean))."""

    mean: float

    def tail(self, t: float) -> float:
        return math.exp(-t / self.mean)

    def tail_integral(self, t: float) -> float:
        return -self.mean * math.expm1(-t / self.mean)


@dataclass(frozen=True)
class LogNormalGap:
    """ln(gap) ~ N(mu, sigma): integral of the tail = t*tail(t) + E[gap; gap <= t], the partial expectation
    exp(mu + sigma^2/2) * Phi((ln t - mu - sigma^2)/sigma)."""

    mu: float
    sigma: float

    def tail(self, t: float) -> float:
        if t <= 0:
            return 1.0
        return 0.5 * math.erfc((math.log(t) - self.mu) / (self.sigma * _SQRT2))

    def tail_integral(self, t: float) -> float:
        if t <= 0:
            return 0.0
        below = 0.5 * math.erfc(-(math.log(t) - self.mu - self.sigma**2) / (self.sigma * _SQRT2))
        return t * self.tail(t) + math.exp(self.mu + self.sigma**2 / 2) * below


@dataclass(frozen=True)
class TableGap:
    """A piecewise-linear distribution function through (0, 0) and the given points. Returns beyond the
    last point come at times the table does not tell: the tail stays level there."""

    times: tuple[float, ...]
    tails: tuple[float, ...]
    integrals: tuple[float, ...]

    @classmethod
    def through(cls, points: tuple[tuple[float, float], ...]) -> TableGap:
        """From (time, share of returns that come within it), times increasing."""
        times, tails, integrals = [0.0], [1.0], [0.0]
        for time, share in points:
            tail = 1.0 - share
            integrals.append(integrals[-1] + (time - times[-1]) * (tails[-1] + tail) / 2)
            times.append(time)
            tails.append(tail)
        return cls(tuple(times), tuple(tails), tuple(integrals))

    def tail(self, t: float) -> float:
        left = bisect_right(self.times, t) - 1
        if left >= len(self.times) - 1:
            return self.tails[-1]
        start, end = self.times[left], self.times[left + 1]
        return self.tails[left] + (self.tails[left + 1] - self.tails[left]) * (t - start) / (end - start)

    def tail_integral(self, t: float) -> float:
        left = min(bisect_right(self.times, t) - 1, len(self.times) - 1)
        return self.integrals[left] + (t - self.times[left]) * (self.tails[left] + self.tail(t)) / 2


@dataclass(frozen=True)
class MixtureGap:
    """A weighted mixture of gaps; tails and integrals are weighted sums."""

    parts: tuple[tuple[float, GapDistribution], ...]

    def tail(self, t: float) -> float:
        return math.fsum(weight * part.tail(t) for weight, part in self.parts)

    def tail_integral(self, t: float) -> float:
        return math.fsum(weight * part.tail_integral(t) for weight, part in self.parts)


def distribution(gaps: schema.Gaps | schema.MixturePart) -> GapDistribution:
    """The distribution a workload declares."""
    if gaps.lognormal is not None:
        median, p90 = gaps.lognormal.median, gaps.lognormal.p90
        return LogNormalGap(math.log(median), math.log(p90 / median) / Z90)
    if gaps.exponential is not None:
        return ExponentialGap(gaps.exponential.mean)
    if isinstance(gaps, schema.Gaps) and gaps.mixture is not None:
        return MixtureGap(tuple((part.weight, distribution(part)) for part in gaps.mixture))
    if isinstance(gaps, schema.Gaps) and gaps.table is not None:
        return TableGap.through(tuple((point.within, point.share) for point in gaps.table))
    raise ValueError("a gap distribution without a form")

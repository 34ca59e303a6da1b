"""How contexts age: the survival curve S of a class and bucket, and its age slots (docs/reuse.md).

By the working-set identity (Denning and Schwartz 1972), holding every context for tau seconds after its
last use costs `rate * integral(0, tau)` contexts in residence and catches `1 - S(tau)` of the requests.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from optimizer.workload.gaps import GapDistribution, distribution
from optimizer.workload.schema import ContextBucket, Gaps, TrafficClass

PEAK_WINDOW = 3600.0
"""Seconds: slots that end by then see the peak rate, older ones the mean rate."""


@dataclass(frozen=True)
class Survival:
    """S(tau): the probability that a context idle for tau seconds has not been asked for again."""

    gap: GapDistribution
    return_probability: float

    @property
    def never(self) -> float:
        """S(inf): the share of contexts that are never asked for again."""
        return 1.0 - self.return_probability

    def at(self, tau: float) -> float:
        """S(tau); tau in seconds."""
        if tau == math.inf:
            return self.never
        return self.never + self.return_probability * self.gap.tail(tau)

    def integral(self, start: float, end: float) -> float:
        """Integral of S from start to end, seconds: contexts resident in the slot per request per second."""
        returning = self.gap.tail_integral(end) - self.gap.tail_integral(start)
        return self.never * (end - start) + self.return_probability * max(0.0, returning)


@dataclass(frozen=True)
class Slot:
    """One age slot: the rate (1/s) that multiplies it, drop = S(start) - S(end), integral of S in seconds."""

    start: float
    end: float
    rate: float
    drop: float
    integral: float


def survival(gaps: Gaps, return_probability: float) -> Survival:
    """The survival curve of a declared gap distribution."""
    return Survival(distribution(gaps), return_probability)


def bucket_survival(traffic: TrafficClass, bucket: ContextBucket) -> Survival:
    """The survival curve of one bucket: its own gaps and return probability, else its class's."""
    reuse, own = traffic.reuse, bucket.return_probability
    return survival(bucket.gaps or reuse.gaps, reuse.return_probability if own is None else own)


def slots(curve: Survival, ages: Sequence[float], peak_rate: float, mean_rate: float) -> tuple[Slot, ...]:
    """The age slots between consecutive ages (seconds, from 0), with the rate that multiplies each.

    Without a rate profile that is the peak for slots that end within an hour and the mean beyond.
    """
    return tuple(
        Slot(start, end, peak_rate if end <= PEAK_WINDOW else mean_rate,
             max(0.0, curve.at(start) - curve.at(end)), curve.integral(start, end))
        for start, end in itertools.pairwise(ages)
    )


def tail_returns(curve: Survival, ages: Sequence[float], mean_rate: float) -> float:
    """Returns per second that come after the last age: mean_rate * (S(tau_J) - S(inf))."""
    return mean_rate * max(0.0, curve.at(ages[-1]) - curve.never)

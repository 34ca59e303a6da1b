"""Waiting for a prefill lane: M/G/1 with jobs no longer than b: docs/physics.md section 9."""

from __future__ import annotations

import math
from functools import lru_cache

ROOT_RELATIVE_ERROR = 1e-14  # where the bisection stops: a few units in the last place


@lru_cache(maxsize=4096)
def wait_exponent(rho: float) -> float:
    """Decay x of the wait in units of the longest job: the root x > 0 of rho*(e^x - 1)/x = 1.

    Lundberg: P(wait > t) <= exp(-x*t/b), with E[e^(xS/b)] bounded by its chord for S <= b. The root lies in
    [ln(1/rho), 2*ln(1/rho)], since e^(x/2) <= (e^x - 1)/x <= e^x. Infinite for an idle lane (rho = 0).
    Returned from the lower end of the last bracket, so that the bound on the wait stays a bound.
    """
    _stable(rho)
    if rho == 0:
        return math.inf
    low, high = -math.log(rho), -2 * math.log(rho)
    while high - low > ROOT_RELATIVE_ERROR * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if math.log(rho) + middle + math.log(-math.expm1(-middle) / middle) > 0:
            high = middle
        else:
            low = middle
    return low


def attained(slack_seconds: float, longest_job_seconds: float, rho: float) -> float:
    """Least share of requests that wait no longer than their slack: max(0, 1 - exp(-x*slack/b)).

    0 when the slack is negative; `longest_job_seconds` b and load `rho` are those of the lane.
    """
    _stable(rho)
    if slack_seconds < 0:
        return 0.0
    if rho == 0 or longest_job_seconds == 0:
        return 1.0
    return max(0.0, -math.expm1(-wait_exponent(rho) * slack_seconds / longest_job_seconds))


def mean_wait(rho: float, mean_job_seconds: float, mean_square_job: float) -> float:
    """Mean wait of M/G/1, seconds: rho*E[S^2] / (2*E[S]*(1 - rho)) (Pollaczek-Khinchine)."""
    _stable(rho)
    return rho * mean_square_job / (2 * mean_job_seconds * (1 - rho))


def mean_wait_bound(longest_job_seconds: float, rho: float) -> float:
    """Largest mean wait when no job exceeds b, seconds: rho*b / (2*(1 - rho)), as E[S^2] <= b*E[S]."""
    return mean_wait(rho, 1.0, longest_job_seconds)


def _stable(rho: float) -> None:
    if not 0 <= rho < 1:
        raise ValueError(f"a lane has a stationary wait only at a load in [0, 1), not {rho}")

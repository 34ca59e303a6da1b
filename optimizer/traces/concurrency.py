"""How many requests are in service at once, if none has to wait."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optimizer.traces.reuse import infinite_token_hits
from optimizer.traces.types import Trace

PREFILL_RATE = 10_000.0
"""Tokens computed per second and request."""
DECODE_RATE = 50.0
"""Tokens answered per second and request."""
ASSUMPTION = f"no queueing; service_s = uncached_input/{PREFILL_RATE:.0f} + out/{DECODE_RATE:.0f}"


@dataclass(frozen=True)
class InService:
    """Requests in service over the time from the first arrival to the last completion."""

    time_weighted_mean: float
    p50: int
    p95: int
    p99: int
    max: int
    window_s: float


@dataclass(frozen=True)
class Concurrency:
    """With every block kept for ever, and with none kept; the same where a trace tells no blocks."""

    assumption: str
    infinite_cache: InService
    no_cache: InService


def concurrency(trace: Trace) -> Concurrency:
    """Between these two every cache lies."""
    nothing = np.zeros_like(trace.input)
    return Concurrency(ASSUMPTION, _with(trace, infinite_token_hits(trace)), _with(trace, nothing))


def _with(trace: Trace, hits: NDArray[np.int64]) -> InService:
    return in_service(trace.time, (trace.input - hits) / PREFILL_RATE + trace.output / DECODE_RATE)


def in_service(time: NDArray[np.float64], service: NDArray[np.float64]) -> InService:
    """Time-weighted percentiles: the least number that covers the share of the time."""
    moments = np.concatenate((time, time + service))
    steps = np.repeat((1, -1), len(time))
    order = np.lexsort((-steps, moments))  # what comes and goes at one moment is there for no time
    moments = moments[order]
    held = np.bincount(np.cumsum(steps[order])[:-1], weights=np.diff(moments))
    window = float(held.sum())
    if window == 0:
        return InService(0.0, 0, 0, 0, 0, 0.0)
    covered = np.cumsum(held) / window
    p50, p95, p99 = (int(each) for each in np.searchsorted(covered, (0.5, 0.95, 0.99)))
    mean = float(held @ np.arange(len(held))) / window
    return InService(round(mean, 4), p50, p95, p99, int(np.flatnonzero(held)[-1]), round(window, 3))

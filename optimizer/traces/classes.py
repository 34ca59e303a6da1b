"""A traffic class from a trace: rates, lengths and reuse as a workload file states them, in SI numbers.

The threads of the trace (`threads.py`) say which request returns to which stored context. From them: the mean
prompt of first requests, the mean number of tokens that a return sends and its context does not hold, and per
length of the stored context (prompt and answer, at the end of a turn) how long it lies idle (`lifetimes.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optimizer.errors import InputError, Problem
from optimizer.traces.following import NONE
from optimizer.traces.lifetimes import Floats, Lifetime, lifetime
from optimizer.traces.threads import Threads, threads
from optimizer.traces.types import Trace

PREFILL_RATE = 10_000.0
"""Tokens a second: input that is not found, where a trace does not record how long a request took."""
DECODE_RATE = 50.0
"""Tokens a second: output, likewise."""
FEWEST_RETURNS = 50
"""Returns that a distribution of gaps needs, in all."""
FEWEST_IN_BUCKET = 30
"""Returns that it needs in a length bucket."""
PEAK_WINDOWS = (600.0, 60.0)
"""Seconds over which the peak rate is taken; the second where a trace is shorter than an hour."""
_HOUR, _DAY = 3600.0, 86400.0
TIMES: tuple[float, ...] = (
    *(1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 45.0),
    *(60.0 * m for m in (1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 45)),
    *(_HOUR * h for h in (1, 1.5, 2, 3, 4, 6, 8, 12, 18)),
    *(_DAY * d for d in (1, 2, 3, 5, 7, 14, 30, 60, 120, 365)),
)
"""Seconds at which a table of gaps has a point: every age at which a plan may end a slot, and a few
between."""


@dataclass(frozen=True)
class Gaps:
    """Whether and when contexts are asked for again: `table` has the share of the returns within a time (s).
    `returns` gaps were seen; `cut` contexts were still idle when the trace ended."""

    return_probability: float
    table: tuple[tuple[float, float], ...]
    returns: int
    cut: int


@dataclass(frozen=True)
class LengthBucket:
    """Stored contexts of like length: mean tokens, coefficient of variation, share of the requests that end
    so."""

    tokens: float
    spread: float
    share: float
    gaps: Gaps


@dataclass(frozen=True)
class Derived:
    """What a trace says of a class. Rates are requests a second; `peak_rate` over the busiest `peak_window`
    seconds.

    `first_requests` begin a context, `returns` come back to one; `first_prompt`, `new_tokens`,
    `output_tokens` and `shared_prefix` are mean tokens. `service_estimated`: share of the returns whose idle
    gap rests on the estimate of the service time; `overlapping`: share that came before the answer before was
    done (gap 0).
    """

    name: str
    requests: int
    seconds: float
    mean_rate: float
    peak_rate: float
    peak_window: float
    first_requests: int
    returns: int
    sub_calls: int
    first_prompt: float
    new_tokens: float
    output_tokens: float
    shared_prefix: int
    gaps: Gaps
    buckets: tuple[LengthBucket, ...]
    service_estimated: float
    overlapping: float


def derive(trace: Trace, buckets: int = 3) -> Derived:
    """The class of a trace, its stored contexts cut into at most that many length buckets.

    InputError for a trace that cannot say what is asked for again, or says it of too few requests.
    """
    cut = threads(trace)
    returns = cut.returns
    _enough(trace, int(returns.sum()))
    uncached = trace.input - cut.found
    service = service_seconds(trace, uncached)
    idle = _Idle.of(trace, cut, service)
    seconds = float(trace.time[-1] - trace.time[0])
    window = PEAK_WINDOWS[0] if seconds >= _HOUR else PEAK_WINDOWS[1]
    new, output = float(uncached[returns].mean()), float(trace.output.mean())
    return Derived(
        name=trace.name, requests=len(trace), seconds=seconds,
        mean_rate=len(trace) / seconds, peak_rate=_peak(trace.time, window), peak_window=window,
        first_requests=int((~returns).sum()), returns=int(returns.sum()), sub_calls=int(trace.sub.sum()),
        first_prompt=_first_prompt(trace, cut, idle), new_tokens=new, output_tokens=output,
        shared_prefix=cut.shared, gaps=idle.gaps(np.ones(len(trace), np.bool_)),
        buckets=_buckets(trace, idle, buckets, new + output),
        service_estimated=float(np.isnan(trace.api[cut.previous[returns]]).mean()),
        overlapping=float((idle.gap[idle.returned] <= 0).mean()),
    )  # fmt: skip


def _enough(trace: Trace, returns: int) -> None:
    if not len(trace) or trace.time[-1] <= trace.time[0]:
        raise InputError(Problem(trace.name, "", "lasts no time at all", "give a longer trace"))
    if returns < FEWEST_RETURNS:
        message = f"{returns:,} of its {len(trace):,} requests return to a context: too few to say when"
        raise InputError(Problem(trace.name, "", message, f"give a trace with at least {FEWEST_RETURNS}"))


def service_seconds(trace: Trace, uncached: NDArray[np.int64]) -> Floats:
    """Seconds from the start of a request to its end: as recorded, else by the rates above."""
    estimate = uncached / PREFILL_RATE + trace.output / DECODE_RATE
    return np.where(np.isnan(trace.api), estimate, trace.api)


@dataclass(frozen=True)
class _Idle:
    """Of the context that each request leaves: whether it is `returned` to, and the `gap`: idle seconds until
    then, or until the trace ends."""

    returned: NDArray[np.bool_]
    gap: Floats

    @classmethod
    def of(cls, trace: Trace, cut: Threads, service: Floats) -> _Idle:
        following = cut.following
        returned = following != NONE
        until = np.where(returned, trace.time[following], trace.time[-1])
        return cls(returned, np.maximum(0.0, until - (trace.time + service)))

    def lifetime(self, chosen: NDArray[np.bool_]) -> Lifetime:
        """S of the contexts of some requests."""
        return lifetime(self.gap[chosen & self.returned], self.gap[chosen & ~self.returned])

    def gaps(self, chosen: NDArray[np.bool_]) -> Gaps:
        """The same as a workload states it."""
        life = self.lifetime(chosen)
        return Gaps(life.return_probability, life.shares(TIMES), life.returns, life.cut)


def _peak(time: Floats, window: float) -> float:
    """The most requests in any window of that many seconds, a second."""
    return float((np.searchsorted(time, time + window) - np.arange(len(time))).max()) / window


def _first_prompt(trace: Trace, cut: Threads, idle: _Idle) -> float:
    """Mean prompt of the requests that begin a context.

    Where no session says so, a thread that seems to begin while the trace does may only have been met there:
    those of the time within which nine of ten returns come are left out, if any others are there.
    """
    first = ~cut.returns
    if not (trace.session != NONE).any():
        settled = trace.time >= trace.time[0] + np.quantile(idle.gap[idle.returned], 0.9)
        first = first & settled if (first & settled).any() else first
    return float(trace.input[first].mean()) if first.any() else float(trace.input.mean())


def _buckets(trace: Trace, idle: _Idle, count: int, turn: float) -> tuple[LengthBucket, ...]:
    """Length buckets that each hold the same share of all stored tokens, so that each stands for as many
    bytes; fewer of them where one would see too few returns, or would be shorter than a turn (`turn`
    tokens)."""
    stored = (trace.input + trace.output).astype(np.float64)
    for number in range(count, 0, -1):
        label = _equal_tokens(stored, number)
        chosen = [label == bucket for bucket in range(number)]
        seen = [int((those & idle.returned).sum()) for those in chosen]
        if number == 1 or (min(seen) >= FEWEST_IN_BUCKET and stored[chosen[0]].mean() > turn):
            break
    return tuple(
        LengthBucket(
            tokens=float(stored[those].mean()), spread=float(stored[those].std() / stored[those].mean()),
            share=float(those.mean()), gaps=idle.gaps(those),
        )
        for those in chosen
    )  # fmt: skip


def _equal_tokens(stored: Floats, count: int) -> NDArray[np.int64]:
    """The bucket of every context: cut where the running sum over the sorted lengths passes each 1/count of
    all."""
    order = np.argsort(stored, kind="stable")
    running = np.cumsum(stored[order])
    edges = running[-1] * np.arange(1, count) / count
    limits = stored[order][np.minimum(np.searchsorted(running, edges), len(stored) - 1)]
    return np.searchsorted(limits, stored, side="right").astype(np.int64)

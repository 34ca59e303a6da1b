"""Retention: what is found when every block is kept for a time after its last touch, and what that holds.

S(tau) is the share of block accesses whose block is not asked for again within tau seconds. A last touch in
the trace counts as never asked for again, also where the recording ends before tau is over (S is an upper
bound there), and no retention longer than the recording is given. By the working-set identity (Denning and
Schwartz 1972), with lambda block accesses a second,

    found = 1 - S(tau)                    resident on average = lambda (run + integral of S from 0 to tau)

where run is the mean time a block's request still runs (0 if ages count from the start of a request). The
right side knows gaps only, and is what lasting traffic of this kind holds. `resident_blocks` is measured: a
cache with this rule walks through the recording, and what it holds is averaged from the first arrival to
the last. What the last touches would still hold afterwards is cut off, so it is the smaller of the two, by
little where the recording is long beside the retention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from optimizer.compiled import entry
from optimizer.errors import InputError, Problem
from optimizer.traces.reuse import Reuses, blocks_of, reuses
from optimizer.traces.types import Trace

RETENTIONS = (10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
"""Seconds: what is asked unless the caller names others."""


class Clock(StrEnum):
    """From when the age of a block counts."""

    START = "start"
    """From the start of the request that touched it last."""
    END = "end"
    """From the end of that request, its start plus the recorded `api`."""


@dataclass(frozen=True)
class Kept:
    """One retention. Blocks are averages over the recording, ratios of block accesses and of input tokens."""

    retention_s: float
    block_hit_ratio: float
    token_hit_ratio: float
    resident_blocks: float
    working_set_blocks: float


@dataclass(frozen=True)
class Ages:
    """The gaps of a trace that end, sorted, each with how many blocks and tokens it stands for.

    `accesses` counts those too whose block is not asked for again; `run` is the mean time, in seconds, for
    which a touched block's request still runs, or until it is touched again.
    """

    gap: NDArray[np.float64]
    blocks: NDArray[np.int64]
    tokens: NDArray[np.int64]
    accesses: int
    run: float

    def found(self, tau: float) -> int:
        """Accesses whose block had been touched within tau seconds."""
        return int(self.blocks[: self._within(tau)].sum())

    def found_tokens(self, tau: float) -> int:
        """The same in tokens."""
        return int(self.tokens[: self._within(tau)].sum())

    def survival(self, tau: float) -> float:
        """S(tau)."""
        return 1.0 - self.found(tau) / self.accesses

    def integral(self, tau: float) -> float:
        """Integral of S from 0 to tau, seconds: mean of min(gap, tau) over all accesses."""
        within = self._within(tau)
        ended = float(self.gap[:within] @ self.blocks[:within])
        return (ended + tau * (self.accesses - int(self.blocks[:within].sum()))) / self.accesses

    def _within(self, tau: float) -> int:
        return int(np.searchsorted(self.gap, tau, side="right"))


def retention(
    trace: Trace, retentions: Sequence[float] = RETENTIONS, clock: Clock = Clock.START,
    groups: Reuses | None = None,
) -> tuple[Kept, ...]:
    """What each retention (seconds) within the recording finds and holds."""
    curve = ages(trace, groups or reuses(trace), clock)
    span, tokens = float(trace.time[-1] - trace.time[0]), int(trace.input.sum())
    rate = curve.accesses / span if span > 0 else 0.0
    return tuple(
        Kept(
            tau, round(curve.found(tau) / curve.accesses, 6), round(curve.found_tokens(tau) / tokens, 6),
            round(resident(trace, tau, clock)[0] / span, 2),
            round(rate * (curve.run + curve.integral(tau)), 2),
        )
        for tau in retentions if 0 < tau <= span
    )


def ages(trace: Trace, groups: Reuses, clock: Clock = Clock.START) -> Ages:
    """The gaps of a trace by the clock. A request that overlaps the one before it finds a block of age 0."""
    again = groups.again
    blocks, tokens = groups.blocks[again], groups.tokens[again]
    before = groups.previous[again]
    gap = groups.gaps(trace.time)[again]
    lasting = _ends(trace, clock) - trace.time
    accesses = int(groups.blocks.sum())
    of_request = np.bincount(groups.request, groups.blocks, minlength=len(trace))
    last_touches = of_request - np.bincount(before, blocks, minlength=len(trace))
    run = float(np.minimum(lasting[before], gap) @ blocks + lasting @ last_touches) / max(1, accesses)
    gap = np.maximum(0.0, gap - lasting[before])
    order = np.argsort(gap, kind="stable")
    return Ages(gap[order], blocks[order], tokens[order], accesses, run)


def resident(trace: Trace, keep: float, clock: Clock = Clock.START) -> tuple[float, int]:
    """Of a cache that keeps for `keep` seconds: block-seconds held from first arrival to last, and hits."""
    chains, _ = blocks_of(trace)
    ends = _ends(trace, clock)
    area, hits = _sweep(
        chains.start, chains.first, chains.count, chains.unique, trace.time, ends + keep,
        np.argsort(ends, kind="stable"),
    )
    return float(area), int(hits)


def _ends(trace: Trace, clock: Clock) -> NDArray[np.float64]:
    """When the age of a request's blocks begins. Where no `api` is recorded nothing is deducted."""
    if clock is Clock.START:
        return trace.time
    unknown = np.isnan(trace.api)
    if unknown.all():
        raise InputError(Problem(
            trace.name, "", "no request of this trace has a recorded `api` time, so the ends are not known",
            "count ages from the start of requests",
        ))
    return trace.time + np.where(unknown, 0.0, trace.api)


@entry
def _sweep(
    start: NDArray[np.int64], first: NDArray[np.int64], count: NDArray[np.int64], unique: int,
    time: NDArray[np.float64], expiry: NDArray[np.float64], order: NDArray[np.int64],
) -> tuple[float, int]:
    """Walk through the recording: what expires (in `order`), then what the next request finds and touches."""
    last = np.full(unique, -1, np.int64)
    held, hits, area, now, waiting = 0, 0, 0.0, time[0], 0
    for r in range(len(time)):
        while waiting < len(order) and expiry[order[waiting]] < time[r]:
            q = order[waiting]
            area += held * (expiry[q] - now)
            now = expiry[q]
            for k in range(start[q], start[q + 1]):
                for block in range(first[k], first[k] + count[k]):
                    if last[block] == q:
                        held -= 1
                        last[block] = -1
            waiting += 1
        area += held * (time[r] - now)
        now = time[r]
        for k in range(start[r], start[r + 1]):
            for block in range(first[k], first[k] + count[k]):
                if last[block] < 0:
                    held += 1
                else:
                    hits += 1
                last[block] = r
    return area, hits

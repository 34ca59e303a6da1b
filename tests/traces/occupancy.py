"""Mean occupancy is not capacity: `python -m tests.traces.occupancy` prints the table of docs/reuse.md.

The sessions of a coding-agent trace, 60 as recorded, then N of them with starts drawn anew. For each N:
what the retention itself finds, what an LRU cache finds that holds the mean occupancy of this retention,
and one that holds the mean and the margin z*sqrt(V) besides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optimizer.physics.capacity import root_margin
from optimizer.traces import Trace, read_trace
from optimizer.traces.live import redrawn
from optimizer.traces.retention import resident
from optimizer.traces.reuse import reuses
from optimizer.traces.stack import positions

TRACE = "weka_claude_code_60s_b512"
RETENTIONS = (60.0, 300.0)
LIVE = (60, 240, 720, 3000)
QUANTILE = 2.33
SEEDS = {60: 8, 240: 4, 720: 2, 3000: 1}
"""Draws per number of sessions: few sessions scatter more and cost less."""


@dataclass(frozen=True)
class Occupancy:
    """Blocks held by a retention: mean, and variance if sessions start as a Poisson process.

    `contexts`: how many sessions hold any, on average.
    """

    mean: float
    variance: float
    contexts: float

    def times(self, copies: float) -> Occupancy:
        """Of independent copies of the traffic."""
        return Occupancy(self.mean * copies, self.variance * copies, self.contexts * copies)

    def with_margin(self, z: float = QUANTILE) -> float:
        """Mean and margin, docs/reuse.md."""
        return self.mean + root_margin(z, self.variance, 1)


def occupancy(trace: Trace, keep: float) -> Occupancy:
    """Mean and variance of the blocks that a retention of `keep` seconds holds.

    Sessions share nothing here and begin independently, so what they hold is a sum of shots X(u): by
    Campbell's theorem its mean is the rate of sessions times the integral of X, its variance the rate times
    that of X^2. This is V = contexts * E[blocks^2] with the private context as the unit.
    """
    groups, window = reuses(trace), float(trace.time[-1] - trace.time[0])
    again = groups.again
    before, blocks = groups.previous[again], groups.blocks[again]
    touched = np.bincount(groups.request, groups.blocks, minlength=len(trace))
    last = touched - np.bincount(before, blocks, minlength=len(trace))
    begin = np.concatenate((trace.time[before], trace.time))
    gaps = groups.gaps(trace.time)[again]
    end = begin + np.concatenate((np.minimum(gaps, keep), np.full(len(trace), keep)))
    held, session = np.concatenate((blocks, last)), np.concatenate((trace.session[before], trace.session))
    first = second = holding = 0.0
    for each in np.unique(session):
        mine = session == each
        moment, step = np.concatenate((begin[mine], end[mine])), np.concatenate((held[mine], -held[mine]))
        order = np.argsort(moment, kind="stable")
        level, seconds = np.cumsum(step[order])[:-1], np.diff(moment[order])
        first, second = first + float(level @ seconds), second + float(level**2 @ seconds)
        holding += float(seconds[level > 0].sum())
    return Occupancy(first / window, second / window, holding / window)


def lru(trace: Trace, *capacities: float) -> list[float]:
    """Share of the block accesses that LRU finds (chain looked up first, touched from leaf to root)."""
    found = positions(trace, reverse=True)
    return [1.0 - int(found.prefix_misses(np.array(int(blocks)))) / found.accesses for blocks in capacities]


def kept(trace: Trace, keep: float) -> float:
    """Share of the block accesses that the retention finds."""
    return resident(trace, keep)[1] / trace.chains.accesses


def rows(trace: Trace, keep: float, live: int, draws: int) -> np.ndarray:
    """Per draw: found by the retention, by LRU of the mean, by LRU of mean and margin."""
    size = occupancy(trace, keep).times(live / len(np.unique(trace.session)))
    drawn = [redrawn(trace, live, seed) for seed in range(draws)]
    return np.array([[kept(one, keep), *lru(one, size.mean, size.with_margin())] for one in drawn])


def main() -> None:
    """Print the table."""
    trace = read_trace(TRACE)
    heads = "retention", "sessions", "holding blocks", "LRU of the mean", "LRU of mean + margin", "margin"
    print("|", " | ".join(heads), "| retention |")
    print("|--:" * (len(heads) + 1) + "|")
    for keep in RETENTIONS:
        size = occupancy(trace, keep)
        shares = [kept(trace, keep), *lru(trace, size.mean, size.with_margin())]
        line(keep, f"{len(np.unique(trace.session))} as recorded", size, shares)
        for live in LIVE:
            more = size.times(live / len(np.unique(trace.session)))
            line(keep, f"{live:,}", more, rows(trace, keep, live, SEEDS[live]).mean(axis=0))


def line(keep: float, sessions: str, size: Occupancy, shares: np.ndarray | list[float]) -> None:
    """One row of the table."""
    found, mean, margin = (f"{share:.3f}" for share in shares)
    extra = size.with_margin() / size.mean - 1
    held = f"{size.contexts:.1f}" if size.contexts < 10 else f"{size.contexts:.0f}"
    print(f"| {keep:.0f} s | {sessions} | {held} | {mean} | {margin} | +{extra:.0%} | {found} |", flush=True)


if __name__ == "__main__":
    main()

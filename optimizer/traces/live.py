"""The same sessions, more of them: a trace as it would look with N sessions in its time, starts drawn anew.

What a cache of a given size catches depends on how many contexts share it (docs/reuse.md). A recording has
one number of sessions; copies of them with blocks of their own, started at other times, give any other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from optimizer.errors import InputError, Problem
from optimizer.traces.reuse import blocks_of
from optimizer.traces.types import Chains, Trace

Ints = NDArray[np.int64]


def redrawn(trace: Trace, live: int, seed: int) -> Trace:
    """`live` sessions in the window of the trace, their starts uniform in it, their times wrapped at its end.

    Sessions are taken round by round, each round the whole trace with ids of its own (what sessions share
    in the recording they share within a round), the last round a random part of it. Within a session times
    are as recorded; what wraps over the end of the window runs when it begins, as in traffic that began
    long ago.
    """
    chains, _ = blocks_of(trace)
    if (trace.session < 0).any():
        raise InputError(Problem(
            trace.name, "", "not every request of this trace belongs to a session",
            "only whole sessions can be started at another time",
        ))
    names, session = np.unique(trace.session, return_inverse=True)
    window = float(trace.time[-1] - trace.time[0]) if len(trace) else 0.0
    if window == 0:
        raise InputError(Problem(
            trace.name, "", "all of this trace happens in one moment",
            "starts are drawn over the time that a trace spans",
        ))
    if live < 1:
        raise ValueError(f"the number of live sessions is positive, not {live}")
    begun = np.full(len(names), np.inf)
    np.minimum.at(begun, session, trace.time)
    random = np.random.default_rng(seed)
    rows, rounds, times = [], [], []
    for number in range(-(-live // len(names))):
        start = np.full(len(names), np.nan)
        taken = random.permutation(len(names))[: live - number * len(names)]
        start[taken] = random.uniform(0.0, window, len(taken))
        row = np.flatnonzero(~np.isnan(start[session]))
        rows.append(row)
        rounds.append(np.full(len(row), number))
        times.append((trace.time[row] - begun[session[row]] + start[session[row]]) % window)
    time = np.concatenate(times)
    order = np.argsort(time, kind="stable")
    row, copy = np.concatenate(rows)[order], np.concatenate(rounds)[order]
    return replace(
        trace, name=f"{trace.name}, {live:,} sessions", time=time[order], input=trace.input[row],
        output=trace.output[row], session=session[row] + copy * len(names), sub=trace.sub[row],
        api=trace.api[row], think=trace.think[row], chains=_copied(chains, row, copy), faulty=0, faults=(),
    )


def _copied(chains: Chains, row: Ints, copy: Ints) -> Chains:
    """The chains of the given requests, each with the ids of its copy."""
    runs = np.diff(chains.start)[row]
    start = np.concatenate(([0], np.cumsum(runs)))
    run = np.repeat(chains.start[row] - start[:-1], runs) + np.arange(start[-1])
    first = chains.first[run] + np.repeat(copy, runs) * chains.unique
    count = chains.count[run]
    return Chains(start, *_dense(first, count, chains.unique * (int(copy.max(initial=0)) + 1)))


def _dense(first: Ints, count: Ints, room: int) -> tuple[Ints, Ints, int]:
    """The same runs over ids without holes: an id moves down by the unused ones below it."""
    edges = np.zeros(room + 1, np.int64)
    np.add.at(edges, first, 1)
    np.add.at(edges, first + count, -1)
    used = np.cumsum(edges)[:-1] > 0
    return (np.cumsum(used) - used)[first], count, int(used.sum())

"""A recorded trace as the traffic of one class, at the rate the workload forecasts.

The rate is reached by copies of whole sessions: round after round of the trace, the last one a random part
of it, chosen so that the number of requests comes nearest. Every copy starts at a time of its own, uniform
over the window; what runs over the end of the window is wrapped to its beginning, as of a session that began
before it, so that the traffic is in its steady state throughout. Within a session times are as recorded. Of a
session that began before the window, the last request before it is handed on, too, at the negative time at
which it ended: its context is what the first one of the window returns to.

Blocks. Nodes that nearly all sessions of the trace ask for are one and the same for all copies: it is the
class's shared prefix. All others are fresh in every round, and again in the part that was wrapped (it is
another session, which nothing of this one may find): what some sessions share in the recording, they share
within a round and no further.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optimizer.instance import Instance
from optimizer.simulator.traffic.script import Script, script
from optimizer.simulator.traffic.stretches import stretches
from optimizer.simulator.types import Floats, Ints, Replay
from optimizer.traces import Trace

NONE = -1
JUST_NOW = -1e-6
"""Seconds: when a request that was under way at time 0 is taken to have ended."""


@dataclass(frozen=True)
class Played:
    """Requests in order of time: `row` of the script, `copy` of the trace it belongs to, and its `lap`: how
    often its session has run over the end of the window. Negative times: of contexts idle at time 0."""

    time: Floats
    row: Ints
    copy: Ints
    lap: Ints


def nothing() -> Replay:
    """No recorded request."""
    ints, floats = np.empty(0, np.int64), np.empty(0)
    return Replay(
        floats, ints, floats, floats, ints, floats, np.empty(0, np.bool_), np.zeros(1, np.int64), ints,
        ints, floats,
    )  # fmt: skip


def recorded(
    trace: Trace,
    instance: Instance,
    cls: str,
    *,
    rate: float | None,
    seed: int,
    seconds: float | None = None,
    closed: bool = True,
) -> Replay:
    """The trace as the traffic of a class: `rate` requests per second for `seconds` (none: the trace's).

    Without a rate it is played as it was recorded: every session once, at its time, with every shared block.
    `closed`: a request comes `think` seconds after the end of the one before, where both that one's service
    time and `think` are recorded; else, and in an open loop, at its own time or when the one before is over.
    The bucket of a request is that of the class whose length is nearest, by ratio, to what its turn stores.
    """
    if rate is None and seconds is not None:
        raise ValueError("a trace that is played as recorded lasts as long as it does")
    lines = script(trace)
    span = float(trace.time[-1] - trace.time[0])
    window = span if seconds is None else seconds
    if rate is None:
        played = _as_recorded(lines)
    elif rate > 0 and window > 0:
        played = scaled(lines, rate * window, window, np.random.Generator(np.random.PCG64(seed)))
    else:
        raise ValueError(f"{rate:g} requests per second for {window:g} s are no traffic")
    row = played.row
    node, node_id, node_count, node_tokens = _nodes(lines, played)
    stored = (trace.input + trace.output)[row].astype(np.float64)
    after = _after(lines, played)
    chained = closed & (after != NONE) & (played.time[after] >= 0)
    return Replay(
        time=played.time,
        bucket=_buckets(instance, cls, stored),
        input=trace.input[row].astype(np.float64),
        output=trace.output[row].astype(np.float64),
        after=after,
        think=np.where(chained, lines.think[row], np.nan),
        first=lines.first[row],
        node=node,
        node_id=node_id,
        node_count=node_count,
        node_tokens=node_tokens,
    )


def scaled(lines: Script, requests: float, window: float, random: np.random.Generator) -> Played:
    """About so many requests: copies of sessions with starts drawn anew, wrapped at the end of the window."""
    size = lines.size
    rounds = int(requests // len(lines.session))
    order = random.permutation(len(size))
    reached = np.concatenate(([0], np.cumsum(size[order])))
    part = order[: int(np.argmin(np.abs(reached - (requests - rounds * len(lines.session)))))]
    start = random.random((rounds + 1, len(size))) * window
    takes_part = np.zeros(len(size), np.bool_)
    takes_part[part] = True
    row = np.concatenate(
        (np.tile(np.arange(len(lines.session)), rounds), np.flatnonzero(takes_part[lines.session]))
    )
    copy = np.minimum(np.arange(len(row)) // len(lines.session), rounds)
    time = start[copy, lines.session[row]] + lines.offset[row]
    lap = np.floor(time / window).astype(np.int64)
    time = np.clip(time - lap * window, 0.0, np.nextafter(window, 0.0))
    return _in_order(_with_past(lines, Played(time, row, copy, lap), window))


def _with_past(lines: Script, played: Played, window: float) -> Played:
    """With the last request before the window of every session that runs on in it."""
    before = lines.before[played.row]
    back = lines.offset[played.row] - lines.offset[before]  # from a request to the one before
    heads = (before != NONE) & (played.lap > 0) & (played.time < back)
    row = before[heads]
    ended = played.time[heads] - back[heads] + lines.service[row]
    return Played(
        np.concatenate((played.time, np.minimum(ended, JUST_NOW))),
        np.concatenate((played.row, row)),
        np.concatenate((played.copy, played.copy[heads])),
        np.concatenate((played.lap, played.lap[heads])),
    )


def _in_order(played: Played) -> Played:
    order = np.lexsort((played.row, played.copy, played.time))
    return Played(played.time[order], played.row[order], played.copy[order], played.lap[order])


def _as_recorded(lines: Script) -> Played:
    rows = np.arange(len(lines.session))
    none = np.zeros(len(rows), np.int64)
    return Played(lines.start[lines.session] + lines.offset, rows, none, none)


def _after(lines: Script, played: Played) -> Ints:
    """The place of the request that must be over before each: of the same copy, and not wrapped apart."""
    count = len(lines.session)
    piece = (played.copy * (int(played.lap.max(initial=0)) + 1) + played.lap) * count
    key, before = piece + played.row, lines.before[played.row]
    order = np.argsort(key)
    at = np.minimum(np.searchsorted(key, piece + before, sorter=order), len(key) - 1)
    found = (before != NONE) & (key[order[at]] == piece + before)
    return np.where(found, order[at], NONE)


def _nodes(lines: Script, played: Played) -> tuple[Ints, Ints, Ints, Floats]:
    """(node, node_id, node_count, node_tokens) of all requests: common stretches first, then those that a
    copy's lap uses, each as far as anyone asks for it."""
    cut = stretches(lines.node, lines.node_id, lines.before, lines.common)
    pieces, common = len(cut.first) - 1, lines.common[cut.order[cut.first[:-1]]]
    count = np.diff(cut.node)[played.row]
    node = np.concatenate(([0], np.cumsum(count))).astype(np.int64)
    entry = np.repeat(cut.node[:-1][played.row] - node[:-1], count) + np.arange(node[-1])
    laps = int(played.lap.max(initial=0)) + 1
    realm = np.repeat(played.copy * laps + played.lap, count)
    piece = cut.stretch[entry]
    number = np.where(common[piece], piece, piece + pieces * realm)
    asked = np.zeros(pieces * (int(realm.max(initial=0)) + 1), np.int64)
    np.maximum.at(asked, number, cut.asked[entry])
    ends = np.cumsum(asked)
    begins = np.tile(cut.first[:-1], len(asked) // pieces)
    nodes = np.repeat(begins - (ends - asked), asked) + np.arange(ends[-1])
    return node, (ends - asked)[number], cut.asked[entry], lines.node_tokens[cut.order[nodes]]


def _buckets(instance: Instance, cls: str, stored: Floats) -> Ints:
    """The bucket of the class that is nearest in length."""
    mine = np.array([i for i, bucket in enumerate(instance.buckets) if bucket.cls == cls], dtype=np.int64)
    if not len(mine):
        raise ValueError(f"the instance has no class {cls}")
    tokens = np.log([instance.buckets[i].tokens for i in mine])
    distance = np.abs(np.log(np.maximum(stored, 1.0))[:, None] - tokens[None, :])
    return mine[np.argmin(distance, axis=1)]

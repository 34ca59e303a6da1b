"""A trace made ready to be played: what each request asks for, after which other one, in how few pieces.

Sessions are what is copied and started anew; without recorded sessions, the threads of the trace (requests
that return to one another's contexts) are. In a session the calls of sub-agents run beside the others.

Chains of blocks are cut at every end of any run of ids, so that no request asks for a part of a piece
(*node*): a chain is a short list of nodes, and blocks that are always asked for together are one entry.
A trace that tells lengths only is given chains: what a request finds of the context before it, then the rest
of its prompt and its answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optimizer.errors import InputError, Problem
from optimizer.simulator.types import Flags, Floats, Ints
from optimizer.traces import Chains, Trace
from optimizer.traces.classes import service_seconds
from optimizer.traces.threads import FEWEST_SHARING, NEARLY_ALL, NONE, Threads, threads


@dataclass(frozen=True)
class Script:
    """The requests of a trace, in order of time, and what they ask for.

    `session` numbers what is copied as a whole, from 0; `offset` seconds after the session's first request;
    `service` seconds until its answer was complete, as recorded or estimated;
    `before`: the request that must be over first (-1: none), of the same session; `think` seconds after its
    end this one came (nan: not recorded). `first`: it begins a context. Entries node[i] to node[i+1] - 1 of
    `node_id` are its chain, root first; node n is of `node_tokens[n]` tokens, and `common[n]`: nearly all
    sessions ask for it.
    """

    session: Ints
    start: Floats  # by session: seconds after the trace's first request
    offset: Floats
    service: Floats
    before: Ints
    think: Floats
    first: Flags
    node: Ints
    node_id: Ints
    node_tokens: Floats
    common: Flags

    @property
    def size(self) -> Ints:
        """Requests of each session."""
        return np.bincount(self.session, minlength=len(self.start))


def script(trace: Trace) -> Script:
    """Everything that a replay needs of a trace, once for all its copies."""
    if not len(trace):
        raise InputError(Problem(trace.name, "", "holds no request", "give a trace with requests"))
    cut = _threads(trace)
    session = np.unique(_sessions(trace, cut), return_inverse=True)[1].astype(np.int64)
    time = trace.time - trace.time[0]
    start = np.full(int(session.max()) + 1, np.inf)
    np.minimum.at(start, session, time)
    before = _before(session, trace.sub)
    chained = before != NONE
    both = np.zeros(len(trace), np.bool_)
    both[chained] = np.isfinite(trace.api[before[chained]]) & np.isfinite(trace.think[chained])
    chains, block = _chains(trace, cut)
    node, node_id, blocks = elementary(chains)
    return Script(
        session, start, time - start[session], service_seconds(trace, trace.input - cut.found), before,
        np.where(both, trace.think, np.nan), ~cut.returns,
        node, node_id, (blocks * block).astype(np.float64), _common(session, node, node_id, len(blocks)),
    )  # fmt: skip


def elementary(chains: Chains) -> tuple[Ints, Ints, Ints]:
    """(node, node_id, blocks): the chains as lists of nodes, and the blocks of every node.

    A node is a stretch of ids between two neighbouring ends of runs: each run holds all of it or nothing.
    """
    cuts = np.unique(np.concatenate((chains.first, chains.first + chains.count)))
    first = np.searchsorted(cuts, chains.first)
    count = np.searchsorted(cuts, chains.first + chains.count) - first
    ends = np.concatenate(([0], np.cumsum(count)))
    ids = np.repeat(first - ends[:-1], count) + np.arange(ends[-1])
    return ends[chains.start].astype(np.int64), ids.astype(np.int64), np.diff(cuts)


def _threads(trace: Trace) -> Threads:
    """The threads; of lengths alone, every request is one by itself."""
    if trace.chains is None and (trace.session == NONE).all():
        return Threads(np.full(len(trace), NONE, np.int64), np.zeros(len(trace), np.int64), 0)
    return threads(trace)


def _sessions(trace: Trace, cut: Threads) -> Ints:
    """Any number that is the same for the requests of one session, or of one thread where none is told."""
    thread = np.arange(len(trace))
    for i in np.flatnonzero(cut.returns):
        thread[i] = thread[cut.previous[i]]
    return np.where(trace.session == NONE, thread, len(trace) + trace.session)


def _before(session: Ints, sub: Flags) -> Ints:
    """The last request before each, of the same session and of the same kind: a sub-agent's or not."""
    key = 2 * session + sub
    order = np.argsort(key, kind="stable")
    follows = key[order[1:]] == key[order[:-1]]
    before = np.full(len(session), NONE, np.int64)
    before[order[1:][follows]] = order[:-1][follows]
    return before


def _common(session: Ints, node: Ints, node_id: Ints, nodes: int) -> Flags:
    """The nodes that nearly all sessions ask for."""
    asking = np.repeat(session, np.diff(node))
    sessions = int(session.max()) + 1
    pairs = np.unique(node_id * sessions + asking)
    users = np.bincount(pairs // sessions, minlength=nodes)
    return np.asarray(users >= max(FEWEST_SHARING, NEARLY_ALL * sessions))


def _chains(trace: Trace, cut: Threads) -> tuple[Chains, int]:
    """The recorded chains and their block; of lengths alone, chains of single tokens."""
    if trace.chains is not None:
        return trace.chains, trace.block_tokens or 1
    held: list[list[tuple[int, int]]] = []
    fresh = 0
    for i, before in enumerate(cut.previous):
        left, runs = int(cut.found[i]), []
        for first, count in held[before] if before != NONE else ():
            if left > 0:
                runs.append((first, min(count, left)))
            left -= count
        rest = int(trace.input[i] + trace.output[i]) - sum(count for _, count in runs)
        if rest > 0:
            runs.append((fresh, rest))
            fresh += rest
        held.append(runs)
    flat = np.array([run for runs in held for run in runs], dtype=np.int64).reshape(-1, 2)
    start = np.cumsum([0, *(len(runs) for runs in held)], dtype=np.int64)
    return Chains(start, flat[:, 0], flat[:, 1], fresh), 1

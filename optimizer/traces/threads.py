"""Which request continues which context: a trace cut into threads, each the life of one stored context.

A request *returns* to a thread when it finds there most of what it sends; otherwise it begins one. Where
sessions are recorded a request looks among those of its own session, a sub-agent's call among such calls,
else among all of them:

- in a session, it returns to the thread that touched its deepest known block last, if what it finds is at
  least half of the stored prompt or of its own (a prompt cut back or shortened still finds its context; one
  that shares no more than a system prompt does not);
- a sub-agent's call, and a request of no recorded session, must find *all* full blocks of an earlier prompt:
  the longest such prompt is the chain it extends furthest. So a sub-agent's calls are threads beside their
  session's.

Blocks that nearly all sessions (without sessions: requests) begin with are a shared prefix, held once by
itself, and prove no return.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optimizer.errors import InputError, Problem
from optimizer.traces.types import Chains, Trace

NEARLY_ALL = 0.95
"""Share of the sessions that begin with a block of a shared prefix."""
FEWEST_SHARING = 3
"""Sessions or requests below which nothing is called shared."""
NONE = -1

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Threads:
    """`previous[i]`: the request of its thread that request i returns to, or -1 where it begins one.
    `found[i]`: tokens of its input that lie in that request's stored context (prompt and answer). `shared`:
    tokens of the prefix that nearly all sessions begin with; 0 where there is none, or no block to tell
    it."""

    previous: Ints
    found: Ints
    shared: int

    @property
    def returns(self) -> NDArray[np.bool_]:
        """The requests that return to a stored context."""
        return self.previous != NONE

    @property
    def following(self) -> Ints:
        """The request that returns to the context of request i, or -1 where none does before the trace
        ends."""
        following = np.full(len(self.previous), NONE, np.int64)
        following[self.previous[self.returns]] = np.flatnonzero(self.returns)
        return following


def threads(trace: Trace) -> Threads:
    """The threads of a trace. InputError where it records neither sessions nor blocks."""
    if trace.chains is None:
        if not (trace.session != NONE).any():
            message = "records neither sessions nor blocks, so it cannot say what is asked for again"
            raise InputError(Problem(trace.name, "", message, "give a trace with session or block ids"))
        return _by_length(trace)
    shared = _shared_blocks(trace, trace.chains)
    search = _Search(trace, trace.chains, shared)
    for i in np.argsort(search.group, kind="stable"):
        search.follow(int(i))
    tokens = min(shared * (trace.block_tokens or 0), int(trace.input.min())) if shared else 0
    return Threads(search.previous, search.found, tokens)


def _chain(chains: Chains, i: int) -> Ints:
    """The block ids of request i, from the root."""
    runs = slice(int(chains.start[i]), int(chains.start[i + 1]))
    first, count = chains.first[runs], chains.count[runs]
    ends = np.cumsum(count)
    return np.repeat(first - (ends - count), count) + np.arange(ends[-1] if len(ends) else 0)


def _shared_blocks(trace: Trace, chains: Chains) -> int:
    """How many blocks nearly all sessions, or without sessions nearly all requests, begin with."""
    recorded = trace.session != NONE
    user = trace.session if recorded.any() else np.arange(len(trace))
    users, latest = np.zeros(chains.unique, np.int64), np.full(chains.unique, NONE, np.int64)
    order = np.argsort(user, kind="stable")
    for i in order[user[order] != NONE]:
        chain = _chain(chains, int(i))
        users[chain[latest[chain] != user[i]]] += 1
        latest[chain] = user[i]
    number = len(np.unique(user[user != NONE]))
    # ids are of prefixes: those that nearly all begin with are one chain
    return int((users >= max(FEWEST_SHARING, NEARLY_ALL * number)).sum())


class _Search:
    """The state of a pass over one group of requests after another: those of a session, its sub-agents'
    calls."""

    def __init__(self, trace: Trace, chains: Chains, shared: int) -> None:
        self.trace, self.chains, self.shared = trace, chains, shared
        self.block = trace.block_tokens or 1
        self.group = 2 * trace.session + trace.sub
        self.previous = np.full(len(trace), NONE, np.int64)
        self.found = np.zeros(len(trace), np.int64)
        self._toucher = np.full(chains.unique, NONE, np.int64)  # of a block: the request that touched it last
        self._ends = np.full(chains.unique, NONE, np.int64)  # the request whose full blocks end with it
        self._tail = np.arange(len(trace))  # of a thread, by its first request: its latest one
        self._thread = np.arange(len(trace))  # of a request: the first of its thread

    def follow(self, i: int) -> None:
        """Find what request i continues, and make it findable itself."""
        chain = _chain(self.chains, i)
        known = np.flatnonzero(self._ours(self._toucher[chain], i))
        if len(known) and known[-1] >= self.shared:
            strict = self.trace.session[i] == NONE or bool(self.trace.sub[i])
            parent = self._extended(chain, known, i) if strict else self._nearest(chain, known)
            if parent != NONE:
                thread = self._thread[parent]
                before = self._tail[thread]
                self._thread[i], self._tail[thread] = thread, i
                self.previous[i] = before
                self.found[i] = self._tokens_found(i, parent, len(known))
        self._toucher[chain] = i
        full = self._full(i, len(chain))
        if full:
            self._ends[chain[full - 1]] = i

    def _ours(self, others: Ints, i: int) -> NDArray[np.bool_]:
        """Which of some requests, or none, are of the group of request i."""
        return (others != NONE) & (self.group[others] == self.group[i])

    def _nearest(self, chain: Ints, known: Ints) -> int:
        """The request that touched the deepest known block last, if half of it or of this one is found."""
        parent = int(self._toucher[chain[known[-1]]])
        stored = int(self.chains.count[self.chains.start[parent] : self.chains.start[parent + 1]].sum())
        return parent if 2 * len(known) >= min(len(chain), stored) else NONE

    def _extended(self, chain: Ints, known: Ints, i: int) -> int:
        """The request whose whole prompt this one begins with, the longest of them."""
        ends = self._ends[chain[: known[-1] + 1]]
        whole = self._ours(ends, i)
        whole[: self.shared] = False
        places = np.flatnonzero(whole)
        return int(ends[places[-1]]) if len(places) else NONE

    def _tokens_found(self, i: int, parent: int, blocks: int) -> int:
        """Tokens of request i that its context holds: the blocks found and, where they are the whole earlier
        prompt and it has grown by more than the answer, that answer, which was sent back."""
        before, now = int(self.trace.input[parent]), int(self.trace.input[i])
        stored = self.chains.count[self.chains.start[parent] : self.chains.start[parent + 1]].sum()
        if blocks < self._full(parent, int(stored)):
            return min(now, blocks * self.block)
        return _resent(now, before, int(self.trace.output[parent]))

    def _full(self, i: int, blocks: int) -> int:
        """Blocks of a chain without a last one that is partial."""
        return blocks - 1 if blocks * self.block > self.trace.input[i] else blocks


def _resent(now: int, before: int, answer: int) -> int:
    """Tokens of a grown prompt that are stored: the earlier prompt, and its answer if there is room for
    it."""
    if now < before:
        return now
    return before + answer if now - before >= answer else before


def _by_length(trace: Trace) -> Threads:
    """Threads of a trace that tells lengths only: a session, its sub-agents' calls beside it as one more."""
    previous, found = np.full(len(trace), NONE, np.int64), np.zeros(len(trace), np.int64)
    latest: dict[tuple[int, bool], int] = {}
    for i, session in enumerate(trace.session):
        key = (int(session), bool(trace.sub[i]))
        if session != NONE and key in latest:
            parent = latest[key]
            previous[i] = parent
            found[i] = _resent(int(trace.input[i]), int(trace.input[parent]), int(trace.output[parent]))
        latest[key] = i
    return Threads(previous, found, 0)

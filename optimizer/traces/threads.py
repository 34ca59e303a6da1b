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
from optimizer.traces.following import NONE, follow, users
from optimizer.traces.types import Chains, Trace

NEARLY_ALL = 0.95
"""Share of the sessions that begin with a block of a shared prefix."""
FEWEST_SHARING = 3
"""Sessions or requests below which nothing is called shared."""

Ints = NDArray[np.int64]

__all__ = ["FEWEST_SHARING", "NEARLY_ALL", "NONE", "Threads", "threads"]


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
    chains, block = trace.chains, trace.block_tokens or 1
    blocks = np.diff(np.concatenate(([0], np.cumsum(chains.count)))[chains.start])
    full = blocks - (blocks * block > trace.input)  # without a last block that is partial
    group = 2 * trace.session + trace.sub
    shared = _shared_blocks(trace.session, chains)
    previous, parent, known = follow(
        np.argsort(group, kind="stable"), chains.start, chains.first, chains.count, chains.unique, group,
        (trace.session == NONE) | trace.sub, blocks, full, shared,
    )
    tokens = min(shared * block, int(trace.input.min())) if shared else 0
    return Threads(previous, _tokens_found(trace, parent, known, full), tokens)


def _shared_blocks(session: Ints, chains: Chains) -> int:
    """How many blocks nearly all sessions, or without sessions nearly all requests, begin with."""
    user = session if (session != NONE).any() else np.arange(len(session))
    order = np.argsort(user, kind="stable")
    counted = order[user[order] != NONE]
    uses = users(counted, chains.start, chains.first, chains.count, chains.unique, user)
    number = len(np.unique(user[counted]))
    # ids are of prefixes: those that nearly all begin with are one chain
    return int((uses >= max(FEWEST_SHARING, NEARLY_ALL * number)).sum())


def _tokens_found(trace: Trace, parent: Ints, known: Ints, full: Ints) -> Ints:
    """Tokens of every request that the context of its parent holds: the blocks known or, where they are the
    whole earlier prompt, that prompt and its answer."""
    after = np.flatnonzero(parent != NONE)
    before, now = parent[after], trace.input[after]
    partly = np.minimum(now, known[after] * (trace.block_tokens or 1))
    wholly = _resent(now, trace.input[before], trace.output[before])
    found = np.zeros(len(trace), np.int64)
    found[after] = np.where(known[after] < full[before], partly, wholly)
    return found


def _resent(now: Ints, before: Ints, answer: Ints) -> Ints:
    """Tokens of a grown prompt that are stored: the earlier prompt, and its answer if there is room for it:
    what has grown by less than the answer did not send it back."""
    return np.where(now < before, now, np.where(now - before >= answer, before + answer, before))


def _by_length(trace: Trace) -> Threads:
    """Threads of a trace that tells lengths only: a session, its sub-agents' calls beside it as one more."""
    previous = np.full(len(trace), NONE, np.int64)
    group = 2 * trace.session + trace.sub
    order = np.argsort(group, kind="stable")
    again = (group[order[1:]] == group[order[:-1]]) & (trace.session[order[1:]] != NONE)
    previous[order[1:][again]] = order[:-1][again]
    none = np.zeros(len(trace), np.int64)
    return Threads(previous, _tokens_found(trace, previous, none, none), 0)

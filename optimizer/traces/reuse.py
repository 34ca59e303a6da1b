"""Who asked for a block last: every access of a trace, grouped by the request that touched the block before.

One pass over the chains. A request that continues a session finds most of its chain touched by one earlier
request, so the groups are few where the accesses are millions, and whatever follows from gaps alone (an
infinite cache, the optimal policy, retention) is arithmetic on the groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optimizer.compiled import entry
from optimizer.errors import InputError, Problem
from optimizer.traces.types import Chains, Trace

NEVER = -1
"""`previous` of a block's first touch."""


@dataclass(frozen=True)
class Reuses:
    """The accesses of a trace as groups, in order of request and, within one, from root to leaf.

    Group g is `blocks[g]` neighbouring blocks of request `request[g]`, all touched last by request
    `previous[g]` (the request itself where a chain repeats a block). `tokens[g]`: what they hold of its
    input.
    """

    request: NDArray[np.int64]
    previous: NDArray[np.int64]
    blocks: NDArray[np.int64]
    tokens: NDArray[np.int64]

    @property
    def again(self) -> NDArray[np.bool_]:
        """The groups whose blocks have been touched before."""
        return self.previous != NEVER

    def gaps(self, time: NDArray[np.float64]) -> NDArray[np.float64]:
        """Seconds from the start of the touch before to the start of this one; inf for a first touch."""
        found = np.full(len(self.request), np.inf)
        again = self.again
        found[again] = time[self.request[again]] - time[self.previous[again]]
        return found


def reuses(trace: Trace) -> Reuses:
    """The groups of a trace; refuses a trace that has no blocks."""
    chains, block_tokens = blocks_of(trace)
    kept = (chains.start, chains.first, chains.count, chains.unique)
    none = np.empty(0, np.int64)
    number = _group(*kept, none, none, none)
    request, previous, blocks = (np.empty(number, np.int64) for _ in range(3))
    _group(*kept, request, previous, blocks)
    return Reuses(request, previous, blocks, _tokens(block_tokens, trace.input, request, blocks))


def blocks_of(trace: Trace) -> tuple[Chains, int]:
    """The chains of a trace that has them, and the tokens of a block."""
    if trace.chains is None or trace.block_tokens is None:
        raise InputError(Problem(
            trace.name, "", "this trace has no block ids, only lengths and arrivals",
            "reuse needs a trace with `h`, `runs` or `hash_ids`",
        ))
    return trace.chains, trace.block_tokens


def infinite_hits(found: Reuses, requests: int) -> NDArray[np.int64]:
    """Blocks of each request that a cache which forgets nothing would find: the leading run seen before."""
    groups = len(found.request)
    first_new = np.searchsorted(found.request, np.arange(requests), side="right")
    new = found.previous == NEVER  # a block repeated in front of it was there at the look-up, both times
    np.minimum.at(first_new, found.request[new], np.arange(groups)[new])
    before = np.concatenate(([0], np.cumsum(found.blocks)))
    begin = np.searchsorted(found.request, np.arange(requests), side="left")
    return before[first_new] - before[begin]


def infinite_token_hits(trace: Trace) -> NDArray[np.int64]:
    """Tokens of each request that an infinite cache would find; none where the trace has no blocks.

    min(hit blocks x block size, input): the last block of a chain may be partial.
    """
    if trace.chains is None or trace.block_tokens is None:
        return np.zeros(len(trace), np.int64)
    hits = infinite_hits(reuses(trace), len(trace))
    return np.minimum(hits * trace.block_tokens, trace.input)


def accesses_per_block(chains: Chains) -> NDArray[np.int64]:
    """How often each block is asked for: runs are +1 over a range of ids."""
    steps = np.zeros(chains.unique + 1, np.int64)
    np.add.at(steps, chains.first, 1)
    np.add.at(steps, chains.first + chains.count, -1)
    return np.cumsum(steps)[:-1]


def _tokens(
    size: int, inputs: NDArray[np.int64], request: NDArray[np.int64], blocks: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Input tokens in each group: full blocks, and what is left of the input in a partial last one."""
    ends = np.cumsum(blocks)
    begins = ends - blocks
    begin_of_request = begins[np.searchsorted(request, request, side="left")]
    limit = inputs[request]
    upto = np.minimum((ends - begin_of_request) * size, limit)
    return upto - np.minimum((begins - begin_of_request) * size, limit)


@entry
def _group(
    start: NDArray[np.int64], first: NDArray[np.int64], count: NDArray[np.int64], unique: int,
    request: NDArray[np.int64], previous: NDArray[np.int64], blocks: NDArray[np.int64],
) -> int:
    """Write the groups as far as there is room for them; the number there are."""
    last = np.full(unique, -1, np.int64)
    room, found = len(request), 0
    for r in range(len(start) - 1):
        size, before = 0, -1
        for k in range(start[r], start[r + 1]):
            for block in range(first[k], first[k] + count[k]):
                if last[block] == before:
                    size += 1
                else:
                    if size > 0:
                        if found < room:
                            request[found], previous[found], blocks[found] = r, before, size
                        found += 1
                    size, before = 1, last[block]
                last[block] = r
        if size > 0:
            if found < room:
                request[found], previous[found], blocks[found] = r, before, size
            found += 1
    return found

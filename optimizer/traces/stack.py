"""LRU at every capacity at once: the stack distances of Mattson et al. (1970), in one pass for each order.

An LRU cache of C blocks holds the C blocks touched last, so a block is found at every capacity from its
*position* in that order upwards (1 for the block touched last of all). Histograms of positions are
therefore whole miss-ratio curves, in exact integers.

Two readings of a request, and two orders of touching:

- *plain*: each block is looked up and touched in turn;
- *prefix*: the whole chain is looked up first, its leading run of resident blocks are the hits, then every
  block of the request is touched (inserted where it was not resident). At capacity C the hits are the
  blocks up to which the running maximum of the positions stays within C. Engines do this;
- forward: touched from root to leaf; reverse: from leaf to root, so that a chain's head outlives its tail.

The touches are the same in both readings, hence so is the order of the stack, and one pass gives both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optimizer.compiled import compiled, entry
from optimizer.traces.reuse import blocks_of
from optimizer.traces.types import Trace

GROUP = 64
"""Slots to one count of the tree: a rank is a walk in the tree and a sum within one group."""


@dataclass(frozen=True)
class Positions:
    """How many accesses were found at each position of the stack, by reading.

    Index p of `plain` and `prefix`: accesses that hit from capacity p on. `tokens`: the input tokens of the
    hits in `prefix`. Index 0 is unused; accesses that no capacity finds are in none of them.
    """

    accesses: int
    plain: NDArray[np.int64]
    prefix: NDArray[np.int64]
    tokens: NDArray[np.int64]

    def plain_misses(self, capacity: NDArray[np.int64]) -> NDArray[np.int64]:
        """Misses of the plain reading at each capacity, blocks."""
        return self.accesses - _upto(self.plain, capacity)

    def prefix_misses(self, capacity: NDArray[np.int64]) -> NDArray[np.int64]:
        """Misses of the prefix reading at each capacity, blocks."""
        return self.accesses - _upto(self.prefix, capacity)

    def token_hits(self, capacity: NDArray[np.int64]) -> NDArray[np.int64]:
        """Input tokens found by the prefix reading at each capacity."""
        return _upto(self.tokens, capacity)


def positions(trace: Trace, *, reverse: bool) -> Positions:
    """One pass over a trace that touches each request from root to leaf, or in reverse."""
    chains, block_tokens = blocks_of(trace)
    plain, prefix, tokens = (np.zeros(chains.unique + 1, np.int64) for _ in range(3))
    _pass(
        chains.start, chains.first, chains.count, chains.accesses, trace.input, block_tokens, reverse,
        plain, prefix, tokens,
    )
    return Positions(chains.accesses, plain, prefix, tokens)


def _upto(histogram: NDArray[np.int64], capacity: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.cumsum(histogram)[np.minimum(capacity, len(histogram) - 1)]


@compiled
def _add(tree: NDArray[np.int64], group: int, change: int) -> None:
    """Fenwick tree: change the count of a group."""
    node = group + 1
    while node < len(tree):
        tree[node] += change
        node += node & -node


@compiled
def _above(tree: NDArray[np.int64], live: NDArray[np.bool_], slot: int, resident: int) -> int:
    """Blocks whose slot is this one or later: the position in the stack of the block that owns the slot."""
    node = slot // GROUP
    below = 0
    for earlier in range(node * GROUP, slot):
        if live[earlier]:
            below += 1
    while node > 0:
        below += tree[node]
        node -= node & -node
    return resident - below


@entry
def _pass(
    start: NDArray[np.int64], first: NDArray[np.int64], count: NDArray[np.int64], accesses: int,
    inputs: NDArray[np.int64], block_tokens: int, reverse: bool,
    plain: NDArray[np.int64], prefix: NDArray[np.int64], tokens: NDArray[np.int64],
) -> None:
    """Every access takes the next slot and gives up its block's slot before: the live slots, in order, are
    the stack.

    Neighbours of a chain mostly sit in neighbouring slots, because they were last touched one after another;
    then the position follows from the neighbour's without a walk in the tree.
    """
    slot_of = np.full(len(plain) - 1, -1, np.int64)
    live = np.zeros(accesses, np.bool_)
    tree = np.zeros(accesses // GROUP + 2, np.int64)
    resident, top, step = 0, 0, -1 if reverse else 1
    for r in range(len(start) - 1):
        # Look up: nothing moves. From root to leaf, until a block was never seen.
        hit, deepest, slot, place, seen = 0, 0, -1, 0, True
        for k in range(start[r], start[r + 1]):
            for block in range(first[k], first[k] + count[k]):
                before, slot = slot, slot_of[block]
                if slot < 0:
                    seen = False
                    break
                if before >= 0 and slot == before + 1:
                    place -= 1
                elif before >= 0 and slot == before - 1:
                    place += 1
                else:
                    place = _above(tree, live, slot, resident)
                deepest = max(deepest, place)
                prefix[deepest] += 1
                tokens[deepest] += max(0, min(block_tokens, inputs[r] - hit * block_tokens))
                hit += 1
            if not seen:
                break
        # Touch, in order: between neighbouring slots, the one before has just gone from below to the top.
        slot, place = -1, 0
        for i in range(start[r + 1] - start[r]):
            k = start[r + 1] - 1 - i if reverse else start[r] + i
            block = first[k] + count[k] - 1 if reverse else first[k]
            for _ in range(count[k]):
                before, slot = slot, slot_of[block]
                if slot < 0:
                    resident += 1
                else:
                    if before >= 0 and slot == before - 1:
                        place += 1
                    elif before < 0 or slot != before + 1:
                        place = _above(tree, live, slot, resident)
                    plain[place] += 1
                    live[slot] = False
                    _add(tree, slot // GROUP, -1)
                live[top] = True
                slot_of[block] = top
                top += 1
                if top % GROUP == 0:
                    _add(tree, top // GROUP - 1, GROUP)
                block += step

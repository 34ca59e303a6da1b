"""The optimal policy: the most block accesses that any cache of a capacity can find (Belady 1966), exactly.

A reuse is found if its block is held from one request to the next that asks for it. All of a request is
looked up before any of it is touched, so what must fit the capacity is what is held *between* requests, and
the optimum keeps, after each request, the blocks asked for again soonest (a block need not be kept at all).

Which optimum this is. It bounds every policy that only keeps what has passed through it, in all four
readings of `stack`: whatever such a cache finds was held between requests, and had to fit there. Under the
prefix reading it is also reached: a request that asks for a block asks for the chain above it, so the head
of a chain is asked for again no later than its tail, the blocks kept are leading runs, and every one kept
is a hit. Belady's rule block by block finds the same number if it may decline to keep a block, and at most
one block's worth of capacity less if it may not.

Blocks of a request that are next asked for by one request are alike, so the rule moves groups, not blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from optimizer.compiled import compiled, entry
from optimizer.traces.reuse import Reuses


def optimal_hits(groups: Reuses, requests: int, capacities: Sequence[int]) -> list[int]:
    """Block accesses that the optimal policy finds at each capacity (blocks).

    A block repeated inside one request is found whatever the capacity.
    """
    kept = groups.previous >= 0
    inside = kept & (groups.previous == groups.request)
    across = kept & ~inside
    order = np.argsort(groups.previous[across], kind="stable")
    before, after, blocks = (
        column[across][order] for column in (groups.previous, groups.request, groups.blocks)
    )
    begin = np.searchsorted(before, np.arange(requests + 1))
    repeated = int(groups.blocks[inside].sum())
    return [int(repeated + _hits(begin, after, blocks, capacity)) for capacity in capacities]


@entry
def _hits(
    begin: NDArray[np.int64], after: NDArray[np.int64], blocks: NDArray[np.int64], capacity: int
) -> int:
    """Hits of the optimal policy; group g in begin[r]:begin[r + 1] of request r is next asked for by
    after[g].

    `held` is a binary tree of sums over requests: leaf r says how many resident blocks request r will find.
    """
    requests = len(begin) - 1
    leaves = 1
    while leaves < requests:
        leaves *= 2
    held = np.zeros(2 * leaves, np.int64)
    hits = 0
    for r in range(requests):
        found = held[leaves + r]
        hits += found
        _change(held, leaves + r, -found)
        for g in range(begin[r], begin[r + 1]):
            _change(held, leaves + after[g], blocks[g])
        while held[1] > capacity:
            node = 1
            while node < leaves:  # the request furthest ahead that would find anything
                node = 2 * node + 1 if held[2 * node + 1] > 0 else 2 * node
            _change(held, node, -min(held[node], held[1] - capacity))
    return hits


@compiled
def _change(held: NDArray[np.int64], leaf: int, change: int) -> None:
    """Add to a leaf of the tree of sums."""
    node = leaf
    while node > 0:
        held[node] += change
        node //= 2

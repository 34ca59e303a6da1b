"""The optimal policy: against every choice, against Belady's rule block by block, above every LRU."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.traces.belady import optimal_hits
from optimizer.traces.reuse import reuses
from optimizer.traces.stack import positions
from tests.traces.oracles import as_trace, best_hits, chains, min_hits, trees

CAPACITIES = tuple(range(1, 14))


def optimal(requests, capacities=CAPACITIES):
    """Hits of the optimal policy at each capacity."""
    return optimal_hits(reuses(as_trace(requests)), len(requests), capacities)


@settings(max_examples=60, deadline=None)
@given(requests=trees(most=5, longest=4), capacity=st.integers(1, 4))
def test_no_choice_finds_more(requests, capacity):
    assert optimal(requests, [capacity]) == [best_hits(requests, capacity)]


@settings(deadline=None)
@given(requests=trees())
def test_it_is_min_with_bypass_and_within_a_block_of_min(requests):
    found = optimal(requests)
    assert found == [min_hits(requests, size, bypass=True) for size in CAPACITIES]
    for here, more, forced in zip(
        found, found[1:], (min_hits(requests, size + 1, bypass=False) for size in CAPACITIES), strict=False
    ):
        assert here <= forced <= more


@settings(deadline=None)
@given(requests=st.one_of(chains(), trees()))
def test_it_bounds_every_lru_and_ends_at_the_content_bound(requests):
    trace = as_trace(requests)
    found = np.array(optimal(requests))
    for reverse in (False, True):
        lru = positions(trace, reverse=reverse)
        for misses in (lru.plain_misses, lru.prefix_misses):
            assert (found >= lru.accesses - misses(np.array(CAPACITIES))).all()
    assert (np.diff(found) >= 0).all()
    unique = trace.chains.unique
    assert optimal(requests, [unique]) == [sum(map(len, requests)) - unique]


def test_by_pencil():
    """Two chains of two asked for in turn: a block held from a chain to its return is a hit for each."""
    assert optimal([[0, 1], [2, 3], [0, 1], [2, 3]], [1, 2, 3, 4]) == [1, 2, 3, 4]

"""One pass gives every capacity: against an LRU list, in all four readings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.traces.stack import positions
from tests.traces.oracles import as_trace, chains, lru_hits, trees
from tests.traces.synthetic import BLOCK

CAPACITIES = np.arange(1, 14)
ANY = st.one_of(chains(), trees())
COMPILING = settings(deadline=None)


@COMPILING
@given(requests=ANY, reverse=st.booleans())
def test_misses_are_those_of_a_list(requests, reverse):
    found = positions(as_trace(requests), reverse=reverse)
    accesses = sum(map(len, requests))
    for prefix, misses in ((False, found.plain_misses), (True, found.prefix_misses)):
        slow = [
            accesses - sum(lru_hits(requests, size, prefix=prefix, reverse=reverse)) for size in CAPACITIES
        ]
        assert misses(CAPACITIES).tolist() == slow


@COMPILING
@given(requests=ANY, reverse=st.booleans(), short=st.integers(0, BLOCK - 1))
def test_token_hits_stop_at_the_input(requests, reverse, short):
    trace = as_trace(requests, short=short)
    found = positions(trace, reverse=reverse)
    for size, tokens in zip(CAPACITIES, found.token_hits(CAPACITIES).tolist(), strict=True):
        hits = lru_hits(requests, size, prefix=True, reverse=reverse)
        assert tokens == int(np.minimum(np.array(hits) * BLOCK, trace.input).sum())


@COMPILING
@given(requests=ANY, reverse=st.booleans())
def test_more_memory_never_misses_more(requests, reverse):
    found = positions(as_trace(requests), reverse=reverse)
    for misses in (found.plain_misses, found.prefix_misses):
        assert (np.diff(misses(CAPACITIES)) <= 0).all()
        assert misses(np.array(1000)) == misses(np.array(len(found.plain) - 1))


@pytest.mark.parametrize(("reverse", "hits"), [(False, 0), (True, 3)])
def test_touch_order_decides_what_is_left_of_a_chain(reverse, hits):
    """Three of four blocks fit: touched forward, the root is the oldest and goes, and the chain is lost."""
    found = positions(as_trace([[0, 1, 2, 3], [0, 1, 2, 3]]), reverse=reverse)
    assert found.accesses - int(found.prefix_misses(np.array(3))) == hits


def test_stacks_longer_than_a_group_of_slots():
    """Chains over many groups of slots, with every kind of neighbour: up, down, and scattered."""
    random = np.random.default_rng(4)
    requests = [
        [*range(300)], [5, 3], [*range(100)], [*range(50)], [*range(99, -1, -1)],
        *(random.permutation(300)[:90].tolist() for _ in range(8)),
    ]
    for reverse in (False, True):
        found = positions(as_trace(requests), reverse=reverse)
        for size in (1, 40, 64, 65, 128, 200, 299):
            for prefix, misses in ((False, found.plain_misses), (True, found.prefix_misses)):
                hits = sum(lru_hits(requests, size, prefix=prefix, reverse=reverse))
                assert found.accesses - int(misses(np.array(size))) == hits

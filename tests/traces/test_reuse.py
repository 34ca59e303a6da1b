"""Groups of accesses: written out again they are the accesses, and an infinite cache follows from them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.traces.reuse import NEVER, infinite_hits, infinite_token_hits, reuses
from tests.traces.oracles import as_trace, chains, lru_hits, trees
from tests.traces.synthetic import BLOCK

ANY = st.one_of(chains(), trees())
MORE_THAN_ALL = 1000


@settings(deadline=None)
@given(requests=ANY)
def test_written_out_they_are_the_touches_before(requests):
    groups = reuses(as_trace(requests))
    last, expected = {}, []
    for number, blocks in enumerate(requests):
        for block in blocks:
            expected.append((number, last.get(block, NEVER)))
            last[block] = number
    pairs = zip(groups.request.tolist(), groups.previous.tolist(), groups.blocks.tolist(), strict=True)
    found = [(request, previous) for request, previous, blocks in pairs for _ in range(blocks)]
    assert found == expected
    alike = list(zip(groups.request.tolist(), groups.previous.tolist(), strict=True))
    assert all(a != b for a, b in pairwise(alike))


@settings(deadline=None)
@given(requests=ANY, short=st.integers(0, BLOCK - 1))
def test_tokens_of_the_groups_are_those_of_the_requests(requests, short):
    trace = as_trace(requests, short=short)
    groups = reuses(trace)
    found = np.bincount(groups.request, groups.tokens, minlength=len(requests))
    covered = np.array([len(blocks) * BLOCK for blocks in requests])
    assert found.tolist() == np.minimum(trace.input, covered).tolist()


@settings(deadline=None)
@given(requests=ANY, short=st.integers(0, BLOCK - 1))
def test_an_infinite_cache_is_a_very_large_one(requests, short):
    trace = as_trace(requests, short=short)
    hits = lru_hits(requests, MORE_THAN_ALL, prefix=True, reverse=True)
    assert infinite_hits(reuses(trace), len(requests)).tolist() == hits
    assert infinite_token_hits(trace).tolist() == np.minimum(np.array(hits) * BLOCK, trace.input).tolist()


def test_a_long_continuation_is_two_groups():
    """What is there already, and what is new: however many blocks."""
    groups = reuses(as_trace([[*range(500)], [*range(900)]]))
    assert groups.blocks.tolist() == [500, 500, 400]
    assert groups.previous.tolist() == [NEVER, 0, NEVER]

"""What is compared with libCacheSim is one algorithm on one stream."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

from benchmarks import cache_peer
from benchmarks.cache_path import Asked


def lru_hits(ids, capacity):
    """An OrderedDict, an access at a time."""
    held, hits = OrderedDict(), 0
    for block in ids:
        if block in held:
            hits += 1
            held.move_to_end(block)
        else:
            held[block] = None
            if len(held) > capacity:
                held.popitem(last=False)
    return hits


def test_a_stream_is_every_block_from_leaf_to_root():
    node, node_id = np.array([0, 2, 3]), np.array([0, 2, 0])  # chains of nodes 0, 2 and of 0, 1
    count, nowhere = np.array([1, 1, 2]), np.zeros(2, np.int64)
    asked = Asked(node, node_id, count, np.array([2, 3, 1]), nowhere, 1, 1.0)
    assert cache_peer.stream(asked).tolist() == [5, 1, 0, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("capacity", [1, 7, 40])
def test_our_kernels_and_libcachesim_find_what_an_lru_finds(capacity, tmp_path):
    ids = np.random.Generator(np.random.PCG64(0)).zipf(1.3, 4000) % 60
    found = lru_hits(ids.tolist(), capacity)
    assert 0 < found < len(ids)
    assert cache_peer.single_hits(ids, capacity) == found
    if (library := cache_peer.installed()) is None:
        pytest.skip(cache_peer.ABSENT)
    file = cache_peer.written(ids, tmp_path / "trace.bin")
    assert round(len(ids) * (1 - cache_peer.peer_misses(library, file, capacity))) == found


def test_a_row_says_why_there_is_no_libcachesim(monkeypatch):
    monkeypatch.setattr(cache_peer, "installed", lambda: None)
    row = cache_peer.row(cache_peer.TRACES[3])
    assert row["libCacheSim"] == cache_peer.ABSENT
    assert row["times libCacheSim"] is None
    assert row["chains"] > row["single"] > 0

"""A chain of exclusive LRU tiers is one LRU cache of their sizes together, block for block."""

from __future__ import annotations

import json
from functools import cache as once

import numpy as np
import pytest

from optimizer.compiled import entry
from optimizer.simulator.engine import cache
from optimizer.simulator.engine.cache import EMPTY, Cache, drop, find, hold
from optimizer.simulator.engine.copies import LACKED, LEFT, ROWS, SLOTS
from optimizer.simulator.traffic.script import elementary
from optimizer.simulator.types import Ints
from optimizer.traces import read_trace
from tests.traces.test_curve import BLOCK_TRACES, REFERENCE

SPLITS = ((1.0,), (0.5, 0.5), (0.05, 0.95), (0.1, 0.3, 0.6), (0.4, 0.2, 0.1, 0.3))
"""Shares of the blocks that each tier has, fast to slow."""
CASES = [
    (name, split)
    for name in BLOCK_TRACES
    for split in (SPLITS if name != "weka_claude_code_60s_b64" else SPLITS[::3])  # the longest one
]


@entry
def play(tiers: Cache, node: Ints, node_id: Ints, blocks: Ints, hits: Ints) -> None:
    """Every request looks its chain up from the root, then touches it from the leaf. hits: blocks by tier."""
    domains = len(tiers.domain)
    for r in range(len(node) - 1):
        for k in range(node[r], node[r + 1]):
            whole = 0.0
            for d in range(domains):
                c = find(tiers, node_id[k] * domains + d)
                if c != EMPTY:
                    whole += tiers.copy[c]["size"]
                    hits[d] += int(tiers.copy[c]["size"])
            if whole < blocks[node_id[k]]:
                break
        for k in range(node[r + 1] - 1, node[r] - 1, -1):
            for d in range(1, domains):
                c = find(tiers, node_id[k] * domains + d)
                if c != EMPTY:
                    drop(tiers, c, float(r))
            hold(tiers, node_id[k] * domains, float(blocks[node_id[k]]), np.inf, 1.0, float(r))


@once
def chains(name):
    """Nodes of a trace, and its reference."""
    return elementary(read_trace(name).chains), json.loads((REFERENCE / f"{name}.json").read_text())


def sizes(capacity, split):
    """Whole blocks of each tier: as the split says, their sum exactly the capacity."""
    ends = np.round(np.cumsum(split) * capacity).astype(int)
    return np.diff(ends, prepend=0)


def found(name, tiers):
    """Blocks found in each tier."""
    (node, node_id, blocks), _ = chains(name)
    below = np.array([*range(1, len(tiers)), EMPTY])
    held = cache.empty(np.asarray(tiers, dtype=np.float64), len(blocks) * len(tiers) + 1, below)
    hits = np.zeros(len(tiers), np.int64)
    play(held, node, node_id, blocks, hits)
    return hits


def by_capacity(name):
    """{capacity: blocks found by one LRU cache of it, chains looked up first and touched from the leaf}."""
    truth = chains(name)[1]
    return {p["capacity_blocks"]: truth["block_accesses"] - p["prefix_rev_miss"] for p in truth["mrc"]}


@pytest.mark.parametrize(("name", "split"), CASES, ids=str)
def test_tiers_together_find_what_one_cache_of_their_sizes_finds(name, split):
    truth = by_capacity(name)
    assert len(truth) == 20
    assert {capacity: found(name, sizes(capacity, split)).sum() for capacity in truth} == truth


@pytest.mark.parametrize("name", BLOCK_TRACES)
def test_the_share_of_a_tier_is_the_difference_of_two_capacities(name):
    """Three tiers of neighbouring capacities of one curve: each finds what the curve gains there."""
    truth = by_capacity(name)
    capacities = sorted(truth)[5:17:4]
    gains = np.diff([truth[c] for c in capacities], prepend=0)
    tiers = np.diff(capacities, prepend=0)
    assert (found(name, tiers) == gains).all()
    assert (gains > 0).all()


def test_a_full_table_of_copies_is_counted():
    """Two nodes, and room for one row: the replay refuses such a run."""
    held = cache.empty(np.array([12.0]), 1)
    play(held, np.arange(3), np.arange(2), np.array([5, 5]), np.zeros(1, np.int64))
    assert held.counts[[LEFT, LACKED]].tolist() == [0, 1]


def test_what_leaves_first_is_the_end_of_the_oldest_chain():
    """Ten blocks touched, then six others into a cache of twelve: four of the ten go, from their end."""
    held = cache.empty(np.array([12.0, 100.0]), 8, np.array([1, EMPTY]))
    play(held, np.arange(3), np.arange(2), np.array([10, 6]), np.zeros(2, np.int64))
    inside = {
        (c["key"] // 2, c["key"] % 2): c["size"] for c in held.copy[: held.counts[ROWS]] if c["key"] != EMPTY
    }
    assert inside == {(0, 0): 6.0, (0, 1): 4.0, (1, 0): 6.0}


def test_the_table_of_copies_grows_with_what_is_held():
    """Room for many, and a few at a time: rows are used again, and slots are some times what is held."""
    held = cache.empty(np.array([np.inf]), 100_000)
    for turn in range(20):
        rows = [hold(held, 1000 * turn + n, 1.0, np.inf, 1.0, 0.0) for n in range(100)]
        assert [find(held, 1000 * turn + n) for n in range(100)] == rows
        for c in rows:
            drop(held, c, 0.0)
    assert held.counts[[LEFT, LACKED, ROWS]].tolist() == [100_000, 0, 100]
    assert 200 <= held.counts[SLOTS] <= 400
    assert not held.slot.any()

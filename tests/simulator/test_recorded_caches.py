"""Recorded chains through the whole replay: one cache finds what the reference says, and one for all servers
finds more than one for each of them (the shape of Mooncake's figures)."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

from optimizer.instance import Tier
from optimizer.simulator.engine.state import ARRIVED
from optimizer.simulator.facility.plans import Life
from optimizer.simulator.traffic import stretches
from optimizer.simulator.traffic.replay import recorded
from optimizer.traces import read_trace
from tests.instance.shipped import built
from tests.simulator.handmade import Bucket, Cls, Pool, Scene, Store, demand, run
from tests.traces.test_curve import BLOCK_TRACES, REFERENCE

SERVERS = 8
KEPT = (Life(1.0, 0, np.inf, ()),)
QUICK = Pool(wall=1e-9, overhead=1e-9, servers=tuple(range(SERVERS)))
MOONCAKE = "mooncake_conversation_0_20min"


@cache
def apart(name):
    """The requests of a trace one by one, each over before the next one comes; the trace, its reference."""
    trace = read_trace(name)
    lines = recorded(trace, built("small"), "agents", rate=None, seed=0)
    count = len(lines.time)
    one_by_one = lines._replace(
        time=np.arange(count, dtype=float), bucket=np.zeros(count, np.int64), think=np.full(count, np.nan)
    )
    return one_by_one, trace, json.loads((REFERENCE / f"{name}.json").read_text())


def found(name, store, seed=0, lives=KEPT, by_node=False):
    """Tokens found by each request of a trace in one tier; a token is a byte."""
    lines, trace, _ = apart(name)
    lines = stretches.apart(lines) if by_node else lines
    kept = Bucket(tokens=1e4, lives=lives, per_token=1.0)
    scene = Scene(pools=(QUICK,), stores=(store,), classes=(Cls(buckets=(kept,)),), servers=SERVERS)
    traffic = demand(len(trace) + 1.0, dice=np.random.default_rng(seed).random(9973))
    seen = run(scene, traffic, lines, block=float(trace.block_tokens), count=len(trace))
    assert seen.state.counts[ARRIVED] == len(trace)
    return seen.state.request[: len(trace)]["cached"]


def facility_wide(size):
    """A cache that all servers share."""
    return Store(Tier.DRAM_POOL, (size,), lru=True, remote=True)


def per_server(size):
    """The same bytes, an equal part at each server, for the sessions that it serves."""
    return Store(Tier.DRAM, (size / SERVERS,) * SERVERS, tuple((v,) for v in range(SERVERS)), lru=True)


@pytest.mark.parametrize("name", BLOCK_TRACES)
def test_one_cache_finds_the_tokens_of_the_reference(name):
    """At all 20 capacities, to the last printed digit: look-up, whole blocks, touch order, room."""
    _, trace, truth = apart(name)
    assert len(truth["mrc"]) == 20
    for point in truth["mrc"]:
        tokens = found(name, facility_wide(point["capacity_blocks"] * float(trace.block_tokens))).sum()
        assert round(tokens / truth["input_tokens"], 8) == point["prefix_rev_token_hit_ratio"]


def test_alarms_of_copies_that_are_gone_fill_no_table():
    """A time to live that never comes, and a tier that turns over with every request: each touch of a node
    leaves an alarm behind, more than there is room for. What is found is what LRU finds."""
    name = "weka_claude_code_60s_b512"
    lines, trace, truth = apart(name)
    nodes = stretches.apart(lines)
    assert len(nodes.node_id) > 3 * (4 * len(lines.time) + len(lines.node_tokens))
    for point in truth["mrc"][:8:7]:
        size = point["capacity_blocks"] * float(trace.block_tokens)
        tokens = found(name, Store(sizes=(size,)), lives=(Life(1.0, 0, 1e9, ()),), by_node=True).sum()
        assert round(tokens / truth["input_tokens"], 8) == point["prefix_rev_token_hit_ratio"]


def test_a_cache_for_all_beats_a_cache_for_each_at_equal_bytes():
    """Sessions share beginnings, and their loads differ: from 8% of all blocks on, at every size, whatever
    session is served where. (Below, LRU finds little beyond the common blocks however it is cut.)"""
    _, trace, truth = apart(MOONCAKE)
    blocks = [point["capacity_blocks"] for point in truth["mrc"][12::2]]
    assert blocks == [5204, 10776, 22315, 46210]
    for size in (count * float(trace.block_tokens) for count in blocks):
        shared = found(MOONCAKE, facility_wide(size)).sum()
        each = [found(MOONCAKE, per_server(size), seed).sum() for seed in (1, 2, 3)]
        assert max(each) < 0.97 * shared
        assert min(each) > 0.5 * shared


def test_what_a_cache_for_each_loses_without_limit_is_what_others_share():
    """Bytes without end: a server never finds what only sessions of other servers had."""
    everything = 1e12
    shared, each = found(MOONCAKE, facility_wide(everything)), found(MOONCAKE, per_server(everything), 1)
    assert (each <= shared).all()
    assert each.sum() < shared.sum()

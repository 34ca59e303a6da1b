"""Nodes that need not be told apart are one stretch, and a replay of stretches is that of their nodes."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings

from optimizer.instance import Tier
from optimizer.simulator.facility.plans import Life
from optimizer.simulator.traffic.replay import nothing, recorded
from optimizer.simulator.traffic.script import script
from optimizer.simulator.traffic.stretches import apart, checked, joined, stretches
from optimizer.traces import read_trace
from tests.simulator.fuzz import draw
from tests.simulator.handmade import Bucket, Cls, Pool, Scene, Store, demand, run
from tests.simulator.laws import held, rows
from tests.simulator.test_recorded import GROWING, INSTANCE, chain, trace_of, traces

WEKA = "weka_claude_code_60s_b512.jsonl.gz"
SEEDS = range(1, 200)


def played(blocks, session, **more):
    """A trace of requests for these blocks, as it was recorded."""
    trace = trace_of(blocks, list(map(float, range(len(blocks)))), session, **more)
    return recorded(trace, INSTANCE, "agents", rate=None, seed=0)


def counts(replay):
    """Nodes of each stretch that each request asks for."""
    return [replay.node_count[a:b].tolist() for a, b in zip(replay.node[:-1], replay.node[1:], strict=True)]


def test_a_context_that_grows_is_one_stretch():
    assert counts(played(GROWING, [0] * 4)) == [[1], [2], [3], [4]]


def test_a_stretch_ends_where_another_chain_leaves_it():
    branches = [[0, 1], [0, 1, 2], [0, 1, 9], [0, 1, 9, 10]]
    assert counts(played(branches, [0] * 4)) == [[1], [1, 1], [1, 1], [1, 2]]


def test_a_stretch_ends_where_a_later_request_asks_for_less():
    assert counts(played([[0, 1], [0, 1, 2], [0, 1], [0, 1, 2, 3]], [0] * 4)) == [[1], [1, 1], [1], [1, 2]]


def test_a_stretch_ends_where_requests_are_not_in_order():
    """Two sessions, or a session and its sub-agent: who asks for more may come first in a closed loop."""
    assert counts(played([[0, 1], [0, 1, 2]], [0, 1])) == [[1], [1, 1]]
    assert counts(played([[0, 1], [0, 1, 2]], [0, 0], sub=[False, True])) == [[1], [1, 1]]


@given(traces())
@settings(deadline=None)
def test_chains_are_the_same_and_a_cache_can_tell(trace):
    """No request asks for a part of a stretch but at its own end, after all that ask for less."""
    lines = script(trace)
    cut = stretches(lines.node, lines.node_id, lines.before, lines.common)
    assert sorted(cut.order.tolist()) == list(range(len(lines.node_tokens)))
    for r in range(len(trace)):
        mine = slice(cut.node[r], cut.node[r + 1])
        runs = zip(cut.first[cut.stretch[mine]].tolist(), cut.asked[mine].tolist(), strict=True)
        nodes = [n for first, count in runs for n in cut.order[first : first + count].tolist()]
        assert nodes == lines.node_id[lines.node[r] : lines.node[r + 1]].tolist()
        whole = np.diff(cut.first)[cut.stretch[mine]]
        assert (cut.asked[mine][:-1] == whole[:-1]).all()
    checked(recorded(trace, INSTANCE, "agents", rate=None, seed=0))


def test_nodes_apart_and_joined_again_are_the_same():
    replay = recorded(read_trace(WEKA), INSTANCE, "agents", rate=0.5, seed=1)
    again = joined(replay)
    assert len(np.unique(replay.node_id)) < len(replay.node_tokens) / 10
    assert len(np.unique(again.node_id)) <= len(np.unique(replay.node_id))
    for r in range(0, len(replay.time), 97):
        assert replay.node_tokens[chain(replay, r)].tolist() == again.node_tokens[chain(again, r)].tolist()


@pytest.mark.parametrize(
    ("node_id", "count", "after"),
    [([0, 0], [2, 1], [-1, 0]), ([0, 0], [1, 2], [-1, -1]), ([0, 1], [2, 1], [-1, 0])],
    ids=["less than before", "two sessions", "inside another"],
)
def test_what_a_cache_could_not_tell_is_refused(node_id, count, after):
    faulty = nothing()._replace(
        time=np.zeros(2), after=np.array(after), node=np.arange(3), node_id=np.array(node_id),
        node_count=np.array(count), node_tokens=np.ones(3),
    )  # fmt: skip
    with pytest.raises(ValueError, match="cut it there"):
        checked(faulty)


def same(one, other):
    """Requests, devices and domains of two runs, to the last digit."""
    assert rows(one).tobytes() == rows(other).tobytes()
    assert one.state.device.tobytes() == other.state.device.tobytes()
    assert one.state.instance.tobytes() == other.state.instance.tobytes()
    mine, others = one.state.cache.domain, other.state.cache.domain
    for column in ("used", "peak", "evicted", "refused"):
        assert np.array_equal(mine[column], others[column])
    assert mine["area"] == pytest.approx(others["area"], rel=1e-12, abs=1e-12)


def test_a_replay_of_stretches_is_that_of_their_nodes():
    """Made-up facilities: tiers that turn over, time to live, snapshots, servers that fail."""
    told = 0
    for seed in SEEDS:
        made = draw(Random(seed))
        if made.recorded is None or made.block == 0:
            continue
        seen, by_node = (
            run(
                made.scene, made.traffic, chains, outage=made.outage, hits=made.hits, block=made.block,
                busy=made.busy, count=made.requests,
            )
            for chains in (made.recorded, apart(made.recorded))
        )  # fmt: skip
        same(seen, by_node)
        told += made.recorded.node_count.max() > 1 and seen.state.cache.domain["evicted"].any()
    assert told >= 10


@pytest.mark.parametrize("snapshot", [0.0, 5e4])
@pytest.mark.parametrize("size", [5e5, 1.5e6])
@pytest.mark.parametrize("lru", [False, True])
def test_so_is_one_of_a_recorded_trace_in_tiers_that_are_too_small(snapshot, size, lru):
    """HBM that running requests take, DRAM for a while, one pool for all; contexts of 1 B a token."""
    trace = read_trace(WEKA)
    replay = recorded(trace, INSTANCE, "agents", rate=0.5, seed=1, seconds=4000.0)
    replay = replay._replace(bucket=np.zeros(len(replay.time), np.int64))
    stores = (
        Store(Tier.HBM, (size,) * 2, ((),) * 2),
        Store(Tier.DRAM, (size,) * 2, ((0,), (1,)), lru=lru),
        Store(Tier.DRAM_POOL, (3 * size,), lru=lru, remote=True),
    )
    # no recorded pause is as long: at the very time at which a copy goes, either is as good
    short, middle, late = 20.0123, *((math.inf, math.inf) if lru else (200.0123, 900.0123))
    lives = (Life(0.5, 2, late, ((0, short),)), Life(0.5, 2, late, ((1, middle),)))
    token = (0.0, 1.0)
    scene = Scene(
        pools=(Pool(servers=(0, 1), wall=1e-5, overhead=1e-4, idle=token, running=token, room=2e6),),
        stores=stores, servers=2,
        classes=(Cls(buckets=(Bucket(tokens=1e5, lives=lives, per_token=1.0, state=snapshot),)),),
    )  # fmt: skip
    dice = np.random.default_rng(3).random(9973)
    seen, by_node = (
        run(scene, demand(4000.0, dice=dice), chains, block=512.0, count=len(replay.time))
        for chains in (replay, apart(replay))
    )
    same(seen, by_node)
    assert seen.state.cache.domain["evicted"].any()
    assert len(held(seen)) < len(held(by_node)) / 3

"""What a replay knows of a live session is less than two kilobytes, however long the run and its contexts."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.cache_path import live
from benchmarks.full_path import Traffic
from benchmarks.memory import NEVER, state_bytes
from optimizer.instance import Tier
from optimizer.simulator.facility.plans import Life
from optimizer.simulator.traffic.replay import recorded
from optimizer.simulator.traffic.script import script
from optimizer.simulator.traffic.stretches import apart
from optimizer.traces import read_trace
from tests.simulator.handmade import NOBODY, Bucket, Cls, Pool, Scene, Store, demand, run
from tests.simulator.test_recorded import INSTANCE

WEKA = "weka_claude_code_60s_b512.jsonl.gz"
MOST = 2000
SECONDS, LIVE = 1200.0, 300


def taken(seconds, by_node=False):
    """Bytes of state over live sessions: a recorded trace in a tier of one server and a tier for all."""
    trace = read_trace(WEKA)
    lines = script(trace)
    rate = LIVE / live(lines) * len(trace) / float(trace.time[-1] - trace.time[0])
    replay = recorded(trace, INSTANCE, "agents", rate=rate, seed=1, seconds=seconds)
    replay = replay._replace(bucket=np.zeros(len(replay.time), np.int64))
    replay = apart(replay) if by_node else replay
    scene = Scene(
        pools=(Pool(wall=1e-7, overhead=1e-6),),
        stores=(Store(Tier.DRAM, reached=((0,),)), Store(Tier.DRAM_POOL, remote=True)),
        classes=(Cls(buckets=(Bucket(tokens=1e5, lives=(Life(1.0, 1, 600.0, ((0, 60.0),)),)),)),),
    )
    traffic = demand(seconds, dice=np.random.default_rng(2).random(9973))
    seen = run(scene, traffic, replay, block=float(trace.block_tokens), count=len(replay.time))
    given = Traffic(seen.facility, traffic, replay, NEVER, 1.0, 0.0, NOBODY, 0)
    sequences = seen.state.sequence.nbytes  # of the machines, not of those who use them
    return (state_bytes(seen.state, given, LIVE) - sequences) / LIVE


def test_a_recorded_session_takes_less_than_two_kilobytes_however_long_the_run():
    once, longer = taken(SECONDS), taken(3 * SECONDS)
    assert once < MOST
    assert longer == pytest.approx(once, rel=0.25)


def test_it_would_take_more_if_each_of_its_turns_were_held_by_itself():
    assert taken(SECONDS, by_node=True) > MOST

"""Recorded traces laid side by side: nothing is lost, nothing mixed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.design.traced import joined, traffic
from optimizer.errors import InputError
from optimizer.instance.build import build
from optimizer.simulator.types import Replay
from tests.design.beside import CATALOG, asked

INSTANCE = build(asked("tiny").workload, CATALOG)
TRACE = "weka_claude_code_60s_b512"


def replay(times: list[float], chains: list[list[int]], after: list[int]) -> Replay:
    """Requests at times, each with its chain of nodes; node n weighs n + 1."""
    count = [len(chain) for chain in chains]
    nodes = max((n for chain in chains for n in chain), default=-1) + 1
    size = len(times)
    return Replay(
        time=np.array(times), bucket=np.arange(size), input=np.array(times) + 1, output=np.array(times) + 2,
        after=np.array(after, dtype=np.int64), think=np.array(times) + 3, first=np.array(after) == -1,
        node=np.concatenate(([0], np.cumsum(count))).astype(np.int64),
        node_id=np.array([n for chain in chains for n in chain], dtype=np.int64),
        node_count=np.array([n % 2 + 1 for chain in chains for n in chain], dtype=np.int64),
        node_tokens=np.arange(nodes) + 1.0,
    )  # fmt: skip


@st.composite
def recordings(draw):
    times = sorted(draw(st.lists(st.floats(0, 100), min_size=0, max_size=6)))
    chains = [draw(st.lists(st.integers(0, 4), max_size=4)) for _ in times]
    after = [draw(st.integers(-1, i - 1)) for i in range(len(times))]
    return replay(times, chains, after)


def told(r: Replay, part: int = 0) -> list[tuple]:
    """Every request by itself: its times, what it waits for, and the tokens of its chain."""
    return sorted(
        (part, float(r.time[i]), float(r.input[i]), float(r.output[i]), float(r.think[i]), bool(r.first[i]),
         float(r.time[r.after[i]]) if r.after[i] >= 0 else -1.0,
         tuple(r.node_tokens[r.node_id[r.node[i]:r.node[i + 1]]]),
         tuple(r.node_count[r.node[i]:r.node[i + 1]]))
        for i in range(len(r.time))
    )


@given(st.lists(recordings(), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_every_request_keeps_its_chain_and_what_it_waits_for(parts):
    whole = joined(parts)
    assert (np.diff(whole.time) >= 0).all()
    assert told(whole) == sorted(line for part in parts for line in told(part))


def test_what_one_recording_holds_is_nothing_to_another():
    one = replay([0.0, 1.0], [[0, 1], [0]], [-1, 0])
    whole = joined([one, one])
    ids = [set(whole.node_id[whole.node[i]:whole.node[i + 1]]) for i in range(4)]
    assert whole.time.tolist() == [0.0, 0.0, 1.0, 1.0]
    assert ids[0].isdisjoint(ids[1])
    assert ids[2] < ids[0]
    assert ids[3] < ids[1]
    assert whole.after.tolist() == [-1, -1, 0, 1]


def test_a_trace_plays_at_the_rate_of_its_class():
    cls = next(c for c in INSTANCE.classes if c.id == "k2-agentic")
    found = traffic({cls.id: TRACE}, INSTANCE, 4_000, 0)
    seconds = 4_000 / sum(c.rate for c in INSTANCE.classes)
    assert found.classes == (cls.id,)
    assert found.block_tokens == 512
    played = found.replay.time[found.replay.time >= 0]  # the others were over before
    assert len(played) == pytest.approx(cls.rate * seconds, rel=0.1)
    assert {INSTANCE.buckets[b].cls for b in found.replay.bucket} == {cls.id}
    assert played.max() < seconds


def test_without_traces_there_is_no_recorded_traffic():
    assert traffic({}, INSTANCE, 1_000, 0) is None


def test_a_trace_that_is_not_there_is_refused():
    with pytest.raises(InputError):
        traffic({"k2-agentic": "no-such-trace"}, INSTANCE, 1_000, 0)

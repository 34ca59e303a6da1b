"""A trace played again: the same requests for the same blocks, more or fewer of them, at other times."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.errors import InputError
from optimizer.simulator.traffic.replay import Played, nothing, recorded, scaled
from optimizer.simulator.traffic.script import elementary, script
from optimizer.simulator.traffic.stretches import apart
from optimizer.traces import Chains, Trace, read_trace
from tests.instance.shipped import built

BLOCK = 16
INSTANCE = built("small")
WEKA = "weka_claude_code_60s_b512.jsonl.gz"
GENERATED = "synthetic_agentic_aiperf_60s_b512.jsonl.gz"


@cache
def shipped(name):
    return read_trace(name)


def generator(seed=0):
    return np.random.Generator(np.random.PCG64(seed))


def chains_of(blocks):
    """Chains of the given lists of ids, run-length encoded."""
    first, count, start = [], [], [0]
    for ids in blocks:
        for n, i in enumerate(ids):
            if n and i == ids[n - 1] + 1:
                count[-1] += 1
            else:
                first.append(i)
                count.append(1)
        start.append(len(first))
    unique = 1 + max((i for ids in blocks for i in ids), default=-1)
    return Chains(np.array(start), np.array(first, np.int64), np.array(count, np.int64), unique)


def trace_of(blocks, time, session, *, sub=None, api=math.nan, think=math.nan):
    """A trace of requests that ask for these blocks."""
    count = len(blocks)
    return Trace(
        "made", np.array(time, float), np.array([BLOCK * len(ids) + 3 for ids in blocks]),
        np.full(count, 10), np.array(session), np.zeros(count, np.bool_) if sub is None else np.array(sub),
        np.full(count, api), np.full(count, think), BLOCK, chains_of(blocks),
    )  # fmt: skip


@st.composite
def traces(draw):
    """Requests of a few sessions; each takes up a part of an earlier chain, if any, and adds."""
    blocks, time, session, unique = [], [], [], 0
    for _ in range(draw(st.integers(1, 14))):
        now = draw(st.integers(0, 3))
        mine = [ids for ids, s in zip(blocks, session, strict=True) if s == now]
        parent = draw(st.sampled_from([[], *(mine or blocks)]))
        ids = parent[: draw(st.integers(0, len(parent)))]
        fresh = draw(st.integers(0 if ids else 1, 5))
        blocks.append([*ids, *range(unique, unique + fresh)])
        unique += fresh
        session.append(now)
        time.append((time[-1] if time else 5.0) + draw(st.sampled_from([0.0, 1.0, 30.0])))
    time[-1] += 1.0
    return trace_of(blocks, time, session)


def chain(played, r):
    """Every node of a request."""
    mine = slice(played.node[r], played.node[r + 1])
    runs = zip(played.node_id[mine].tolist(), played.node_count[mine].tolist(), strict=True)
    return np.array([n for first, count in runs for n in range(first, first + count)], np.int64)


def shared_tokens(played, one, other):
    return played.node_tokens[np.intersect1d(chain(played, one), chain(played, other))].sum()


# ---- blocks -----------------------------------------------------------------------------------------------


@given(traces())
@settings(deadline=None)
def test_nodes_are_the_blocks(trace):
    """Node n is the stretch of ids after those of the node before: written out, chains are as recorded."""
    node, node_id, blocks = elementary(trace.chains)
    begins = np.cumsum(blocks) - blocks
    start, ids = trace.chains.flat()
    assert blocks.sum() == trace.chains.unique
    for r in range(len(trace)):
        written = [np.arange(begins[n], begins[n] + blocks[n]) for n in node_id[node[r] : node[r + 1]]]
        assert np.array_equal(np.concatenate([[], *written]), ids[start[r] : start[r + 1]])


@pytest.mark.parametrize("name", [WEKA, GENERATED, "mooncake_conversation_0_20min.jsonl.gz"])
def test_nodes_of_a_recorded_trace_are_its_blocks(name):
    trace = shipped(name)
    node, node_id, blocks = elementary(trace.chains)
    start, ids = trace.chains.flat()
    begins, count = np.cumsum(blocks) - blocks, blocks[node_id]
    ends = np.concatenate(([0], np.cumsum(count)))
    assert np.array_equal(np.repeat(begins[node_id] - ends[:-1], count) + np.arange(ends[-1]), ids)
    assert np.array_equal(ends[node], start)


@given(traces(), st.floats(0.2, 4.0), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_requests_share_what_they_shared_within_a_copy_and_only_common_blocks_beyond(trace, times, seed):
    window = 40.0
    rate = times * len(trace) / window
    lines = script(trace)
    plan = scaled(lines, rate * window, window, generator(seed))
    played = recorded(trace, INSTANCE, "agents", rate=rate, seed=seed, seconds=window)
    assert np.array_equal(played.time, plan.time)
    start, ids = trace.chains.flat()
    asked = [set(ids[start[r] : start[r + 1]]) for r in plan.row]
    common = {i for i in range(trace.chains.unique) if everyone_asks(trace, i)}
    assert np.diff(apart(played).node).tolist() == np.diff(lines.node)[plan.row].tolist()
    for one in range(min(len(plan.row), 12)):
        assert played.node_tokens[chain(played, one)].sum() == BLOCK * len(asked[one])
        for other in range(one):
            together = (plan.copy[one], plan.lap[one]) == (plan.copy[other], plan.lap[other])
            both = asked[one] & asked[other]
            expected = BLOCK * len(both if together else both & common)
            assert shared_tokens(played, one, other) == expected


def everyone_asks(trace, block):
    start, ids = trace.chains.flat()
    users = {s for r, s in enumerate(trace.session) if block in ids[start[r] : start[r + 1]]}
    return len(users) >= max(3, 0.95 * len(set(trace.session)))


def test_only_what_nearly_all_sessions_begin_with_is_one_thing_for_all_copies():
    """The generated trace has 63 blocks of system prompt and tools; WEKA's sessions share nothing."""
    for name, tokens in ((GENERATED, 63 * 512), (WEKA, 0)):
        trace = shipped(name)
        rate = 4 * len(trace) / (trace.time[-1] - trace.time[0])
        plan = scaled(script(trace), 4.0 * len(trace), trace.time[-1] - trace.time[0], generator(1))
        played = recorded(trace, INSTANCE, "agents", rate=rate, seed=1)
        one, other = (int(np.flatnonzero(plan.copy == copy)[5]) for copy in (0, 3))
        assert shared_tokens(played, one, other) == tokens


# ---- times ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.02, 0.3, 2.0])
def test_requests_come_at_the_forecast_rate(rate):
    """As near as whole sessions allow: half the longest session."""
    trace = shipped(WEKA)
    longest, lines = np.bincount(trace.session).max(), script(trace)
    seconds = trace.time[-1] - trace.time[0]
    for seed in range(5):
        played = scaled(lines, rate * seconds, seconds, generator(seed))
        assert abs(np.sum(played.time >= 0) - rate * seconds) <= longest / 2
        assert np.all(np.diff(played.time) >= 0)
        assert played.time[-1] < seconds


def test_starts_are_uniform_so_that_every_time_of_the_window_is_alike():
    """Kolmogorov and Smirnov's test on one request of every session: those are independent."""
    trace, seconds = shipped(WEKA), 5000.0  # shorter than many sessions: they wrap, some more than once
    plan = scaled(script(trace), 40.0 * len(trace), seconds, generator(2))
    assert plan.lap.max() > 2
    inside = plan.time >= 0
    plan = Played(*(column[inside] for column in (plan.time, plan.row, plan.copy, plan.lap)))
    which = plan.copy * 1000 + trace.session[plan.row]
    last = np.full(which.max() + 1, -1)
    np.maximum.at(last, which, plan.row)  # the last request of a session, furthest from its start
    theory = np.sort(plan.time[plan.row == last[which]]) / seconds
    count = len(theory)
    assert count == 40 * 60
    steps = np.arange(count + 1) / count
    distance = max(np.max(steps[1:] - theory), np.max(theory - steps[:-1]))
    assert distance * math.sqrt(count) < math.sqrt(-math.log(0.001 / 2) / 2)


def test_within_a_session_times_are_as_recorded():
    trace = shipped(WEKA)
    played = recorded(trace, INSTANCE, "agents", rate=0.5, seed=3)
    seconds = trace.time[-1] - trace.time[0]
    plan = scaled(script(trace), 0.5 * seconds, seconds, generator(3))
    later = np.flatnonzero((played.after >= 0) & (played.time[played.after] >= 0))
    before = played.after[later]
    assert np.all(before < later)
    assert len(set(before)) == len(before)
    assert np.all(trace.session[plan.row[later]] == trace.session[plan.row[before]])
    recorded_gap = trace.time[plan.row[later]] - trace.time[plan.row[before]]
    assert played.time[later] - played.time[before] == pytest.approx(recorded_gap, abs=1e-6)
    heads = np.sum(played.after < 0)
    assert heads == len(np.unique(np.stack((plan.copy, plan.lap, trace.session[plan.row])), axis=1).T)


def test_of_a_session_that_began_before_the_window_the_last_context_is_there():
    trace, seconds = shipped(WEKA), 2000.0
    plan = scaled(script(trace), 5.0 * seconds, seconds, generator(3))
    played = recorded(trace, INSTANCE, "agents", rate=5.0, seed=3, seconds=seconds)
    assert np.array_equal(played.time, plan.time)
    past = np.flatnonzero(played.time < 0)
    assert len(past) > 50
    assert np.all(played.after[past] == -1)
    heads = np.flatnonzero(np.isin(played.after, past))
    assert np.array_equal(np.sort(played.after[heads]), past)
    assert np.all(np.isnan(played.think[heads]))
    before = played.after[heads]
    gap = trace.time[plan.row[heads]] - trace.time[plan.row[before]]
    told = np.isfinite(trace.api[plan.row[before]]) & (played.time[before] < -1e-6)
    idle = gap - trace.api[plan.row[before]]
    assert played.time[heads][told] - played.time[before][told] == pytest.approx(idle[told])
    # what runs on without one begins with the first request of its session
    first = trace.time == np.array([trace.time[trace.session == s].min() for s in trace.session])
    assert np.all(first[plan.row[(played.after == -1) & (played.time >= 0)]])


def test_less_than_the_trace_is_some_of_its_sessions():
    trace = shipped(WEKA)
    plan = scaled(script(trace), 1000.0, 24_687.0, generator(5))
    size = np.bincount(trace.session)
    taken = np.bincount(trace.session[plan.row[plan.time >= 0]], minlength=60)
    assert np.all((taken == 0) | (taken == size))
    assert 0 < np.sum(taken == 0) < 60


def test_as_recorded_nothing_is_changed():
    trace = shipped(GENERATED)
    played = recorded(trace, INSTANCE, "agents", rate=None, seed=0)
    assert played.time == pytest.approx(trace.time - trace.time[0], abs=1e-9)
    assert np.array_equal(played.input, trace.input)
    assert np.array_equal(played.output, trace.output)
    start, _ = trace.chains.flat()
    nodes = apart(played)
    per_request = np.add.reduceat(nodes.node_tokens[nodes.node_id], nodes.node[:-1])
    assert np.array_equal(per_request, 512.0 * np.diff(start))
    assert played.node_tokens.sum() == 512.0 * trace.chains.unique


# ---- who waits for whom -----------------------------------------------------------------------------------

GROWING = [[0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4]]


def test_a_closed_loop_where_it_is_recorded_and_an_open_one_elsewhere():
    trace = trace_of(GROWING, [0.0, 10.0, 20.0, 30.0], [7] * 4, api=2.0, think=8.0)
    api, think = trace.api.copy(), trace.think.copy()
    api[1] = think[1] = math.nan
    trace = replace(trace, api=api, think=think)
    played = recorded(trace, INSTANCE, "agents", rate=None, seed=0)
    assert played.after.tolist() == [-1, 0, 1, 2]
    assert np.isnan(played.think).tolist() == [True, True, True, False]
    assert played.think[3] == 8.0
    opened = recorded(trace, INSTANCE, "agents", rate=None, seed=0, closed=False)
    assert np.all(np.isnan(opened.think))
    assert np.array_equal(opened.after, played.after)


def test_most_of_the_recorded_agents_are_played_in_a_closed_loop():
    trace = shipped(WEKA)
    played = recorded(trace, INSTANCE, "agents", rate=1.0, seed=0)
    assert 0.8 < np.mean(np.isfinite(played.think)) < 0.9  # 13% of the requests tell no service time


def test_sub_agents_run_beside_their_session():
    trace = trace_of(
        [[0, 1], [5, 6], [0, 1, 2], [5, 6, 7]], [0.0, 1.0, 2.0, 3.0], [0] * 4, sub=[False, True, False, True]
    )
    played = recorded(trace, INSTANCE, "agents", rate=None, seed=0)
    assert played.after.tolist() == [-1, -1, 0, 1]
    assert played.first.tolist() == [True, True, False, False]


def test_a_session_that_begins_anew_asks_for_no_context_and_waits_all_the_same():
    trace = trace_of([[0, 1, 2], [7, 8, 9], [7, 8, 9, 10]], [0.0, 1.0, 2.0], [0] * 3)
    played = recorded(trace, INSTANCE, "agents", rate=None, seed=0)
    assert played.first.tolist() == [True, True, False]
    assert played.after.tolist() == [-1, 0, 1]


def test_without_sessions_threads_are_what_is_copied():
    trace = trace_of([[0, 1], [9, 10], [0, 1, 2], [9, 10, 11, 12]], [0.0, 1.0, 2.0, 4.0], [-1] * 4)
    lines = script(trace)
    assert lines.session.tolist() == [0, 1, 0, 1]
    assert lines.before.tolist() == [-1, -1, 0, 1]


# ---- the rest ---------------------------------------------------------------------------------------------


def test_a_request_is_of_the_bucket_nearest_to_what_it_stores():
    trace = trace_of(GROWING, [0.0, 1.0, 2.0, 3.0], [0] * 4)
    stored = [48_000, 68_000, 69_000, 1_000_000]  # of 48, 98, 212 ktok: the middle of two is 68.6
    trace = replace(trace, input=np.array(stored) - 10)
    played = recorded(trace, INSTANCE, "agents", rate=None, seed=0)
    assert played.bucket.tolist() == [0, 0, 1, 2]
    chat = recorded(trace, INSTANCE, "chat", rate=None, seed=0)
    assert chat.bucket.tolist() == [4, 4, 4, 4]


def test_lengths_alone_make_chains_of_what_is_found_and_what_is_new():
    """A second prompt of 90 after 50 and an answer of 10 finds 60 tokens; one cut back to 30 finds 30."""
    lengths = trace_of([[0]] * 3, [0.0, 1.0, 2.0], [0] * 3)
    lengths = replace(lengths, chains=None, block_tokens=None, input=np.array([50, 90, 30]))
    played = recorded(lengths, INSTANCE, "agents", rate=None, seed=0)
    tokens = [played.node_tokens[chain(played, r)].sum() for r in range(3)]
    assert tokens == [60, 100, 40]
    assert shared_tokens(played, 0, 1) == 60
    assert shared_tokens(played, 1, 2) == 30


def test_where_nothing_returns_every_request_is_a_session():
    trace = shipped("azure2023_conv.jsonl.gz")
    played = recorded(trace, INSTANCE, "chat", rate=2.0, seed=0, seconds=1000.0)
    assert abs(len(played.time) - 2000) <= 1
    assert np.all(played.first)
    assert np.all(played.after == -1)
    assert np.array_equal(played.node_id, np.unique(played.node_id)[np.argsort(np.argsort(played.node_id))])
    assert np.array_equal(played.node_tokens[played.node_id], played.input + played.output)


def test_a_seed_says_it_all():
    trace = shipped(GENERATED)
    one, again, other = (recorded(trace, INSTANCE, "agents", rate=2.0, seed=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(one, again, strict=True))
    assert not np.array_equal(one.time, other.time)


def test_nothing_is_a_replay():
    empty, played = nothing(), recorded(shipped(GENERATED), INSTANCE, "agents", rate=2.0, seed=1)
    assert [part.dtype for part in empty] == [part.dtype for part in played]
    assert empty.node.tolist() == [0]


def test_no_traffic_no_class_and_no_request_are_refused():
    trace = trace_of(GROWING, [0.0, 1.0, 2.0, 3.0], [0] * 4)
    for faulty in ({"rate": 0.0}, {"rate": 1.0, "seconds": 0.0}, {"rate": None, "seconds": 5.0}):
        with pytest.raises(ValueError):
            recorded(trace, INSTANCE, "agents", seed=0, **faulty)
    with pytest.raises(ValueError, match="no class"):
        recorded(trace, INSTANCE, "poets", rate=1.0, seed=0)
    empty = replace(trace, time=np.empty(0))
    with pytest.raises(InputError, match="no request"):
        script(empty)

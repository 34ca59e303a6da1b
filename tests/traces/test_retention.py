"""Retention, and the working-set identity on recorded traffic."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.errors import InputError
from optimizer.traces import read_trace
from optimizer.traces.retention import Clock, ages, resident, retention
from optimizer.traces.reuse import reuses
from tests.traces.oracles import as_trace, chains, kept_hits_and_area
from tests.traces.synthetic import Request, trace


@pytest.fixture(scope="module")
def weka():
    return read_trace("weka_claude_code_60s_b512")


@pytest.mark.parametrize(("keep", "found"), [(60.0, 0.7572), (300.0, 0.9135)])
def test_recorded_agents(weka, keep, found):
    """The measured side walks through time, the other side knows only gaps; they meet within 1%."""
    (kept,) = retention(weka, [keep])
    assert round(kept.block_hit_ratio, 4) == found
    assert kept.resident_blocks == pytest.approx(kept.working_set_blocks, rel=0.01)
    assert kept.resident_blocks < kept.working_set_blocks


def test_the_identity_counts_running_requests_where_ages_begin_at_their_end(weka):
    for start, end in zip(
        retention(weka, (60.0, 300.0)), retention(weka, (60.0, 300.0), Clock.END), strict=True
    ):
        assert end.resident_blocks == pytest.approx(end.working_set_blocks, rel=0.01)
        assert end.resident_blocks > start.resident_blocks
        assert end.block_hit_ratio > start.block_hit_ratio


@settings(deadline=None)
@given(requests=chains(), data=st.data(), keep=st.floats(0.5, 20.0))
def test_the_walk_against_intervals_block_by_block(requests, data, keep):
    gaps = data.draw(st.lists(st.integers(0, 9), min_size=len(requests), max_size=len(requests)))
    times = np.cumsum(gaps, dtype=float).tolist()
    made = as_trace(requests, times)
    hits, area = kept_hits_and_area(times, requests, keep)
    measured, found = resident(made, keep)
    curve = ages(made, reuses(made))
    assert (found, curve.found(keep)) == (hits, hits)
    assert measured == pytest.approx(area)
    assert curve.survival(keep) == pytest.approx(1 - hits / curve.accesses)


@settings(deadline=None)
@given(requests=chains(), taus=st.lists(st.floats(0.0, 20.0), min_size=2, max_size=2))
def test_the_integral_is_that_of_the_steps_of_s(requests, taus):
    made = as_trace(requests)
    curve = ages(made, reuses(made))
    low, high = sorted(taus)
    edges = sorted({low, high, *(gap for gap in curve.gap.tolist() if low < gap < high)})
    area = sum((b - a) * curve.survival((a + b) / 2) for a, b in pairwise(edges))
    assert curve.integral(high) - curve.integral(low) == pytest.approx(area, abs=1e-9)


def test_ends_by_pencil():
    """Block 0 runs until 4, idles 6 s, and is found by a retention of 6; block 1 overlaps and has age 0."""
    made = trace([
        Request(0.0, 100, blocks=[0], api=4.0), Request(1.0, 100, blocks=[1], api=8.0),
        Request(5.0, 100, blocks=[1], api=1.0), Request(10.0, 100, blocks=[0], api=1.0),
        Request(30.0, 100, blocks=[2], api=0.0),
    ])  # fmt: skip
    curve = ages(made, reuses(made), Clock.END)
    assert curve.gap.tolist() == [0.0, 6.0]
    assert curve.run == pytest.approx((4 + 4 + 1 + 1 + 0) / 5)
    assert [resident(made, keep, Clock.END)[1] for keep in (5.0, 6.0)] == [1, 2]
    assert resident(made, 5.0, Clock.END)[0] == pytest.approx((4 + 5) + (4 + 1 + 5) + (1 + 5))


def test_ends_that_nobody_recorded_are_refused():
    made = as_trace([[0], [0]])
    with pytest.raises(InputError, match="recorded `api`"):
        retention(made, [1.0], Clock.END)


def test_no_retention_beyond_the_recording(weka):
    assert [kept.retention_s for kept in retention(weka, [60.0, 86400.0])] == [60.0]

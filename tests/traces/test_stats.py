"""What a trace says before any cache is asked, against the reference files at their printed digits."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.traces import read_trace, stats
from optimizer.traces.concurrency import InService, in_service
from optimizer.traces.stats import arrivals, block_counts, distribution, stats_json, trace_stats

from . import synthetic, writing

REFERENCE = Path(__file__).parent / "reference"
TRACES = (
    "azure2023_conv", "lmcache_miniswe_b64", "mooncake_conversation_0_20min",
    "synthetic_agentic_aiperf_60s_b512", "weka_claude_code_60s_b512", "weka_claude_code_60s_b64",
)
OF_REUSE = {  # keys of the reference files that need a cache
    "infinite_cache", "reuse_distance_unique_blocks", "reuse_time_s_per_block_reuse",
    "reuse_time_fraction_le", "blocks_never_reused_fraction", "share_of_reuses_by_top10pct_blocks",
    "new_blocks_per_s_mean", "new_blocks_per_min", "hit_tokens_per_min", "mrc", "libcachesim_check",
}


@pytest.mark.parametrize("name", TRACES)
def test_every_number_of_the_reference(name):
    reference = json.loads((REFERENCE / f"{name}.json").read_text())
    said = json.loads(json.dumps(stats_json(trace_stats(read_trace(name), name))))
    expected = {key: value for key, value in reference.items() if key not in OF_REUSE}
    assert {key: said.get(key) for key in expected} == expected
    assert said.keys() - expected.keys() == {"faulty_lines", "faults", "remarks"}


def test_distribution_by_hand():
    found = distribution(np.array([1, 2, 3, 4]), cv=True)
    assert found["p50"] == 2.5
    assert found["p25"] == 1.75
    assert (found["mean"], found["min"], found["max"], found["n"]) == (2.5, 1, 4, 4)
    assert found["cv"] == round((1.25**0.5) / 2.5, 4)


def test_minutes_count_from_the_first_request():
    found = arrivals(np.array([100.0, 100.5, 159.9, 160.0, 340.0]))  # minutes 0, 0, 0, 1, 4
    assert (found["bins"], found["peak"], found["mean_over_bins"], found["p50"]) == (5, 3, 1.0, 1.0)
    assert found["peak_to_mean"] == 3.0


TIMES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 15)), min_size=1, max_size=12)


@settings(max_examples=80, deadline=None)
@given(TIMES)
def test_in_service_second_by_second(requests):
    """Whole seconds, so that looking at the middle of each one is exact."""
    requests.sort()
    time, service = (np.array(column, dtype=float) for column in zip(*requests, strict=True))
    begin, end = min(t for t, _ in requests), max(t + s for t, s in requests)
    seen = sorted(sum(t <= second < t + s for t, s in requests) for second in range(begin, end))
    found = in_service(time, service)
    if not seen:
        assert found == InService(0.0, 0, 0, 0, 0, 0.0)
        return
    assert found.window_s == end - begin
    assert found.time_weighted_mean == round(sum(seen) / len(seen), 4)
    assert found.max == max(seen)
    for share, value in ((50, found.p50), (95, found.p95), (99, found.p99)):
        at_most = sum(each <= value for each in seen)
        below = sum(each < value for each in seen)
        assert 100 * below <= share * len(seen) <= 100 * at_most


@settings(max_examples=80, deadline=None)
@given(rows=writing.requests())
def test_shape_of_chains_by_hand(rows):
    """Counted again with dictionaries; compiled and not, they are the same."""
    chains = [row["h"] for row in rows]
    behind, violations, repeated = {}, 0, 0
    for chain in chains:
        for before, block in zip([None, *chain], chain, strict=False):
            violations += behind.setdefault(block, before) != before
        repeated += len(chain) - len(set(chain))
    trace = synthetic.trace([synthetic.Request(i, 1, blocks=chain) for i, chain in enumerate(chains)])
    found = block_counts(trace, trace.chains)
    assert (found.tree_violations, found.repeated_block_within_request) == (violations, repeated)
    plain = getattr(stats._shape, "py_func", stats._shape)
    kept = trace.chains
    assert plain(kept.start, kept.first, kept.count, kept.unique) == (violations, repeated)
    assert found.unique_blocks == len(behind)
    assert found.block_accesses == sum(map(len, chains))


def test_full_and_partial_last_blocks():
    rows = [
        synthetic.Request(0, 250, blocks=[0, 1]), synthetic.Request(1, 250, blocks=[0, 1, 2]),
        synthetic.Request(2, 300, blocks=[0, 1, 2]), synthetic.Request(3, 300, blocks=[0]),
    ]
    trace = synthetic.trace(rows, block=100)
    found = block_counts(trace, trace.chains)
    assert found.blocks_equal_floor_in_over_block == 2
    assert found.blocks_equal_ceil_in_over_block == 2


@pytest.mark.parametrize("number", [1, 2])
def test_hardly_any_requests(number, tmp_path):
    file = writing.write(tmp_path / "x", writing.project([{"t": 5.0, "in": 0, "out": 0, "h": []}] * number))
    said = json.loads(json.dumps(stats_json(trace_stats(read_trace(file), file)), allow_nan=False))
    assert said["requests"] == number
    assert ("interarrival_s" in said) == (number > 1)
    assert "sessions" not in said
    assert said["unique_blocks"] == 0


def test_what_was_left_out_and_put_right_is_said(tmp_path):
    rows = [{"t": t, "in": 1, "out": 1, "h": []} for t in (3.0, 1.0, 2.0)]
    file = writing.write(tmp_path / "x", writing.project(rows) + "junk\n")
    found = json.loads(json.dumps(stats_json(trace_stats(read_trace(file, max_faulty=0.5), file))))
    assert found["faulty_lines"] == 1
    assert found["faults"] == [{"line": 5, "reason": "no JSON: Expecting value: line 1 column 1 (char 0)"}]
    assert found["remarks"] == ["1 request came before the line above: sorted by time"]
    assert found["t_first_s"] == 1.0
    assert found["file_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()

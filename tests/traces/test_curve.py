"""The curve of every shipped trace with blocks is that of its reference file, to the last printed digit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from optimizer.errors import InputError
from optimizer.traces import read_trace
from optimizer.traces.curve import Missing, curve, default_capacities
from optimizer.traces.reuse import accesses_per_block, infinite_token_hits
from tests.traces.oracles import as_trace
from tests.traces.synthetic import Request, trace

REFERENCE = Path(__file__).parent / "reference"
BLOCK_TRACES = (
    "weka_claude_code_60s_b512", "weka_claude_code_60s_b64", "mooncake_conversation_0_20min",
    "lmcache_miniswe_b64", "synthetic_agentic_aiperf_60s_b512",
)
ENTRIES = (
    "block_tokens", "requests", "duration_s", "input_tokens", "tree_violations",
    "repeated_block_within_request", "block_accesses", "unique_blocks",
    "infinite_cache", "reuse_distance_unique_blocks", "reuse_time_s_per_block_reuse",
    "reuse_time_fraction_le",
    "blocks_never_reused_fraction", "share_of_reuses_by_top10pct_blocks", "new_blocks_per_s_mean",
    "new_blocks_per_min", "hit_tokens_per_min",
)
OUTSIDE_TOOL = "libcachesim_"
UNCOMPILED = """
import json, sys
from dataclasses import asdict
from optimizer.traces import read_trace
from optimizer.traces.curve import curve
from tests.traces.test_stack import test_stacks_longer_than_a_group_of_slots
test_stacks_longer_than_a_group_of_slots()
print(json.dumps(asdict(curve(read_trace("lmcache_miniswe_b64"), [50, 1056]))))
"""


def reference(name):
    """The ground truth of a trace."""
    return json.loads((REFERENCE / f"{name}.json").read_text())


@pytest.fixture(scope="module", params=BLOCK_TRACES)
def both(request):
    """(our answer as JSON, the reference)."""
    found = curve(read_trace(request.param))
    return json.loads(json.dumps(asdict(found))), reference(request.param)


@pytest.mark.parametrize("entry", ENTRIES)
def test_entry(both, entry):
    found, truth = both
    assert found[entry] == truth[entry]


def test_every_number_of_the_miss_ratio_curve(both):
    found, truth = both
    assert len(found["mrc"]) == len(truth["mrc"]) == 20
    for ours, theirs in zip(found["mrc"], truth["mrc"], strict=True):
        kept = {key: value for key, value in theirs.items() if not key.startswith(OUTSIDE_TOOL)}
        assert {key: ours[key] for key in kept} == kept
        outside = [theirs[key] for key in theirs if key.startswith(OUTSIDE_TOOL)]
        assert [ours["plain_fwd_miss"], ours["plain_rev_miss"]] == outside


def test_bounds_stand_in_order(both):
    found, _ = both
    for point in found["mrc"]:
        assert point["optimal_miss"] <= min(point[key] for key in point if key.endswith("fwd_miss"))
        assert point["optimal_miss"] <= point["prefix_rev_miss"]
        assert point["capacity_gap"] >= 0
        assert point["policy_gap"] >= 0


def test_what_is_missing_turns_from_capacity_to_policy_to_nothing(both):
    found, _ = both
    order = [Missing.CAPACITY, Missing.POLICY, Missing.NOTHING]
    seen = [order.index(Missing(point["missing"])) for point in found["mrc"]]
    assert seen[0] == 0
    assert seen[-1] == 2


def test_lengths_alone_have_no_curve():
    with pytest.raises(InputError, match="no block ids"):
        curve(read_trace("azure2023_conv"))
    assert not infinite_token_hits(read_trace("azure2023_conv")).any()


@pytest.mark.parametrize(
    "made", [as_trace([[], []]), trace([Request(0.0, 0, blocks=[0])])], ids=["no block", "no token"]
)
def test_requests_shorter_than_a_block(made):
    with pytest.raises(InputError, match="fills a block"):
        curve(made)


def test_a_cache_of_no_block_is_none():
    with pytest.raises(ValueError, match="at least one block"):
        curve(as_trace([[0]]), [4, 0])


def test_one_request_has_no_rate_and_no_reuse():
    found = curve(as_trace([[0, 1, 2]]))
    assert found.new_blocks_per_s_mean is None
    assert found.share_of_reuses_by_top10pct_blocks is None
    assert found.reuse_distance_unique_blocks == {"n": 0}
    assert found.retention == ()
    assert [point.capacity_blocks for point in found.mrc] == [3]


@pytest.mark.parametrize("unique", [1, 7, 8, 9, 100, 12_345])
def test_capacities_rise_to_all_blocks(unique):
    found = default_capacities(unique)
    assert list(found) == sorted(set(found))
    assert found[-1] == unique
    assert len(found) <= 20


def test_chosen_capacities():
    found = curve(read_trace("lmcache_miniswe_b64"), [50, 1056])
    truth = {point["capacity_blocks"]: point for point in reference("lmcache_miniswe_b64")["mrc"]}
    assert [(point.capacity_blocks, point.prefix_rev_miss) for point in found.mrc] == [
        (size, truth[size]["prefix_rev_miss"]) for size in (50, 1056)
    ]


def test_accesses_per_block():
    assert accesses_per_block(as_trace([[0, 1, 2], [0, 1], [0, 3]]).chains).tolist() == [3, 2, 1, 1]


def test_uncompiled_loops_give_the_same(root):
    """Nor do they run into the narrow integers of numpy, which compiled code does not have."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", UNCOMPILED], cwd=root, capture_output=True, text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(
        json.dumps(asdict(curve(read_trace("lmcache_miniswe_b64"), [50, 1056])))
    )

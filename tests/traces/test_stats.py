"""What a trace says before any cache is asked, against the reference files at their printed digits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from optimizer.traces import read_trace
from optimizer.traces.stats import stats_json, trace_stats

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

"""What a trace says of a traffic class: numbers by hand, numbers planted, numbers of the shipped traces."""

from __future__ import annotations

import numpy as np
import pytest

from optimizer.errors import InputError
from optimizer.traces import read_trace
from optimizer.traces.classes import TIMES, derive
from optimizer.traces.retention import Clock, ages
from optimizer.traces.reuse import reuses
from optimizer.traces.threads import threads
from optimizer.workload.knees import HUMAN_AGES

from .synthetic import Request, trace

WEKA = "weka_claude_code_60s_b512"


@pytest.fixture(scope="module")
def weka():
    return read_trace(WEKA)


def planted(seed=3, *, end=None, sessions=600):
    """Sessions with chains: 90% of the contexts return, after 40 s in the mean; 20 new tokens and an answer
    of 10 a turn; a first prompt of 1,000. Each request takes 2 s. `end`: nothing after it is recorded."""
    rng = np.random.default_rng(seed)
    rows, block = [], 0
    for session in range(sessions):
        time, length = rng.uniform(0.0, 4000.0), 1000
        chain: list[int] = []
        while True:
            grown = length // 10 - len(chain)
            chain = [*chain, *range(block, block + grown)]
            block += grown
            rows.append(Request(time, length, 10, session, tuple(chain), api=2.0))
            if rng.random() > 0.9:
                break
            time += 2.0 + rng.exponential(40.0)
            length += 10 + 20
    kept = sorted((r for r in rows if end is None or r.time <= end), key=lambda row: row.time)
    return trace(kept, block=10)


def test_planted_numbers_are_found():
    derived = derive(planted(), buckets=1)
    (bucket,) = derived.buckets
    assert derived.first_requests == 600
    assert (derived.first_prompt, derived.output_tokens) == (1000.0, 10.0)
    assert derived.new_tokens == pytest.approx(20.0)
    assert derived.gaps.return_probability == pytest.approx(0.9, abs=0.01)
    within = dict(derived.gaps.table)
    for tau in (5.0, 20.0, 60.0, 120.0):
        assert within[tau] == pytest.approx(1 - np.exp(-tau / 40.0), abs=0.015)
    assert bucket.gaps == derived.gaps
    assert bucket.share == 1.0
    assert (derived.service_estimated, derived.overlapping, derived.shared_prefix) == (0.0, 0.0, 0)


def test_a_trace_that_ends_early_tells_the_same():
    """Cut after 300 of 4,000 s, a third of the contexts is still idle: not counted as never asked for
    again."""
    early = derive(planted(sessions=6000, end=300.0), buckets=1)
    assert early.returns / early.requests < 0.83  # what a plain count would say
    assert early.gaps.return_probability == pytest.approx(0.9, abs=0.02)
    assert dict(early.gaps.table)[60.0] == pytest.approx(1 - np.exp(-1.5), abs=0.02)


def test_the_idle_gap_begins_at_the_end_of_a_request():
    """By the recorded time, else by the input that was not found and the output at the stated rates."""
    rows = [Request(100.0 * k, 20_000 + 1000 * k, 100, 1, api=7.0 if k % 2 else np.nan) for k in range(60)]
    derived = derive(trace(rows), buckets=1)
    assert derived.service_estimated == pytest.approx(30 / 59)
    assert derived.new_tokens == 900.0  # it grows by 1,000, 100 of them the answer
    # idle for 93 s after the recorded ones; for 100 - 900/10,000 - 100/50 = 97.91 s after the others
    assert derived.gaps.returns == 59
    assert dict(derived.gaps.table)[90.0] == 0.0
    assert dict(derived.gaps.table)[120.0] == 1.0


def test_rates_are_the_mean_and_the_busiest_window():
    rows = [Request(10.0 * k, 500 + 10 * k, 0, 1, api=1.0) for k in range(61)]
    rows += [Request(300.0 + k / 10, 9000 + k, 0, 2, api=0.05) for k in range(50)]
    derived = derive(trace(sorted(rows, key=lambda row: row.time)), buckets=1)
    assert derived.mean_rate == pytest.approx(111 / 600)
    assert derived.peak_window == 60.0
    assert derived.peak_rate == pytest.approx((50 + 6) / 60.0)


def test_buckets_hold_equal_shares_of_the_tokens(weka):
    stored = weka.input + weka.output
    for count in (2, 3, 5):
        derived = derive(weka, buckets=count)
        assert len(derived.buckets) == count
        assert sum(b.share for b in derived.buckets) == pytest.approx(1.0, abs=1e-12)
        assert sum(b.share * b.tokens for b in derived.buckets) == pytest.approx(stored.mean(), rel=1e-12)
        second = sum(b.share * b.tokens**2 * (1 + b.spread**2) for b in derived.buckets)
        assert second == pytest.approx((stored.astype(float) ** 2).mean(), rel=1e-12)
        for b in derived.buckets:
            assert b.share * b.tokens / stored.mean() == pytest.approx(1 / count, abs=0.01)
        returns = sum(b.gaps.returns for b in derived.buckets)
        assert returns == derived.gaps.returns == derived.returns


def test_a_bucket_that_sees_too_little_is_not_made():
    derived = derive(read_trace("lmcache_miniswe_b64"), buckets=12)
    assert 1 < len(derived.buckets) < 12
    assert min(b.gaps.returns for b in derived.buckets) >= 30


def test_of_the_coding_agents(weka):
    """Golden, against the reference: 3,308 requests, mean output 423.18, 112 threads of 60 sessions."""
    derived = derive(weka)
    assert (derived.requests, derived.first_requests, derived.returns) == (3308, 112, 3196)
    assert derived.output_tokens == pytest.approx(423.1817, abs=1e-4)
    assert derived.first_prompt == pytest.approx(91_155.2, abs=0.1)
    assert derived.new_tokens == pytest.approx(1531.5, abs=0.1)
    assert derived.mean_rate == pytest.approx(3308 / 24687.026)
    assert derived.gaps.return_probability == pytest.approx(0.9665, abs=1e-4)
    assert [round(b.tokens) for b in derived.buckets] == [68757, 123563, 271599]
    longer = [dict(b.gaps.table)[30.0] for b in derived.buckets]
    assert longer == sorted(longer, reverse=True), "long contexts lie idle for longer"


def test_the_answer_found_again_is_what_an_infinite_cache_of_prompts_misses(weka):
    """found = what an infinite cache of prompts finds, and the answers sent back, less heads found alone."""
    made = threads(weka)
    found = made.found.sum() / weka.input.sum()
    prompts = sum(reuses(weka).tokens[reuses(weka).again]) / weka.input.sum()
    assert prompts == pytest.approx(0.95709, abs=1e-5)
    assert prompts < found < prompts + 0.005


def test_request_level_and_block_level_agree_where_they_should(weka):
    """Retention counts blocks: weigh every return by the blocks it finds, and the two are one curve.

    Ages from the start of requests, nothing counted as cut. What is left between them are returns to a part
    of a context that other threads of the session touched later, and the heads of prompts that began a new
    thread.
    """
    made = threads(weka)
    after = np.flatnonzero(made.returns)
    before = made.previous[after]
    gap = weka.time[after] - weka.time[before]
    held = np.minimum(made.found[after], weka.input[before]) // 512  # answers are not among the blocks
    blocks = ages(weka, reuses(weka), Clock.START)
    for tau in (10.0, 30.0, 60.0, 300.0, 1800.0, 1e6):
        mine = held[gap <= tau].sum() / blocks.accesses
        assert mine == pytest.approx(blocks.found(tau) / blocks.accesses, abs=0.003)
    assert blocks.found(60.0) / blocks.accesses == pytest.approx(0.7572, abs=1e-4)


def test_counted_by_requests_long_contexts_weigh_no_more_than_short_ones(weka):
    """Why the class's curve is not the block curve: every context counts once. Weighed by what they hold, as
    its buckets do, most of the difference is gone. The rest: retention deducts nothing from the gap where no
    time is recorded, and within a bucket, too, longer contexts lie idle for longer."""
    derived = derive(weka)
    blocks = ages(weka, reuses(weka), Clock.END)
    by_request = derived.gaps.return_probability * dict(derived.gaps.table)[60.0]
    by_tokens = [
        b.share * b.tokens * b.gaps.return_probability * dict(b.gaps.table)[60.0] for b in derived.buckets
    ]
    mean = sum(b.share * b.tokens for b in derived.buckets)
    by_block = blocks.found(60.0) / blocks.accesses
    assert by_request == pytest.approx(0.840, abs=0.001)
    assert sum(by_tokens) / mean == pytest.approx(0.800, abs=0.001)
    assert by_block == pytest.approx(0.789, abs=0.001)


def test_first_prompts_met_at_the_start_of_a_trace_without_sessions_are_left_out():
    derived = derive(read_trace("mooncake_conversation_0_20min"))
    assert derived.first_prompt == pytest.approx(12_056, abs=1)
    assert derived.shared_prefix == 512
    seen = derived.returns / derived.requests
    assert seen == pytest.approx(0.276, abs=1e-3)
    assert derived.gaps.return_probability == pytest.approx(0.337, abs=1e-3)


def test_a_table_has_a_point_at_every_age_that_a_plan_may_choose():
    assert set(HUMAN_AGES) <= set(TIMES)
    assert list(TIMES) == sorted(TIMES)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([Request(5, 100, 1, 1), Request(5, 200, 1, 1)], "made.jsonl: lasts no time at all"),
        (
            [Request(k, 100, 1, k) for k in range(90)],
            "made.jsonl: 0 of its 90 requests return to a context: too few to say when "
            "(give a trace with at least 50)",
        ),
        ([Request(k, 100) for k in range(90)], "made.jsonl: records neither sessions nor blocks"),
    ],
)
def test_a_trace_that_says_too_little_is_refused(rows, message):
    with pytest.raises(InputError) as caught:
        derive(trace(rows))
    assert str(caught.value).startswith(message)

"""Section B2: throughput and FLOPs. T1, T2 and T4 set the factors of the cards: regressions only."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimizer.instance.deployment import Deployment
from optimizer.physics.flops import decode_flops

from .given import MILLION, card, changed, runs

CONCURRENCY = (4, 8, 16, 32, 64)
PUBLISHED = {  # tok/s per user
    "H200-SXM": (91.2, 70.3, 46.6, 28.9, 16.7),
    "B200-SXM": (104.4, 81.1, 59.2, 40.5, 26.0),
    "B300-SXM": (111.1, 84.4, 60.6, 42.0, 26.8),
    "MI355X": (41.7, 34.7, 21.9, 16.3, 10.7),
    "MI325X": (46.0, 35.2, 25.8, 14.7, 9.9),
    "MI300X": (43.8, 31.7, 22.7, 12.9, 8.6),
}


def step(d: Deployment, sequences: float, context: float) -> float:
    """Seconds of an iteration of that many sequences, put together as the rows of law 5 do."""
    memory = d.weights_seconds(sequences, everything=False) + sequences * d.decode_memory(context)
    beside = max(d.decode_compute(context), d.decode_network()) * sequences
    return d.overhead(sequences) + max(memory, beside)


@pytest.mark.parametrize("gpu", PUBLISHED)
def test_t1_decode_of_k25(gpu: str) -> None:
    """T1 (kimi-capacity-report, docs/physics.md section 1): K2.5 INT4 TP8 at 8.7k: 30 values within 15%."""
    d = runs("kimi-k2", gpu, 8, 8)
    found = [1 / step(d, users, 8_700) for users in CONCURRENCY]
    assert found == pytest.approx(PUBLISHED[gpu], rel=0.15)


@pytest.mark.parametrize(
    ("model", "gpu", "measured"),
    [("deepseek-v3.2", "GB300-NVL72", 7_360), ("glm-5.2-engine", "B300-SXM", 11_951)],
)
def test_t2_prefill(model: str, gpu: str, measured: float) -> None:
    """T2 (vLLM blog, docs/physics.md section 1): 8k prompts, tok/s per GPU within 25%.

    V3.2 at eta 0.16 on GB300, GLM-5.2 NVFP4 at 0.27 on B300: of the FP8 peak, FP4 weights or not.
    """
    d = runs(model, gpu, 4, 4)
    assert d.weights.compute_dtype == "fp8"
    assert 8_192 * d.prefill_rate / d.extend(0, 8_192) == pytest.approx(measured, rel=0.25)


def test_t3_flops_of_v4_at_a_million() -> None:
    """T3 (DeepSeek-V4 report): V4-Pro needs 27% of V3.2's FLOPs per token at 1M, V4-Flash 10%."""
    reference = decode_flops(card("deepseek-v3.2"), MILLION)
    pro, flash = (decode_flops(card(f"deepseek-v4-{name}"), MILLION) / reference for name in ("pro", "flash"))
    assert pro == pytest.approx(0.27, abs=0.03)
    assert flash == pytest.approx(0.10, abs=0.025)


def day_6(overhead: float | None = None) -> Deployment:
    """EP144 of H800s with 32 redundant experts on 256."""
    d = runs("deepseek-v3", "H800", 144, 1, (256 + 32) / 256)
    if overhead is None:
        return d
    factors = changed(d.accelerator.efficiency, step_overhead=overhead)
    return replace(d, accelerator=d.accelerator.model_copy(update={"efficiency": factors}))


def test_t4_prefill_of_day_6() -> None:
    """T4 (open-infra-index day 6): 73.7k input tok/s per node, 342 of 608 of them hits, at 4,989 tokens."""
    d, context = day_6(), 4_989
    per_gpu = context * d.prefill_rate / d.extend(context * 342 / 608, context)
    assert 8 * per_gpu == pytest.approx(73_700, rel=0.10)


@pytest.mark.parametrize("overhead", [None, 0.0])
def test_t4_decode_of_day_6(overhead: float | None) -> None:
    """T4 (open-infra-index day 6): 14.8k output tok/s per node, 88 sequences a GPU at 4,989 tokens.

    With the overhead of 4.6 ms or without; 16-bit KV.
    """
    d = day_6(overhead)
    assert d.overhead(1) == (0.0046 if overhead is None else 0.0)
    assert 8 * 88 / step(d, 88 * 144, 4_989) == pytest.approx(14_800, rel=0.10)

"""Section A: what a context weighs."""

from __future__ import annotations

import pytest

from optimizer.instance import Tier
from optimizer.physics.capacity import longest_request_fits, requests_that_fit
from optimizer.physics.memory import fixed_bytes, growth_bytes_per_token, held

from .given import GIB, built, card, running, shape, stored_in

ONE = shape(1, 1)
K2 = ("classes.agents.model=kimi-k2", "options={kimi-k2: {only: [int4-bf16]}}")
K3 = ("classes.agents.model=kimi-k3", "options={kimi-k3: {only: [bf16]}}")
V4 = ("classes.agents.model=deepseek-v4-pro", "options={deepseek-v4-pro: {only: [fp8-fp8idx]}}")
LENGTHS = (8_192.0, 65_536.0, 524_288.0)


def weighed(model: tuple[str, str], *lengths: float) -> dict[float, float]:
    """Bytes of one context of each length in the servers' DRAM, as the product weighs a workload."""
    contexts = ", ".join(f"{{tokens: {n:g} tok, share: {1 / len(lengths)!r}}}" for n in lengths)
    patient = "classes.agents.slo.ttft=1 h"
    found = stored_in(built(*model, patient, f"classes.agents.contexts=[{contexts}]"), Tier.DRAM)
    assert set(found) == set(lengths)
    return found


def per_token(model: str, profile: str) -> float:
    """Bytes that one more token adds, one copy."""
    return growth_bytes_per_token(card(model).components, profile)


def test_a1_latents_count_once_and_with_their_rope() -> None:
    """A1 (LMCache PR 715): 61 layers, latent of 512 + 64 in bf16: 70,272 B a token.

    The public calculator was wrong twice: with a factor 2 for K and V, and without the rope part.
    """
    assert per_token("deepseek-v3", "bf16") == 70_272
    for wrong in (2 * 61 * (512 + 64) * 2, 61 * 512 * 2, 2 * 61 * 512 * 2):
        assert per_token("deepseek-v3", "bf16") != wrong
    assert per_token("kimi-k2", "bf16") == 70_272
    assert weighed(K2, 60_000.0) == {60_000: 60_000 * 70_272}


@pytest.mark.parametrize(
    ("pool", "tokens", "fitting", "runs_one"), [(3.81, 20_000, 1.56, True), (2.89, 29_000, 0.82, False)]
)
def test_a2_requests_of_llama_8b(pool: float, tokens: int, fitting: float, runs_one: bool) -> None:
    """A2 (vLLM 10517): 131,072 B a token; 1.56 requests of 20,000 fit, 0.82 of 29,000 is infeasible."""
    request = running("llama-3.1-8b", tokens)
    assert request.one_copy == 131_072 * tokens
    assert requests_that_fit(pool * GIB, request, ONE) == pytest.approx(fitting, rel=0.005)
    assert longest_request_fits(pool * GIB, request, ONE) is runs_one


def test_a3_pool_of_mistral_small() -> None:
    """A3 (llm-d-planner docs): 163,840 B a token; 28.20 GiB: 184,832 tokens, 11.55 requests of 16,000."""
    pool = 28.20 * GIB
    assert per_token("mistral-small-24b", "bf16") == 163_840
    for tokens, fitting in ((1, 184_832), (16_000, 11.55)):
        found = requests_that_fit(pool, running("mistral-small-24b", tokens), ONE)
        assert found == pytest.approx(fitting, rel=0.001)


def test_a5_request_of_qwen_7b() -> None:
    """A5 (vLLM 22291): 57,344 B a token; 3,072 tokens are 0.164 GiB, measured 0.16."""
    assert per_token("qwen2.5-7b", "bf16") == 57_344
    size = held(card("qwen2.5-7b").components, "bf16", 3_072).one_copy / GIB
    assert size == pytest.approx(0.164, abs=0.0005)
    assert size == pytest.approx(0.16, rel=0.04)


def test_a6_window_layers_do_not_grow() -> None:
    """A6 (d-inference 267): 12 full and 12 sliding-128 layers: 100k tokens are 2.46 GB, not 4.92."""
    parts = card("gpt-oss-20b").components
    size = held(parts, "bf16", 100_000).one_copy
    assert size == pytest.approx(2.46e9, rel=0.005)
    assert held(parts, "bf16", 200_000).one_copy - size == 100_000 * 12 * 2 * 8 * 64 * 2
    as_if_full = 24 * 2 * 8 * 64 * 2 * 100_000
    assert abs(size / as_if_full - 1) > 0.4, "all layers growing would be twice as much"


def test_a8_k3_is_latents_and_a_state() -> None:
    """A8 (LMCache PR 4278): 24 of 93 layers grow: 27,648 B a token and 449.4 MB a sequence, not 107,136."""
    k3 = card("kimi-k3")
    logged = k3.layers * 1_152  # WRONG on purpose: state pages charged to every token of every layer
    assert logged == 107_136
    assert per_token("kimi-k3", "bf16") == 27_648
    assert fixed_bytes(k3.components, "bf16") == 449_372_160
    stored = weighed(K3, *LENGTHS)
    assert stored == {n: n * 27_648 + 449_372_160 for n in LENGTHS}
    assert all(n * logged > 3 * stored[n] for n in LENGTHS[1:]), "three times too much"


def reported_cost() -> tuple[dict[float, float], float, float]:
    """Bytes a request costs by its length, as two engine reports of one pool say; slope and rest of the line
    through them."""
    pool, reported = 24.5 * GIB, {50e3: 398e3, 500e3: 2.45e6}
    cost = {length: pool * length / tokens for length, tokens in reported.items()}
    slope = (cost[500e3] - cost[50e3]) / (500e3 - 50e3)
    return cost, slope, cost[50e3] - slope * 50e3


def worst_miss(cost: dict[float, float]) -> float:
    """By how much the best single bytes-per-token number misses one of two costs."""
    one, two = (size / length for length, size in cost.items())
    best = 2 * one * two / (one + two)  # misses both by the same share
    return max(abs(best / one - 1), abs(best / two - 1))


def test_a10_cost_of_a_request_is_affine() -> None:
    """A10 (vLLM 51041): one pool of 24-25 GiB: "398k" tokens at a limit of 50k and "2.45M" at 500k.

    Both come from 4.2-5.0 kB a token and 3.0-3.2 GB a request (the engine's blocks, not the card's); no
    single number of bytes per token comes within 25% of both. The product's own law is affine as well.
    """
    cost, slope, rest = reported_cost()
    assert 4_200 <= slope <= 5_000
    assert 3.0e9 <= rest <= 3.2e9
    window = next(c for c in card("gpt-oss-20b").components if c.kind == "window")
    latent = next(c for c in card("deepseek-v3").components if c.kind == "linear")
    engine = [
        latent.model_copy(update={"layers": 1, "bytes": {"bf16": slope}}),
        window.model_copy(update={"layers": 1, "window": 1, "bytes": {"bf16": rest}}),
    ]
    for length, size in cost.items():
        assert held(engine, "bf16", length).one_copy == pytest.approx(size, rel=1e-9)
    assert worst_miss(cost) > 0.25


@pytest.mark.parametrize(("model", "missed"), [(K3, 0.25), (V4, 0.05)])
def test_a10_shipped_cards_are_affine_too(model: tuple[str, str], missed: float) -> None:
    """A10 (vLLM 51041): what the product stores of K3 and V4 lies on a line that does not pass through 0."""
    cost = weighed(model, *LENGTHS)
    short, middle, long = LENGTHS
    slope = (cost[long] - cost[middle]) / (long - middle)
    assert cost[middle] - cost[short] == pytest.approx(slope * (middle - short), rel=1e-12)
    assert worst_miss({n: cost[n] for n in (short, long)}) > missed


def test_a13_nvfp4_latents_do_not_halve() -> None:
    """A13 (flashinfer PR 3937): V4-Flash, 360-B latents, FP8 index: 15.3 -> 10.4 KB a token: 1.47, not 2."""
    ratio = per_token("deepseek-v4-flash", "fp8_fp8idx") / per_token("deepseek-v4-flash", "nvfp4_360")
    assert ratio == pytest.approx(1.459, abs=0.0005)
    assert ratio == pytest.approx(15.3 / 10.4, rel=0.01)
    assert ratio != pytest.approx(2, rel=0.25)

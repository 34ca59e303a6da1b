"""What fits: weights on a rank, HBM room, the longest request (B6, B7, B9, B10, C9; docs 3-4)."""

from __future__ import annotations

import pytest

from optimizer.catalog.llms import Role
from optimizer.physics.capacity import longest_request_fits, requests_that_fit
from optimizer.physics.memory import offloaded_bytes, running_bytes
from optimizer.physics.roofline import rank_room, weight_bytes_per_rank

from .cards import facility, shipped, shipped_accelerator, shipped_weights
from .inline import linear, shape, weights

GIB = 2**30
MILLION = 2**20
TP8, DP8 = shape(8, 8), shape(8, 1, dp=8)


def bare_room(gpu, model_weights, form, *, sequences=0, max_context=0, batched=0, indexed=False, **building):
    """Room of one GPU, without graphs and index logits unless asked for."""
    building = {"graphs": 0.0, **building}
    load = {"sequences": sequences, "max_context": max_context, "batched_tokens": batched}
    return rank_room(gpu, model_weights, form, facility(**building), **load, indexed=indexed)


def test_b10_k3_under_attention_dp8_needs_295_gb_a_gpu():
    """B10: 1,446 GB routed + 114.5 GB other; attention-DP8 on 8 x B300 cannot start, TP8 fits."""
    routed, other = weight_bytes_per_rank(shipped_weights("kimi-k3"), DP8)
    assert (routed + other) / 1e9 == pytest.approx(295, abs=0.5)
    b300 = shipped_accelerator("B300-SXM")
    assert bare_room(b300, shipped_weights("kimi-k3"), DP8) < 0
    assert bare_room(b300, shipped_weights("kimi-k3"), TP8) > 0


def test_redundant_experts_weigh_routed_bytes_only():
    """32 redundant experts on 256 under EP144; everything else once per tensor-parallel group."""
    form = shape(144, 2, dp=72, redundancy=(256 + 32) / 256)
    assert weight_bytes_per_rank(weights(654e9, 17e9), form) == pytest.approx((654e9 * 1.125 / 144, 8.5e9))


@pytest.mark.parametrize(
    ("gpu", "gpus", "starts"),
    [
        ("GB200-NVL72", 8, False),
        ("B200-SXM", 16, True),
        ("GB200-NVL72", 16, True),
        ("B300-SXM", 8, True),
    ],
)
def test_b7_where_k3_fits(gpu, gpus, starts):
    """B7: 8 x GB200 cannot start; 16 x B200 or GB200 and 8 x B300 can, a 1M request too. HBM room decides."""
    form = shape(gpus, gpus)
    room = bare_room(shipped_accelerator(gpu), shipped_weights("kimi-k3"), form)
    longest = running_bytes(shipped("kimi-k3").components, "bf16", MILLION)
    assert longest_request_fits(room, longest, form) is starts
    assert (room > 0) is starts


def test_b9_attention_dp_holds_more_unique_kv():
    """B9: V4-Flash on 8 x B200 at 1M contexts: DP8 holds about 7.7x the KV of TP8 (ideal 8)."""
    longest = running_bytes(shipped("deepseek-v4-flash").components, "fp8", MILLION)
    fit = {}
    for form in (TP8, DP8):
        room = bare_room(shipped_accelerator("B200-SXM"), shipped_weights("deepseek-v4-flash"), form)
        fit[form] = requests_that_fit(room, longest, form)
    assert fit[DP8] / fit[TP8] == pytest.approx(7.7, abs=0.1)


@pytest.mark.parametrize(
    ("gpu", "tp", "fits"), [("MI300X", 2, False), ("MI325X", 2, True), ("MI300X", 4, True)]
)
def test_b6_v41_flash_on_amd(gpu, tp, fits):
    """B6: 256 GiB/TP + 17.2 GiB a rank, utilisation 0.90, 41 GiB reserved; TP2 on MI300X was -13.51 GiB."""
    measured = weights(256 * GIB, 17.2 * GIB * tp)
    room = bare_room(shipped_accelerator(gpu), measured, shape(tp, tp), runtime=41 * GIB)
    assert (room > 0) is fits
    if not fits:
        assert room / GIB == pytest.approx(-13.51, abs=0.2)


@pytest.mark.parametrize(("form", "tokens"), [(TP8, 1.09e6), (DP8, 5.8e6)])
def test_v3_fp8_on_h200_holds_more_under_attention_dp(form, tokens):
    """8 x H200, V3, fp8 (656 B a layer): 1.09M tokens under TP8, 5.8M under DP8 (DESIGN §6, law 7)."""
    room = bare_room(shipped_accelerator("H200-SXM"), weights(654e9, 17.1e9), form)
    one_token = running_bytes([linear("latent", 61, 656)], "p", 1)
    assert requests_that_fit(room, one_token, form) == pytest.approx(tokens, rel=0.01)


@pytest.mark.parametrize(("form", "gigabytes"), [(TP8, 56), (DP8, 285)])
def test_k2_int4_on_h200_unique_kv(form, gigabytes):
    """GB of unique KV at utilisation 0.92 (docs/physics.md section 3)."""
    room = bare_room(shipped_accelerator("H200-SXM"), weights(571e9, 23.6e9), form, utilisation=0.92)
    assert form.data_parallel * room / 1e9 == pytest.approx(gigabytes, rel=0.01)


def test_index_logits_and_graphs_take_room():
    """8 GiB of index logits at 4,096 x 1M, 22 GiB of graphs at batch 1,024 (docs/physics.md section 4)."""
    gpu, model_weights = shipped_accelerator("B300-SXM"), shipped_weights("deepseek-v4-flash")
    graphs = 22 * GIB / 1_024
    free = bare_room(gpu, model_weights, TP8)
    logits = bare_room(gpu, model_weights, TP8, max_context=MILLION, batched=4_096, indexed=True)
    batch = bare_room(gpu, model_weights, TP8, sequences=1_024, graphs=graphs)
    assert (free - logits) / GIB == pytest.approx(8)
    assert (free - batch) / GIB == pytest.approx(22)
    assert bare_room(gpu, model_weights, TP8, max_context=MILLION, batched=4_096) == free


def test_c9_running_kv_is_not_served_from_dram():
    """C9: one longest request must fit HBM; only components that an option declares offloaded leave it.

    `longest_request_fits` has no argument for DRAM, nor does it grow with attention-DP ranks.
    """
    parts = shipped("deepseek-v3.2").components
    longest = running_bytes(parts, "fp8", 160_000)
    room = longest.per_rank(1) * 0.99
    assert not longest_request_fits(room, longest, shape(1, 1))
    assert not longest_request_fits(room, longest, shape(16, 1, dp=16))
    assert longest_request_fits(longest.per_rank(1), longest, shape(1, 1))
    assert not longest_request_fits(room, longest, TP8), "a latent is replicated: TP does not make it smaller"
    latents = [c.name for c in parts if c.role is Role.TOPK and not c.draft]
    declared = running_bytes(parts, "fp8", 160_000, offload=latents)
    assert longest_request_fits(room, declared, shape(1, 1))
    assert declared.one_copy + offloaded_bytes(parts, "fp8", 160_000, latents) == longest.one_copy

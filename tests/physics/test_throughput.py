"""Steps and prefill rates against published throughput (cases T1, T2, T4; most of them set the factors)."""

from __future__ import annotations

import pytest

from optimizer.physics.flops import extend_flops
from optimizer.physics.memory import Footprint, read
from optimizer.physics.roofline import (
    cross_domain_step_seconds,
    decode_flops_per_second,
    decode_step,
    expert_exchange_bytes,
    hbm_bytes_per_second,
    prefill_flops_per_second,
    rank_room,
    routed_fraction_touched,
    step_overhead,
)

from .cards import facility, shipped, shipped_accelerator, shipped_weights
from .inline import accelerator, card, experts, fraction, linear, mla, shape, weights

BUILDING = facility()
TP8, DP8 = shape(8, 8), shape(8, 1, dp=8)
CONCURRENCY = (4, 8, 16, 32, 64)
T1 = {  # tok/s per user, K2.5 INT4 TP8: docs/physics.md section 1
    "H200-SXM": (91.2, 70.3, 46.6, 28.9, 16.7),
    "B200-SXM": (104.4, 81.1, 59.2, 40.5, 26.0),
    "B300-SXM": (111.1, 84.4, 60.6, 42.0, 26.8),
    "MI355X": (41.7, 34.7, 21.9, 16.3, 10.7),
    "MI325X": (46.0, 35.2, 25.8, 14.7, 9.9),
    "MI300X": (43.8, 31.7, 22.7, 12.9, 8.6),
}
V3 = card(37e9, 61, [mla(61, 128)], components=[linear("latent", 61, 1_152)], moe=experts(256, 8, 58, 4))
V3_WEIGHTS = weights(654e9, 17.1e9)
GLM_INDEX = {"kind": "dsa", "topk": 2_048, "index_heads": 32, "index_dim": 128, "index_layers": 21}
GLM_52 = card(40e9, 78, [mla(78, 64, nope=192, value=256, **GLM_INDEX)], hidden=6_144)


def h800(overhead=0.0):
    """The H800 of DeepSeek's day 6: an H100 with a thinner link, and that deployment's factors."""
    speeds = {"visible": 85.5e9, "bandwidth": 3.35e12, "bf16": 989e12, "fp8": 1_979e12}
    return accelerator("H800", **speeds, hbm=0.35, overhead=overhead, prefill=0.18, decode=0.15)


def v3_step(form=TP8, *, part=None, sequences=4, context=1_000, kv=None, **speculation):
    """A decode step of V3 on H800s, without KV unless given."""
    kv = kv or Footprint()
    where = (part or h800(), V3, V3_WEIGHTS, form, BUILDING)
    return decode_step(*where, sequences=sequences, context=context, kv_read=kv, **speculation)


@pytest.mark.parametrize(
    ("name", "users", "measured"),
    [(name, users, row[i]) for name, row in T1.items() for i, users in enumerate(CONCURRENCY)],
)
def test_t1_k25_decode(name, users, measured):
    """T1: 30 values within 15%; context about 8.7k, bf16 latent on every rank, INT4 at the BF16 peak."""
    model = shipped("kimi-k2")
    where = (shipped_accelerator(name), model, shipped_weights("kimi-k2"), TP8, BUILDING)
    latent = read(model.components, "bf16", 8_700)
    step = decode_step(*where, sequences=users, context=8_700, kv_read=latent)
    assert 1 / step.total == pytest.approx(measured, rel=0.15)


@pytest.mark.parametrize(
    ("model", "name", "family", "measured"),
    [
        (shipped("deepseek-v3.2"), "GB300-NVL72", "deepseek-v3.2", 7_360),
        (GLM_52, "B300-SXM", "glm", 11_951),
    ],
)
def test_t2_prefill(model, name, family, measured):
    """T2: 8k prompts, tok/s per GPU within 25%; FP4 weights with FP8 activations run at the FP8 peak."""
    rate = prefill_flops_per_second(shipped_accelerator(name), V3_WEIGHTS, family)
    assert rate / (extend_flops(model, 0, 8_192) / 8_192) == pytest.approx(measured, rel=0.25)


def test_t4_day_6_prefill():
    """T4: 73.7k input tok/s per node, 342 of 608 tokens being hits, at a context of 4,989."""
    total = 4_989
    rate = prefill_flops_per_second(h800(), V3_WEIGHTS, "default")
    per_gpu = rate / extend_flops(V3, total * 342 / 608, total) * total
    assert 8 * per_gpu == pytest.approx(73_700, rel=0.10)


@pytest.mark.parametrize("overhead", [0.0046, 0.0])
def test_t4_day_6_decode(overhead):
    """T4: 14.8k output tok/s per node, EP144, 32 redundant experts on 256, 88 sequences a GPU, bf16 KV."""
    ep144 = shape(144, 1, dp=144, redundancy=(256 + 32) / 256)
    kv = read(V3.components, "p", 4_989)
    step = v3_step(ep144, part=h800(overhead), sequences=88 * 144, context=4_989, kv=kv)
    assert 8 * 88 / step.total == pytest.approx(14_800, rel=0.10)


@pytest.mark.parametrize(
    ("name", "form", "seconds"),
    [("H200-SXM", DP8, 45), ("H200-SXM", TP8, 5.6), ("B200-SXM", DP8, 16), ("B200-SXM", TP8, 2)],
)
def test_one_request_runs_on_one_attention_dp_rank(name, form, seconds):
    """A 100k miss of K2 (physics section 3). Those figures are at the FP8 peak, not at INT4's BF16."""
    rate = prefill_flops_per_second(shipped_accelerator(name), shipped("kimi-k2").weight("fp8"), "default")
    work = extend_flops(shipped("kimi-k2"), 0, 100_000)
    assert work / (rate * form.tensor_parallel) == pytest.approx(seconds, rel=0.01)


@pytest.mark.parametrize(("limit", "megabytes", "ceiling"), [(None, 10, 4_500), (4, 5, 9_000)])
def test_expert_exchange_of_v3(limit, megabytes, ceiling):
    """10 MB a token, 5 with 4-node routing: 4.5k (9k) tok/s per GPU on a 45 GB/s NIC, many domains wide."""
    model = card(37e9, 61, [mla(61, 128)], moe=experts(256, 8, 58, limit))
    wide = shape(8 * 10**6, 1, dp=8 * 10**6)
    sent = expert_exchange_bytes(model, wide, h800(), tokens=wide.gpus)
    assert sent / 1e6 == pytest.approx(megabytes, rel=0.01)
    assert 45e9 / sent == pytest.approx(ceiling, rel=0.01)


def test_expert_exchange_counts_what_leaves_the_domain():
    """Two nodes: without a limit half of the 8 copies leave; with node-limited routing half of 2 do."""
    two_nodes = shape(16, 1, dp=16)
    free = card(37e9, 61, [mla(61, 128)], moe=experts(256, 8, 58))
    per_copy = 58 * 7_168 * 3
    assert expert_exchange_bytes(free, two_nodes, h800(), 16) == pytest.approx(4 * per_copy)
    assert expert_exchange_bytes(V3, two_nodes, h800(), 16) == pytest.approx(1 * per_copy)
    assert expert_exchange_bytes(free, DP8, h800(), 16) == 0.0


def test_tensor_parallelism_beyond_the_domain_pays_the_nic():
    """K3 TP16 on 8-GPU nodes: 2*93*16 tokens*7,168*2 B*2*15/16 through 50 GB/s, and 2*93 hops of 20 us."""
    k3 = shipped("kimi-k3")
    found = cross_domain_step_seconds(h800(), k3, shape(16, 16), 16, BUILDING)
    assert found == pytest.approx(2 * 93 * 16 * 7_168 * 2 * 2 * 15 / 16 / 50e9 + 2 * 93 * 20e-6)
    assert cross_domain_step_seconds(h800(), k3, TP8, 16, BUILDING) == 0.0


@pytest.mark.parametrize(("form", "group_sequences"), [(shape(16, 16), 4), (shape(32, 16, dp=2), 2)])
def test_cross_domain_time_adds_to_the_overhead(form, group_sequences):
    """The tokens of one tensor-parallel group, here of 4 sequences in all."""
    step = v3_step(form, part=h800(0.001), sequences=4)
    alone = cross_domain_step_seconds(h800(), V3, form, group_sequences, BUILDING)
    assert step.overhead == pytest.approx(0.001 + alone)
    assert step.total == step.overhead + max(step.hbm, step.flops, step.network)


@pytest.mark.parametrize(
    ("kv", "form", "per_gpu"),
    [
        (Footprint(8e9, 0.0), TP8, 8 * 1e9),
        (Footprint(0.0, 8e9), TP8, 8 * 8e9),
        (Footprint(0.0, 8e9), DP8, 8e9),
    ],
)
def test_replicated_kv_is_read_on_every_rank(kv, form, per_gpu):
    """8 sequences: TP8 reads an eighth of a sharded KV on each rank, all of a replicated one; DP8 splits."""
    more = v3_step(form, sequences=8, kv=kv).hbm - v3_step(form, sequences=8).hbm
    assert more * hbm_bytes_per_second(h800()) == pytest.approx(per_gpu)


def test_speculation_pays_the_flops_and_experts_of_its_drafts():
    """Verifying 1 + k tokens: FLOPs times 1 + k, experts of B(1 + k), KV read once (physics section 7)."""
    plain, four = v3_step(), v3_step(tokens_per_step=4)
    assert four.flops == pytest.approx(4 * plain.flops)
    touched = 654e9 / 8 * routed_fraction_touched(V3.experts, 4 * 4) + 17.1e9 / 8
    assert four.hbm * hbm_bytes_per_second(h800()) == pytest.approx(touched)
    kv = Footprint(0.0, 1e9)
    read_once = v3_step(kv=kv).hbm - plain.hbm
    assert v3_step(kv=kv, tokens_per_step=4).hbm - four.hbm == pytest.approx(read_once)


def test_an_option_may_cost_decode_compute():
    """`flops_factor`, an option's decode_factor, multiplies the FLOPs of a step and nothing else."""
    plain, dear = v3_step(), v3_step(flops_factor=1.5)
    assert dear.flops == pytest.approx(1.5 * plain.flops)
    assert (dear.hbm, dear.network, dear.overhead) == (plain.hbm, plain.network, plain.overhead)


def test_prefill_efficiency_by_family():
    """A model family's own fit, else the accelerator's default (docs/physics.md section 1)."""
    part, int4 = h800(), shipped_weights("kimi-k2")
    fitted = part.efficiency.model_copy(update={"prefill_by_family": {"r1": fraction(0.40)}})
    part = part.model_copy(update={"efficiency": fitted})
    assert prefill_flops_per_second(part, V3_WEIGHTS, "r1") == pytest.approx(0.40 * 1_979e12)
    assert prefill_flops_per_second(part, V3_WEIGHTS, "default") == pytest.approx(0.18 * 1_979e12)
    assert prefill_flops_per_second(part, int4, "default") == pytest.approx(0.18 * 989e12)


def test_experts_touched():
    """One token touches k/E of the experts, many touch all; a dense model always touches all."""
    assert routed_fraction_touched(V3.experts, 1) == pytest.approx(8 / 256)
    assert routed_fraction_touched(V3.experts, 10_000) == pytest.approx(1.0)
    assert routed_fraction_touched(None, 1) == 1.0


def test_rates_follow_the_compute_dtype_and_the_layers():
    part = h800(0.0061)
    assert decode_flops_per_second(part, shipped_weights("kimi-k2")) == pytest.approx(0.15 * 989e12)
    assert decode_flops_per_second(part, V3_WEIGHTS) == pytest.approx(0.15 * 1_979e12)
    assert step_overhead(part, 122) == pytest.approx(2 * 0.0061)
    without_fp8 = part.model_copy(update={"peak": {"bf16": part.peak["bf16"]}})
    with pytest.raises(ValueError, match="no fp8 peak"):
        decode_flops_per_second(without_fp8, V3_WEIGHTS)


def test_room_may_be_negative():
    """The caller sees by how much a model does not start."""
    idle = {"sequences": 0, "max_context": 0, "batched_tokens": 0, "indexed": False}
    room = rank_room(h800(), weights(1e12, 0.0), TP8, BUILDING, **idle)
    assert room == pytest.approx(85.5e9 * 0.9 - 125e9 - 8e9)

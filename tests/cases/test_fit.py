"""Section B: what fits on how many accelerators, and where the bytes are counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimizer.catalog import Basis, Catalog, Shape
from optimizer.catalog.devices import FixedMemory
from optimizer.design import Result
from optimizer.instance import Tier
from optimizer.physics.capacity import longest_request_fits, requests_that_fit
from optimizer.physics.memory import growth_bytes_per_token, held
from optimizer.physics.roofline import rank_room, weight_bytes_per_rank

from .given import (
    CATALOG,
    FACILITY,
    GIB,
    MIB,
    MILLION,
    built,
    card,
    changed,
    figure,
    planned,
    running,
    runs,
    shape,
    stored_in,
    weights,
    with_devices,
)

IDLE = {"sequences": 0.0, "max_context": 0.0, "batched_tokens": 0.0, "indexed": False}
"""No graphs, no index logits: what weights and the runtime alone leave."""


def test_b1_plain_tensor_parallelism_copies_a_latent() -> None:
    """B1 (SGLang 26691): MLA under TP8, 40 GB a rank: 320 GB hold 40 GB; one copy would save 87.5%.

    The product keeps one copy in DRAM and eight in HBM, and loads each copy over its own link.
    """
    latent = 569_216  # tokens: 40 GB of DeepSeek-V3
    context = held(card("deepseek-v3").components, "bf16", latent)
    assert context.one_copy == pytest.approx(40e9, rel=1e-4)
    assert context.across(8) == pytest.approx(320e9, rel=1e-4)
    assert 1 - context.one_copy / context.across(8) == 0.875
    instance = built(
        "classes.agents.model=kimi-k2",
        "options={kimi-k2: {only: [int4-bf16]}}",
        "classes.agents.contexts=[{tokens: 60 ktok, share: 1}]",
    )
    one = stored_in(instance, Tier.DRAM)[60_000]
    on_ranks = {
        s.location: s.bytes / one for s in instance.stored if s.location.startswith("hbm@") and one > 0
    }
    assert {where.rsplit("/", 1)[1]: copies for where, copies in on_ranks.items()} == {
        "tp4": 4.0,
        "tp8": 8.0,
        "dp8": 1.0,
    }
    linked = {
        p.link / p.load for p in instance.paths if p.location == "dram@HGX-B300-8" and "/tp8/" in p.pool
    }
    assert linked == {8.0}


def test_b2_usable_host_memory_of_a_node() -> None:
    """B2 (InferenceX 2370): 3,095,781 MiB, capped at 2,861,022, 80% usable: 2,399 GB, 299.875 GB a rank.

    A cap of a server's own is what its card says it has: the product has no key for it.
    """
    installed, cap = 3_095_781 * MIB, 2_861_022 * MIB
    server = CATALOG.server("HGX-B300-8")
    memory = FixedMemory(
        bytes=figure(CATALOG.dimm("RDIMM-64").bytes, min(installed, cap)),
        source="InferenceX 2370",
        date="2026",
        basis=Basis.MEASURED,
    )
    capped = server.model_copy(update={"populations": (), "fixed_memory": memory})
    servers = tuple(capped if s is server else s for s in CATALOG.devices.servers)
    (plain, *_) = built(catalog=with_devices(CATALOG, servers=servers)).builds
    assert plain.dram_usable == pytest.approx(2_399e9, rel=0.001)
    assert plain.dram_usable / server.accelerators == pytest.approx(299.875e9, rel=0.001)


def test_b4_index_keys_come_on_top() -> None:
    """B4 (InferenceX 3329): GLM-5.2 TP4, 180 GB a rank asked for; + 41.25 GB a rank of index: 885 GB in all.

    576-B latents and 132-B index keys on all 78 layers: that engine's layout, on a card of its own.
    """
    parts = card("glm-5.2-engine").components
    latent, index = (growth_bytes_per_token([c], "engine") for c in parts)
    tokens = 180e9 / latent
    assert tokens * index == pytest.approx(41.25e9, rel=1e-12)
    assert held(parts, "engine", tokens).across(4) == pytest.approx(885e9, rel=1e-6)


@pytest.mark.parametrize(
    ("gpu", "tp", "fits"), [("MI300X", 2, False), ("MI325X", 2, True), ("MI300X", 4, True)]
)
def test_b6_v41_flash_on_amd(gpu: str, tp: int, fits: bool) -> None:
    """B6 (InferenceX 3336/3337): 256 GiB/TP + 17.2 GiB a rank, utilisation 0.90, 41 GiB reserved.

    TP2 does not fit MI300X (measured -13.51 GiB) and fits MI325X; TP4 fits MI300X.
    """
    measured = weights(256 * GIB, 17.2 * GIB * tp)  # each rank has the 17.2, whatever TP
    building = changed(FACILITY, runtime_bytes=41 * GIB, hbm_utilisation=0.90)
    room = rank_room(CATALOG.accelerator(gpu), measured, shape(tp, tp), building, **IDLE)
    assert (room > 0) is fits
    if not fits:
        assert room / GIB == pytest.approx(-13.51, abs=0.2)


# ---- Kimi K3, bought by a workload ------------------------------------------------------------------------


def offering(*shapes: Shape, server: str = "", accelerators: int = 0) -> Catalog:
    """The catalogue with further shapes of K3, and a server cut to a number of accelerators."""
    k3 = card("kimi-k3")
    k3 = k3.model_copy(update={"shapes": (*k3.shapes, *shapes)})
    servers = tuple(
        s.model_copy(update={"accelerators": accelerators}) if s.id == server else s
        for s in CATALOG.devices.servers
    )
    catalog = with_devices(CATALOG, servers=servers)
    return replace(catalog, models={**catalog.models, k3.id: k3})


def on(servers: str, catalog: Catalog = CATALOG) -> Result:
    """A trickle of K3 on these servers."""
    return planned(f"hardware.servers={servers}", "hardware.drives=[9650-PRO-15.36]", catalog=catalog)


GB200_TP8 = shape(8, 8, accelerator="GB200-NVL72")
B200_TP8 = shape(8, 8, accelerator="B200-SXM")


def test_b7_k3_does_not_start_on_8_gb200() -> None:
    """B7 (vLLM recipes 934): 1,680 GB needed, 8 x GB200 have 1,536: infeasible, and HBM is named."""
    catalog = offering(GB200_TP8, server="GB200-NVL72-RACK", accelerators=8)
    refused = on("{GB200-NVL72-RACK: {max: 1}}", catalog)
    assert refused.status == "infeasible"
    (why,) = refused.infeasible
    assert "HBM is the limiting resource" in why.fix
    assert "kimi-k3" in why.fix


@pytest.mark.parametrize(
    ("server", "count", "accelerators"),
    [("HGX-B200-8", 2, 16), ("HGX-B300-8", 1, 8), ("GB200-NVL72-RACK", 1, 16)],
)
def test_b7_k3_runs_on_16_b200_or_8_b300(server: str, count: int, accelerators: int) -> None:
    """B7 (vLLM recipes 934): 16 x B200 or GB200 and 8 x B300 carry a plan, checked exactly."""
    catalog = offering(GB200_TP8, B200_TP8, server="GB200-NVL72-RACK", accelerators=16)
    found = on(f"{{{server}: {{max: {count}}}}}", catalog)
    assert found.layout is not None
    assert found.checks.exact is not None
    assert found.checks.exact.passed
    assert {p.gpus_per_instance for p in found.layout.pools} == {accelerators}


def test_b7_one_b200_server_is_too_small() -> None:
    """B7 (vLLM recipes 934): nor on one HGX-B200: its weights alone are named against what 8 GPUs show."""
    refused = on("{HGX-B200-8: {max: 1}}")
    assert refused.status == "infeasible"
    (why,) = refused.infeasible
    assert "HBM is the limiting resource" in why.fix
    assert "1.56 TB" in why.fix


def test_b9_attention_dp_holds_more_unique_kv() -> None:
    """B9 (vLLM 51454): V4-Flash on 8 x B200, 1M contexts: DP8 holds about 7.7x the KV of TP8 (ideal 8)."""
    longest = running("deepseek-v4-flash", MILLION, "fp8")
    fit = {}
    for tp in (8, 1):
        d = runs("deepseek-v4-flash", "B200-SXM", 8, tp)
        room = rank_room(d.accelerator, d.weights, d.shape, FACILITY, **IDLE)
        fit[tp] = requests_that_fit(room, longest, d.shape)
    assert fit[1] / fit[8] == pytest.approx(7.7, abs=0.1)


def test_b10_k3_needs_295_gb_a_gpu_under_attention_dp8() -> None:
    """B10 (docs/physics.md section 3): 1,446 GB routed + 114.5 other: DP8 on 8 x B300 cannot start, TP8 fits.

    Offered as a shape all the same, it becomes no pool.
    """
    longest = running("kimi-k3", MILLION)
    for tp, starts in ((1, False), (8, True)):
        d = runs("kimi-k3", "B300-SXM", 8, tp)
        assert (sum(weight_bytes_per_rank(d.weights, d.shape)) > 259.6e9) is not starts  # 0.9 of 288.4 GB
        room = rank_room(d.accelerator, d.weights, d.shape, FACILITY, **IDLE)
        assert longest_request_fits(room, longest, d.shape) is starts
    dp8 = runs("kimi-k3", "B300-SXM", 8, 1)
    assert sum(weight_bytes_per_rank(dp8.weights, dp8.shape)) / 1e9 == pytest.approx(295, abs=0.5)
    shapes = {pool.shape.rsplit("/", 1)[1] for pool in built(catalog=offering(dp8.shape)).pools}
    assert "tp8" in shapes
    assert "dp8" not in shapes


def test_d4_what_a_trillion_parameters_leave() -> None:
    """D4 (inference-math ch. 4): 1T parameters at 4 bit on 8 x 192 GB, 80 GB of overhead: 956 GB for KV."""
    gpu = changed(CATALOG.accelerator("B200-SXM"), visible_bytes=192e9)
    building = changed(FACILITY, hbm_utilisation=1.0, runtime_bytes=80e9 / 8)
    room = rank_room(gpu, weights(1e12 * 4 / 8, 0.0), shape(8, 8), building, **IDLE)
    assert 8 * room == pytest.approx(956e9, rel=1e-12)

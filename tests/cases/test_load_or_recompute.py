"""Section C: whether a context is loaded or computed again, and what a tier is good for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimizer.catalog import Catalog
from optimizer.catalog.devices import TransferPath
from optimizer.instance import Case, Instance
from optimizer.physics.memory import growth_bytes_per_token
from optimizer.physics.transfer import exposed_seconds, load_seconds

from .given import CATALOG, FACILITY, built, card, changed, figure, planned, with_devices


def test_c1_a_prompt_that_falls_to_nvme() -> None:
    """C1 (Tanguille/cluster 5122): DRAM 22 -> 12 GiB? Yes: +0.8 s for a prompt that falls to NVMe, not +7.

    50k tokens of 32 KiB over 3.36 or 1.25 GB/s; prefill of 7,170 tok/s.
    """
    size = 50_000 * 32 * 1_024
    dram, nvme = (load_seconds(0.0, 0.0, 2e6, size, bandwidth) for bandwidth in (3.36e9, 1.25e9))
    recompute = 50_000 / 7_170
    assert nvme - dram == pytest.approx(0.8, rel=0.05)
    assert recompute == pytest.approx(7, rel=0.05)
    assert exposed_seconds(nvme, 0.0, 32) < recompute / 4


# ---- C2: the product's verdict on a store, from the seconds that were measured ---------------------------

MEASURED = {"dram": 1.77, "nvme": 2.70, "storage": 29.0}
"""Seconds of 32 prompts of 10k tokens from DRAM, by GPUDirect from drives, from a remote store."""
RECOMPUTE, PROMPTS, TOKENS = 8.47, 32, 10_000
C2 = (
    "classes.agents.model=kimi-k2",
    "options={kimi-k2: {only: [int4-bf16]}}",
    f"classes.agents.contexts=[{{tokens: {TOKENS} tok, share: 1}}]",
    "classes.agents.new_tokens=100 tok",
    "classes.agents.first_prompt=9 ktok",
    "classes.agents.slo={ttft: 0.8 s, tpot: 100 ms, attainment: 0.5}",
    "hardware.servers={HGX-B300-8: {max: 4}, STORAGE-NODE-24xE3S: {max: 4}}",
    "tiers.storage.enabled=true",
    f"measured=[{{model: kimi-k2, accelerator: B300-SXM, phase: prefill, context: {TOKENS} tok, "
    f"tokens_per_second_per_gpu: {PROMPTS * TOKENS / RECOMPUTE / 8!r} tok/s, source: Mooncake 467}}]",
)


def timed() -> Catalog:
    """The catalogue with the tiers as fast as they were measured, at no other load."""
    size = TOKENS * 70_272
    alone = changed(FACILITY, design_utilisation=0.0)

    def measured(road: TransferPath) -> TransferPath:
        if road.tier not in MEASURED:
            return road
        rate = figure(CATALOG.path("storage").bandwidth, size * PROMPTS / MEASURED[road.tier])
        return changed(road, latency=0.0, per_block=0.0).model_copy(update={"bandwidth": rate})

    return with_devices(CATALOG, paths=tuple(map(measured, CATALOG.devices.paths)), facility=alone)


def in_time(instance: Instance) -> dict[str, float]:
    """The best share in time of a hit by its tier, and of a miss."""
    tiers = {place.id: place.tier.value for place in instance.locations if place.codec == "plain"}
    best: dict[str, float] = {}
    for path in instance.paths:
        tp8 = "/tp8/prefill" in path.pool and path.case is not Case.FIRST
        name = "recompute" if path.case is Case.MISS else tiers.get(path.location or "", "coded")
        if tp8:
            best[name] = max(best.get(name, 0.0), path.attained)
    return best


def test_c2_a_store_slower_than_the_gpu() -> None:
    """C2 (Mooncake 467): recompute 8.47 s, remote store 29.0, GPUDirect 2.70, DRAM 1.77: that store: no."""
    share = in_time(built(*C2, catalog=timed()))
    assert share["dram"] > share["nvme"] > share["recompute"] > share["storage"] == 0.0


def test_c2_a_plan_leaves_that_store_out() -> None:
    """C2 (Mooncake 467): offered beside DRAM and drives, the store is not bought."""
    catalog = timed()
    busy = replace(catalog, devices=catalog.devices.model_copy(update={"facility": FACILITY}))
    found = planned(*C2, "classes.agents.peak_rate=20 req/s", catalog=busy)
    assert found.layout is not None
    hits = {flow.tier for flow in found.layout.flows if flow.case == "hit" and flow.rate > 1e-6}
    assert hits
    assert "storage" not in hits
    assert not any(row.server == "STORAGE-NODE-24xE3S" for row in found.layout.servers)


# ---- C9: running KV lives in HBM -------------------------------------------------------------------------

LLAMA = ("classes.agents.model=llama-3.1-70b", "options={llama-3.1-70b: {only: [bf16]}}")
K2 = ("classes.agents.model=kimi-k2", "options={kimi-k2: {only: [int4-bf16]}}")
PATIENT = (
    "classes.agents.slo={ttft: 5 min, tpot: 100 ms, attainment: 0.5}",
    "hardware.servers={HGX-H100-8: {max: 4}}",
    "hardware.dimms=[RDIMM-256]",
)
"""H100s with 8 TB of DRAM a server: more than any context takes."""
LONGEST = "classes.agents.contexts=[{tokens: 131072 tok, share: 1}]"
SOME_TOO_LONG = "classes.agents.contexts=[{tokens: 10 ktok, share: 0.9}, {tokens: 200 ktok, share: 0.1}]"


def small_hbm(visible: float) -> Catalog:
    """The catalogue with H100s of that many bytes."""
    cut = tuple(
        changed(part, visible_bytes=visible) if part.id == "H100-SXM" else part
        for part in CATALOG.devices.accelerators
    )
    return with_devices(CATALOG, accelerators=cut)


def test_c9_running_kv_is_not_served_from_dram() -> None:
    """C9 (LMCache 1372): more concurrency by KV in DRAM: refused; one longest request must fit HBM.

    The workload has no key for it. The nearest ask, a request of 43 GB on eight GPUs that keep 17 GB beside
    the weights, is infeasible with HBM named, whatever DRAM stands idle; with larger HBM it is served.
    """
    assert not any(option.offload for option in card("llama-3.1-70b").options)
    refused = planned(*LLAMA, *PATIENT, LONGEST, catalog=small_hbm(32e9))
    assert refused.status == "infeasible"
    (why,) = refused.infeasible
    assert "HBM is the limiting resource" in why.fix
    assert planned(*LLAMA, *PATIENT, LONGEST).status in ("optimal", "within_gap")


def test_c9_long_contexts_do_not_slip_into_dram_beside_short_ones() -> None:
    """C9 (LMCache 1372): a rank of K2 keeps 10 GB here, the long request takes 14 on each."""
    refused = planned(*K2, *PATIENT, SOME_TOO_LONG, catalog=small_hbm(64e9))
    assert refused.status == "infeasible"
    assert any("200,000 tokens" in why.fix for why in refused.infeasible)


def test_c9_names_hbm_where_one_length_is_too_long() -> None:
    """C9 (LMCache 1372): and the limit to be named is HBM: no TPOT would help."""
    refused = planned(*K2, *PATIENT, SOME_TOO_LONG, catalog=small_hbm(64e9))
    assert any("HBM" in why.fix for why in refused.infeasible)


def test_c9_a_prefill_rank_holds_its_request_too() -> None:
    """C9 (LMCache 1372): 38 GB cannot be prefilled on a rank of 8, to be decoded elsewhere."""
    instance = built(
        "classes.agents.model=glm-5.2",
        "options={glm-5.2: {only: [fp8]}}",
        "classes.agents.contexts=[{tokens: 700 ktok, share: 1}]",
        "classes.agents.slo={ttft: 1 h, tpot: 100 ms, attainment: 0.5}",
        "hardware.servers={HGX-H200-8: {max: 4}}",
    )
    context = 700_000 * growth_bytes_per_token(card("glm-5.2").components, "fp8")
    ranks = {p.id: p.room / p.gpus for p in instance.pools}
    assert all(ranks[p.pool] >= context for p in instance.paths if p.stream == "agents:700k")

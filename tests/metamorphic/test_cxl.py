"""CXL is bought for three reasons and only for them: past the DIMM slots, one copy for several hosts, latency
at small blocks against an RDMA pool. Each workload has exactly one of them, and a way to take it away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from optimizer.catalog import Catalog, Population, load_catalog
from optimizer.design import Result, plan
from optimizer.instance.build import build
from optimizer.solver import SolveOptions
from optimizer.workload import load_workload

HERE = Path(__file__).parent / "workloads"
OPTIONS = SolveOptions(gap=1e-4, time_limit=120.0)
SMALL_BLOCK = 16e3
"""Bytes: the block whose RDMA transfer takes the 7.9 us of the catalogue besides its data (Beluga)."""


def solved(name: str, *sets: str, catalog: Catalog | None = None) -> Result:
    """A proven and exactly checked answer."""
    result = plan(load_workload(HERE / f"{name}.yaml", sets), catalog or load_catalog(), OPTIONS)
    assert result.status in ("optimal", "within_gap"), result.infeasible
    assert result.checks.exact is not None
    assert result.checks.exact.passed
    return result


def modules(result: Result) -> int:
    """CXL modules bought."""
    assert result.layout is not None
    return sum(pool.modules for pool in result.layout.cxl)


def used(result: Result, tier: str) -> float:
    """Bytes that live in a tier."""
    assert result.layout is not None
    return result.layout.tiers[tier].used_bytes


def slots_full(result: Result) -> bool:
    """Whether DRAM and CXL hold more than the fullest DIMM population of these servers could."""
    asked = load_workload(HERE / "cxl-slots.yaml").workload
    fullest = max(b.dram_usable for b in build(asked, load_catalog()).builds)
    assert result.layout is not None
    servers = sum(s.count for s in result.layout.servers if s.accelerators)
    return used(result, "dram") + used(result, "cxl") > servers * fullest


# ---- past the DIMM slots --------------------------------------------------------------------------------


def test_cxl_is_bought_past_the_dimm_slots() -> None:
    """Without it another GPU server would be bought for its DIMM slots."""
    with_cxl, without = solved("cxl-slots"), solved("cxl-slots", "tiers.cxl.enabled=false")
    assert modules(with_cxl) > 0
    assert used(with_cxl, "cxl") > 0
    assert slots_full(with_cxl)
    assert with_cxl.layout
    assert without.layout
    accelerators = [sum(s.accelerators for s in r.layout.servers) for r in (with_cxl, without)]
    assert accelerators[0] < accelerators[1]


def test_larger_dimms_take_its_place() -> None:
    larger = solved("cxl-slots", "hardware.dimms=[RDIMM-64, RDIMM-96]")
    assert modules(larger) == 0
    assert used(larger, "dram") > 0


@pytest.mark.slow
def test_fewer_contexts_leave_it_out() -> None:
    """Half the traffic fits the DIMM slots."""
    half = solved("cxl-slots", "classes.agents.peak_rate=0.24 req/s")
    assert not slots_full(half)
    assert modules(half) == 0


# ---- one copy for several hosts -------------------------------------------------------------------------


def test_cxl_is_bought_as_one_copy_for_several_hosts() -> None:
    apart = solved("cxl-sharing")
    assert modules(apart) > 0
    assert used(apart, "cxl") > 0


def test_sessions_that_stay_with_their_server_leave_it_out() -> None:
    kept = solved("cxl-sharing", "tiers.dram.affinity=1", "tiers.hbm.affinity=1")
    assert modules(kept) == 0
    assert used(kept, "dram") > 0


# ---- latency at small blocks ----------------------------------------------------------------------------


def pool_blocks(block: float, seconds: float | None = None) -> Catalog:
    """The catalogue with another block size, and time per block, of the DRAM pool."""
    catalog = load_catalog()
    pool = catalog.path("dram_pool")
    per_block = pool.per_block if seconds is None else pool.per_block.model_copy(update={"value": seconds})
    size = pool.block_bytes.model_copy(update={"value": block})
    changed = pool.model_copy(update={"block_bytes": size, "per_block": per_block})
    paths = tuple(changed if p is pool else p for p in catalog.devices.paths)
    return replace(catalog, devices=catalog.devices.model_copy(update={"paths": paths}))


def test_cxl_is_bought_where_small_blocks_break_the_ttft() -> None:
    small = solved("cxl-latency", catalog=pool_blocks(SMALL_BLOCK))
    assert modules(small) > 0
    assert used(small, "dram_pool") == 0


@pytest.mark.parametrize("block", [SMALL_BLOCK, pytest.param(2e6, marks=pytest.mark.slow)])
def test_free_blocks_leave_it_out(block: float) -> None:
    """The pool is cheaper per byte, and now as fast."""
    free = solved("cxl-latency", catalog=pool_blocks(block, 0.0))
    assert modules(free) == 0
    assert used(free, "dram_pool") > 0


@pytest.mark.slow
def test_large_blocks_leave_it_out() -> None:
    """At the 2 MB blocks of today's engines the time per block is nothing."""
    assert modules(solved("cxl-latency")) == 0


def test_patience_leaves_it_out() -> None:
    patient = solved("cxl-latency", "classes.agents.slo.ttft=6 s", catalog=pool_blocks(SMALL_BLOCK))
    assert modules(patient) == 0
    assert used(patient, "dram_pool") > 0


# ---- none of the reasons --------------------------------------------------------------------------------

EVEN_PRICES = ("prices.parts.RDIMM-128=$2550", "prices.parts.RDIMM-256=$5100", "prices.parts.CMM-D-256=$5100")
"""One price of media, that of the 64 GB DIMM."""


def fine_dimms() -> Catalog:
    """The catalogue with DIMM populations in steps of one CXL module, 1 to 8 TB, all of it usable."""
    catalog = load_catalog()
    steps = {"RDIMM-64": range(16, 33, 4), "RDIMM-128": range(18, 33, 2), "RDIMM-256": range(17, 33)}
    populations = tuple(Population(dimm=d, count=n) for d, counts in steps.items() for n in counts)
    servers = tuple(
        s.model_copy(update={"populations": populations}) if s.id == "HGX-B300-8" else s
        for s in catalog.devices.servers
    )
    usable = catalog.devices.facility.dram_usable.model_copy(update={"value": 1.0})
    facility = catalog.devices.facility.model_copy(update={"dram_usable": usable})
    return replace(
        catalog, devices=catalog.devices.model_copy(update={"servers": servers, "facility": facility})
    )


@pytest.mark.parametrize("seed", [pytest.param(s, marks=pytest.mark.slow if s else ()) for s in range(8)])
def test_media_at_the_price_of_a_dimm_is_no_reason(seed: int) -> None:
    """Slots are free, sessions stay with their server, there is no pool: at one price the DIMM wins, for any
    traffic."""
    rng = Random(seed)
    traffic = (
        f"classes.agents.peak_rate={rng.uniform(0.2, 1.5):.3f} req/s",
        f"classes.agents.contexts.0.tokens={rng.choice((60, 80, 100))} ktok",
        f"classes.agents.reuse.gaps.lognormal.median={rng.uniform(200, 1200):.0f} s",
        "hardware.dimms=[RDIMM-64, RDIMM-128, RDIMM-256]",
        "hardware.max_builds=3",
    )
    assert modules(solved("cxl-slots", *traffic, *EVEN_PRICES, catalog=fine_dimms())) == 0


def test_media_at_the_price_of_a_dimm_costs_no_less_per_usable_byte() -> None:
    asked = load_workload(HERE / "cxl-slots.yaml", EVEN_PRICES).workload
    instance = build(asked, load_catalog())
    small, large = sorted(instance.builds, key=lambda b: b.dram_bytes)
    (box,) = instance.enclosures
    by_dimm = (large.usd - small.usd) / (large.dram_usable - small.dram_usable)
    full = (box.enclosure_cost, *(box.module_cost,) * box.module_slots, box.adapter_cost)
    by_cxl = sum(line.usd for cost in full for line in cost) / (box.module_slots * box.usable_bytes)
    assert by_cxl >= by_dimm

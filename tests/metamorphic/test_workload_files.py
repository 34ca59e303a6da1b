"""The laws as a planner meets them: one workload file against another."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from optimizer.catalog import load_catalog
from optimizer.design import plan
from optimizer.files import data_path, read_text_yaml
from optimizer.solver import SolveOptions
from optimizer.workload.load import loaded

from .solved import dearer, differs

HERE = Path(__file__).parent / "workloads"
TINY = (data_path("workloads") / "tiny.yaml").read_text()
PRICES = (HERE / "tier-prices.yaml").read_text()
"""Its cost feels bytes, writes and rates; tiny's is three servers, come what may."""
LATENCY = (HERE / "cxl-latency.yaml").read_text()
FIXED = ("occupancy_dispersion=0", "grid.lanes=1")
"""No margins: one round, one optimum. One lane: where lanes are cut is chosen before the optimum."""


@cache
def least(text: str, *sets: str) -> float:
    """The least cost of a workload file."""
    document = read_text_yaml(text, "workload.yaml")
    result = plan(loaded(document, (*FIXED, *sets)), load_catalog(), SolveOptions(gap=0.0, time_limit=60))
    assert result.objective_usd is not None, result.infeasible
    return result.objective_usd


def some_slow(names: Iterable[str], fast: int) -> list[object]:
    """The first few every time, the others when there is time."""
    return [n if i < fast else pytest.param(n, marks=pytest.mark.slow) for i, n in enumerate(names)]


# ---- less is never cheaper ------------------------------------------------------------------------------

TIGHTER = (
    "headroom=30%",
    "classes.chat.slo.attainment=0.97",
    "options.kimi-k2.exclude=[fp8-bf16]",
    "tiers.nvme.enabled=false",
    "tiers.dram.affinity=0.7",
    "classes.chat.peak_rate=15 req/s",
    "options.kimi-k2.only=[fp8-bf16]",
    "tiers.nvme.eviction=lru",
    "tiers.dram.eviction=lru",
    "tiers.nvme.affinity=0.7",
    "hardware.spares=1",
    "hardware.max_builds=1",
    "tiers.storage.min_bytes=1 GB",
    "tiers.nvme.max_bytes=0 GB",
    "hardware.servers.HGX-B300-8.min=3",
    "facility.power=32.3 kW",
    "hardware.drives=[9550-7.68]",
    "hardware.dimms=[RDIMM-64, RDIMM-128]",
)


@pytest.mark.parametrize("override", some_slow(TIGHTER, fast=5))
def test_a_tighter_workload_is_never_cheaper(override: str) -> None:
    assert not dearer(least(PRICES), least(PRICES, override))


@pytest.mark.slow
def test_most_tighter_workloads_are_dearer() -> None:
    """And the tests above can tell."""
    felt = [override for override in TIGHTER if dearer(least(PRICES, override), least(PRICES))]
    assert len(felt) > len(TIGHTER) / 2, felt


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "limits"),
    [("ttft", ("10 s", "20 s", "60 s", "120 s", "600 s")), ("tpot", ("20 ms", "25 ms", "50 ms", "100 ms"))],
)
def test_patience_is_never_dearer(key: str, limits: tuple[str, ...]) -> None:
    """Each limit looser than the one before."""
    costs = [least(LATENCY, "classes.agents.slo.ttft=30 s", f"classes.agents.slo.{key}={x}") for x in limits]
    assert not any(dearer(looser, tighter) for tighter, looser in pairwise(costs)), costs


# ---- more choice is never dearer ------------------------------------------------------------------------

SLOWEST = "a context runs as long as on the slowest shape on offer, chosen or not"
WORST = "a load from flash takes as long as from the slowest drive on offer, bought or not"
OFFERS = (
    "hardware.servers.HGX-B200-8.max=4",
    pytest.param("hardware.servers.HGX-H200-8.max=4", marks=pytest.mark.xfail(strict=True, reason=SLOWEST)),
    pytest.param(
        "hardware.drives=[9550-3.84, 9550-7.68, D5-P5336-30.72]",
        marks=pytest.mark.xfail(strict=True, reason=WORST),
    ),
    "hardware.drive_counts=[4, 8]",
    "hardware.dimms=[RDIMM-32, RDIMM-64, RDIMM-128, RDIMM-256]",
    "hardware.cxl_modules=[CMM-D-256, CMM-D-512]",
    "options.kimi-k2.unpublished=true",
    "classes.chat.quality_floor=5 pt",
    "grid.mixed_share=0.5",
)


@pytest.mark.slow
@pytest.mark.parametrize("override", OFFERS)
def test_an_offer_that_may_be_declined_is_never_dearer(override: str) -> None:
    assert not dearer(least(PRICES, override), least(PRICES))


# ---- the same file in other words -----------------------------------------------------------------------


def test_a_class_split_in_the_file_costs_the_same() -> None:
    """chat twice at half its rate."""
    head, tail = PRICES.index("  chat:"), PRICES.index("hardware:")
    half = PRICES[head:tail].replace("peak_rate: 12 req/s", "peak_rate: 6 req/s")
    assert half != PRICES[head:tail]
    twice = PRICES[:head] + half + half.replace("chat:", "talk:") + PRICES[tail:]
    assert not differs(least(twice), least(PRICES))


def test_a_bucket_split_in_the_file_costs_the_same() -> None:
    """Contexts of 12 ktok said in two halves."""
    once, twice = (
        "[{tokens: 12 ktok, share: 1.0}]",
        "[{tokens: 12 ktok, share: 0.5}, {tokens: 12 ktok, share: 0.5}]",
    )
    assert once in PRICES
    assert not differs(least(PRICES.replace(once, twice)), least(PRICES))


def test_a_class_by_another_name_costs_the_same() -> None:
    assert not differs(least(PRICES.replace("chat:", "zz.other:")), least(PRICES))


def test_classes_in_another_order_cost_the_same() -> None:
    """tiny's two classes."""
    first, second, tail = (TINY.index(x) for x in ("  flash-chat:", "  k2-agentic:", "hardware:"))
    turned = TINY[:first] + TINY[second:tail] + TINY[first:second] + TINY[tail:]
    assert not differs(least(turned), least(TINY))

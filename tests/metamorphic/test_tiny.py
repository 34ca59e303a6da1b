"""The laws on the workload that ships for first steps: as a problem with settled margins, and as a file."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from random import Random

import pytest

from optimizer.catalog import load_catalog
from optimizer.design import plan
from optimizer.design.rounds import improve
from optimizer.design.search import Clock
from optimizer.files import data_path, read_text_yaml
from optimizer.instance import Instance
from optimizer.instance.build import build
from optimizer.solver import SolveOptions
from optimizer.workload.load import loaded

from .changes import LOOSER
from .solved import EXACT, Optimum, dearer, differs, optimum
from .test_limits import LIMITS, judge
from .test_same_problem import SAME

TEXT = (data_path("workloads") / "tiny.yaml").read_text()
STEADY = "occupancy_dispersion=0"
"""No margins: one round, one optimum."""
ONE_LANE = "grid.lanes=1"
"""Where lanes are cut depends on the traffic: that is a choice made before the optimum."""


@cache
def settled(*sets: str) -> Optimum:
    """tiny with margins that touch its own layout, flash forced in so that every tier has a part."""
    asked = loaded(read_text_yaml(TEXT, "tiny.yaml"), ("tiers.nvme.min_bytes=1 GB", *sets)).workload
    best, _, _ = improve(build(asked, load_catalog()), EXACT, Clock.start(60.0))
    assert best is not None
    return optimum(best.model.instance)


def patient(names: Iterable[str], fast: int = 6) -> list[object]:
    """The first few every time, the others when there is time."""
    return [n if i < fast else pytest.param(n, marks=pytest.mark.slow) for i, n in enumerate(names)]


@cache
def least(text: str = TEXT, *sets: str) -> float:
    """The least cost of a workload file."""
    result = plan(
        loaded(read_text_yaml(text, "tiny.yaml"), (STEADY, *sets)),
        load_catalog(),
        SolveOptions(gap=0.0, time_limit=60),
    )
    assert result.objective_usd is not None, result.infeasible
    return result.objective_usd


# ---- as a problem ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LOOSER)
def test_looser_is_never_dearer(law: str) -> None:
    """With machines in parts, where every coefficient counts."""
    if changed := LOOSER[law](settled().instance):
        assert not dearer(optimum_relaxed(changed), settled().relaxed)


@pytest.mark.slow
@pytest.mark.parametrize("law", LOOSER)
def test_looser_is_never_dearer_in_whole_machines(law: str) -> None:
    if changed := LOOSER[law](settled().instance):
        assert not dearer(optimum(changed).usd, settled().usd)


def optimum_relaxed(instance: Instance) -> float:
    """The least cost with machines in parts."""
    return optimum(instance, integers=False).relaxed


@pytest.mark.parametrize("law", SAME)
def test_the_same_problem_costs_the_same(law: str) -> None:
    factor, rewrite = SAME[law]
    after = optimum(rewrite(settled().instance, Random(1)))
    assert not differs(after.usd, factor * settled().usd)
    assert not differs(after.relaxed, factor * settled().relaxed)


@pytest.mark.parametrize("name", LIMITS)
def test_tighter_limit_is_never_cheaper(name: str) -> None:
    assert judge(name, settled())[0] == []


# ---- as a file ------------------------------------------------------------------------------------------

PRICES = (Path(__file__).parent / "workloads" / "tier-prices.yaml").read_text()
"""A workload whose cost feels bytes, writes and rates; tiny's is three servers, come what may."""
TIGHTER = (
    "headroom=30%",
    "classes.chat.peak_rate=15 req/s",
    "classes.chat.slo.attainment=0.97",
    "options.kimi-k2.only=[fp8-bf16]",
    "options.kimi-k2.exclude=[fp8-bf16]",
    "tiers.nvme.enabled=false",
    "tiers.nvme.eviction=lru",
    "tiers.dram.eviction=lru",
    "tiers.dram.affinity=0.7",
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


@pytest.mark.parametrize("override", patient(TIGHTER))
def test_a_tighter_workload_is_never_cheaper(override: str) -> None:
    assert not dearer(least(PRICES, ONE_LANE), least(PRICES, ONE_LANE, override))


@pytest.mark.slow
def test_most_tighter_workloads_are_dearer() -> None:
    """And the tests above can tell."""
    felt = [t for t in TIGHTER if dearer(least(PRICES, ONE_LANE, t), least(PRICES, ONE_LANE))]
    assert len(felt) > len(TIGHTER) / 2, felt


def test_a_class_split_in_the_file_costs_the_same() -> None:
    """k2-agentic twice at half its rate."""
    head, tail = TEXT.index("  k2-agentic:"), TEXT.index("hardware:")
    half = TEXT[head:tail].replace("peak_rate: 1 req/s", "peak_rate: 0.5 req/s")
    twin = half.replace("k2-agentic:", "k2-twin:")
    assert half != TEXT[head:tail]
    assert not differs(least(TEXT[:head] + half + twin + TEXT[tail:]), least())


def test_a_class_by_another_name_costs_the_same() -> None:
    assert not differs(least(TEXT.replace("k2-agentic", "zz.other")), least())


def test_a_bucket_split_in_the_file_costs_the_same() -> None:
    """Contexts of 60 ktok said in two halves."""
    once = "- {tokens: 60 ktok, share: 1.0}"
    twice = "- {tokens: 60 ktok, share: 0.5}\n      - {tokens: 60 ktok, share: 0.5}"
    assert once in TEXT
    assert not differs(least(TEXT.replace(once, twice)), least())

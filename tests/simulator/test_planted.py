"""Faults planted in a layout that passes are found and laid at the right door; what fails is repaired."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from optimizer.cli.exit_codes import ExitCode, of_result
from optimizer.design.planning import plan
from optimizer.instance import Layout
from optimizer.simulator.types import Law, Verdict
from optimizer.simulator.verdict.judge import LOST
from optimizer.workload import load_workload
from tests.instance.shipped import CATALOG
from tests.simulator.bought import ON_TWO_B300
from tests.simulator.bought import solved as bought
from tests.simulator.planting import (
    OPTIONS,
    WORKLOADS,
    Planned,
    asked,
    looped,
    solved,
    sound,
    under_option,
    with_a_quarter_of_the_dram,
    with_fewer,
    with_half_the_dram,
    with_slow_links,
    without_drives,
)

DRAM, NVME = "dram@HGX-B300-8", "nvme@HGX-B300-8"
BUSIER = (
    "classes.agents.peak_rate=4.4 req/s",
    "classes.agents.reuse.gaps={exponential: {mean: 36 min}}",
    "occupancy_dispersion=0",
)
"""More of the same for a planner who says that nothing fluctuates: the search fills its decode pools to the
last millisecond of an iteration."""


def pool(plan: Planned, role: str) -> str:
    """The plan's only pool of a role, of which there are several instances."""
    (row,) = [row for row in plan.layout.pools if f"/{role}" in row.pool]
    assert row.instances > 1
    return row.pool


def decoding(layout: Layout) -> float:
    """Accelerators that only decode."""
    return sum(row.accelerators for row in layout.pools if "/decode" in row.pool)


def blamed(verdict: Verdict) -> set[tuple[Law, str]]:
    """Laws and resources that failed."""
    return {(failure.law, failure.resource) for failure in verdict.failing}


def test_what_faults_are_planted_in_passes_and_uses_every_tier() -> None:
    verdict = sound("planted").replayed()
    assert verdict.passed, verdict.reasons
    (agents,) = verdict.classes
    below_hbm = {tier: agents.simulated[tier].mean for tier in ("dram", "nvme")}
    assert below_hbm["nvme"] > 0.1
    assert below_hbm["dram"] > 0.05


def one_bank_less(plan: Planned) -> Planned:
    return without_drives(plan, 1)


def two_banks_less(plan: Planned) -> Planned:
    return without_drives(plan, 2)


def a_prefill_instance_less(plan: Planned) -> Planned:
    return with_fewer(plan, pool(plan, "prefill"))


def a_decode_instance_less(plan: Planned) -> Planned:
    return with_fewer(plan, pool(plan, "decode"))


def slower_host_links(plan: Planned) -> Planned:
    return with_slow_links(plan, pool(plan, "prefill"))


FAULTS: list[tuple[Callable[[Planned], Planned], Law, str]] = [
    (two_banks_less, Law.TIER_CAPACITY, NVME),
    (with_half_the_dram, Law.TIER_CAPACITY, DRAM),
    (a_prefill_instance_less, Law.PREFILL_TIME, "prefill"),
    (a_decode_instance_less, Law.DECODE_TIME, "decode"),
    (slower_host_links, Law.HOST_LINK, "prefill"),
]


@pytest.mark.parametrize(("plant", "law", "resource"), FAULTS, ids=[plant.__name__ for plant, _, _ in FAULTS])
def test_a_fault_is_rejected_with_the_resource_named(
    plant: Callable[[Planned], Planned], law: Law, resource: str
) -> None:
    good = sound("planted")
    named = pool(good, resource) if resource in ("prefill", "decode") else resource
    verdict = plant(good).replayed()
    assert not verdict.passed
    assert (law, named) in blamed(verdict)
    assert any(named in reason for reason in verdict.reasons)


@pytest.mark.parametrize(
    "plant", [with_half_the_dram, a_prefill_instance_less, a_decode_instance_less, slower_host_links]
)
def test_nothing_else_is_blamed_for_one_fault(plant: Callable[[Planned], Planned]) -> None:
    """These break one promise each; a store that is far too small also makes prefill late, and says so."""
    assert len(plant(sound("planted")).replayed().failing) == 1


def test_machines_that_run_another_option_are_found_out() -> None:
    """The layout says FP8 KV, the machines keep BF16: every context weighs twice as much."""
    instance, workload = asked("planted", "options.kimi-k2={only: [int4-bf16]}")
    verdict = under_option(sound("planted"), "int4-fp8", "int4-bf16", instance, workload).replayed()
    assert not verdict.passed
    assert {(Law.TIER_CAPACITY, DRAM), (Law.TIER_CAPACITY, NVME)} <= blamed(verdict)


@pytest.mark.parametrize(("role", "law"), [("prefill", Law.PREFILL_TIME), ("decode", Law.DECODE_TIME)])
def test_a_pool_that_is_gone_is_named_and_nothing_else(role: str, law: Law) -> None:
    """Requests that nobody takes are late, slow and find nothing: only what is missing is to blame."""
    good = sound("planted")
    named = pool(good, role)
    rows = tuple(replace(r, instances=0) if r.pool == named else r for r in good.layout.pools)
    verdict = replace(good, layout=replace(good.layout, pools=rows)).replayed()
    assert blamed(verdict) == {(law, named)}
    assert verdict.served < 0.01 * verdict.arrived  # those that were being decoded at time 0


@pytest.mark.parametrize(
    ("plant", "law", "resource", "follows"),
    [(one_bank_less, Law.ENDURANCE, NVME, set()),
     (with_a_quarter_of_the_dram, Law.TIER_CAPACITY, DRAM, {Law.PREFILL_TIME})],
    ids=["one bank of two less", "a quarter of the DRAM"],
)
def test_so_it_is_in_the_facility_of_small(
    plant: Callable[[Planned], Planned], law: Law, resource: str, follows: set[Law]
) -> None:
    """Its drives are a fifth full: one of two banks has room for all, and wears out before its time. Half the
    DRAM loses what seldom comes back, a quarter more than that. What it loses is computed again, which makes
    a lane late or not: layouts of one cost divide requests over lanes in many ways."""
    case = bought(*ON_TWO_B300)
    good = Planned(case.instance, case.layout, case.workload)
    assert good.replayed().passed
    found = blamed(plant(good).replayed())
    assert (law, resource) in found
    assert {other for other, _ in found} - {law} <= follows


def test_slack_can_be_taken_away() -> None:
    """Not every missing bank is a fault: of six that are nearly full, one holds what seldom comes back."""
    verdict = one_bank_less(sound("planted")).replayed()
    assert verdict.passed, verdict.reasons
    (agents,), (whole,) = verdict.classes, sound("planted").replayed().classes
    assert 0.01 < agents.simulated["miss"].mean - whole.simulated["miss"].mean < LOST


# ---- the loop ---------------------------------------------------------------------------------------------


def test_a_layout_that_passes_the_exact_check_and_fails_its_replay_is_repaired() -> None:
    found = looped("planted", *BUSIER)
    first = found.rejected[0]
    assert [(f.law, "decode" in f.resource) for f in first.failing] == [("decode_time", True)]
    assert [t.law for t in first.tightened] == ["decode_time"]
    assert found.judged.best.certificate.passed
    assert found.judged.verdict.passed, found.judged.verdict.reasons
    before = solved("planted", *BUSIER)[1].layout
    assert decoding(found.judged.best.layout) > decoding(before)
    assert found.judged.best.layout.objective_usd >= first.objective_usd == before.objective_usd


@pytest.mark.slow
def test_what_can_never_pass_is_returned_as_not_verified() -> None:
    """On four servers decoding fits to the last millisecond: there is no room for what the replay asks."""
    overrides = (
        "classes.agents.peak_rate=2.15 req/s", *BUSIER[1:], "hardware.servers={HGX-B300-8: {max: 4}}"
    )  # fmt: skip
    result = plan(load_workload(str(WORKLOADS / "planted.yaml"), overrides), CATALOG, OPTIONS, simulate=True)
    assert result.checks.exact is not None
    assert result.checks.exact.passed
    assert result.checks.replay is not None
    assert result.checks.replay.state == "failed"
    assert {failure.law for failure in result.checks.replay.failing} == {"decode_time"}
    assert "cannot be met" in (result.checks.replay_ended or "")
    assert of_result(result) is ExitCode.REJECTED

"""A demand that cannot be met is an answer: every conflict at once as have, need and smallest fix, by the
name of its row, and the fix is one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from optimizer.catalog import load_catalog
from optimizer.design import Result, plan
from optimizer.design.result import Shortfall
from optimizer.solver import SolveOptions
from optimizer.workload import load_workload

OPTIONS = SolveOptions(gap=1e-4, time_limit=60.0)
PATIENT = "classes.k2-agentic.slo.ttft=20 s"
"""With it tiny takes two servers and no fewer, whatever their memory."""
HAIR, CENT = 1e-6, 0.01
"""Relative: a need met by a hair is met, one missed by a cent in the dollar is not."""


@cache
def planned(*sets: str) -> Result:
    """The answer for tiny with overrides."""
    return plan(load_workload("tiny", sets), load_catalog(), OPTIONS)


def infeasible(*sets: str) -> dict[str, Shortfall]:
    """What stands in the way, by the name of the row."""
    result = planned(*sets)
    assert result.status == "infeasible"
    assert result.layout is None
    assert result.objective_usd is None
    assert result.infeasible
    return {shortfall.row: shortfall for shortfall in result.infeasible}


@dataclass(frozen=True)
class Limit:
    """A limit that is too low, how to set it (in the unit of its row), and the words of its remedy."""

    row: str
    set: str
    low: float
    whole: bool
    remedy: str

    def at(self, value: float) -> str:
        """The override that sets it."""
        return self.set.format(f"{value:.0f}" if self.whole else f"{value:.9g}")


LIMITS = (
    Limit("power[now]", "facility.power={} kW", 20.0, False, "raise facility.power"),
    Limit("budget[now]", "facility.budget=${}k", 600.0, False, "raise facility.budget"),
    Limit("rack_space[now]", "facility.rack_units={} U", 10.0, False, "raise facility.rack_units"),
    Limit(
        "supply[HGX-B300-8,now]", "hardware.servers.HGX-B300-8.supply={}", 1.0, True, "raise hardware.servers"
    ),
    Limit("user[few,max]", "limits.few={{terms: {{servers.HGX-B300-8: 1}}, max: {}}}", 1.0, True, "limits"),
)
IDS = [limit.row.split("[", maxsplit=1)[0] for limit in LIMITS]


@pytest.mark.parametrize("limit", LIMITS, ids=IDS)
def test_a_limit_too_low_is_named_alone(limit: Limit) -> None:
    """Have is the limit, need is more, the fix is what lies between."""
    named = infeasible(PATIENT, limit.at(limit.low))
    assert set(named) == {limit.row}
    short = named[limit.row]
    assert short.have == pytest.approx(limit.low)
    assert short.need is not None
    assert short.need > limit.low
    assert limit.remedy in short.fix
    amount = re.search(r"by ([\d.,]+(?:e[+-]?\d+)?) ", short.fix)
    assert amount
    assert float(amount[1].replace(",", "")) == pytest.approx(short.need - limit.low, rel=1e-3)


@pytest.mark.parametrize(
    "limit", [LIMITS[0], *(pytest.param(x, marks=pytest.mark.slow) for x in LIMITS[1:])], ids=IDS
)
def test_the_smallest_fix_is_one_and_is_smallest(limit: Limit) -> None:
    """Set to the need there is a layout, set a little below there is none."""
    need = infeasible(PATIENT, limit.at(limit.low))[limit.row].need
    assert need is not None
    assert planned(PATIENT, limit.at(need * (1 + HAIR))).status in ("optimal", "within_gap")
    if not limit.whole:
        assert planned(PATIENT, limit.at(need * (1 - CENT))).status == "infeasible"


def test_every_conflict_is_named_at_once() -> None:
    """Each alone would be hidden behind the others."""
    named = infeasible(PATIENT, *(limit.at(limit.low) for limit in LIMITS))
    assert set(named) == {limit.row for limit in LIMITS}
    assert planned(PATIENT, *(limit.at(named[limit.row].need * (1 + HAIR)) for limit in LIMITS)).status in (
        "optimal",
        "within_gap",
    )


def test_fewer_in_time_is_a_fix_too() -> None:
    """At its own TTFT of 10 s tiny takes three servers; with two, some first tokens are late."""
    two = "hardware.servers.HGX-B300-8.supply=2"
    named = infeasible(two)
    assert set(named) == {"ttft_attainment[k2-agentic]"}
    short = named["ttft_attainment[k2-agentic]"]
    assert short.need == pytest.approx(0.9)  # of 1 req/s
    assert short.have is not None
    assert short.have < 0.9
    lower = "classes.k2-agentic.slo.attainment={:.9f}"
    assert planned(two, lower.format(short.have * (1 - HAIR))).status in ("optimal", "within_gap")
    assert planned(two, lower.format(short.have * (1 + CENT))).status == "infeasible"


def test_a_ttft_that_no_path_meets_is_named_with_what_there_is() -> None:
    """Before anything is solved: the share that the best mix gets in time, and the share asked for."""
    row, short = next(iter(infeasible("classes.k2-agentic.slo.ttft=1 s").items()))
    assert "classes.k2-agentic.slo.ttft" in row
    assert re.search(r"have: at best [\d.]+% of requests within 1 s; need: 90\.0%", short.fix)
    assert "raise ttft from 1000 ms to" in short.fix


def test_a_tpot_that_no_machine_meets_is_named() -> None:
    row, short = next(iter(infeasible("classes.k2-agentic.slo.tpot=5 ms").items()))
    assert "classes.k2-agentic.slo.tpot" in row
    assert "at 5 ms a token" in short.fix
    assert "raise tpot from 5 ms to 8.355 ms" in short.fix
    assert short.sets == ("classes.k2-agentic.slo.tpot=8.3549 ms",)


def test_slos_that_cannot_be_met_are_named_at_once() -> None:
    named = infeasible(
        "classes.k2-agentic.slo.tpot=5 ms",
        "classes.k2-agentic.slo.ttft=0.5 s",
        "classes.flash-chat.slo.ttft=20 ms",
    )
    keys = ("classes.k2-agentic.slo.tpot", "classes.flash-chat.slo.ttft")
    assert all(any(key in row for row in named) for key in keys)


def test_the_planners_own_maximum_is_named_alone() -> None:
    named = infeasible(PATIENT, "hardware.servers.HGX-B300-8.max=1")
    assert set(named) == {"server_maximum[HGX-B300-8,now]"}


def test_a_row_over_what_is_not_on_offer_names_itself() -> None:
    """tiny has no CXL: a demand for some is a conflict of the planner's own row."""
    assert any("limits.some" in row for row in infeasible("limits.some={terms: {cxl: 1}, min: 5}"))


def test_a_refusal_does_not_hide_what_else_conflicts() -> None:
    """A TPOT that nothing reaches is given its smallest fix, and then the power is too little as well."""
    asked = ("classes.k2-agentic.slo.tpot=5 ms", "facility.power=20 kW", "hardware.servers.HGX-B300-8.max=40")
    named = infeasible(*asked)
    assert any("slo.tpot" in row for row in named)
    assert "power[now]" in named
    fixes = [override for short in named.values() for override in short.sets]
    assert planned(*asked, *fixes).status in ("optimal", "within_gap")


def test_an_undecided_relaxation_is_no_crash() -> None:
    """The dual simplex leaves this one undecided, with and without presolve; other ways see the proof."""
    path = Path(__file__).parents[1] / "metamorphic" / "workloads" / "cxl-sharing.yaml"
    result = plan(load_workload(path, ["tiers.cxl.enabled=false"]), load_catalog(), OPTIONS)
    assert result.status == "infeasible"
    assert "ttft_attainment[agents]" in {short.row for short in result.infeasible}

"""Questions beside a layout: less choice and slower machines never save, and the answer always stands."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from optimizer.design.comparisons import changes, compare
from optimizer.design.comparisons.questions import questions
from optimizer.design.comparisons.stated import NO_LAYOUT
from optimizer.design.planning import bought_tiers, plan
from optimizer.design.result import Result
from optimizer.design.rounds import improve
from optimizer.design.search import Clock
from optimizer.errors import SolverFailure
from optimizer.instance import Tier
from optimizer.instance.build import build
from optimizer.solver import SolveOptions

from .beside import CATALOG, LATENCY, OPTIONS, PRICES, SHARING, SLOTS, asked, beside, planned, solved

ROUNDING = 1e-9  # of a cost


def question(result: Result, name: str):
    assert result.comparisons
    found = result.comparisons
    every = (found.baseline, *found.without, found.error_band.low, found.error_band.high)
    return next(q for q in every if q.change == name)


def broken(result: Result) -> list[str]:
    """Every law between the answer and its neighbours that does not hold."""
    cost, bound = result.objective_usd, result.bound_usd
    assert cost is not None
    assert bound is not None
    slack = ROUNDING * cost
    found = []
    for q in (result.comparisons.baseline, *result.comparisons.without):
        laws = {
            "a layout under a restriction is a layout": q.objective_usd is None
            or q.objective_usd >= bound - slack,
            "less choice never saves": q.least_extra_usd is None or q.least_extra_usd >= 0,
            "what is not bought is not missed": q.status != "same" or q.objective_usd == cost,
        }
        found += [f"{q.change}: {law}" for law, holds in laws.items() if not holds]
    low, high = result.comparisons.error_band.low, result.comparisons.error_band.high
    if low.objective_usd is not None and low.objective_usd < bound - slack:
        found.append("slower machines are never cheaper")
    if high.bound_usd is None or high.bound_usd > cost + slack:
        found.append("faster machines are never dearer")
    for q in (result.comparisons.baseline, *result.comparisons.without, low, high):
        if q.objective_usd is not None:
            stated = {
                "bound below cost": q.bound_usd <= q.objective_usd,
                "extra": q.extra_usd == pytest.approx(q.objective_usd - cost),
                "most": q.most_extra_usd == pytest.approx(q.objective_usd - bound),
                "least to most": q.least_extra_usd <= q.most_extra_usd + slack,
                "gap": q.gap == pytest.approx((q.objective_usd - q.bound_usd) / q.objective_usd),
                "machines": bool(q.machines),
            }
            found += [f"{q.change}: {what}" for what, holds in stated.items() if not holds]
    return found


@pytest.mark.parametrize("path", ["tiny", SLOTS, PRICES])
def test_laws_between_the_answer_and_its_neighbours(path):
    assert broken(planned(path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("sets", [(), ("occupancy_dispersion=1",), ("hardware.max_builds=1",)])
@pytest.mark.parametrize("path", [SLOTS, PRICES, SHARING, LATENCY])
def test_laws_on_more_workloads(path, sets):
    assert broken(planned(path, *sets)) == []


@pytest.mark.parametrize(("path", "tier"), [(SLOTS, Tier.CXL), (SLOTS, Tier.DRAM), (PRICES, Tier.NVME)])
def test_a_neighbour_is_the_answer_to_the_changed_question(path, tier):
    """Solved to the end by itself, the changed question costs something between the bound and the cost."""
    stated = question(planned(path), f"without {tier.value}")
    change = changes.without(asked(path).workload, CATALOG, tier)
    best, _, _ = improve(build(change.workload, change.catalog), OPTIONS, Clock.start(60.0))
    usd = best.layout.objective_usd
    slack = OPTIONS.gap * usd
    assert stated.bound_usd - slack <= usd <= stated.objective_usd + slack
    extra = usd - planned(path).objective_usd
    assert stated.least_extra_usd - slack <= extra <= stated.most_extra_usd + slack


def test_the_extra_dollars_of_a_tier_are_more_than_the_gaps_where_it_matters():
    """Two servers with a CXL pool do what takes three without."""
    stated = question(planned(SLOTS), "without cxl")
    assert stated.least_extra_usd > 0
    assert {m.name for m in stated.machines} == {"HGX-B300-8"}
    assert sum(m.count for m in stated.machines) == 3


def test_a_layout_that_is_a_baseline_is_recognised():
    sets = ("options.kimi-k2.only=[int4-bf16]", "options.deepseek-v4-flash.only=[fp8-fp8idx]")
    best = solved("tiny", *sets)
    of = {q.name: q for q in questions(asked("tiny", *sets).workload, CATALOG, best, bought_tiers(best))}
    assert of["baseline"].kept
    best = solved("tiny", "options.kimi-k2.only=[fp8-bf16]")
    plain = changes.baseline(asked("tiny").workload, CATALOG)
    assert plain.workload.options["kimi-k2"].only == ("int4-bf16",)
    of = {q.name: q for q in questions(asked("tiny").workload, CATALOG, best, bought_tiers(best))}
    assert not of["baseline"].kept


def test_what_is_not_on_offer_is_not_left_out():
    statuses = {q.change: q.status for q in planned("tiny").comparisons.without}
    assert statuses["without cxl"] == statuses["without dram"] == statuses["without storage"] == "not_offered"


def test_an_infeasible_neighbour_is_an_answer_with_its_reason(monkeypatch):
    """Without the pool it takes a third server, and two are allowed."""
    kept = compare.questions
    monkeypatch.setattr(compare, "questions", lambda *a: [
        q if q.name == "without cxl" else replace(q, offered=False) for q in kept(*a)
    ])
    stated = beside(SLOTS, "hardware.servers.HGX-B300-8.max=2").without[1]
    assert (stated.change, stated.status) == ("without cxl", "infeasible")
    said = r"ttft_attainment\[agents\]: have 0\.\d+, need 0\.432 req/s in time; raise"
    assert re.match(said, stated.reasons[0])
    assert (stated.objective_usd, stated.extra_usd) == (None, None)


def test_what_is_insisted_on_is_an_answer_without_a_search():
    stated = beside(SLOTS, "hardware.cxl_enclosures.XC50256-POOL.min=1", seconds=0.0).without[1]
    assert (stated.change, stated.status) == ("without cxl", "infeasible")
    assert "the workload insists on some XC50256-POOL" in stated.reasons[0]


def test_the_result_states_which_factors_and_bands():
    band = planned("tiny").comparisons.error_band
    card = CATALOG.accelerator("B300-SXM").efficiency
    assert band.bands == {"B300-SXM": card.error_band.value}
    of = {f.factor: (f.low, f.base, f.high) for f in band.factors}
    b = card.error_band.value
    assert of["hbm"] == pytest.approx((card.hbm.value * (1 - b), card.hbm.value, card.hbm.value * (1 + b)))
    slow = card.step_overhead.value
    assert of["step_overhead"] == pytest.approx((slow / (1 - b), slow, slow / (1 + b)))
    assert {f"prefill.{family}" for family in card.prefill_by_family} <= of.keys()


# ---- the answer stands, whatever happens here -----------------------------------------------------------


def searched(found) -> dict[str, str]:
    every = (found.baseline, *found.without, found.error_band.low, found.error_band.high)
    return {q.change: q.status for q in every if q.status not in ("same", "not_offered")}


def test_nothing_is_compared_unless_it_is_asked_for():
    assert plan(asked("tiny"), CATALOG, OPTIONS).comparisons is None


def test_a_budget_of_nothing_says_what_was_not_done():
    found = beside("tiny", seconds=0.0)
    assert set(searched(found).values()) == {"not_done"}
    assert found.error_band.low.reasons == (compare.LATE,)
    assert found.budget_s == 0.0
    assert found.rent.lines
    assert found.api_bill.classes


def test_the_budget_is_as_much_again_by_default():
    assert planned("tiny").comparisons.budget_s == OPTIONS.time_limit


def test_an_interrupt_leaves_the_rest_undone():
    heard = []
    found = beside("tiny", interrupt=lambda: len(heard) > 0, progress=lambda stage, *_: heard.append(stage))
    statuses = searched(found)
    assert heard
    first = next(iter(statuses))
    assert statuses.pop(first) in ("optimal", "within_gap", "interrupted")
    assert set(statuses.values()) == {"not_done"}
    assert compare.STOPPED in found.error_band.high.reasons


@pytest.mark.parametrize(("fault", "reason"), [
    (KeyboardInterrupt(), compare.STOPPED), (SolverFailure("kError"), "the solver failed: kError"),
])
def test_what_breaks_in_a_search_does_not_break_the_answer(monkeypatch, fault, reason):
    def breaks(*_, **__):
        raise fault

    monkeypatch.setattr(compare, "nearby", breaks)
    found = beside("tiny")
    assert set(searched(found).values()) == {"not_done"}
    assert found.error_band.low.reasons == (reason,)


def test_no_answer_in_time_still_has_its_bound(monkeypatch):
    real = compare.nearby
    monkeypatch.setattr(compare, "nearby", lambda *a, **k: replace(real(*a, **k), candidate=None))
    stated = beside("tiny").error_band.high
    assert stated.objective_usd is None
    assert stated.reasons == (NO_LAYOUT,)
    least = stated.bound_usd - solved("tiny").layout.objective_usd
    assert (stated.least_extra_usd, stated.most_extra_usd) == (pytest.approx(least), None)


def test_a_rejected_neighbour_has_no_cost(monkeypatch):
    real = compare.nearby

    def rejected(*args, **kwargs):
        got = real(*args, **kwargs)
        bad = replace(got.candidate.certificate, passed=False)
        return replace(got, candidate=replace(got.candidate, certificate=bad))

    monkeypatch.setattr(compare, "nearby", rejected)
    stated = beside("tiny").error_band.low
    assert (stated.status, stated.objective_usd, stated.machines) == ("rejected", None, ())


@pytest.mark.slow
def test_two_directions_within_its_budget():
    """Every question of the large workload gets a layout in a budget of the main time."""
    loaded = asked("workloads/two-directions.yaml")
    result = plan(loaded, CATALOG, SolveOptions(time_limit=120.0), compare=True)
    assert broken(result) == []
    assert all(q.objective_usd for q in (result.comparisons.baseline, *result.comparisons.without))

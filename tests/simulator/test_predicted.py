"""What a layout predicts of its replay agrees with what it promises."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest

from optimizer.instance import Case as Outcome
from optimizer.instance.offer import offer
from optimizer.physics.queueing import wait_exponent
from optimizer.simulator.verdict.predicted import Planned, Prediction, planned, predicted, quantile
from tests.instance.shipped import CATALOG, built
from tests.simulator.bought import ON_B300, SMALL, Case, solved

SOLVED = [("tiny",), ("tiny", "tiers.policy=exclusive"), (str(SMALL / "cxl-latency.yaml"),), ON_B300]
POOL = replace(built("tiny").pools[0], longest_job=2.0, design_load=0.5)


@pytest.fixture(params=SOLVED, ids=lambda row: row[0].split("/")[-1] + ", ".join(row[1:]))
def answer(request: pytest.FixtureRequest) -> Case:
    """A solved layout."""
    return solved(*request.param)


@pytest.fixture
def prediction(answer: Case) -> Prediction:
    """Its predictions."""
    return predicted(answer.instance, answer.layout, answer.workload, CATALOG)


def test_shares_are_those_of_the_routed_rates(answer: Case, prediction: Prediction) -> None:
    tiers = {loc.id: loc.tier.value for loc in answer.instance.locations}
    streams = {bucket.id: bucket.cls for bucket in answer.instance.buckets}
    rates: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in answer.layout.paths:
        found = tiers[row.location] if row.case == Outcome.HIT else row.case
        rates[streams.get(row.stream, row.stream)][found] += row.rate
    for cls in answer.instance.classes:
        due = {found: rate / cls.rate for found, rate in rates[cls.id].items()}
        assert prediction.classes[cls.id].shares == pytest.approx(due, rel=1e-6)
        assert sum(prediction.classes[cls.id].shares.values()) == pytest.approx(1.0)


def test_the_quantile_and_the_attainment_are_one_curve(answer: Case, prediction: Prediction) -> None:
    """95% are sure to be in time exactly where the 95th percentile is within the limit."""
    for cls in answer.instance.classes:
        said = prediction.classes[cls.id]
        assert said.attainment >= cls.attainment * (1 - 1e-9)
        if said.attainment > 0.95 + 1e-6:
            assert said.ttft_p95 < cls.ttft
        elif said.attainment < 0.95 - 1e-6:
            assert said.ttft_p95 > cls.ttft
        else:
            assert said.ttft_p95 == pytest.approx(cls.ttft, rel=1e-3)


def test_base_times_are_those_the_instance_was_built_with(answer: Case) -> None:
    """At the limit the bound of every path is its share `attained`: the base time is the model's own."""
    limits = {cls.id: cls.ttft for cls in answer.instance.classes}
    found = planned(answer.instance, answer.layout, offer(answer.workload, CATALOG))
    assert len(found) == len(answer.layout.paths)
    for cls, path in found:
        assert path.within(limits[cls]) == pytest.approx(path.in_time, rel=1e-6, abs=1e-9)


def test_one_lane_has_the_quantile_of_its_bound() -> None:
    """base + ln(20) b / x: where the bound 1 - exp(-x (t - base) / b) is 0.95."""
    lane = Planned("miss", 3.0, 0.0, POOL, 1.5)
    due = 1.5 + 2.995732273553991 * 2.0 / wait_exponent(0.5)
    assert quantile([lane], 0.95) == pytest.approx(due, rel=1e-8)


def test_a_rare_slow_path_does_not_move_the_quantile() -> None:
    idle = replace(POOL, longest_job=0.0)
    fast, slow = Planned("hbm", 96.0, 0.0, idle, 1.0), Planned("miss", 4.0, 0.0, idle, 50.0)
    assert quantile([fast, slow], 0.95) == pytest.approx(1.0, rel=1e-8)
    assert quantile([fast, replace(slow, rate=6.0)], 0.95) == pytest.approx(50.0, rel=1e-8)

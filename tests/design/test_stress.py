"""The table of bad times: which cases there are, what a line says, what its seconds may be."""

from __future__ import annotations

import math

import pytest

from optimizer.design import stress as room
from optimizer.design.stress import Case, cases, judged, largest_kind, piled_up, stress
from optimizer.instance.build import build
from optimizer.simulator import Disturbance
from optimizer.simulator.simulation import enough
from optimizer.simulator.types import Interval
from tests.design.beside import CATALOG, asked, solved
from tests.design.replays import seen, verdict

INSTANCE, LAYOUT = build(asked("tiny").workload, CATALOG), solved("tiny").layout
PLANNED = Case("as planned", 1.0, Disturbance())
CLASSES = [c.id for c in INSTANCE.classes]


def both(*attainments: float, **changes):
    """A verdict with a line for each class of tiny."""
    classes = tuple(seen(cls, share, **changes) for cls, share in zip(CLASSES, attainments, strict=True))
    return verdict(classes=classes)


def test_every_case_is_harmful_and_named():
    found = list(cases(INSTANCE, LAYOUT))
    assert [room.said(c.name, c.factor) for c in found] == [
        "as planned", "throughput -10%", "throughput -25%", "throughput -50%", "hits -10%", "hits -25%",
        "hits -50%", "demand +10%", "demand +25%", "demand +50%", "one node down", "hits collapse for a day",
    ]
    for case in found:
        d = case.disturbance
        assert d.throughput <= 1
        assert d.hits <= 1
        assert d.demand >= 1
        assert (d != Disturbance()) + (case.outage is not None) == (case is not found[0])
    assert [c.outage for c in found if c.outage] == ["HGX-B300-8@60 s"]


def test_the_node_that_fails_is_of_the_kind_most_accelerators_stand_in():
    assert largest_kind(INSTANCE, LAYOUT) == "HGX-B300-8"


def test_the_worst_class_is_the_one_farthest_below_what_is_required():
    line = judged(INSTANCE, LAYOUT, PLANNED, both(0.97, 0.91), verdict())
    assert (line.worst_class, line.attainment.mean) == (CLASSES[1], 0.91)


def test_late_tokens_count_as_late_first_tokens_do():
    slow = both(0.99, 0.99, tpot_attainment=Interval(0.4, 0.01))
    assert judged(INSTANCE, LAYOUT, PLANNED, slow, verdict()).attainment.mean == 0.4


def test_answers_longer_than_the_run_have_no_pace_that_could_be_late():
    unknown = both(0.99, 0.97, tpot_attainment=Interval(math.nan, math.inf))
    line = judged(INSTANCE, LAYOUT, PLANNED, unknown, verdict())
    assert (line.worst_class, line.attainment.mean) == (CLASSES[1], 0.97)


def test_hits_are_what_was_found_in_any_tier():
    line = judged(INSTANCE, LAYOUT, PLANNED, both(0.97, 0.97), verdict())
    assert line.hit_share == pytest.approx(0.21 + 0.48)


def test_the_cost_is_spread_over_output_that_was_served_in_time():
    def usd(case, *attainments):
        return judged(INSTANCE, LAYOUT, case, both(*attainments), verdict()).usd_per_mtok

    seconds = INSTANCE.periods[0].seconds
    tokens = sum(c.mean_rate * c.output_tokens * seconds for c in INSTANCE.classes)
    assert usd(PLANNED, 1.0, 1.0) == pytest.approx(LAYOUT.objective_usd / tokens * 1e6)
    assert usd(PLANNED, 0.5, 0.5) == pytest.approx(2 * usd(PLANNED, 1.0, 1.0))
    more = Case("demand", 1.25, Disturbance(demand=1.25))
    assert usd(more, 1.0, 1.0) == pytest.approx(usd(PLANNED, 1.0, 1.0) / 1.25)
    assert usd(PLANNED, 0.0, 0.0) is None


def test_a_class_that_was_never_seen_is_not_the_worst_and_serves_nothing():
    classes = (seen(CLASSES[0]), seen(CLASSES[1], math.nan, requests=0, rate=0.0))
    line = judged(INSTANCE, LAYOUT, PLANNED, verdict(classes=classes), verdict())
    assert line.worst_class == CLASSES[0]
    assert line.hit_share == pytest.approx(0.69)


@pytest.mark.parametrize(("case", "left", "piled"), [
    (PLANNED, 60, False), (PLANNED, 80, True),
    (Case("throughput", 0.5, Disturbance(throughput=0.5)), 120, False),
    (Case("demand", 1.5, Disturbance(demand=1.5)), 120, True),
])
def test_a_backlog_is_more_than_the_case_explains(case, left, piled):
    assert piled_up(case, verdict(in_flight=left), verdict(in_flight=50)) is piled
    unsteady = verdict(in_flight=left, conclusive=False, passed=False, classes=both(0.9, 0.9).classes)
    assert judged(INSTANCE, LAYOUT, case, unsteady, verdict(in_flight=50)).steady is not piled


def test_cases_left_over_are_named_and_every_case_gets_as_many_requests(monkeypatch):
    told = []

    def replay(case, requests):
        told.append(requests)
        return both(0.97, 0.97)

    table = stress(INSTANCE, LAYOUT, replay)
    assert set(told) == {table.requests} == {enough(INSTANCE) // room.PART}
    assert len(table.cases) == 12
    assert table.not_done == ()
    monkeypatch.setattr(room, "SECONDS", -1.0)
    late = stress(INSTANCE, LAYOUT, replay)
    assert late.cases == ()
    assert len(late.not_done) == 12
    stopped = stress(INSTANCE, LAYOUT, replay, interrupt=lambda: True)
    assert "hits -25%" in stopped.not_done

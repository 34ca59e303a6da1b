"""Writes on average over writes at the peak: the layout's own, as the exact check counts them."""

from __future__ import annotations

import pytest

from optimizer.simulator.verdict.wear import average_over_peak, written
from optimizer.verify.writes import writes
from tests.simulator.bought import ON_B300, ON_TWO_B300, Case, solved

SOLVED = [
    ON_TWO_B300,
    (*ON_TWO_B300, "tiers.policy=exclusive"),
    (*ON_B300, "tiers.nvme.affinity=0.9", "tiers.dram.affinity=0.9"),
]


@pytest.fixture(params=SOLVED, ids=["write-through", "exclusive", "affinity"])
def case(request: pytest.FixtureRequest) -> Case:
    """A layout that writes to drives."""
    return solved(*request.param)


@pytest.mark.parametrize("mean", [False, True], ids=["peak", "mean"])
def test_writes_are_those_of_the_exact_check(case: Case, mean: bool) -> None:
    counted = {}
    for (_, store), amount in writes(case.plan, mean=mean).items():
        counted[store] = counted.get(store, 0.0) + float(amount.value)
    found = written(case.instance, case.layout, mean=mean)
    assert any(bytes_s > 0 for bytes_s in counted.values())
    for store, bytes_s in counted.items():
        assert found[store] == pytest.approx(bytes_s, rel=1e-6), store


def test_the_average_is_not_the_peak_at_another_pace() -> None:
    """At a quarter of the peak's rate a quarter of the young contexts is there, and as many old ones."""
    case = solved(*ON_TWO_B300)
    shares = average_over_peak(case.instance, case.layout)
    (nvme,) = [share for store, share in shares.items() if store.startswith("nvme@")]
    assert nvme == pytest.approx(0.25, rel=0.2)
    assert nvme != pytest.approx(0.25, rel=0.005)


def test_without_a_peak_they_are_the_same() -> None:
    case = solved("tiny", "classes.flash-chat.peak_to_mean=1", "classes.k2-agentic.peak_to_mean=1")
    for share in average_over_peak(case.instance, case.layout).values():
        assert share == pytest.approx(1.0)

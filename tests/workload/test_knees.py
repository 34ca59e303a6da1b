"""Age breakpoints: few, human, deterministic, and nearly nothing lost."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.workload import Survival, bucket_survival, knees, load_workload
from optimizer.workload.gaps import ExponentialGap, LogNormalGap, TableGap
from optimizer.workload.knees import HUMAN_AGES, candidates, loss

AGENTS = Survival(
    TableGap.through(((4.0, 0.17), (24.0, 0.66), (114.0, 0.89), (3594.0, 0.998), (86394.0, 1.0))), 0.985
)
PEOPLE = Survival(LogNormalGap(4.79, 1.16), 0.6)
SLOW = Survival(LogNormalGap(9.0, 2.0), 0.9)


def shipped() -> tuple[list[Survival], list[float]]:
    classes = load_workload("two-directions").workload.classes.values()
    pairs = [(c, b) for c in classes for b in c.contexts]
    return [bucket_survival(c, b) for c, b in pairs], [c.peak_rate * b.share for c, b in pairs]


@given(
    st.lists(
        st.builds(Survival, st.builds(ExponentialGap, st.floats(0.5, 1e6)), st.floats(0.01, 1)),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 9),
)
def test_ages_rise_from_zero_and_are_human(curves: list[Survival], count: int) -> None:
    ages = knees(curves, [1.0] * len(curves), count)
    assert ages[0] == 0
    assert 1 <= len(ages) - 1 <= count
    assert all(earlier < later for earlier, later in pairwise(ages))
    assert set(ages[1:]) <= set(HUMAN_AGES)
    assert ages == knees(curves, [1.0] * len(curves), count)


def test_one_hour_is_among_them_when_a_later_one_is() -> None:
    for count in range(2, 9):
        ages = knees([SLOW], [1.0], count)
        assert ages[-1] > 3600
        assert 3600.0 in ages


def test_no_age_lies_past_the_last_returns() -> None:
    assert knees([Survival(ExponentialGap(2.0), 0.9)], [1.0], 8)[-1] <= 15
    assert candidates([SLOW], [1.0])[-1] == 7 * 86400


@pytest.mark.parametrize("curves", [[AGENTS], [PEOPLE], [AGENTS, PEOPLE]], ids=["agents", "people", "both"])
@pytest.mark.parametrize("count", [2, 3])
def test_as_good_as_the_best_of_all_choices(curves: list[Survival], count: int) -> None:
    weights = [1.0] * len(curves)
    every = candidates(curves, weights)
    best = min(loss(curves, weights, (0.0, *some)) for some in combinations(every, count))
    assert loss(curves, weights, knees(curves, weights, count)) == pytest.approx(best, abs=1e-4)


def test_more_ages_never_lose_more() -> None:
    curves, weights = shipped()
    losses = [loss(curves, weights, knees(curves, weights, count)) for count in range(1, 10)]
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(losses))


def test_six_to_eight_ages_lose_a_thousandth_of_a_hit() -> None:
    curves, weights = shipped()
    assert loss(curves, weights, knees(curves, weights, 6)) < 2e-3
    assert loss(curves, weights, knees(curves, weights, 8)) < 1e-3
    assert knees(curves, weights, 7) == (0.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 2700.0)


def test_a_heavier_class_draws_the_ages_to_itself() -> None:
    alone = knees([AGENTS], [1.0], 4)
    assert knees([AGENTS, PEOPLE], [1000.0, 1e-6], 4) == alone


@pytest.mark.parametrize(
    ("curves", "weights", "count"), [([], [], 3), ([AGENTS], [1.0, 2.0], 3), ([AGENTS], [1.0], 0)]
)
def test_misuse_is_told(curves: list[Survival], weights: list[float], count: int) -> None:
    with pytest.raises(ValueError, match="knees needs"):
        knees(curves, weights, count)


def test_nothing_that_returns_needs_no_age_but_gets_one() -> None:
    ages = knees([Survival(ExponentialGap(10.0), 0.0)], [1.0], 5)
    assert ages[0] == 0
    assert len(ages) >= 2

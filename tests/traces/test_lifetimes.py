"""S of idle contexts where the trace ends before all have been asked for: known answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.traces.lifetimes import lifetime

SECONDS = st.lists(st.integers(0, 50).map(float), max_size=30)


def of(gaps, watched):
    return lifetime(np.array(gaps, float), np.array(watched, float))


def test_by_hand():
    """Kaplan and Meier by pencil: 6 contexts; asked for at 2, 2 and 5; cut at 3, 5 and 9.

    S(2) = 4/6; before 5 three are left (5, and those cut at 5 and 9): S(5) = 4/6 * 2/3.
    """
    life = of([2, 5, 2], [9, 3, 5])
    assert life.at(1.99) == 1.0
    assert life.at(2.0) == pytest.approx(4 / 6)
    assert life.at(4.99) == pytest.approx(4 / 6)
    assert life.at(5.0) == life.at(1e9) == pytest.approx(4 / 9)
    assert life.return_probability == pytest.approx(5 / 9)
    assert (life.longest, life.returns, life.cut) == (5.0, 3, 3)
    assert life.shares((1.0, 2.0, 10.0, 20.0)) == ((1.0, 0.0), (2.0, pytest.approx(0.6)), (10.0, 1.0))


@given(SECONDS.filter(bool))
def test_with_nothing_cut_it_is_the_empirical_distribution(gaps):
    life = of(gaps, [])
    assert life.return_probability == pytest.approx(1.0)
    for tau in (0.0, 7.0, 25.0, 60.0):
        assert life.at(tau) == pytest.approx(np.mean(np.array(gaps) > tau), abs=1e-12)


@given(SECONDS.filter(bool), SECONDS)
def test_a_cut_context_counts_for_no_more_than_it_could_have_done(gaps, cut):
    """Never S lower than with the cut ones returning at once, never higher than with none of them
    returning."""
    life = of(gaps, cut)
    everyone = len(gaps) + len(cut)
    for tau in (0.0, 7.0, 25.0, 60.0):
        late = np.sum(np.array(gaps) > tau) / everyone
        assert late - 1e-12 <= life.at(tau) <= late + len(cut) / everyone + 1e-12
    survival = [life.at(tau) for tau in range(60)]
    assert survival == sorted(survival, reverse=True)


def test_cut_at_random_times_the_truth_is_found_and_a_plain_count_is_not():
    """Gaps exponential, mean 100 s, 80% return; each context watched for 0 to 600 s."""
    rng = np.random.default_rng(1)
    number = 40_000
    gap = np.where(rng.random(number) < 0.8, rng.exponential(100.0, number), np.inf)
    watch = rng.uniform(0.0, 600.0, number)
    seen = gap <= watch
    life = lifetime(gap[seen], watch[~seen])
    assert life.return_probability == pytest.approx(0.8, abs=0.01)
    assert seen.mean() < 0.69  # blind: what is not seen to return never does
    for tau in (30.0, 100.0, 300.0):
        assert life.at(tau) == pytest.approx(0.2 + 0.8 * np.exp(-tau / 100.0), abs=0.01)


def test_a_table_has_two_points_at_least():
    assert of([0.5, 0.6], []).shares((1.0, 2.0, 3.0)) == ((1.0, 1.0), (2.0, 1.0))

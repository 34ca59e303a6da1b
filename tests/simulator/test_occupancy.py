"""Few live contexts need room for more than their mean: what the margin buys, seen request by request."""

from __future__ import annotations

import pytest

from tests.simulator.occupancy import cell

FEW, MANY, SPREAD, LIFE = 60, 3000, 0.7, 60.0


def test_a_tier_of_the_mean_catches_less_than_the_retention() -> None:
    few = cell(FEW, SPREAD, LIFE, False)
    assert few.caught.high < few.promised - 0.005


def test_with_the_margin_it_catches_what_the_retention_says() -> None:
    few = cell(FEW, SPREAD, LIFE, True)
    assert few.margin == pytest.approx(2.33 * 1.49**0.5 / 60**0.5)
    assert few.caught.mean == pytest.approx(few.promised, abs=0.005)


@pytest.mark.slow
def test_many_contexts_hardly_need_it() -> None:
    many, few = cell(MANY, SPREAD, LIFE, False), cell(FEW, SPREAD, LIFE, False)
    assert many.promised - many.caught.mean < 0.3 * (few.promised - few.caught.mean)
    assert cell(MANY, SPREAD, LIFE, True).margin < 0.06

"""Amounts whose dimension their own suffix says."""

from __future__ import annotations

import pytest

from optimizer.units import UnitError
from optimizer.units.amounts import AMOUNTS, EXAMPLES, parse_amount, written

YEAR = 365 * 86400.0


@pytest.mark.parametrize(
    ("text", "value", "dimension"),
    [
        ("3%", 0.03, "fraction"),
        (0.03, 0.03, "fraction"),
        ("$500", 500.0, "USD"),
        ("$1.5k", 1500.0, "USD"),
        ("$4,500/year", 4500 / YEAR, "USD/s"),
        ("$0.5/h", 0.5 / 3600, "USD/s"),
        ("$12/kW-month", 12 * 12 / YEAR / 1e3, "USD/W-s"),
        ("$0", 0.0, "USD"),
    ],
)
def test_the_suffix_says_what_it_is(text: object, value: float, dimension: str) -> None:
    found = parse_amount(text)
    assert found.dimension == dimension
    assert found.value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("text", ["3 GB", "20 USD", "$5/GB", "", "on", True, None, [1]])
def test_what_is_none_is_refused(text: object) -> None:
    with pytest.raises(UnitError, match="is no amount of a cost line"):
        parse_amount(text)


@pytest.mark.parametrize("text", ["-3%", "-$5", -0.1])
def test_less_than_nothing_is_refused(text: object) -> None:
    with pytest.raises(UnitError, match="less than nothing"):
        parse_amount(text)


def test_a_long_text_is_shown_short() -> None:
    with pytest.raises(UnitError) as refused:
        parse_amount("x" * 1000)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("dimension", AMOUNTS)
def test_what_is_written_is_read_back(dimension: str) -> None:
    amount = parse_amount(EXAMPLES[dimension])
    again = parse_amount(written(amount))
    assert again.dimension == amount.dimension == dimension
    assert again.value == pytest.approx(amount.value, rel=1e-12)


def test_every_kind_of_amount_has_an_example() -> None:
    assert list(EXAMPLES) == list(AMOUNTS)

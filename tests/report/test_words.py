"""Numbers as a planner reads them."""

from __future__ import annotations

import math

import pytest

from optimizer.report import words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (1328.4928, "1,328"), (32.674, "32.67"), (0.0010944, "0.001094"), (7, "7"),
        (1e9, "1,000,000,000"), (-2.5, "-2.5"), (999.96, "1,000"), (math.inf, "unlimited"),
    ],
)
def test_number(value, text):
    assert words.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (44_660_555.2, "$44,660,555"), (-2651136.6, "-$2,651,137"), (12.5, "$12.50"), (0.001, "$0.001"),
        (0, "$0"),
    ],
)
def test_usd(value, text):
    assert words.usd(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.0%"), (0.0001, "<0.1%"), (0.9999, ">99.9%"), (1.0, "100%"), (1 - 1e-12, "100%")],
)
def test_share(value, text):
    assert words.share(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(30, "30 s"), (90, "1.5 min"), (3600, "1 h"), (86400, "1 day"), (172800, "2 days"), (math.inf, "ever")],
)
def test_span(seconds, text):
    assert words.span(seconds) == text


def test_horizon():
    assert words.horizon(5 * words.YEAR) == "5 years"
    assert words.horizon(words.YEAR) == "1 year"
    assert words.horizon(18 * words.MONTH) == "18 months"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1 / 3600, "USD/s", "$1.00/h"), (0.085 / 3.6e6, "USD/J", "$0.085/kWh"),
        (1e-6, "USD/token", "$1/Mtok"), (195 / (1e3 * words.MONTH), "USD/W-s", "$195/kW-mo"),
        (3.35e12, "bytes/s", "3.35 TB/s"), (1.979e15, "FLOP/s", "1.979 PFLOP/s"),
        (2e-5, "seconds", "20 us"), (0.0055, "seconds", "5.5 ms"), (90, "seconds", "1.5 min"),
        (0.7, "fraction", "70%"), (1.3, "fraction", "1.3"), (132e3, "watts", "132 kW"),
        (8, "rack units", "8 U"), (3, "count", "3"),
    ],
)
def test_si_amounts_in_quoted_units(value, unit, text):
    assert words.si(value, unit) == text


def test_codec_of_a_location():
    assert words.codec("storage@facility+lossless-ans/kimi-k3:bf16") == "lossless-ans"
    assert words.codec("dram@HGX-B300-8") == ""

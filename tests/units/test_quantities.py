"""Suffixed quantities: read exactly, refused with the unit that would do."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from optimizer.units import DIMENSIONS, Strict, UnitError, format_bytes, parse, quantity, suffixes

READ = [
    ("141 GB", "bytes", 141e9),
    ("141GB", "bytes", 141e9),
    ("16 GiB", "bytes", 16 * 2**30),
    ("1,024 MiB", "bytes", 2**30),
    ("860_160 MiB", "bytes", 860_160 * 2**20),
    ("1e3 B", "bytes", 1e3),
    (".5 TB", "bytes", 5e11),
    ("26 GB/s", "bytes/s", 26e9),
    ("2.5 s", "seconds", 2.5),
    ("50 ms", "seconds", 0.05),
    ("5 years", "seconds", 5 * 365 * 86400),
    ("12 months", "seconds", 365 * 86400),
    ("$20/GB", "USD/byte", 2e-8),
    ("20 $/GB", "USD/byte", 2e-8),
    ("$345k", "USD", 345e3),
    ("-$5", "USD", -5),
    ("$0.085/kWh", "USD/J", 0.085 / 3.6e6),
    ("$194.95/kW-month", "USD/W-s", 194.95 / (1e3 * 365 * 86400 / 12)),
    ("$0.30/Mtok", "USD/token", 0.3e-6),
    ("20 req/s", "1/s", 20),
    ("120 req/min", "1/s", 2),
    ("128 Kitok", "tokens", 131_072),
    ("91 ktok", "tokens", 91e3),
    ("7,360 tok/s", "tokens/s", 7360),
    ("3 MW", "watts", 3e6),
    ("95%", "fraction", 0.95),
    (0.95, "fraction", 0.95),
    (3, "count", 3),
    ("1 pt", "points", 1),
    ("8 U", "rack units", 8),
    ("4.5 TFLOP", "FLOP", 4.5e12),
    ("930 kIOPS", "IO/s", 930e3),
]


@pytest.mark.parametrize(("text", "dimension", "value"), READ)
def test_read(text: object, dimension: str, value: float) -> None:
    assert parse(text, dimension) == pytest.approx(value, rel=1e-15)


REFUSED = [
    ("2.5", "seconds", '"2.5" has no unit'),
    (2.5, "seconds", '"2.5" has no unit'),
    ("141 gb", "bytes", "case matters"),
    ("141 Gb", "bytes", 'did you mean "141 GB"?'),
    ("20 GB", "seconds", '"GB" is not a unit of seconds'),
    ("20 req/s", "tokens/s", "not a unit of tokens/s"),
    ("ten s", "seconds", "not a number with a unit"),
    ("", "seconds", "not a number with a unit"),
    ("1e400 s", "seconds", "not a finite number"),
    ("nan s", "seconds", "not a number with a unit"),
    (float("inf"), "fraction", "not a finite number"),
    (True, "fraction", "found bool"),
    (None, "seconds", "found NoneType"),
    ([1], "bytes", "found list"),
    ("1 2 s", "seconds", "is not a unit"),
    ("20/GB", "USD/byte", "is not a unit"),
    ("1,5 GB", "bytes", 'has a comma that is not between thousands (did you mean "1.5 GB"?)'),
    ("1,00,000 B", "bytes", "has a comma that is not between thousands"),
    ("1,2345 B", "bytes", "has a comma that is not between thousands"),
    ("1__0 B", "bytes", "is not a unit"),
    ("\u0661\u0664 GB", "bytes", "not a number with a unit"),
    ("9e307 TB", "bytes", "not a finite number"),
    ("-9e307 TB", "bytes", "not a finite number"),
    ("50 msec", "seconds", 'did you mean "50 ms"?'),
    ("2 GBs", "bytes", 'did you mean "2 GB"?'),
    ("1 " + "x" * 1000, "bytes", 'x..." is not a unit of bytes (one of: B, '),
    ("5 pt", "fraction", "is not a unit of fraction"),
]


@pytest.mark.parametrize(("text", "dimension", "message"), REFUSED)
def test_refused(text: object, dimension: str, message: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse(text, dimension)
    assert message in str(caught.value)


def test_a_long_text_is_cut_in_the_message() -> None:
    with pytest.raises(UnitError) as caught:
        parse("x" * 10_000, "seconds")
    assert len(str(caught.value)) < 200


UNITS = [(dimension, suffix) for dimension, table in DIMENSIONS.items() for suffix in table]


@pytest.mark.parametrize(("dimension", "suffix"), UNITS)
def test_every_suffix_reads_back_its_own_factor(dimension: str, suffix: str) -> None:
    assert parse(f"1 {suffix}".strip(), dimension) == DIMENSIONS[dimension][suffix]


@pytest.mark.parametrize("dimension", [name for name, table in DIMENSIONS.items() if "" not in table])
def test_a_bare_number_is_refused_with_a_suggestion_that_is_accepted(dimension: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse("7", dimension)
    suggested = str(caught.value).split('did you mean "')[1].rstrip('"?)')
    assert parse(suggested, dimension) > 0


@given(st.floats(min_value=1e-3, max_value=1e9), st.sampled_from(suffixes("bytes")))
def test_scale_is_linear(number: float, suffix: str) -> None:
    assert parse(f"{number!r} {suffix}", "bytes") == pytest.approx(number * DIMENSIONS["bytes"][suffix])


@given(st.text(max_size=40), st.sampled_from(list(DIMENSIONS)))
def test_any_text_is_read_or_refused(text: str, dimension: str) -> None:
    with contextlib.suppress(UnitError):
        parse(text, dimension)


def test_memory_prints_in_both_units() -> None:
    assert format_bytes(141e9) == "141.0 GB (131.3 GiB)"
    assert format_bytes(8.4e12) == "8.40 TB (7.64 TiB)"


class Sample(Strict):
    ttft: quantity("seconds", gt=0)  # type: ignore[valid-type]


def test_a_field_reads_si_and_keeps_its_bounds() -> None:
    assert Sample.model_validate({"ttft": "250 ms"}).ttft == 0.25
    with pytest.raises(ValidationError, match="greater than 0"):
        Sample.model_validate({"ttft": "0 s"})
    with pytest.raises(ValidationError, match="has no unit"):
        Sample.model_validate({"ttft": 1})


def test_a_strict_model_is_closed_and_frozen() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Sample.model_validate({"ttft": "1 s", "tpot": "1 s"})
    with pytest.raises(ValidationError, match="frozen"):
        Sample.model_validate({"ttft": "1 s"}).ttft = 2.0

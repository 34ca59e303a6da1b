"""The patterns of quantities accept what the parser reads, and nothing else."""

from __future__ import annotations

import math
import random
import re
from typing import Any

import pytest

from optimizer.units import DIMENSIONS, UnitError, parse, pattern

BOUNDS: list[dict[str, Any]] = [{}, {"least": 0.0}, {"above": 0.0}, {"least": 0.0, "above": 0.0}]
NUMBERS = (
    *("1", "0", "2.5", ".5", "5.", "1,000", "12,345.67", "1,5", "1,00", "1_000", "1__0", "00", "0.0", "1e3"),
    *("2.5e-3", "1E+2", "e3", "1e", "1.2.3", "+3", "-3", "--3", "", ".", "1,234,567", "1234,567", "0_1"),
    *("0,001", "0e5", "٣", "1 2", "0x1", "1,2345"),
)  # fmt: skip
STRANGE = {"gb", "Gb", "$$", "x", "€"}
ALL_SUFFIXES = sorted({suffix for table in DIMENSIONS.values() for suffix in table} | STRANGE)
FORMS = (
    *("{n}{u}", "{n} {u}", " {n} {u} ", "${n}{u}", "-${n}{u}", "$-{n} {u}", "$ {n}{u}", "{n}\n{u}"),
    "+${n}{u}",
)


def admitted(text: str, dimension: str, least: float | None = None, above: float | None = None) -> bool:
    """Whether the parser reads the text as a quantity within the bounds."""
    try:
        value = parse(text, dimension)
    except UnitError:
        return False
    low = least is None or value > least or (value == least and math.copysign(1.0, value) > 0)  # not -0
    return low and (above is None or value > above)


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_a_pattern_accepts_what_is_read_within_the_bounds(dimension: str, bounds: dict[str, Any]) -> None:
    known = re.compile(pattern(dimension, **bounds))
    rng = random.Random(f"{dimension}{bounds}")
    own = list(DIMENSIONS[dimension])
    seen = {True: 0, False: 0}
    for _ in range(300):
        unit = rng.choice(own if rng.random() < 0.7 else ALL_SUFFIXES)
        form = rng.choice(FORMS)
        text = form.format(n=rng.choice(NUMBERS), u=unit.removeprefix("$") if "$" in form else unit)
        wanted = admitted(text, dimension, **bounds)
        seen[wanted] += 1
        assert bool(known.search(text)) == wanted, text
    assert min(seen.values()) > 20


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_a_pattern_is_one_of_ecmascript_with_its_flag_u(dimension: str) -> None:
    """Only characters that need it are escaped, and only with escapes that both dialects know."""
    found = pattern(dimension, above=0.0)
    assert set(re.findall(r"\\(.)", found)) <= {"s", "$", "+", "."}
    assert "(?<" not in found

"""docs/laws.md is what the laws say, and every law says it in full."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from optimizer.formulation import LAWS, Law, write
from optimizer.formulation.table import markdown, mathematics, sentence
from tests.formulation.small import EXCLUSIVE, WRITE_THROUGH

SIZES = {"GB": 1e9, "TB": 1e12, "kW": 1e3, "thousand": 1e3, "ms": 1e-3}
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.row)


def test_page_is_what_the_laws_say(root: Path) -> None:
    written = (root / "docs" / "laws.md").read_text(encoding="utf-8")
    assert written == markdown(), "python -m optimizer.formulation.table > docs/laws.md"


def test_every_law_has_its_own_rows_and_its_line_on_the_page() -> None:
    families = [law.row for law in LAWS]
    assert len(families) == len(set(families))
    on_the_page = re.findall(r"^\| [A-Z].*?\. \| `(\w+)` \|", markdown(), re.MULTILINE)
    assert on_the_page == families


@each_law
def test_law_says_why(law: Law) -> None:
    assert re.fullmatch(r"[A-Z].{10,}\.", sentence(law))


@each_law
def test_law_has_mathematics_with_a_unit(law: Law) -> None:
    """One relation at least, and its unit in brackets at the end."""
    assert re.fullmatch(r".*[<>]?= .*\[[^\[\]]+\]", mathematics(law))


@each_law
def test_law_says_what_its_price_means(law: Law) -> None:
    assert len(law.price) > 8
    assert not law.price.endswith(".")


@each_law
def test_rows_are_in_their_unit(law: Law) -> None:
    """The factor that the rows are divided by is the one that the unit's name promises."""
    assert law.size == SIZES.get(law.unit.split(" ")[0].split("/")[0], 1.0)


@pytest.mark.parametrize("law", [law for law in LAWS if law.row != "user"], ids=lambda law: law.row)
def test_rows_record_the_unit_of_their_law(law: Law) -> None:
    """What the planner wrote is in no unit of ours: see below."""
    units = [write(instance).units[law.row] for instance in (WRITE_THROUGH, EXCLUSIVE)]
    assert any(units)
    assert {size for written in units for size in written.values()} == {law.size}


def test_user_row_records_its_largest_coefficient() -> None:
    """A storage node counts two and has 360 TB of flash; a DRAM node has 6 TB."""
    assert write(WRITE_THROUGH).units["user"] == {
        ("fleet", "max"): 2.0,
        ("memory", "min"): 6.0,
        ("flash", "min"): 360.0,
        ("flash", "max"): 360.0,
    }


@each_law
def test_law_is_one_short_function_of_the_same_name(law: Law) -> None:
    lines = inspect.getsource(law.body).splitlines()
    body = lines[next(i for i, line in enumerate(lines) if line.startswith("def ")) :]
    assert law.body.__name__ == law.row
    assert 5 <= len(body) <= 40

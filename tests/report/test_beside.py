"""What stands beside a layout, as a planner reads it."""

from __future__ import annotations

import pytest

from optimizer.design.comparisons.result import Comparisons, Neighbour
from optimizer.report.comparisons import between, name
from optimizer.report.console import page, reasons
from tests.report.beside import comparisons, question
from tests.report.fixtures import made
from tests.report.test_page import text_of


def block(render=page, **changes):
    """The lines of the block, blanks as one."""
    text = text_of(render(made(comparisons=comparisons(**changes))))
    inside = text[text.index("Beside it"):]
    return [" ".join(line.split()) for line in inside[:inside.index("Remarks")].splitlines()]


@pytest.mark.parametrize(("low", "high", "words"), [
    (10_000.0, 25_000.0, "$10,000 to $25,000 more"),
    (-25_000.0, -10_000.0, "$10,000 to $25,000 less"),
    (25_000.0, 25_000.0, "$25,000 more"),
    (0.0, 25_000.0, "within the gaps ($0 to $25,000)"),
    (-10.0, 25.0, "within the gaps (-$10.00 to $25.00)"),
    (0.0, 0.0, "the same cost"),
    (10_000.0, None, "at least $10,000 more"),
    (0.0, None, "not known"),
    (-5.0, None, "not known"),
    (None, 25_000.0, "at most $25,000 more"),
    (None, None, ""),
])
def test_the_dollars_between_two_answers(low, high, words):
    seen = Neighbour(change="baseline", status="limit", least_extra_usd=low, most_extra_usd=high)
    assert between(seen) == words


def test_a_difference_within_the_gaps_is_never_called_one():
    for low, high in ((0.0, 9.0), (-3.0, 4.0)):
        seen = Neighbour(change="baseline", status="limit", least_extra_usd=low, most_extra_usd=high)
        assert seen.within_gaps
        assert "within the gaps" in between(seen)
    assert not Neighbour(change="x", status="limit", least_extra_usd=1.0, most_extra_usd=2.0).within_gaps


@pytest.mark.parametrize(("change", "words"), [
    ("baseline", "usual machines, no tiers"), ("without dram", "without more DRAM"),
    ("without nvme", "without NVMe"), ("without dram_pool", "without DRAM pool"),
    ("low performance", "performance at the low end"),
])
def test_names(change, words):
    assert name(Neighbour(change=change, status="same")) == words


def test_every_question_that_was_searched_has_a_line():
    lines = block()
    assert "as asked: this layout $4,874,849 0.51%" in lines
    assert "usual machines, no tiers $6,100,000 0.82% $1,175,151 to $1,250,000 more" in lines
    assert "without CXL $5,400,000 7.41% $125,151 to $550,000 more" in lines
    assert "performance at the high end $3,900,000 0.00% $950,000 to $974,849 less" in lines


def test_no_layout_is_an_answer_with_its_reason():
    text = " ".join(block())
    assert "without more DRAM - - infeasible; power[now]: have 200, need 215.5 kW of IT load" in text
    late = "performance at the low end - - no layout was found in its part of the time"
    assert f"{late} (at least $1,025,151 more)" in text


def test_what_needed_no_search_is_one_line():
    lines = block()
    assert "- DRAM pool: not on offer" in lines
    assert "- NVMe: not bought: the same layout without" in lines


def test_a_cheaper_layout_under_a_restriction_is_confessed():
    confession = "without storage: cheaper than the answer, within its gap"
    assert confession in " ".join(block())
    dearer = [question("without storage", "within_gap", 4_900_000.0, 4_860_000.0)]
    assert confession not in " ".join(block(without=dearer))


def test_rent_and_bill_name_what_they_lack():
    text = "\n".join(block())
    assert "48 B300-SXM $4,857,496 $8,177,602 $13,084,164 $4,400,000" in text
    assert "agents flash, off-peak $7,000,000 $2,000,000 3.50" in text
    assert "flash, peak $14,000,000 7.00" in text
    assert "- RUBIN-CPX: no rent is quoted" in text
    assert "- kimi-k3: no API price is known" in text


def test_explain_adds_machines_factors_and_rules():
    full, short = "\n".join(block(reasons)), "\n".join(block())
    for line in (
        "- usual machines, no tiers: 8 HGX-B300-8 of 3.072 TB; flash fp8, kimi-k3 bf16",
        "- B300-SXM hbm: 38%; 26.6% at the low end, 49.4% at the high end",
        "- B300-SXM step_overhead: 5.5 ms; 7.857 ms at the low end, 4.231 ms at the high end",
        "Rent: Every hour of the horizon. Bill: Spread evenly.",
    ):
        assert line in full
        assert line not in short


def test_a_result_without_comparisons_has_no_block():
    assert "Beside it" not in text_of(page(made(comparisons=None)))


def test_it_stands_in_result_json():
    result = made(comparisons=comparisons())
    again = type(result).model_validate_json(result.model_dump_json(by_alias=True))
    assert again.comparisons == Comparisons.model_validate(comparisons())

"""docs/catalogue.md is what the cards say: every figure can be read back from it, and its counts add up."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from optimizer.catalog import Figure, ModelOption, Price, figures_in, load_catalog
from optimizer.report.card_rows import KINDS, cards
from optimizer.report.catalogue import markdown
from optimizer.report.exact import exact, stated
from optimizer.units import parse
from tests.docs.markdown import page, section, sections, table

CATALOG = load_catalog()
TEXT = page("catalogue.md")
BODIES = dict(sections(TEXT))
BLOCKS = {
    **{
        getattr(part, "id", getattr(part, "tier", name)): part
        for name in KINDS
        for block in [getattr(CATALOG.devices, name)]
        for part in (block if isinstance(block, tuple) else [block])
    },
    **{"network": CATALOG.devices.network, "facility": CATALOG.devices.facility},
    **CATALOG.models,
}
"""Heading of a card -> the card, found without the generator."""
FIGURES = [(where, name, block) for where, card in BLOCKS.items() for name, block in figures_in(card)]
TOKEN_PRICE = 1e6  # printed per million tokens


def rows_of(where: str) -> dict[str, list[str]]:
    """Figure -> value, basis, source, date, note, as they stand on the page."""
    return {name: cells for name, *cells in table(BODIES[where], "figure")}


ROWS = {where: rows_of(where) for where in BLOCKS}


def test_the_page_is_written_anew_after_every_change_of_a_card():
    assert markdown(CATALOG) == TEXT, "python -m optimizer.report.catalogue > docs/catalogue.md"


def test_no_card_is_missing():
    assert len(BLOCKS) == len(cards(CATALOG))
    assert set(BLOCKS) <= set(BODIES)
    assert len(FIGURES) == sum(
        len(list(figures_in(block))) for block in [CATALOG.devices, *CATALOG.models.values()]
    )


def test_every_figure_stands_on_the_page_with_all_that_is_known_about_it():
    for where, name, block in FIGURES:
        _, basis, source, date, note = ROWS[where][name]
        expected = "" if isinstance(block, ModelOption) else block.basis.value
        assert (basis, source, date) == (expected, block.source, getattr(block, "date", "")), (where, name)
        assert note.replace("\\|", "|") == block.note.strip(), (where, name)


def test_every_number_can_be_read_back():
    """With the parser of the cards: no digit is lost, no unit missing."""
    read = 0
    for where, name, block in FIGURES:
        text = ROWS[where][name][0]
        if isinstance(block, Figure):
            assert parse(text, block.unit) == pytest.approx(block.value, rel=1e-11), (where, name)
        elif isinstance(block, Price):
            base, _, band = text.partition(" (")
            low, _, high = band.rstrip(")").partition(" to ") if band else (base, "", base)
            found = [parse(part, block.unit) for part in (low, base, high)]
            assert found == pytest.approx([block.low, block.base, block.high], rel=1e-11), (where, name)
        else:
            continue
        read += 1
    assert read > len(FIGURES) / 2


def numbers(value: object) -> list[float]:
    """Every number a card gives in a block, in mappings and lists too."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, (int, float)):
        return [float(value)]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [number for part in parts for number in numbers(part)]


def test_no_number_of_a_block_is_lost():
    """Profiles of a component, geometry of attention, ratios of a codec: all in its one row."""
    for where, name, block in FIGURES:
        if isinstance(block, (Figure, Price)):
            continue
        shown = {float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", ROWS[where][name][0])}
        for field in block.model_fields_set:
            factor = TOKEN_PRICE if field in ("cached", "missed", "output") else 1.0
            for number in numbers(getattr(block, field)):
                assert any(n == pytest.approx(number * factor) for n in shown), (where, name, field, number)


def test_counts_without_a_source_stand_there_too():
    assert "- drive_bays 10" in BODIES["HGX-H100-8"].splitlines()
    assert "- ports 16" in BODIES["XC50256-POOL"].splitlines()
    assert "- fixed_memory.pool" not in BODIES["GB200-NVL72-RACK"]
    populations = next(x for x in BODIES["HGX-H100-8"].splitlines() if x.startswith("- populations"))
    assert populations.count(" x ") == len(CATALOG.server("HGX-H100-8").populations)
    shapes = next(x for x in BODIES["kimi-k3"].splitlines() if x.startswith("- shapes"))
    assert shapes.count(" as TP ") == len(CATALOG.model("kimi-k3").shapes)


COUNTED = Counter(block.basis.value for _, _, block in FIGURES if not isinstance(block, ModelOption))
BASES = ("measured", "vendor", "estimated")


def test_the_summary_adds_up():
    summary = section(TEXT, "Summary")
    (said,) = re.findall(
        r"\*\*([\d,]+) figures on ([\d,]+) cards: ([\d,]+) measured .* ([\d,]+) vendor .* ([\d,]+) estimated",
        summary,
    )
    figures, held, *by_basis = (int(n.replace(",", "")) for n in said)
    assert by_basis == [COUNTED[basis] for basis in BASES]
    assert figures == sum(by_basis)
    assert held == len(BLOCKS)
    *kinds, total = ([int(c.replace(",", "")) for c in cells] for _, *cells in table(summary, "kind"))
    assert [sum(column) for column in zip(*kinds, strict=True)] == total == [held, figures, *by_basis]


def test_every_card_says_how_many_it_has():
    for where, card in BLOCKS.items():
        counts = Counter(b.basis.value for _, b in figures_in(card) if not isinstance(b, ModelOption))
        shares = ", ".join(f"{counts[basis]} {basis}" for basis in BASES if counts[basis])
        total = sum(counts.values())
        assert f"{total} figure{'' if total == 1 else 's'}: {shares}." in BODIES[where], where
        assert ("**Off** by default." in BODIES[where]) == (not getattr(card, "enabled", True)), where


def test_the_estimates_are_all_listed_and_counted():
    body = section(TEXT, "Estimates")
    listed = {where: (int(count), which) for where, count, which in table(body, "card")}
    assert sum(count for count, _ in listed.values()) == COUNTED["estimated"]
    assert f"All {COUNTED['estimated']:,}, by card" in body
    for where, name, block in FIGURES:
        if not isinstance(block, ModelOption) and block.basis.value == "estimated":
            assert name in re.findall(r"(?:^|; )(\S+)", listed[where][1]), (where, name)


def test_every_source_is_explained():
    body = section(TEXT, "Sources")
    assert {key for _, _, block in FIGURES for key in [block.source] if f"| {key} |" not in body} == set()


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (15482880 * 2**20, "bytes", "16,234.97637888 GB"), (7008e12, "bytes", "7,008 TB"),
        (2.0, "bytes", "2 B"), (22 * 2**20, "bytes", "23.068672 MB"), (28e12, "bytes/s", "28,000 GB/s"),
        (1.47 / 3600, "USD/s", "$1.47/h"), (2.6 / 3600, "USD/s", "$2.60/h"),
        (345_000.0, "USD", "$345,000"), (11.73e-6, "seconds", "11.73 us"),
        (750e-9, "seconds", "750 ns"), (0.085 / 3.6e6, "USD/J", "$0.085/kWh"), (1.54, "fraction", "1.54"),
        (0.39, "fraction", "39%"), (104e9, "count", "104,000,000,000"), (10200.0, "watts", "10.2 kW"),
    ],
)  # fmt: skip
def test_a_number_is_written_in_full_and_read_back(value, unit, text):
    assert exact(value, unit) == text
    assert parse(text, unit) == pytest.approx(value, rel=1e-12)


def test_a_price_without_a_range_is_one_number():
    tco = CATALOG.accelerator("H100-SXM").tco["neocloud_4yr"]
    assert stated(tco) == "$1.69/h"
    assert stated(CATALOG.server("HGX-H100-8").price) == "$300,000 ($250,000 to $345,000)"

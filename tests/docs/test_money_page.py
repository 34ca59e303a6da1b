"""docs/money.md lists every cost line as its card has it, and says what is true of the cards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimizer.catalog import Per, load_catalog
from optimizer.files import read_text_yaml
from optimizer.instance.money.lines import every
from optimizer.instance.money.ownership import TOLERANCE, out_of_order, ownership
from optimizer.units.amounts import parse_amount
from optimizer.workload import Workload
from optimizer.workload.economics import Economics

from .markdown import ROOT, blocks, page, quoted, section, table

CATALOG = load_catalog()
LINES = every(CATALOG.devices)
TEXT = page("money.md")
ROWS = table(section(TEXT, "Cost lines"), "line")
WORDS = " ".join(TEXT.split())


def test_every_line_has_a_row() -> None:
    assert [quoted(row[0]) for row in ROWS] == [[name] for name in LINES]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_is_its_card(row: list[str]) -> None:
    card = LINES[quoted(row[0])[0]]
    stated = parse_amount(row[3])
    assert row[1] == (f"{card.per.value}, two" if card.count == 2 else card.per.value)
    assert row[2] == card.paid.value
    assert stated.dimension == card.dimension
    assert stated.value == pytest.approx(card.price.base)
    assert row[4].startswith("on" if card.enabled else "off")
    assert ("estimate" in row[4]) <= (card.price.basis == "estimated")


def test_the_example_is_read() -> None:
    (block,) = [b for b in blocks(ROOT / "docs" / "money.md") if b.info == "yaml"]
    economics = Economics.model_validate(read_text_yaml(block.text, "money.md").data["economics"])
    assert {name: choice.on for name, choice in economics.lines.items()} == {
        "software-licence": True, "support": True, "switch-ports": True, "freight": False,
    }  # fmt: skip
    for name, choice in economics.lines.items():
        assert choice.amount is None or choice.amount.dimension == LINES[name].dimension


def test_what_is_said_of_the_published_figures() -> None:
    rows = ownership(CATALOG)
    assert all(abs(row.deviation) <= TOLERANCE for row in rows) == ("All figures lie within 25%" in WORDS)
    assert not list(out_of_order(rows))
    rack = CATALOG.server("GB200-NVL72-RACK").price
    low, base, high = (f"${usd / 1e6:.1f}M" for usd in (rack.low, rack.base, rack.high))
    assert f"{base} inside a band of {low} to {high}" in WORDS
    assert rack.low < 3.98e6 < rack.base
    assert "below $3.98M an accelerator" in WORDS


@pytest.mark.parametrize(
    ("server", "price", "kept"),
    [("GB200-NVL72-RACK", 3.99e6, True), ("GB200-NVL72-RACK", 3.97e6, False)],
)
def test_where_the_order_turns(server: str, price: float, kept: bool) -> None:
    servers = tuple(
        s.model_copy(update={"price": s.price.model_copy(update={"base": price})}) if s.id == server else s
        for s in CATALOG.devices.servers
    )
    catalog = replace(CATALOG, devices=CATALOG.devices.model_copy(update={"servers": servers}))
    assert (not list(out_of_order(ownership(catalog)))) is kept


def test_the_keys_that_exclude_each_other_are_keys() -> None:
    rows = table(section(TEXT, "One basis"), "question")
    named = {word for row in rows for cell in row for word in quoted(cell)}
    keys = {f"prices.{name}" for name in type(Workload.model_fields["prices"].default).model_fields}
    assert {word for word in named if word.startswith("prices.")} <= keys
    assert {word for word in named if word.startswith("colocation_")} <= {
        *Economics.model_fields, "colocation_includes_energy: true",
    }  # fmt: skip


def test_shares_are_of_what_the_page_says() -> None:
    assert {card.per for card in LINES.values()} == set(Per)

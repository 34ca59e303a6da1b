"""Cards of cost lines: what fits together, what ships on, and what is refused."""

from __future__ import annotations

import pytest

from optimizer.catalog import Basis, CostCard, Paid, Per, load_catalog
from optimizer.errors import InputError
from optimizer.instance.money.lines import every

DEVICES = load_catalog().devices
LINES = every(DEVICES)
STANDING = {"switch-ports", "optics", "cluster-network", "racks"}
"""Lines that were paid before they had cards; every other waits for the planner."""

CARD = """\
cost_lines:
  - id: porters
    what: people who carry
    per: {per}
    paid: {paid}
    price: {{low: {low}, base: {base}, high: {base}, source: "https://e.org/x", date: "2026", basis: vendor}}
"""


def problems(folder, text: str) -> list[str]:
    (folder / "devices").mkdir()
    (folder / "devices" / "mine.yaml").write_text(text)
    with pytest.raises(InputError) as refused:
        load_catalog(folder)
    return [str(problem) for problem in refused.value.problems]


def test_a_line_without_a_source_ships_off() -> None:
    estimated = {name for name, card in LINES.items() if card.price.basis is Basis.ESTIMATED}
    assert {name for name in estimated if LINES[name].enabled} == {"optics", "racks"}
    assert {name for name, card in LINES.items() if card.enabled} == STANDING


@pytest.mark.parametrize("card", LINES.values(), ids=LINES)
def test_a_line_that_is_off_says_why(card: CostCard) -> None:
    assert card.enabled or "off by default" in card.price.note


@pytest.mark.parametrize("card", LINES.values(), ids=LINES)
def test_every_line_is_paid_in_money(card: CostCard) -> None:
    assert card.price.unit == card.dimension
    assert 0 <= card.price.low <= card.price.base <= card.price.high
    assert card.component == card.id.replace("-", " ")


def test_two_optics_a_link() -> None:
    assert (LINES["optics"].per, LINES["optics"].count) == (Per.LINK, 2)


def test_spares_are_the_failures_of_llama_3() -> None:
    """148 GPU and 72 HBM interruptions in 54 days on 16,384 accelerators, by the year."""
    rate = (148 + 72) / 16_384 * 365 / 54
    assert LINES["spares"].price.base == pytest.approx(rate, abs=0.005)
    assert (LINES["spares"].per, LINES["spares"].paid) == (Per.ACCELERATOR_PRICE, Paid.YEARLY)


def test_a_licence_is_in_no_contract() -> None:
    assert [name for name, card in LINES.items() if not card.in_contract] == ["software-licence"]


@pytest.mark.parametrize(
    ("per", "paid", "low", "base", "said"),
    [
        ("link", "once", "3%", "4%", 'what is charged per link, paid once, is written like "$500"'),
        ("server", "yearly", "$3", "$4", 'charged per server, paid yearly, is written like "$4,500/year"'),
        ("equipment price", "yearly", "$3", "$4", 'equipment price, paid yearly, is written like "3%"'),
        ("reserved kW", "yearly", "$3", "$4", 'is written like "$12/kW-month"'),
        ("reserved kW", "once", "$3/kW-month", "$4/kW-month", "reserved power is paid yearly"),
        ("server", "once", "$3", "$4/year", "low, base and high are not of one kind: USD, USD/s"),
        ("server", "once", "3 GB", "$4", 'low: "3 GB" is no amount of a cost line'),
        ("sever", "once", "$3", "$4", 'did you mean "server"?'),
    ],
)  # fmt: skip
def test_a_card_that_contradicts_itself_is_refused(tmp_path, per, paid, low, base, said) -> None:
    (problem,) = problems(tmp_path, CARD.format(per=per, paid=paid, low=low, base=base))
    assert "mine.yaml:" in problem
    assert said in problem


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("    equipment: true\n", "equipment is bought once, and is no share of the equipment price"),
        ("    lead_time: {low: 1 month, base: 1 month, high: 2 months, source: \"https://example.org/x\", "
         "date: \"2026\", basis: vendor}\n", "a deposit is a share of the equipment price, paid once"),
    ],
)  # fmt: skip
def test_a_yearly_share_is_neither_equipment_nor_deposit(tmp_path, more, said) -> None:
    card = CARD.format(per="equipment price", paid="yearly", low="1%", base="2%")
    (problem,) = problems(tmp_path, card + more)
    assert said in problem


def test_a_planners_card_adds_a_line(tmp_path) -> None:
    (tmp_path / "devices").mkdir()
    card = CARD.format(per="server", paid="once", low="$3", base="$4")
    (tmp_path / "devices" / "mine.yaml").write_text(card)
    assert every(load_catalog(tmp_path).devices).keys() == {*LINES, "porters"}


def test_a_network_needs_a_share_of_servers(tmp_path) -> None:
    card = CARD.format(per="server", paid="once", low="$3", base="$4").replace("cost_lines:\n  - ", "")
    share = "\n".join("    " + line.strip() for line in card.splitlines())
    (problem,) = problems(tmp_path, f"network:\n  itemised: []\n  share:\n{share}\n")
    assert "the share basis of the network is per server price" in problem

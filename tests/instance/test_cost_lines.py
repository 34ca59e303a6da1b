"""Every cost line, switched on, is what its card says times what it is charged for, under its own name."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import pytest

from optimizer.catalog import CostCard, Paid, Per, Preset
from optimizer.errors import InputError, Problem
from optimizer.files import data_path, read_text_yaml
from optimizer.instance import Build, CostLine
from optimizer.instance.build import build
from optimizer.instance.hardware import Market
from optimizer.instance.money.lines import every
from optimizer.instance.types import Enclosure
from optimizer.workload import loaded
from tests.instance.shipped import ALL_TIERS, CATALOG, built, refused, workload

LINES = every(CATALOG.devices)
OTHERS = {name: card for name, card in LINES.items() if name != "cluster-network"}
COSTS = ("enclosure_cost", "module_cost", "adapter_cost")
STANDING = {"maintenance", "energy", "space", "residual value"}
YEARS = 5.0
RATE = 0.09
WORTH = (1 - (1 + RATE) ** -YEARS) / RATE
DISCOUNTED = (1 + RATE) ** -YEARS
SOLD = 0.30 ** (60 / 36) * DISCOUNTED
SECONDS_A_YEAR = 365 * 86400.0


def usd(cost: tuple[CostLine, ...]) -> dict[str, float]:
    """Dollars by component."""
    return {line.component: line.usd for line in cost}


@cache
def market(*overrides: str) -> tuple[tuple[Build, ...], tuple[Enclosure, ...]]:
    """Every machine and CXL pool of a study, priced."""
    found = Market(workload(*overrides), CATALOG)
    return found.builds(), found.enclosures()


def asked(card: CostCard, on: object = "on", *more: str) -> tuple[str, ...]:
    return (*ALL_TIERS, f"economics.lines={json.dumps({card.id: on})}", *more)


def without(card: CostCard) -> tuple[str, ...]:
    return asked(card, "off")


def number(card: CostCard, machine: Build) -> float:
    """How much of what a line is charged for a machine has, from the cards."""
    server = CATALOG.server(machine.server)
    bought = {"accelerator servers", "dram nodes", "storage nodes", "dram", "nvme", "switch ports", "optics"}
    module = CATALOG.accelerator(server.accelerator).module_price.base if server.accelerator else 0.0
    return {
        Per.ACCELERATOR: server.accelerators,
        Per.SERVER: 1,
        Per.LINK: server.nic_links,
        Per.RACK: server.rack_units.value / CATALOG.devices.facility.rack_height.value,
        Per.RESERVED_POWER: machine.power_w,
        Per.SERVER_PRICE: server.price.base,
        Per.ACCELERATOR_PRICE: server.accelerators * module,
        Per.EQUIPMENT_PRICE: sum(v for k, v in usd(machine.cost).items() if k in bought),
    }[card.per]


def figure(card: CostCard) -> float:
    """Dollars for one of what it is charged for over the horizon, from the card at its base."""
    base = card.price.base * card.count
    if card.paid is Paid.YEARLY:
        return base * WORTH * (1.0 if card.per.is_share else SECONDS_A_YEAR)
    return base * (1.09 ** (4 / 12) - 1) if card.lead_time else base


@pytest.mark.parametrize("name", OTHERS)
def test_a_line_adds_its_own_component(name: str) -> None:
    """And no other, but that equipment is also kept up, powered, housed and sold."""
    card = LINES[name]
    (off, _), (on, _) = market(*without(card)), market(*asked(card))
    assert off
    for old, new in zip(off, on, strict=True):
        before, after = usd(old.cost), usd(new.cost)
        added = figure(card) * number(card, old)
        assert card.component not in before
        assert after.get(card.component, 0.0) == pytest.approx(added, rel=1e-9)
        changed = {k for k in {*before, *after} if before.get(k) != after.get(k)} - {card.component}
        assert changed <= (STANDING if card.equipment else set())
        assert new.capex_usd - old.capex_usd == pytest.approx(
            added if card.paid is Paid.ONCE else 0.0, abs=1e-6
        )
        if card.equipment:
            assert after["maintenance"] - before["maintenance"] == pytest.approx(added * 0.04 * WORTH)
            assert after["residual value"] - before["residual value"] == pytest.approx(-added * SOLD)
            watts = card.power.value * card.count * number(card, old) if card.power else 0.0
            assert new.power_w - old.power_w == pytest.approx(watts)
            rent = watts * 195 * 12 / 1e3 * WORTH
            assert after["space"] - before["space"] == pytest.approx(rent, abs=1e-6)


@pytest.mark.parametrize("name", OTHERS)
def test_a_line_reaches_cxl_parts_that_it_is_a_share_of(name: str) -> None:
    card = LINES[name]
    (_, off), (_, on) = market(*without(card)), market(*asked(card))
    assert off
    for old, new in zip(off, on, strict=True):
        for field, bought in zip(COSTS, old.capex_usd, strict=True):
            before, after = usd(getattr(old, field)), usd(getattr(new, field))
            share = bought if card.per is Per.EQUIPMENT_PRICE else _of_enclosure(card, old, field)
            assert after.pop(card.component, 0.0) == pytest.approx(figure(card) * share)
            assert after == before


def _of_enclosure(card: CostCard, enclosure: Enclosure, field: str) -> float:
    part = COSTS.index(field)
    if card.per is Per.RACK and part == 0:
        return enclosure.rack_units / CATALOG.devices.facility.rack_height.value
    return enclosure.power_w[part] if card.per is Per.RESERVED_POWER else 0.0


def test_the_percentage_replaces_the_items() -> None:
    """The 12% that has always been there, under its name; its parts have neither power nor names."""
    card = LINES["cluster-network"]
    for machine in market(*ALL_TIERS, "economics.network=percent")[0]:
        costs = usd(machine.cost)
        assert costs["cluster network"] == pytest.approx(0.12 * CATALOG.server(machine.server).price.base)
        assert not {"switch ports", "optics"} & set(costs)
    assert card.price.base == 0.12


def test_racks_stand_in_an_own_building() -> None:
    (hosted, _), (own, _) = market(*ALL_TIERS), market(*ALL_TIERS, "economics.space=owned-building")
    for theirs, ours in zip(hosted, own, strict=True):
        assert "racks" not in usd(theirs.cost)
        racks = 5000 * CATALOG.server(ours.server).rack_units.value / 48
        assert usd(ours.cost)["racks"] == pytest.approx(racks)
        assert "space" not in usd(ours.cost)
        assert ours.capex_usd - theirs.capex_usd == pytest.approx(racks)


@pytest.mark.parametrize(
    ("name", "own", "by"),
    [
        ("support", "1.5%", 0.5), ("software-licence", "$9,000/year", 2.0), ("freight", 0.03, 3.0),
        ("switch-ports", "$1126", 2.0), ("liquid-cooling", "$20/kW-month", 2.0), ("deposit", "60%", 2.0),
        ("cluster-network", "6%", 0.5),
    ],
)  # fmt: skip
def test_a_planners_own_figure(name: str, own: object, by: float) -> None:
    card = LINES[name]
    basis = ("economics.network=percent",) if name == "cluster-network" else ()
    (plain, _), (mine, _) = market(*asked(card, "on", *basis)), market(*asked(card, own, *basis))
    amounts = [[usd(b.cost).get(card.component, 0.0) for b in builds] for builds in (plain, mine)]
    assert any(amounts[0])
    assert amounts[1] == pytest.approx([by * amount for amount in amounts[0]])


@pytest.mark.parametrize("preset", list(Preset))
def test_a_line_follows_the_price_preset(preset: Preset) -> None:
    card = LINES["freight"]
    (machine, *_), _ = market(*asked(card, "on", f"economics.prices={preset.value}"))
    costs = usd(machine.cost)
    bought = sum(costs[k] for k in ("accelerator servers", "dram", "switch ports", "optics"))
    assert costs["freight"] == pytest.approx(card.price.at(preset) * bought)


def test_a_switch_may_be_written_either_way() -> None:
    card = LINES["support"]
    assert market(*asked(card, True)) == market(*asked(card, "on"))
    assert market(*asked(card, False)) == market(*ALL_TIERS)


def test_a_deposit_lies_idle_for_the_lead_time() -> None:
    """30% of the price at 9% a year: half a year costs its square root, no time nothing."""
    card = LINES["deposit"]
    for lead, by in (("6 months", 1.09**0.5 - 1), ("0 days", 0.0), ("1 year", 0.09)):
        (machine, *_), _ = market(*asked(card, "on", f"economics.lead_time={lead}"))
        costs = usd(machine.cost)
        bought = sum(costs[k] for k in ("accelerator servers", "dram", "switch ports", "optics"))
        assert costs.get("deposit", 0.0) == pytest.approx(0.3 * bought * by)


def test_every_estimate_in_force_is_an_assumption() -> None:
    asked_for = "economics.lines={support: on, tax: 19%, freight: off, deposit: on}"
    stated = built("tiny", asked_for, "economics.lead_time=6 months").assumptions
    found = {a.name.removeprefix("economics.lines."): a for a in stated if "lines." in a.name}
    assert found.keys() == {"switch-ports.power", "optics.price", "support.price", "tax", "deposit.price"}
    assert (found["tax"].value, found["tax"].basis) == ("0.19 fraction", "input")
    assert found["support.price"].value == "0.03 fraction (0.02 to 0.06)"


@pytest.mark.parametrize(("more", "there"), [("", False), (", STORAGE-NODE-24xE3S: {}", True)])
def test_what_a_contract_contains_is_no_assumption(more: str, there: bool) -> None:
    """Switch ports are paid only with the nodes that are bought beside."""
    found = built(
        "tiny", "economics.ownership=rent", f"hardware.servers={{HGX-B300-8: {{}}{more}}}",
        "tiers.storage.enabled=true",
    )  # fmt: skip
    assert any("optics" in a.name for a in found.assumptions) is there


@pytest.mark.parametrize(("contained", "ownership", "paid"), [
    (True, "purchase", 300.0), (True, "rent", 0.0), (True, "lease", 0.0), (False, "rent", 300.0),
])  # fmt: skip
def test_a_planners_card_is_paid_by_server_unless_a_contract_contains_it(
    contained: bool, ownership: str, paid: float
) -> None:
    """Three porters a server at $100, of a card of the planner's own; of bought nodes in any case."""
    price = LINES["racks"].price.model_copy(update={"low": 100.0, "base": 100.0, "high": 100.0})
    porters = CostCard(
        id="porters", what="people who carry", per=Per.SERVER, paid=Paid.ONCE, price=price, count=3,
        in_contract=contained, enabled=True,
    )  # fmt: skip
    lines = (*CATALOG.devices.cost_lines, porters)
    catalog = replace(CATALOG, devices=CATALOG.devices.model_copy(update={"cost_lines": lines}))
    found = Market(workload(*ALL_TIERS, f"economics.ownership={ownership}"), catalog).builds()
    assert {usd(b.cost).get("porters", 0.0) for b in found if b.sku} == {paid}
    assert {usd(b.cost).get("porters", 0.0) for b in found if not b.sku} == {300.0}


# ---- what is refused ------------------------------------------------------------------------------------


def one(*overrides: str) -> Problem:
    (problem,) = refused("tiny", *overrides)
    return problem


@pytest.mark.parametrize(
    ("lines", "more", "message", "remedy"),
    [
        ("{software-license: on}", (), "no cost line", 'did you mean "software-licence"?'),
        ("{wages: on}", (), "no cost line", "one of: switch-ports, optics"),
        ("{support: $300}", (), "a share of the equipment price, paid yearly: $300 is no such", '"3%"'),
        ("{freight: $3/year}", (), "paid once: $3/year is no such figure", '"3%"'),
        ("{cables: 3%}", (), "charged per link, paid once: 3% is no such figure", '"$500"'),
        ("{software-licence: $300}", (), "charged per accelerator, paid yearly", '"$4,500/year"'),
        ("{liquid-cooling: $300}", (), "charged per reserved kW, paid yearly", '"$12/kW-month"'),
        ("{support: 3}", (), "300% is more than the price it is a share of", 'did you mean "3%"?'),
        ("{cluster-network: on}", (), "the other basis of the network", "economics.network to percent"),
        ("{optics: on}", ("economics.network=percent",), "in the percentage already", "cluster-network"),
        ("{cables: off}", ("economics.network=percent",), "in the percentage already", "cluster-network"),
        ("{spares: on}", ("economics.ownership=rent",), "in the price per GPU-hour already", "leave it"),
        ("{spares: 4%}", ("economics.ownership=lease",), "in the price per GPU-hour already", "leave it"),
    ],
)
def test_refused(lines: str, more: tuple[str, ...], message: str, remedy: str) -> None:
    problem = one(f"economics.lines={lines}", *more)
    assert problem.path.startswith("economics.lines.")
    assert message in problem.message
    assert remedy in problem.remedy


def test_a_lead_time_without_a_deposit_is_refused() -> None:
    problem = one("economics.lead_time=6 months")
    assert problem.keys == ("economics", "lead_time")
    assert "deposit is off" in problem.message


def test_a_share_of_modules_needs_their_price() -> None:
    gpus = tuple(a.model_copy(update={"module_price": None}) for a in CATALOG.devices.accelerators)
    catalog = replace(CATALOG, devices=CATALOG.devices.model_copy(update={"accelerators": gpus}))
    with pytest.raises(InputError, match="none of B300-SXM is known"):
        Market(workload("tiny", "economics.lines.spares=on"), catalog)
    Market(workload("tiny", "economics.lines.spares=off"), catalog)


def test_faults_have_a_place() -> None:
    """All of them at once, each with line and column."""
    text = (data_path("workloads") / "tiny.yaml").read_text(encoding="utf-8")
    more = "economics:\n  network: percent\n  lines:\n    suport: 3%\n    optics: on\n"
    question = loaded(read_text_yaml(text + more, "mine.yaml"))
    with pytest.raises(InputError) as caught:
        build(question.workload, CATALOG)
    last = text.count("\n")
    assert [question.document.placed(p).where for p in caught.value.problems] == [
        f"mine.yaml:{last + 4}:5", f"mine.yaml:{last + 5}:5",
    ]  # fmt: skip

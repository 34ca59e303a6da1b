"""Prices in force: overrides keep the ratios of what is made of the same stuff; a contract is all-in."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from optimizer.errors import InputError
from optimizer.instance import CostLine
from optimizer.instance.build import build
from optimizer.instance.hardware import Market
from optimizer.instance.money import DRAM_REFERENCE, NVME_REFERENCE, YEAR, Money
from tests.instance.shipped import ALL_TIERS, CATALOG, built, refused, workload

DEVICES = CATALOG.devices
MEDIA: dict[str, tuple[str, Any, tuple[Any, ...]]] = {
    "dram": ("prices.dram", CATALOG.dimm(DRAM_REFERENCE), (*DEVICES.dimms, *DEVICES.cxl_modules)),
    "nvme": ("prices.nvme", CATALOG.drive(NVME_REFERENCE), DEVICES.drives),
}
"""What a price per byte is of, and what moves with it."""


def money(*overrides: str) -> Money:
    """The prices of the tiny study with overrides."""
    return Money.of(DEVICES, workload("tiny", *overrides))


def usd(lines: tuple[CostLine, ...], *components: str) -> float:
    """The sum of some components; of all where none is named."""
    return sum(line.usd for line in lines if not components or line.component in components)


@pytest.mark.parametrize("media", MEDIA)
@pytest.mark.parametrize("preset", ["low", "base", "high"])
def test_price_per_byte_is_of_the_reference(media: str, preset: str) -> None:
    path, reference, _ = MEDIA[media]
    prices = money(f"{path}=$3.5/GB", f"economics.prices={preset}")
    assert prices.price(reference) == pytest.approx(3.5e-9 * reference.bytes.value)


@pytest.mark.parametrize("media", MEDIA)
@pytest.mark.parametrize("override", ["$3.5/GB", "x3", "x0.2"])
def test_others_keep_their_ratio_to_the_reference(media: str, override: str) -> None:
    path, reference, parts = MEDIA[media]
    before, after = money(), money(f"{path}={override}")
    by = after.price(reference) / before.price(reference)
    assert by != pytest.approx(1.0)
    for part in parts:
        assert after.price(part) == pytest.approx(by * before.price(part)), part.id
    others = {id(part) for part in parts}
    for kind in ("servers", "dimms", "drives", "cxl_modules", "cxl_enclosures", "cxl_adapters"):
        for part in getattr(DEVICES, kind):
            if id(part) not in others:
                assert after.price(part) == before.price(part), part.id


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("prices.parts.RDIMM-64", CATALOG.dimm("RDIMM-64")),
        ("prices.parts.9550-15.36", CATALOG.drive("9550-15.36")),
        ("prices.servers.HGX-B300-8", CATALOG.server("HGX-B300-8")),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_price_of_one_item_wins(path: str, part: Any) -> None:
    assert money(f"{path}=$1234", "prices.dram=x7", "prices.nvme=x7").price(part) == 1234.0


@pytest.mark.parametrize(
    ("override", "component", "by"),
    [
        ("prices.dram=x3", "dram", 3.0),
        ("prices.nvme=x0.5", "nvme", 0.5),
        ("prices.electricity=x2", "energy", 2.0),
    ],
)
def test_override_reaches_every_machine(override: str, component: str, by: float) -> None:
    before, after = built(*ALL_TIERS), built(*ALL_TIERS, override)
    for old, new in zip(before.builds, after.builds, strict=True):
        assert usd(new.cost, component) == pytest.approx(by * usd(old.cost, component))
        assert usd(new.cost, "space") == usd(old.cost, "space")
        drams, drives = usd(old.cost, "dram"), usd(old.cost, "nvme")
        bought = {"dram": drams, "nvme": drives}.get(component, 0.0) * (by - 1)
        assert new.capex_usd == pytest.approx(old.capex_usd + bought)


def test_cxl_media_follow_the_dimms() -> None:
    before, after = built(*ALL_TIERS), built(*ALL_TIERS, "prices.dram=x3")
    for old, new in zip(before.enclosures, after.enclosures, strict=True):
        assert usd(new.module_cost, "cxl") == pytest.approx(3 * usd(old.module_cost, "cxl"))
        assert new.enclosure_cost == old.enclosure_cost
        assert new.adapter_cost == old.adapter_cost


def test_dearer_presets_are_dearer() -> None:
    costs = [
        [b.usd for b in built(*ALL_TIERS, f"economics.prices={p}").builds] for p in ("low", "base", "high")
    ]
    for cheap, dear in pairwise(costs):
        assert all(a < b for a, b in zip(cheap, dear, strict=True))


# ---- contracts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ownership", ["lease", "rent"])
def test_contract_is_all_in(ownership: str) -> None:
    """Nothing of the server itself is added: no purchase, energy, space, network or upkeep; DIMMs and drives
    that are added cost what they cost anywhere."""
    asked = (*ALL_TIERS, f"economics.ownership={ownership}")
    bought, hired = built(*ALL_TIERS), built(*asked)
    for own, lent in zip(bought.builds, hired.builds, strict=True):
        if own.sku is None:
            assert lent.cost == own.cost
            continue
        names = [line.component for line in lent.cost]
        assert names[0] == ownership
        assert not {"accelerator servers", "switch ports", "optics"} & set(names)
        dimms = next(
            p for p in CATALOG.server(own.server).populations if f"{p.count} x {p.dimm}" == own.dimms
        )
        watts = dimms.count * CATALOG.dimm(dimms.dimm).power.value
        watts += lent.drives * CATALOG.drive(lent.drive).power.value if lent.drive else 0.0
        for component in ("energy", "space"):
            share = watts / own.power_w
            assert usd(lent.cost, component) == pytest.approx(share * usd(own.cost, component)), component
        assert lent.capex_usd == pytest.approx(usd(lent.cost, "dram", "nvme"))
        assert lent.power_w == own.power_w


@pytest.mark.parametrize("ownership", ["lease", "rent"])
def test_machine_without_extras_costs_its_contract(ownership: str) -> None:
    """A rack with its own memory and no drives: one line, accelerators x hours x the quoted price."""
    rack = CATALOG.server("GB200-NVL72-RACK")
    gpu = CATALOG.accelerator(rack.accelerator or "")
    quote = gpu.rent if ownership == "rent" else gpu.tco["lease_3yr"]
    instance = built(
        "tiny", "hardware.servers={GB200-NVL72-RACK: {}}", "tiers.nvme.enabled=false",
        f"economics.ownership={ownership}", "economics.discount=0.0", "economics.horizon=3 years",
    )  # fmt: skip
    (machine,) = instance.builds
    assert [line.component for line in machine.cost] == [ownership]
    assert machine.usd == pytest.approx(quote.base * rack.accelerators * 3 * YEAR)


@pytest.mark.parametrize("ownership", ["lease", "rent"])
def test_owned_servers_beside_a_contract_are_refused(ownership: str) -> None:
    problems = refused(
        "tiny", f"economics.ownership={ownership}", "hardware.servers={HGX-B300-8: {owned: 2}}"
    )
    assert [p.path for p in problems] == ["hardware.servers.HGX-B300-8.owned"]


@pytest.mark.parametrize("ownership", ["lease", "rent"])
def test_contract_without_a_quote_is_refused(ownership: str) -> None:
    unquoted = {"rent": {"rent": None}, "lease": {"tco": {}}}[ownership]
    gpus = tuple(a.model_copy(update=unquoted if a.id == "B300-SXM" else {}) for a in DEVICES.accelerators)
    catalog = replace(CATALOG, devices=DEVICES.model_copy(update={"accelerators": gpus}))
    with pytest.raises(InputError, match=f"no {ownership} price of B300-SXM"):
        build(workload("tiny", f"economics.ownership={ownership}"), catalog)


def test_a_lease_pays_a_quarter_of_each_term_at_its_start() -> None:
    """Three years now and two more at the same price: $3.48 an hour of a B300, eight of them, at 9%."""
    (machine, *_) = built("tiny", "economics.ownership=lease").builds
    yearly = 3.48 * 8 * 8760
    terms = [0.25 * n + 0.75 * sum(1.09**-year for year in range(1, n + 1)) for n in (3, 2)]
    assert usd(machine.cost, "lease") == pytest.approx(yearly * (terms[0] + 1.09**-3 * terms[1]))


def test_rent_is_paid_by_the_year() -> None:
    (machine, *_) = built("tiny", "economics.ownership=rent").builds
    assert usd(machine.cost, "rent") == pytest.approx(5.0 * 8 * 8760 * sum(1.09**-y for y in range(1, 6)))


@pytest.mark.parametrize("ownership", ["lease", "rent"])
def test_added_memory_pays_beside_a_contract(ownership: str) -> None:
    """A machine with more DIMMs, drives or CXL costs more, by what these parts cost when all is bought."""
    bought, hired = built(*ALL_TIERS), built(*ALL_TIERS, f"economics.ownership={ownership}")
    for one, other in pairwise([b for b in bought.builds if b.sku == "HGX-B300-8"]):
        lent = {b.id: b.usd for b in hired.builds}
        assert one.usd != other.usd
        assert lent[other.id] - lent[one.id] == pytest.approx(other.usd - one.usd)
    assert hired.enclosures == bought.enclosures


@pytest.mark.parametrize("ownership", ["lease", "rent"])
def test_a_licence_is_paid_beside_a_contract_and_nothing_else_of_the_server_is(ownership: str) -> None:
    lines = "{software-licence: on, management-network: on, pdus: on, liquid-cooling: on, freight: on}"
    plain = built(*ALL_TIERS, f"economics.ownership={ownership}")
    full = built(*ALL_TIERS, f"economics.ownership={ownership}", f"economics.lines={lines}")
    licence = 4500 * 8 * sum(1.09**-y for y in range(1, 6))
    for before, after in zip(plain.builds, full.builds, strict=True):
        if before.sku is None:
            continue
        parts = usd(before.cost, "dram", "nvme")
        watts = usd(before.cost, "space") / (195 * 12 / 1e3)  # watts x worth, of what is bought beside
        assert usd(after.cost, "software licence") == pytest.approx(licence)
        assert usd(after.cost, "freight") == pytest.approx(0.01 * parts)
        assert usd(after.cost, "liquid cooling") == pytest.approx(10 * 12 / 1e3 * watts)
        assert usd(after.cost, "management network", "pdus") == 0.0


def test_all_in_power_is_on_no_bill() -> None:
    """Utility power of the ownership table contains network and cooling: no bill reads it, or times PUE."""
    gpus = tuple(a.model_copy(update={"all_in_power": None}) for a in DEVICES.accelerators)
    catalog = replace(CATALOG, devices=DEVICES.model_copy(update={"accelerators": gpus}))
    for more in ((), ("economics.space=owned-building",), ("economics.ownership=rent",)):
        question = workload(*ALL_TIERS, *more)
        assert Market(question, catalog).builds() == Market(question, CATALOG).builds()

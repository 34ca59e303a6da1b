"""The published ownership costs, recomputed from the cards: within a quarter, and in order."""

from __future__ import annotations

from itertools import combinations

import pytest

from optimizer.catalog import Preset
from optimizer.instance.money.ownership import (
    APART,
    PUBLISHED,
    TOLERANCE,
    Ownership,
    out_of_order,
    ownership,
    terms,
)
from tests.instance.shipped import CATALOG

ROWS = {row.server: row for row in ownership(CATALOG)}
SURVEYED = {name: row for name, row in ROWS.items() if not row.placeholder}
"""Pairs that the cards turn round, and docs/money.md explains. Mend the cards, and this becomes empty."""
HOURS = 4 * 8760


def test_every_server_with_a_published_figure_is_there() -> None:
    published = {a.id for a in CATALOG.devices.accelerators if PUBLISHED in a.tco}
    assert set(ROWS) == {s.id for s in CATALOG.devices.servers if s.accelerator in published}
    assert {row.accelerator for row in ROWS.values() if row.placeholder} == {"B300-SXM", "GB300-NVL72"}


@pytest.mark.parametrize("server", ROWS)
def test_within_a_quarter(server: str) -> None:
    row = ROWS[server]
    assert row.published == pytest.approx(CATALOG.accelerator(row.accelerator).tco[PUBLISHED].base * 3600)
    assert abs(row.deviation) <= TOLERANCE == 0.25


def test_the_order_is_kept() -> None:
    assert not list(out_of_order(tuple(ROWS.values())))


@pytest.mark.parametrize("pair", [*combinations(SURVEYED, 2)], ids="<>".join)
def test_each_pair_keeps_its_order(pair: tuple[str, str]) -> None:
    """The same once more, by pair: of two figures more than 10% apart the dearer is the dearer."""
    low, high = sorted((SURVEYED[name] for name in pair), key=lambda row: row.published)
    apart = high.published / low.published - 1 > APART == 0.10
    assert not (apart and high.usd <= low.usd)


def test_the_order_of_hgx_and_rack_flips_inside_the_bands() -> None:
    """At the bases the rack is the dearer, as published; at the ends of the bands it need not be."""
    hgx, rack = CATALOG.server("HGX-B200-8"), CATALOG.server("GB200-NVL72-RACK")
    assert hgx.price.base / 8 < rack.price.base / 72
    assert hgx.price.base / 8 > rack.price.low / 72


def test_the_terms_are_the_published_ones() -> None:
    """$4/GB, 12% network, 4% a year of maintenance, 0.75 load, $0.085/kWh, four years; own building at 9%."""
    money, facility = terms(CATALOG), CATALOG.devices.facility
    assert (money.years, money.prices.dram, money.rate) == pytest.approx((4.0, 4e-9, 0.09))
    assert facility.maintenance_per_year.at(Preset.BASE) == pytest.approx(0.04)
    assert facility.mean_power_fraction.at(Preset.BASE) == pytest.approx(0.75)
    lines = {line.card.id: line.value for line in money.in_force}
    assert lines == {"cluster-network": 0.12, "racks": 5000.0}
    assert money.electricity() * 3.6e6 == pytest.approx(0.085 * 1.3)
    assert money.economics.ownership == "purchase"


def test_h100_by_hand() -> None:
    """$300,000, 2 TB at $4/GB, 12% network, 10.2 kW and 32 DIMMs of 7 W, 8 U of a $5,000 rack of 48 U."""
    memory, network = 2048 * 4.0, 36_000.0
    equipment = 300_000 + memory + network
    worth = sum(1.09**-year for year in range(1, 5))
    energy = (10_200 + 32 * 7) / 1e3 * 0.75 * 8760 * 0.085 * 1.3 * worth
    residual = equipment * 0.3 ** (48 / 36) * 1.09**-4
    total = equipment * (1 + 0.04 * worth) + energy + 5000 * 8 / 48 - residual
    assert ROWS["HGX-H100-8"].usd == pytest.approx(total / (8 * HOURS))
    assert ROWS["HGX-H100-8"].levelised == pytest.approx(total / (8 * 8760 * worth))


def test_memory_is_what_such_servers_carry() -> None:
    for row in ROWS.values():
        server = CATALOG.server(row.server)
        dram = sum(line.usd for line in row.parts if line.component == "dram") * server.accelerators * HOURS
        assert bool(dram) == (server.fixed_memory is None)
        if server.typical_dram is not None:
            assert 0.9 * 4e-9 * server.typical_dram.value < dram < 1.3 * 4e-9 * server.typical_dram.value


def test_room_and_power_are_a_small_part_in_an_own_building() -> None:
    """Normally below 20%. In colocation at the base rent they are not: docs/ownership-cost.md shows both."""
    assert all(row.share("space", "racks", "energy") < 0.20 for row in ROWS.values())
    hosted = ownership(CATALOG, "colocation")
    assert all(0.19 < row.share("space", "energy") < 0.31 for row in hosted)


def test_a_figure_out_of_order_would_be_noticed() -> None:
    cheap, dear = ROWS["HGX-H100-8"], ROWS["HGX-B200-8"]
    made = Ownership(dear.server, dear.accelerator, cheap.parts, dear.published, False, dear.capital)
    assert [(a.server, b.server) for a, b in out_of_order((cheap, made))] == [("HGX-H100-8", "HGX-B200-8")]

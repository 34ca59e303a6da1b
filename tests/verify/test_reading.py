"""Layouts that cannot be read, leave something out, or say it twice."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from optimizer.instance import CostRow, Instance, Layout, Period, PlacementRow, Policy
from optimizer.verify import check
from tests.verify.bookkeeping import book
from tests.verify.samples import choices, instance


@pytest.fixture(scope="module")
def problem() -> Instance:
    return instance()


@pytest.fixture(scope="module")
def layout(problem: Instance) -> Layout:
    return book(problem, choices(problem))


def names(problem: Instance, layout: Layout) -> set[str]:
    return {violation.name for violation in check(problem, layout).violations}


ROWS = (
    "servers",
    "owned",
    "cxl",
    "options",
    "pools",
    "decodes",
    "placements",
    "paths",
    "stores",
    "lru",
    "costs",
)


@pytest.mark.parametrize("table", ROWS)
def test_row_left_out_is_missed(problem: Instance, layout: Layout, table: str) -> None:
    rows = getattr(layout, table)
    for left_out in range(len(rows)):
        shorter = replace(layout, **{table: (*rows[:left_out], *rows[left_out + 1 :])})
        assert not check(problem, shorter).passed, rows[left_out]


@pytest.mark.parametrize("table", ROWS)
def test_row_stated_twice_is_refused(problem: Instance, layout: Layout, table: str) -> None:
    rows = getattr(layout, table)
    assert any(
        name.startswith("stated_once[")
        for name in names(problem, replace(layout, **{table: (*rows, rows[0])}))
    )


def test_missing_store_row_is_named(problem: Instance, layout: Layout) -> None:
    kept = tuple(row for row in layout.stores if row.store != "nvme@h200")
    assert {f"StoreRow.{field}[nvme@h200]" for field in ("installed_bytes", "used_bytes")} <= names(
        problem, replace(layout, stores=kept)
    )


def test_empty_layout_serves_nobody(problem: Instance) -> None:
    empty = Layout((), (), (), (), (), (), (), (), (), (), (), 0.0)
    found = names(problem, empty)
    assert {
        "one_option[kimi]",
        "one_option[deep]",
        "ttft_attainment[chat]",
        "server_minimum[h200,now]",
    } <= found


def test_row_of_zeros_may_stay(problem: Instance, layout: Layout) -> None:
    row = replace(layout.placements[0], share=0.0, serve_bytes=0.0, home_bytes=0.0, found_rate=0.0, slot=3)
    assert names(problem, replace(layout, placements=(*layout.placements, row))) == set()


def test_component_of_no_machine_is_refused(problem: Instance, layout: Layout) -> None:
    more = replace(layout, costs=(*layout.costs, CostRow("gold", 0.0)))
    assert names(problem, more) == {"admissible[CostRow,gold]"}


@pytest.mark.parametrize("slot", [0, 4, -1])
def test_slot_outside_the_bucket_is_refused(problem: Instance, layout: Layout, slot: int) -> None:
    placements = (replace(layout.placements[0], slot=slot), *layout.placements[1:])
    assert any(
        name.startswith("admissible[PlacementRow")
        for name in names(problem, replace(layout, placements=placements))
    )


def test_negative_decision_is_refused(problem: Instance, layout: Layout) -> None:
    paths = (replace(layout.paths[0], rate=-1e-18), *layout.paths[1:])
    assert any(
        name.startswith("not_negative[PathRow.rate") for name in names(problem, replace(layout, paths=paths))
    )


def test_entry_needs_the_exclusive_policy(problem: Instance, layout: Layout) -> None:
    placements = (replace(layout.placements[0], entry=0.1), *layout.placements[1:])
    assert any(
        "PlacementRow.entry" in name for name in names(problem, replace(layout, placements=placements))
    )


def test_entry_into_a_first_slot_is_refused() -> None:
    problem = instance(Policy.EXCLUSIVE)
    layout = book(problem, choices(problem))
    first: PlacementRow = next(row for row in layout.placements if row.slot == 1)
    placements = tuple(replace(row, entry=0.1) if row is first else row for row in layout.placements)
    assert any(
        "PlacementRow.entry" in name for name in names(problem, replace(layout, placements=placements))
    )


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_number_that_is_not_finite_fails(problem: Instance, layout: Layout, number: float) -> None:
    certificate = check(problem, replace(layout, objective_usd=number))
    assert not certificate.passed
    assert [v.name for v in certificate.violations] == ["readable[layout.objective_usd]"]


def test_part_of_a_server_fails(problem: Instance, layout: Layout) -> None:
    servers = (replace(layout.servers[0], count=6.5), *layout.servers[1:])
    assert names(problem, replace(layout, servers=servers)) == {"readable[layout.servers[0].count]"}


def test_text_for_a_number_fails(problem: Instance, layout: Layout) -> None:
    assert names(problem, replace(layout, objective_usd="cheap")) == {"readable[layout.objective_usd]"}


def test_second_period_is_refused(problem: Instance, layout: Layout) -> None:
    with pytest.raises(ValueError, match="one period"):
        check(replace(problem, periods=(*problem.periods, Period("later", 1.0))), layout)


def test_two_columns_of_one_name_are_refused(problem: Instance, layout: Layout) -> None:
    with pytest.raises(ValueError, match="two pools"):
        check(replace(problem, pools=(*problem.pools, problem.pools[0])), layout)


def test_certificate_prints_as_a_page(problem: Instance, layout: Layout) -> None:
    good, bad = check(problem, layout), check(problem, replace(layout, objective_usd=1.0))
    assert str(good).startswith("exact check passed: ")
    assert "objective_usd: have 1 = need" in str(bad)


def test_activities_show_slack(problem: Instance, layout: Layout) -> None:
    activities = {activity.name: activity for activity in check(problem, layout).activities}
    ports = activities["cxl_ports[switch]"]
    assert (ports.have, ports.need, ports.slack) == (7.0, 16.0, 9.0)


def test_rounding_passes_and_a_millionth_does_not(problem: Instance, layout: Layout) -> None:
    def moved(by: float) -> Layout:
        return replace(layout, objective_usd=layout.objective_usd * (1 + by))

    assert check(problem, moved(1e-11)).passed
    assert names(problem, moved(1e-6)) == {"objective_usd"}

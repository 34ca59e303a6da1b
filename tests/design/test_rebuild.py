"""A result holds its problem and its layout: built again from result.json alone, to the last digit."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import pytest

from optimizer.catalog import Catalog
from optimizer.design.planning import plan
from optimizer.design.rebuild import Rebuilt, rebuilt
from optimizer.design.result import Result
from optimizer.errors import InputError
from optimizer.instance import Layout
from optimizer.report.files import read_result, write_result
from optimizer.verify import check
from tests.design.beside import CATALOG, OPTIONS, asked, solved

SETS = ("prices.dram=x1.5", "headroom=10%")


@cache
def planned() -> Result:
    """Tiny, asked with overrides."""
    return plan(asked("tiny", *SETS), CATALOG, OPTIONS)


@pytest.fixture
def again(tmp_path):
    """The result, written and read."""
    write_result(planned(), tmp_path)
    return read_result(tmp_path)


def recard(catalog: Catalog, **changes) -> Catalog:
    """The catalogue with the bought server's accelerator changed, or its price."""
    devices = catalog.devices
    if "nic" in changes:
        accelerators = [
            a.model_copy(update={"nic": a.nic.model_copy(update={"value": a.nic.value * changes["nic"]})})
            if a.id == "B300-SXM" else a
            for a in devices.accelerators
        ]
        return replace(catalog, devices=devices.model_copy(update={"accelerators": tuple(accelerators)}))
    servers = [
        s.model_copy(update={"price": s.price.model_copy(update={"base": s.price.base * changes["price"]})})
        if s.id == "HGX-B300-8" else s
        for s in devices.servers
    ]
    return replace(catalog, devices=devices.model_copy(update={"servers": tuple(servers)}))


def test_a_result_reads_back_as_it_was(again):
    assert again == planned()
    assert isinstance(again.basis.layout, Layout)


def test_what_only_a_replay_reads_is_one_line(tmp_path):
    file = write_result(planned(), tmp_path)
    (line,) = [line for line in file.read_text().splitlines() if line.startswith('  "basis": ')]
    assert json.loads(f"{{{line}}}")["basis"]["workload"]["headroom"] == "10%"
    assert json.loads(file.read_text())["schema"] == "tierplan-result/1"


def test_the_problem_is_the_one_that_was_solved_and_the_layout_keeps_its_laws(again):
    found = rebuilt(again, CATALOG, "result.json")
    assert isinstance(found, Rebuilt)
    assert found.solved.digest() == again.instance_sha256
    assert found.remarks == ()
    certificate = check(found.solved, found.layout)
    assert certificate.passed
    assert certificate.recomputed_usd == pytest.approx(again.objective_usd)
    assert found.loaded.digest == asked("tiny", *SETS).digest
    assert all(s.slope == 0 for s in found.instance.stores)


def test_the_layout_is_row_for_row_the_one_that_was_found():
    best = solved("tiny")
    assert plan(asked("tiny"), CATALOG, OPTIONS).basis.layout == best.layout


def test_an_earlier_result_is_told_to_solve_again(again):
    with pytest.raises(InputError, match=r"desk: is of an earlier version.*solve again"):
        rebuilt(again.model_copy(update={"basis": None}), CATALOG, "desk")


def test_an_earlier_result_is_still_read(again):
    old = json.loads(again.model_dump_json(by_alias=True))
    for key in ("basis", "rejected", "stress"):
        del old[key]
    for key in ("replay", "replay_ended"):
        del old["checks"][key]
    assert Result.model_validate(old) == again.model_copy(update={"basis": None})


def test_no_layout_is_refused(again):
    with pytest.raises(InputError, match="holds no layout"):
        rebuilt(again.model_copy(update={"layout": None, "basis": None}), CATALOG, "desk")


def test_prices_of_today_do_no_harm_and_are_told(again):
    found = rebuilt(again, recard(CATALOG, price=1.1), "desk")
    (remark,) = found.remarks
    assert remark.startswith("only money has changed since: HGX-B300-8.price was ")


def test_cards_that_changed_how_a_layout_runs_are_refused_by_name(again):
    with pytest.raises(InputError, match=r"planned with other figures \(tierplan .* then and now") as caught:
        rebuilt(again, recard(CATALOG, nic=0.9), "desk")
    assert "B300-SXM" in str(caught.value)


def test_a_workload_that_is_read_otherwise_is_told_and_does_no_harm_where_the_problem_is_the_same(again):
    other = again.model_copy(update={"input_sha256": "0" * 64})
    assert rebuilt(other, CATALOG, "desk").remarks == ("its workload is read otherwise today",)
    with pytest.raises(InputError, match=r"with other figures .*its workload is read otherwise today"):
        rebuilt(other, recard(CATALOG, nic=0.9), "desk")


def test_another_workload_inside_is_refused(again):
    workload = {**again.basis.workload, "headroom": "20%"}
    other = again.model_copy(update={"basis": again.basis.model_copy(update={"workload": workload})})
    with pytest.raises(InputError, match=r"planned with other figures .*headroom was 10%"):
        rebuilt(other, CATALOG, "desk")


def test_a_new_version_is_named(again):
    other = again.model_copy(update={"versions": {**again.versions, "tierplan": "0.0.1"}})
    with pytest.raises(InputError, match=r"tierplan 0\.0\.1 then, \S+ now"):
        rebuilt(other, recard(CATALOG, nic=0.9), "desk")

"""The planner's own rows: they count cards, and what is on offer."""

from __future__ import annotations

import pytest

from optimizer.catalog import load_catalog
from optimizer.errors import InputError
from optimizer.instance import Instance
from optimizer.instance.build import build
from optimizer.instance.checks import Unmeetable
from optimizer.workload import load_workload


def built(row: str) -> Instance:
    """tiny with a row of the planner's own."""
    return build(load_workload("tiny", [f"limits.mine={row}"]).workload, load_catalog())


@pytest.mark.parametrize(
    ("term", "meant"),
    [("servers.HGX-B30-8", "HGX-B300-8"), ("accelerators.B300-SMX", "B300-SXM")],
    ids=["server", "accelerator"],
)
def test_a_misspelt_machine_is_no_row_without_effect(term: str, meant: str) -> None:
    with pytest.raises(InputError) as caught:
        built(f"{{terms: {{{term}: 1}}, max: 1}}")
    (problem,) = caught.value.problems
    assert not isinstance(caught.value, Unmeetable)
    assert problem.keys == ("limits", "mine", "terms", term)
    assert meant in problem.remedy


def test_machines_that_are_not_offered_may_be_counted() -> None:
    assert built("{terms: {servers.HGX-H100-8: 1, accelerators.MI300X: 8}, max: 1}").user_rows


@pytest.mark.parametrize("limit", ["min: 1", "max: -1"])
@pytest.mark.parametrize("terms", ["cxl: 1", "cxl: 1, dram: 0", "servers.HGX-H100-8: 1"])
def test_a_row_over_nothing_on_offer_is_a_demand_that_nothing_meets(terms: str, limit: str) -> None:
    with pytest.raises(Unmeetable) as caught:
        built(f"{{terms: {{{terms}}}, {limit}}}")
    (problem,) = caught.value.problems
    assert problem.keys[:2] == ("limits", "mine")
    assert "on offer" in problem.message


@pytest.mark.parametrize("limit", ["min: 0", "max: 0", "min: -1", "max: 1"])
def test_nothing_is_enough_where_nothing_is_asked(limit: str) -> None:
    assert built(f"{{terms: {{cxl: 1}}, {limit}}}").user_rows

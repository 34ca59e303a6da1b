"""Arrays of one study serve its scenarios: patched by name they are what writing the scenario gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.formulation import write
from optimizer.instance import CostLine, Instance
from optimizer.solver import LinearProgram, compile
from tests.formulation.small import EXCLUSIVE, POOLED, WRITE_THROUGH

INSTANCES = {"write-through": WRITE_THROUGH, "exclusive": EXCLUSIVE, "pooled": POOLED}
factor = st.floats(0.01, 100.0)


def arrays(instance: Instance) -> LinearProgram:
    """The arrays of a freshly written model."""
    return compile(write(instance).pyomo).lp


ARRAYS = {name: arrays(instance) for name, instance in INSTANCES.items()}


def times(lines: tuple[CostLine, ...], by: float) -> tuple[CostLine, ...]:
    """Every line times a factor."""
    return tuple(replace(line, usd=line.usd * by) for line in lines)


def total(lines: tuple[CostLine, ...]) -> float:
    """Dollars of one unit."""
    return sum(line.usd for line in lines)


def repriced(instance: Instance, machine: float, drive: float, saving: float, cxl: float) -> Instance:
    """Other prices, and nothing else: what owned servers save stands in the budget too, so that has none."""
    return replace(
        instance,
        builds=tuple(
            replace(b, cost=times(b.cost, machine), replacement_usd=b.replacement_usd * drive)
            for b in instance.builds
        ),
        skus=tuple(replace(s, owned_saving_usd=s.owned_saving_usd * saving) for s in instance.skus),
        enclosures=tuple(
            replace(
                e,
                enclosure_cost=times(e.enclosure_cost, cxl),
                module_cost=times(e.module_cost, cxl),
                adapter_cost=times(e.adapter_cost, cxl),
            )
            for e in instance.enclosures
        ),
        limits=replace(instance.limits, budget_usd=None),
    )


def prices(instance: Instance) -> dict[str, float]:
    """What each priced column costs, by its name in the arrays."""
    found = {f"servers[{b.id},now]": total(b.cost) for b in instance.builds}
    found |= {f"replaced[{b.id},now]": b.replacement_usd for b in instance.builds if b.drives}
    found |= {f"owned_used[{s.id},now]": -s.owned_saving_usd for s in instance.skus if s.owned}
    for e in instance.enclosures:
        found[f"enclosures[{e.id},now]"] = total(e.enclosure_cost)
        found[f"modules[{e.id},now]"] = total(e.module_cost)
        found |= {
            f"adapters[{e.id},{s.id},now]": total(e.adapter_cost) for s in instance.skus if s.free_x16_slots
        }
    return found


def same(one: LinearProgram, other: LinearProgram) -> None:
    """The same program, number by number."""
    assert (one.row_names, one.col_names) == (other.row_names, other.col_names)
    assert (one.A != other.A).nnz == 0
    assert one.c == pytest.approx(other.c, rel=1e-12)
    for side in ("row_lower", "row_upper", "col_lower", "col_upper", "integrality"):
        assert np.array_equal(getattr(one, side), getattr(other, side)), side


@pytest.mark.parametrize("name", INSTANCES)
@given(machine=factor, drive=factor, saving=factor, cxl=factor)
@settings(max_examples=8, deadline=None)
def test_other_prices_are_other_costs_only(
    name: str, machine: float, drive: float, saving: float, cxl: float
) -> None:
    changed = repriced(INSTANCES[name], machine, drive, saving, cxl)
    lp = arrays(repriced(INSTANCES[name], 1.0, 1.0, 1.0, 1.0))
    costs = np.zeros_like(lp.c)
    for column, usd in prices(changed).items():
        costs[lp.col_index[column]] = usd
    same(replace(lp, c=costs), arrays(changed))


@pytest.mark.parametrize(
    ("limit", "row", "unit"),
    [
        ("power_w", "power[now]", 1e3),
        ("rack_units", "rack_space[now]", 1.0),
        ("budget_usd", "budget[now]", 1e3),
    ],
)
def test_other_limits_are_other_sides_only(limit: str, row: str, unit: float) -> None:
    lp, changed = ARRAYS["write-through"], replace(WRITE_THROUGH.limits, **{limit: 77_000.0})
    sides = lp.row_upper.copy()
    sides[lp.row_index[row]] = 77_000.0 / unit
    same(replace(lp, row_upper=sides), arrays(replace(WRITE_THROUGH, limits=changed)))


@pytest.mark.parametrize("name", INSTANCES)
def test_rows_and_columns_are_found_by_name(name: str) -> None:
    """Names are what patches, prices and reports are looked up by."""
    lp = ARRAYS[name]
    assert len(lp.row_index) == len(lp.row_names)
    assert len(lp.col_index) == len(lp.col_names)


@pytest.mark.parametrize("name", INSTANCES)
def test_writing_is_the_same_every_time(name: str) -> None:
    same(ARRAYS[name], arrays(INSTANCES[name]))


@pytest.mark.parametrize("name", INSTANCES)
def test_order_of_records_does_not_matter(name: str) -> None:
    """The same rows and columns, whatever order the instance lists its records in."""
    instance, lp = INSTANCES[name], ARRAYS[name]
    turned = {
        field: tuple(reversed(getattr(instance, field)))
        for field in (
            "builds",
            "skus",
            "pools",
            "decodes",
            "stores",
            "locations",
            "stored",
            "shared_prefixes",
        )
    }
    other = arrays(replace(instance, **turned))
    rows = [other.row_index[row] for row in lp.row_names]
    columns = [other.col_index[column] for column in lp.col_names]
    assert abs(other.A[rows][:, columns] - lp.A).max() <= 1e-9 * abs(lp.A).max()
    assert other.c[columns] == pytest.approx(lp.c)
    assert other.row_upper[rows] == pytest.approx(lp.row_upper)

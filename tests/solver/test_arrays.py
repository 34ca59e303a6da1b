"""Compile and read back: the arrays say what the Pyomo model says, and scenarios can be patched in."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest

from optimizer.errors import InputError
from optimizer.solver import SolveOptions, Status, compile, solve

OPTIONS = SolveOptions(gap=0.0, time_limit=20.0)


def facility(price: float = 5.0, rate: float = 2.0, demand: float = 7.0) -> pyo.ConcreteModel:
    """Buy whole servers, serve a demand; one range row, one fixed and one unused variable."""
    model = pyo.ConcreteModel()
    model.share = pyo.Var(["a", "b"], bounds=(0, None))
    model.servers = pyo.Var(["a", "b"], domain=pyo.NonNegativeIntegers, bounds=(0, 9))
    model.open = pyo.Var(domain=pyo.Binary)
    model.held = pyo.Var(initialize=3.0)
    model.held.fix()
    model.unused = pyo.Var(bounds=(2, 4))
    model.cost = pyo.Objective(
        expr=price * model.servers["a"] + 4 * model.servers["b"] + model.open + model.held + 1.5
    )
    model.serve = pyo.Constraint(expr=model.share["a"] + model.share["b"] == demand)
    model.capacity = pyo.Constraint(
        ["a", "b"], rule=lambda m, s: m.share[s] <= {"a": rate, "b": 1.0}[s] * m.servers[s]
    )
    model.balance = pyo.Constraint(expr=(-2, model.servers["a"] - model.servers["b"] + model.held, 5))
    model.needs_open = pyo.Constraint(expr=model.servers["b"] <= 9 * model.open)
    return model


def test_names_order_and_sides_are_those_of_the_model():
    lp = compile(facility()).lp
    assert lp.row_names == ["serve", "capacity[a]", "capacity[b]", "balance", "needs_open"]
    assert lp.col_names == ["share[a]", "share[b]", "servers[a]", "servers[b]", "open", "unused"]
    assert lp.integrality.tolist() == [False, False, True, True, True, False]
    assert lp.row_lower.tolist() == [7, -np.inf, -np.inf, -5, -np.inf]
    assert lp.row_upper.tolist() == [7, 0, 0, 2, 0]
    assert lp.offset == 4.5
    assert lp.A.toarray()[lp.row_index["capacity[a]"]].tolist() == [1, 0, -2, 0, 0, 0]
    assert (lp.col_lower[4], lp.col_upper[4]) == (0, 1)


def test_read_back_is_the_inverse():
    model = facility()
    compiled = compile(model)
    outcome = solve(compiled.lp, OPTIONS)
    values = compiled.read_back(outcome.x)
    assert pyo.value(model.cost) == pytest.approx(outcome.objective)
    assert values["servers[a]"] == pytest.approx(model.servers["a"].value)
    for row, constraint in enumerate(compiled.constraints):
        assert compiled.row_of[constraint] == row
        low = -np.inf if constraint.lower is None else pyo.value(constraint.lower)
        high = np.inf if constraint.upper is None else pyo.value(constraint.upper)
        assert low - 1e-6 <= pyo.value(constraint.body) <= high + 1e-6
    assert compiled.column_of[model.open] == 4
    assert 2 <= model.unused.value <= 4
    assert model.held.value == 3.0


def test_patched_arrays_equal_a_fresh_compile():
    old = compile(facility()).lp
    new = compile(facility(price=9.0, rate=3.0, demand=8.0)).lp
    c = old.c.copy()
    c[old.col_index["servers[a]"]] = 9.0
    row_lower, row_upper = old.row_lower.copy(), old.row_upper.copy()
    row_lower[old.row_index["serve"]] = row_upper[old.row_index["serve"]] = 8.0
    patched = old.with_entries([old.row_index["capacity[a]"]], [old.col_index["servers[a]"]], [-3.0])
    assert np.array_equal(patched.A.toarray(), new.A.toarray())
    assert np.array_equal(c, new.c)
    assert np.array_equal(row_lower, new.row_lower)
    assert np.array_equal(row_upper, new.row_upper)
    assert old.A.toarray()[1, 2] == -2.0, "the old program is not touched"


def test_entries_outside_the_pattern_are_added():
    old = compile(facility()).lp
    patched = old.with_entries([0, 4], [5, 2], [1.5, -2.5])
    expected = old.A.toarray()
    expected[0, 5], expected[4, 2] = 1.5, -2.5
    assert np.array_equal(patched.A.toarray(), expected)
    with pytest.raises(IndexError):
        old.with_entries([99], [0], [1.0])


def test_a_coefficient_of_zero_keeps_the_shape():
    assert compile(facility(price=0.0, rate=0.0)).lp.A.shape == compile(facility()).lp.A.shape


def test_a_row_that_nothing_can_meet_is_refused_by_name():
    model = facility()
    model.empty = pyo.Constraint(expr=(1.0, model.held - 3.0, None))
    with pytest.raises(InputError, match="empty"):
        compile(model)


def test_only_one_minimised_objective():
    model = facility()
    model.cost.deactivate()
    with pytest.raises(ValueError, match="objective"):
        compile(model)
    model.gain = pyo.Objective(expr=model.open, sense=pyo.maximize)
    with pytest.raises(ValueError, match="minimise"):
        compile(model)


def test_violation_sees_rows_bounds_and_fractions():
    lp = compile(facility()).lp
    good = solve(lp, OPTIONS)
    assert good.status is Status.OPTIMAL
    assert lp.violation(good.x) < 1e-6
    half = good.x.copy()
    half[2] = 1.5
    assert lp.violation(half) >= 0.5
    assert lp.violation(good.x + np.eye(6)[5] * 10) > 0.5

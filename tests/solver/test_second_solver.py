"""Slow: mixed programs against SCIP, and the size the design allows."""

from __future__ import annotations

import time

import numpy as np
import pyomo.environ as pyo
import pytest

from optimizer.solver import LinearProgram, SolveOptions, Status, compile, fixed_lp, solve

from .programs import INF, program
from .scip import scip_model

pytestmark = pytest.mark.slow


def mixed(seed: int) -> LinearProgram:
    """Whole machines with a set-up cost, a split demand, and shared limits."""
    random = np.random.default_rng(seed)
    machines, goods = 6, 10
    shares = machines * goods
    demand, capacity = random.uniform(1, 20, goods), random.uniform(5, 40, machines)
    rows, low, high = [], [], []
    for good in range(goods):
        row = np.zeros(machines + shares)
        row[machines + good :: goods] = 1.0
        rows.append(row)
        low.append(demand[good])
        high.append(INF)
    for machine in range(machines):
        row = np.zeros(machines + shares)
        row[machine] = -capacity[machine]
        row[machines + machine * goods : machines + (machine + 1) * goods] = random.uniform(0.5, 2, goods)
        rows.append(row)
        low.append(-INF)
        high.append(0.0)
    cost = np.concatenate([random.uniform(20, 90, machines), random.uniform(0.1, 3, shares)])
    integer = [True] * machines + [False] * shares
    return program(cost, rows, low, high, [0] * len(cost), [30] * machines + [INF] * shares, integer)


def by_scip(lp: LinearProgram) -> float:
    """The optimum by SCIP."""
    model, _ = scip_model(lp)
    model.setParam("limits/gap", 0.0)
    model.optimize()
    return float(model.getObjVal())


@pytest.mark.parametrize("seed", range(20))
def test_scip_agrees(seed):
    lp = mixed(seed)
    outcome = solve(lp, SolveOptions(gap=0.0, time_limit=120.0))
    assert outcome.status is Status.OPTIMAL
    assert outcome.objective == pytest.approx(by_scip(lp), rel=1e-6)
    exact = fixed_lp(lp, outcome.x, SolveOptions())
    assert exact.objective == pytest.approx(outcome.objective, rel=1e-6)
    assert exact.violation < 1e-9


def test_half_a_million_nonzeros_compile_in_seconds():
    pairs, limits = 30_000, 16
    random = np.random.default_rng(0)
    coefficients = random.uniform(0.1, 2.0, (limits, pairs)).tolist()
    model = pyo.ConcreteModel()
    model.share = pyo.Var(range(pairs), bounds=(0, 1))
    model.cost = pyo.Objective(expr=pyo.quicksum(model.share[i] for i in range(pairs)))
    shares = list(model.share.values())
    model.limit = pyo.Constraint(
        range(limits),
        range(100),
        rule=lambda m, k, p: (
            pyo.quicksum(a * x for a, x in zip(coefficients[k][p::100], shares[p::100], strict=True)) >= 1
        ),
    )
    started = time.perf_counter()
    compiled = compile(model)
    assert time.perf_counter() - started < 20.0
    assert compiled.lp.A.shape == (1600, pairs)
    assert compiled.lp.A.nnz == limits * pairs

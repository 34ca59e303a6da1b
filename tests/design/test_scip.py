"""Slow: SCIP on the very programs behind the shipped answers. It shares nothing with HiGHS but the arrays.

Two solvers agree when neither refutes the other: SCIP takes our layout as a solution in its own arithmetic,
finds none below the bound we printed, and proves no bound above what our layout costs. Where it finishes
alone, without our layout to begin from, the two optima lie within both gaps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from optimizer.catalog import load_catalog
from optimizer.design.rounds import Candidate, improve
from optimizer.design.search import Clock
from optimizer.instance.build import build
from optimizer.solver import LinearProgram, SolveOptions
from optimizer.workload import load_workload
from tests.instance.shipped import WORKLOADS
from tests.solver.scip import scip_model

pytestmark = pytest.mark.slow

OPTIONS = SolveOptions(gap=0.01, time_limit=150.0)
ALONE = ("tiny",)
"""Small enough for SCIP to prove by itself."""
PATIENCE = 60.0
ROUNDING = 1e-6


@cache
def answer(name: str) -> Candidate:
    """The layout and the program of the round it comes from."""
    instance = build(load_workload(name).workload, load_catalog())
    best, _, _ = improve(instance, OPTIONS, Clock.start(OPTIONS.time_limit), rounds=1)
    assert best is not None
    return best


@dataclass(frozen=True)
class Judged:
    """What SCIP says: whether it takes our layout, its own best, and its bound."""

    takes: bool
    incumbent: float
    bound: float


def judged(lp: LinearProgram, x: np.ndarray | None, gap: float, seconds: float) -> Judged:
    """SCIP on the same rows and columns, from x or from nothing."""
    model, columns = scip_model(lp)
    model.setParam("limits/gap", gap)
    model.setParam("limits/time", seconds)
    takes = False
    if x is not None:
        start = model.createSol()
        for column, value in zip(columns, x, strict=True):
            model.setSolVal(start, column, float(value))
        takes = bool(model.checkSol(start, original=True))
        model.addSol(start)
    model.optimize()
    incumbent = float(model.getObjVal()) if model.getNSols() else math.inf
    return Judged(takes, incumbent, float(model.getDualbound()))


@pytest.mark.parametrize("name", WORKLOADS)
def test_neither_solver_refutes_the_other(name):
    best = answer(name)
    seen = judged(best.compiled.lp, best.outcome.x, OPTIONS.gap, PATIENCE)
    cost, bound = best.outcome.objective, best.outcome.bound
    assert seen.takes
    assert seen.incumbent <= cost * (1 + ROUNDING)
    assert seen.incumbent >= bound * (1 - ROUNDING)
    assert seen.bound <= cost * (1 + ROUNDING)


@pytest.mark.parametrize("name", ALONE)
def test_scip_alone_finds_the_same_optimum(name):
    best = answer(name)
    seen = judged(best.compiled.lp, None, 0.0, PATIENCE)
    assert seen.bound == pytest.approx(seen.incumbent, rel=ROUNDING)
    assert best.outcome.bound * (1 - ROUNDING) <= seen.incumbent <= best.outcome.objective * (1 + ROUNDING)

"""The shipped `tiny` workload: every integer point ruled out or solved, by an LP assembled apart."""

from __future__ import annotations

import pytest

from optimizer.catalog import load_catalog
from optimizer.design.margins import first_guess
from optimizer.formulation import formulate
from optimizer.instance.build import build
from optimizer.solver import SolveOptions, Status, compile, solve
from optimizer.workload import load_workload
from tests.oracle.enumerate import optimum


@pytest.mark.slow
@pytest.mark.parametrize("margin", [False, True])
def test_enumeration_finds_the_same_optimum(margin: bool) -> None:
    plain = build(load_workload("tiny").workload, load_catalog())
    instance = first_guess(plain) if margin else plain
    assert len(instance.models) >= 2
    assert len(instance.builds) >= 2
    assert all(sum(o.model == m for o in instance.options) >= 2 for m in instance.models)
    assert len({s.tier for s in instance.stores}) >= 3
    assert all(len(b.slots) >= 3 for b in instance.buckets)
    solved = solve(compile(formulate(instance)).lp, SolveOptions(gap=0.0, time_limit=120))
    assert solved.status is Status.OPTIMAL
    best = optimum(instance)
    assert best is not None
    assert solved.objective == pytest.approx(best.objective, rel=1e-6)

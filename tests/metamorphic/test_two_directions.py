"""The laws on the shipped workload of full size, by bounds: what is proven of the looser problem may not lie
above what was found for the tighter one. Some 20 s a solve."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from optimizer.catalog import load_catalog
from optimizer.design.margins import first_guess, touching
from optimizer.formulation import write
from optimizer.instance import Instance, Tier
from optimizer.instance.build import build
from optimizer.solver import Compiled, Outcome, SolveOptions, compile, relaxation, solve
from optimizer.workload import load_workload

from .changes import LOOSER, priced
from .rewrite import without
from .solved import dearer, differs

OPTIONS = SolveOptions(gap=0.01, time_limit=60.0)
HASTY = SolveOptions(gap=0.01, time_limit=30.0)
CLOSE = 0.03
"""A relative gap that leaves a law something to say."""


@cache
def instance() -> Instance:
    """The problem with margins that touch at the answer of its relaxation; later ones would do as well."""
    problem = first_guess(build(load_workload("two-directions").workload, load_catalog()))
    model = write(problem)
    compiled = compile(model.pyomo)
    relaxed = relaxation(compiled.lp, OPTIONS)
    assert relaxed.x is not None
    compiled.read_back(relaxed.x)
    return touching(model)[0]


def compiled(problem: Instance) -> Compiled:
    return compile(write(problem).pyomo)


@cache
def base() -> Outcome:
    """An incumbent and a bound that are close."""
    outcome = solve(compiled(instance()).lp, OPTIONS)
    assert outcome.gap < CLOSE
    return outcome


@cache
def relaxed_base() -> float:
    return relaxation(compiled(instance()).lp, OPTIONS).objective


@pytest.mark.slow
def test_less_power_is_never_cheaper() -> None:
    """A tenth less than the layout takes: servers that draw less, or hold more, must be bought instead."""
    model = write(instance())
    compile(model.pyomo).read_back(base().x)
    taken = sum(b.power_w * round(model.pyomo.servers[b.id, model.t].value) for b in instance().builds)
    problem = replace(instance(), limits=replace(instance().limits, power_w=0.9 * taken))
    assert base().bound <= solve(compiled(problem).lp, HASTY).objective


@pytest.mark.slow
def test_without_storage_nodes_it_is_never_cheaper() -> None:
    nodes = [b.id for b in instance().builds if b.tier is Tier.STORAGE]
    assert nodes
    assert base().bound <= solve(compiled(without(instance(), builds=nodes)).lp, HASTY).objective


@pytest.mark.slow
@pytest.mark.parametrize("law", list(LOOSER)[::8])
def test_looser_relaxation_is_never_dearer(law: str) -> None:
    """With machines in parts the optimum is known, and every coefficient counts."""
    if changed := LOOSER[law](instance()):
        assert not dearer(relaxation(compiled(changed).lp, OPTIONS).objective, relaxed_base())


@pytest.mark.slow
def test_relaxation_at_double_prices_costs_double() -> None:
    double = priced(2.0)(instance())
    assert double is not None
    assert not differs(relaxation(compiled(double).lp, OPTIONS).objective, 2 * relaxed_base())

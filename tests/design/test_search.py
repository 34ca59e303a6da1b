"""Opened by parts or handed over whole, a program has the same optimum; the parts are the LLMs."""

from __future__ import annotations

from functools import cache

import pytest

from optimizer.catalog import load_catalog
from optimizer.design import margins, search
from optimizer.design.rounds import improve
from optimizer.design.search import Clock
from optimizer.formulation import write
from optimizer.formulation.owners import owners
from optimizer.instance import Instance
from optimizer.instance.build import build
from optimizer.solver import LinearProgram, SolveOptions, compile, relaxation, solve
from optimizer.workload import load_workload
from tests.oracle.random_instances import random_instance

EXACT = SolveOptions(gap=0.0, time_limit=60.0)
SEEDS = range(0, 40, 2)


@pytest.fixture
def by_parts(monkeypatch):
    """Every program counts as large."""
    monkeypatch.setattr(LinearProgram, "is_large", property(lambda lp: True))


def both(instance: Instance):
    """The optimum by HiGHS alone and by parts."""
    model = write(instance)
    compiled = compile(model.pyomo)
    relaxed = relaxation(compiled.lp, EXACT)
    parts = search.search(
        compiled.lp, EXACT, Clock.start(60.0), "test",
        owners=owners(model, compiled.variables), relaxed=relaxed,
    )  # fmt: skip
    return solve(compiled.lp, EXACT), parts


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_optimum(by_parts, seed):
    whole, parts = both(random_instance(seed))
    assert parts.has_solution == whole.has_solution
    if whole.has_solution:
        assert parts.objective == pytest.approx(whole.objective, rel=1e-6)
        assert parts.bound <= whole.objective * (1 + 1e-6)


@cache
def tiny() -> Instance:
    """tiny as its first round begins."""
    return margins.first_guess(build(load_workload("tiny").workload, load_catalog()))


def test_tiny_by_parts(by_parts):
    best, rounds, _ = improve(tiny(), EXACT, Clock.start(60.0))
    assert best is not None
    assert best.certificate.passed
    assert best.layout.objective_usd == pytest.approx(2_300_165.25, abs=0.01)
    assert rounds


def test_machines_belong_to_nobody_and_the_rest_to_one_model():
    model = write(tiny())
    compiled = compile(model.pyomo)
    whose = owners(model, compiled.variables)
    families: dict[str, set[str | None]] = {}
    for owner, variable in zip(whose, compiled.variables, strict=True):
        families.setdefault(variable.parent_component().name, set()).add(owner)
    shared = {family for family, found in families.items() if found == {None}}
    assert {"servers", "chosen", "servers_of_sku", "servers_in_all"} <= shared
    both_models = {"deepseek-v4-flash", "kimi-k2"}
    for family in ("instances", "option", "path", "decode", "kept", "accelerators_of_model"):
        assert families[family] == both_models, family


def test_progress_of_a_restriction_shows_the_bound_of_the_whole(monkeypatch):
    lp = compile(write(tiny()).pyomo).lp
    told = []
    work = search._Watched(lp, [], EXACT, Clock.start(60.0), "test", lambda *said: told.append(said[3]), None)
    monkeypatch.setattr(search, "solve", lambda *_, progress, **__: progress(0.0, 10.0, 9.0, 0.1))
    work.solve(known_bound=5.0)
    work.solve(known_bound=5.0, fixed={0: 1.0})
    assert told == [9.0, 5.0]

"""The laws on the workload that ships for first steps, with margins that touch its own layout."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest

from optimizer.catalog import load_catalog
from optimizer.design.rounds import improve
from optimizer.design.search import Clock
from optimizer.instance.build import build
from optimizer.workload import load_workload

from .changes import LOOSER
from .solved import EXACT, Optimum, dearer, differs, optimum
from .test_limits import LIMITS, judge
from .test_same_problem import SAME


@cache
def settled() -> Optimum:
    """tiny at its last round; flash is forced in so that every tier has a part."""
    asked = load_workload("tiny", ("tiers.nvme.min_bytes=1 GB",)).workload
    best, _, _ = improve(build(asked, load_catalog()), EXACT, Clock.start(60.0))
    assert best is not None
    assert any(s.slope for s in best.model.instance.stores)
    return optimum(best.model.instance)


@pytest.mark.parametrize("law", LOOSER)
def test_looser_is_never_dearer(law: str) -> None:
    """With machines in parts, where every coefficient counts."""
    if changed := LOOSER[law](settled().instance):
        assert not dearer(optimum(changed, integers=False).usd, settled().relaxed)


@pytest.mark.slow
@pytest.mark.parametrize("law", LOOSER)
def test_looser_is_never_dearer_in_whole_machines(law: str) -> None:
    if changed := LOOSER[law](settled().instance):
        assert not dearer(optimum(changed).usd, settled().usd)


@pytest.mark.parametrize("law", SAME)
def test_the_same_problem_costs_the_same(law: str) -> None:
    factor, rewrite = SAME[law]
    after = optimum(rewrite(settled().instance, Random(1)))
    assert not differs(after.usd, factor * settled().usd)
    assert not differs(after.relaxed, factor * settled().relaxed)


@pytest.mark.slow
@pytest.mark.parametrize("name", LIMITS)
def test_tighter_limit_is_never_cheaper(name: str) -> None:
    assert judge(name, settled())[0] == []

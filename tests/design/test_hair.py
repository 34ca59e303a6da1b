"""Answers that a hair decides: a layout that breaks a row by less than a solver's tolerance is none. It is
searched for again with finer tolerances, and what there is not then is not there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from optimizer.catalog import load_catalog
from optimizer.design import margins, rounds
from optimizer.design.rounds import Candidate, improve
from optimizer.design.search import Clock
from optimizer.formulation import read_back
from optimizer.instance.build import build
from optimizer.solver import Outcome, SolveOptions, Status
from optimizer.verify import check
from optimizer.workload import load_workload

LATENCY = Path(__file__).parents[1] / "metamorphic" / "workloads" / "cxl-latency.yaml"
OPTIONS = SolveOptions(gap=0.01, time_limit=60.0)
INSTANCE = build(load_workload(LATENCY).workload, load_catalog())
WITH_MARGINS = replace(INSTANCE, dispersion=1.0)


def rejected(candidate: Candidate) -> Candidate:
    """The same layout, as if the exact check had found something."""
    return replace(candidate, certificate=replace(candidate.certificate, passed=False))


Judge = Callable[[int, Candidate], Candidate]


def watched(
    monkeypatch: pytest.MonkeyPatch, judged: Judge, second: Outcome | None = None
) -> list[SolveOptions]:
    """The options of every search; `judged` has the last word on each layout, `second` is said in turn."""
    asked: list[SolveOptions] = []
    search, settle = rounds.search, rounds.settle

    def searched(lp: Any, options: SolveOptions, *rest: Any, **more: Any) -> Outcome:
        asked.append(options)
        return second if second is not None and len(asked) > 1 else search(lp, options, *rest, **more)

    monkeypatch.setattr(rounds, "search", searched)
    monkeypatch.setattr(rounds, "settle", lambda *parts: judged(len(asked), settle(*parts)))
    return asked


def test_a_rejected_layout_is_searched_for_with_finer_tolerances(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = watched(monkeypatch, lambda time, found: rejected(found) if time == 1 else found)
    best, done, _ = improve(INSTANCE, OPTIONS, Clock.start(60.0), rounds=1)
    assert best is not None
    assert best.certificate.passed
    assert len(done) == 2
    assert not asked[0].highs_options
    assert asked[1].highs_options["mip_feasibility_tolerance"] == 1e-9


def test_what_finer_tolerances_refute_is_no_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    none = Outcome(Status.INFEASIBLE, None, float("inf"), float("inf"), float("inf"), 0.1, 0, None)
    watched(monkeypatch, lambda _, found: rejected(found), none)
    best, _, (_, outcome) = improve(INSTANCE, OPTIONS, Clock.start(60.0))
    assert best is None
    assert outcome.status is Status.INFEASIBLE


def test_a_layout_that_is_rejected_twice_is_told_as_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = watched(monkeypatch, lambda _, found: rejected(found))
    best, _, _ = improve(INSTANCE, OPTIONS, Clock.start(60.0), rounds=1)
    assert best is not None
    assert not best.certificate.passed
    assert len(asked) == 2


def test_rounding_lets_no_context_rise() -> None:
    """Exclusive: a share of 1e-16 in the second slot where the first has none, as a solver leaves it."""
    exclusive = build(load_workload(LATENCY, ["tiers.policy=exclusive"]).workload, load_catalog())
    best, _, _ = improve(exclusive, OPTIONS, Clock.start(60.0), rounds=1)
    assert best is not None
    assert best.certificate.passed
    contexts = best.model.contexts
    numbers = [contexts.number[h.id] for h in exclusive.holdings]
    unused = [n for n in numbers if not contexts.variable[n, 1].value]
    assert unused
    for number in unused:
        contexts.variable[number, 2].set_value(5e-16)
    assert check(best.model.instance, read_back(best.model)).passed


@pytest.mark.parametrize("room", [1.0, 3.0, 100.0])
def test_a_margin_that_is_kept_fits_its_domain(room: float) -> None:
    """A domain of `room` contexts: mean and margin fill it, where the margin of a full one asks for more than
    the domain has when it holds few."""
    size = 1e9
    slope = margins._full_beside_margin(WITH_MARGINS, room * size, [size])
    variance = 1 / slope**2
    mean = variance / (WITH_MARGINS.dispersion * size)
    assert mean + WITH_MARGINS.quantile / slope == pytest.approx(room * size)


"""A solved layout passes the exact check, and no number of it can be moved and no label swapped unnoticed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from optimizer.design.rounds import Candidate
from optimizer.instance import Policy
from optimizer.verify import check
from tests.verify.mutations import Mutant, every_label_swapped, every_number_moved, every_zero_filled

from .certified import FIRST, WORKLOADS, of_seed, of_workload

FAST, SLOW = range(12), range(12, 132)
COST = 1e-9
"""Relative: a recomputed cost is the stated one."""


def certified(candidate: Candidate) -> None:
    """Every law holds exactly, and the cost is that of the program that was solved."""
    certificate = candidate.certificate
    assert certificate.passed, [str(v) for v in certificate.violations]
    assert certificate.recomputed_usd == pytest.approx(candidate.layout.objective_usd, rel=COST)
    assert candidate.layout.objective_usd == pytest.approx(candidate.priced.objective, rel=COST)
    assert candidate.layout.objective_usd >= candidate.outcome.bound * (1 - COST)


def mutants(candidate: Candidate, at_most: int | None, each: int | None) -> Iterator[Mutant]:
    """Numbers moved, zeros filled, labels swapped."""
    yield from every_number_moved(candidate.layout, at_most)
    yield from every_zero_filled(candidate.layout)
    yield from every_label_swapped(candidate.layout, candidate.model.instance, each, at_most)


def unnoticed(candidate: Candidate, at_most: int | None = None, each: int | None = 1) -> list[str]:
    """Mutants that the exact check passes."""
    instance = candidate.model.instance
    return [what for what, mutant in mutants(candidate, at_most, each) if check(instance, mutant).passed]


def seeds(numbers: Iterable[int], policy: Policy) -> Iterator[Candidate]:
    """The random instances of one policy that have a layout."""
    found = (of_seed(number) for number in numbers)
    return (c for c in found if c is not None and c.model.instance.policy is policy)


EVERY = [n if n in FIRST else pytest.param(n, marks=pytest.mark.slow) for n in WORKLOADS]


@pytest.mark.parametrize("name", EVERY)
def test_workload_is_certified(name: str) -> None:
    candidate = of_workload(*WORKLOADS[name])
    certified(candidate)
    assert unnoticed(candidate, at_most=30) == []


@pytest.mark.parametrize("name", EVERY)
def test_no_instance_is_idle(name: str) -> None:
    """A planner who reads of an instance should find work for it."""
    pools = of_workload(*WORKLOADS[name]).layout.pools
    assert [p.pool for p in pools if not p.sequences and not p.prefill_busy] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_mutant_of_a_workload_is_caught(name: str) -> None:
    """Every number, and every label by three others."""
    assert unnoticed(of_workload(*WORKLOADS[name]), each=3) == []


def test_random_layouts_are_certified() -> None:
    for candidate in seeds(FAST, Policy.WRITE_THROUGH):
        certified(candidate)
        assert unnoticed(candidate, at_most=12) == []


@pytest.mark.slow
def test_more_random_layouts_are_certified() -> None:
    judged = list(seeds(SLOW, Policy.WRITE_THROUGH))
    assert len(judged) > 50
    for candidate in judged:
        certified(candidate)
        assert unnoticed(candidate, at_most=25) == []


@pytest.mark.slow
def test_exclusive_random_layouts_are_certified() -> None:
    judged = list(seeds([*FAST, *SLOW], Policy.EXCLUSIVE))
    assert len(judged) > 8
    for candidate in judged:
        certified(candidate)
        assert unnoticed(candidate, at_most=60) == []

"""A bound from parts is never above the optimum, never below the relaxation, whatever the prices."""

from __future__ import annotations

import math

import numpy as np
import pytest

from optimizer.solver import Blocks, SolveOptions, Status, bound_by_parts, relaxation, solve
from optimizer.solver.arrays import LinearProgram
from tests.solver.programs import best_by_enumeration, program

EXACT = SolveOptions(gap=0.0, time_limit=30.0)
SEEDS = range(25)


def two_parts(seed: int) -> tuple[LinearProgram, list[str | None]]:
    """Two LLMs of three integer columns and a machine shared between them, each with rows of its own."""
    random = np.random.default_rng(seed)
    owners = ["a", "b", "a", None, "b", "a", "b"]
    A = np.zeros((4, 7))
    for row, owner in ((0, "a"), (1, "b")):  # a demand of each
        mine = [k for k, name in enumerate(owners) if name == owner]
        A[row, mine] = random.integers(1, 6, len(mine))
    mine = [k for k, name in enumerate(owners) if name]
    A[2, mine] = random.integers(1, 4, len(mine))  # what they use of the machine
    A[2, 3] = -random.integers(3, 7)
    A[3, mine] = random.integers(0, 3, len(mine))  # and what they may use together
    low = [float(random.integers(4, 10)), float(random.integers(4, 10)), -math.inf, -math.inf]
    high = [math.inf, math.inf, 0.0, float(A[3].sum() * 1.5)]
    cost = random.integers(1, 9, 7).astype(float)
    cost[3] = 12.0
    lp = program(cost, A, low, high, [0] * 7, [3] * 7, [True] * 7, offset=5.0)
    return lp, owners


@pytest.mark.parametrize("seed", SEEDS)
def test_between_the_relaxation_and_the_optimum(seed):
    lp, owners = two_parts(seed)
    optimum = best_by_enumeration(lp)
    relaxed = relaxation(lp, EXACT)
    if relaxed.x is None:
        assert optimum == math.inf
        return
    found = bound_by_parts(Blocks.of(lp, owners), relaxed.duals.row, EXACT)
    assert relaxed.objective - 1e-6 <= found.bound <= optimum + 1e-6


@pytest.mark.parametrize("seed", SEEDS)
def test_any_prices_give_a_bound(seed):
    """Wrong signs and wild sizes weaken the bound and never break it."""
    lp, owners = two_parts(seed)
    wild = np.random.default_rng(1000 + seed).normal(0.0, 10.0, lp.A.shape[0])
    assert bound_by_parts(Blocks.of(lp, owners), wild, EXACT).bound <= best_by_enumeration(lp) + 1e-6


def test_improves_on_the_relaxation_somewhere():
    better = 0
    for seed in SEEDS:
        lp, owners = two_parts(seed)
        relaxed = relaxation(lp, EXACT)
        if relaxed.x is not None:
            found = bound_by_parts(Blocks.of(lp, owners), relaxed.duals.row, EXACT)
            better += found.bound > relaxed.objective + 0.1
    assert better >= 5


def test_rows_are_shared_or_owned_and_none_is_lost():
    lp, owners = two_parts(0)
    blocks = Blocks.of(lp, owners)
    assert blocks.rows.tolist() == [2, 3]
    own = sorted(name for part in blocks.parts for name in part.own.row_names)
    assert own == ["r0", "r1"]
    assert sorted(k for part in blocks.parts for k in part.columns) == list(range(7))


def test_a_row_without_entries_still_counts():
    """0 >= 1 has no owner: its part must be infeasible, and the bound must not pretend otherwise."""
    rows = [[1.0, 0.0], [0.0, 0.0]]
    empty = program([1.0, 1.0], rows, [0.0, 1.0], [9.0, 2.0], [0, 0], [3, 3], [True, True])
    blocks = Blocks.of(empty, ["a", "b"])
    assert sum(len(part.own.row_names) for part in blocks.parts) == 2
    assert bound_by_parts(blocks, np.zeros(2), EXACT).bound == -math.inf


def test_stopped_is_no_bound_and_late_is_one_still():
    """Every part gets a moment, however little time there is; told to stop, there is no bound to speak of."""
    lp, owners = two_parts(2)
    relaxed = relaxation(lp, EXACT)
    blocks, late = Blocks.of(lp, owners), SolveOptions(gap=0.0, time_limit=1e-9)
    assert bound_by_parts(blocks, relaxed.duals.row, late).bound >= relaxed.objective - 1e-6
    assert bound_by_parts(blocks, relaxed.duals.row, EXACT, interrupt=lambda: True).bound == -math.inf


def test_owners_must_match_the_columns():
    lp, owners = two_parts(3)
    with pytest.raises(ValueError, match="6 owners for 7 columns"):
        Blocks.of(lp, owners[:-1])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_known_bound_ends_the_search_within_the_gap(seed):
    """`known_bound` is a target as well: what stops there is within the gap of it."""
    lp, _ = two_parts(seed)
    optimum = best_by_enumeration(lp)
    if optimum == math.inf:
        pytest.skip("this program has no solution")
    outcome = solve(lp, SolveOptions(gap=0.3, time_limit=30.0), known_bound=optimum)
    assert outcome.status in (Status.WITHIN_GAP, Status.OPTIMAL)
    assert outcome.bound <= optimum + 1e-6
    assert outcome.objective <= optimum / 0.7 + 1e-6


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_that_were_stopped_bound_less_and_never_too_much(seed):
    lp, owners = two_parts(seed)
    relaxed = relaxation(lp, EXACT)
    if relaxed.x is None:
        pytest.skip("this program has no solution")
    blocks = Blocks.of(lp, owners)
    whole = bound_by_parts(blocks, relaxed.duals.row, EXACT)
    hurried = bound_by_parts(blocks, relaxed.duals.row, SolveOptions(gap=0.0, time_limit=1e-9))
    assert hurried.bound <= whole.bound + 1e-6

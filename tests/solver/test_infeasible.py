"""The word infeasible comes with a witness: which rows, by how much, and no more than needed."""

from __future__ import annotations

import dataclasses

import pytest

from optimizer.errors import SolverFailure
from optimizer.solver import SolveOptions, Status, elastic, give_way, is_infeasible, linear, relaxation

from .programs import INF, covering, program

EXACT = SolveOptions(gap=0.0, time_limit=20.0)


def test_the_smallest_fix_of_a_limit():
    # demand 10 (may not give), power 2 per unit within 15 (may give): 5 are missing
    lp = program([1], [[1], [2]], [10, -INF], [INF, 15], [0], [INF], [False])
    assert is_infeasible(lp, EXACT)
    (slack,) = elastic(lp, [1], EXACT)
    assert (slack.row, slack.name) == (1, "r1")
    assert (slack.have, slack.need, slack.slack) == pytest.approx((15.0, 20.0, 5.0))
    assert str(slack) == "r1: have 15, need 20, smallest fix 5"


def test_a_demand_that_gives_has_less_than_it_needs():
    lp = program([1], [[1], [2]], [10, -INF], [INF, 15], [0], [INF], [False])
    (slack,) = elastic(lp, [0], EXACT)
    assert (slack.have, slack.need, slack.slack) == pytest.approx((7.5, 10.0, 2.5))


def test_whole_servers_make_the_fix_larger():
    # demand 10, servers of 4 at 3 kW within 8 kW: the relaxation needs 7.5 kW, whole servers 9
    lp = program([1], [[4], [3]], [10, -INF], [INF, 8], [0], [9], [True])
    assert is_infeasible(lp, EXACT)
    (slack,) = elastic(lp, [1], EXACT)
    assert slack.need == pytest.approx(9.0)


def test_conflict_of_integers_only():
    lp = program([1], [[2]], [1], [1], [0], [9], [True])
    assert is_infeasible(lp, EXACT)
    (slack,) = elastic(lp, [0], EXACT)
    assert slack.slack == pytest.approx(1.0)


def test_slacks_are_weighed_by_the_scale_of_their_rows():
    # a small row and a large one are in conflict; 10% of either mends it, so the share decides, not the unit
    lp = program(
        [0, 0], [[1, 0], [0, 1], [1, 1e-6]], [-INF, -INF, 10], [5, 4e6, INF], [0, 0], [INF, INF], [False] * 2
    )
    slacks = elastic(lp, [0, 1], EXACT)
    assert sum(slack.slack / slack.have for slack in slacks) == pytest.approx(0.2)


def test_every_conflict_at_once_worst_first():
    rows = [[1, 0], [1, 0], [0, 1], [0, 1]]
    lp = program([0, 0], rows, [10, -INF, 10, -INF], [INF, 9, INF, 5], [0] * 2, [INF] * 2, [False] * 2)
    assert [slack.name for slack in elastic(lp, [1, 3], EXACT)] == ["r3", "r1"]


def test_conflict_outside_the_allowed_rows_names_them_all_the_same():
    lp = program([1], [[1], [1], [1]], [3, -INF, -INF], [INF, 2, 50], [0], [9], [True])
    slacks = elastic(lp, [2], EXACT)
    assert {slack.name for slack in slacks} <= {"r0", "r1"}
    assert sum(slack.slack for slack in slacks) == pytest.approx(1.0)


def test_feasible_programs_need_nothing():
    lp = covering(0)
    assert not is_infeasible(lp, EXACT)
    assert elastic(lp, range(3), EXACT) == []


def test_bounds_in_conflict_have_no_row_to_name():
    lp = program([1], [[1]], [0], [9], [5], [4], [False])
    with pytest.raises(SolverFailure):
        elastic(lp, [0], EXACT)


def test_one_sided_and_range_rows_may_give_on_either_side():
    lp = program([0], [[1]], [2], [4], [6], [9], [False])
    (slack,) = elastic(lp, [0], EXACT)
    assert (slack.have, slack.need) == pytest.approx((4.0, 6.0))
    lp = dataclasses.replace(lp, col_lower=lp.col_lower * 0, col_upper=lp.col_upper * 0 + 1)
    (slack,) = elastic(lp, [0], EXACT)
    assert (slack.have, slack.need) == pytest.approx((1.0, 2.0))


def test_what_gives_way_comes_with_its_sum_and_a_solution():
    lp = program([1], [[1], [2]], [10, -INF], [INF, 15], [0], [INF], [False])
    given = give_way(lp, [1], EXACT)
    assert given.total == pytest.approx(5 / 15)
    assert given.x == pytest.approx([10.0])


def test_a_demand_missed_by_a_hair_is_missed():
    # a share of 0.9999 where 0.9999 less 7e-7 can be had: little beside it, and much of what may go wrong
    lp = program([1], [[1]], [0.9999], [INF], [0], [0.9999 * (1 - 7e-7)], [False])
    (slack,) = elastic(lp, [0], EXACT)
    assert slack.slack == pytest.approx(7e-7, rel=1e-3)


def test_a_hair_beside_a_conflict_is_none():
    rows = [[1, 0], [0, 1]]
    lp = program([0, 0], rows, [10, 1], [INF, INF], [0, 0], [5, 1 - 1e-7], [False] * 2)
    assert [slack.name for slack in elastic(lp, [0, 1], EXACT)] == ["r0"]


def test_what_no_way_decides_is_infeasible_by_what_would_have_to_give_way(monkeypatch):
    """A program that HiGHS leaves undecided is one of two: with slacks, it always has an answer."""
    solve_one = linear._solve

    def undecided(lp, *rest):
        if len(lp.c) == 1:
            raise SolverFailure("HiGHS ended with kUnknown: neither an answer nor a proof")
        return solve_one(lp, *rest)

    monkeypatch.setattr(linear, "_solve", undecided)
    lp = program([1], [[1], [2]], [10, -INF], [INF, 15], [0], [INF], [False])
    outcome = relaxation(lp, EXACT)
    assert outcome.status is Status.INFEASIBLE
    assert any("give way" in note for note in outcome.notes)
    with pytest.raises(SolverFailure, match="was not solved"):
        relaxation(dataclasses.replace(lp, row_upper=lp.row_upper + 10), EXACT)

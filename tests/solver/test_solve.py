"""Solves against enumeration and known prices, and every way a solve can end."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
import time

import numpy as np
import pytest

from optimizer.errors import InputError, SolverFailure
from optimizer.solver import SolveOptions, Status, fix, fixed_lp, relative_gap, relaxation, solve
from optimizer.solver.engine import load

from .programs import INF, best_by_enumeration, covering, market_split, program, transport

EXACT = SolveOptions(gap=0.0, time_limit=30.0)


@pytest.mark.parametrize("seed", range(12))
def test_integer_optimum_is_that_of_enumeration(seed):
    lp = covering(seed)
    outcome = solve(lp, EXACT)
    assert outcome.status is Status.OPTIMAL
    assert outcome.objective == pytest.approx(best_by_enumeration(lp))
    assert outcome.bound == pytest.approx(outcome.objective)
    assert outcome.violation < 1e-6
    assert np.allclose(outcome.row_activity, lp.A @ outcome.x)


@pytest.mark.parametrize("seed", range(6))
def test_relaxation_bounds_and_prices_certify_themselves(seed):
    lp = covering(seed)
    outcome = relaxation(lp, EXACT)
    assert outcome.objective <= best_by_enumeration(lp) + 1e-6
    duals = outcome.duals
    assert np.allclose(lp.A.T @ duals.row + duals.col, lp.c)
    sides = np.where(duals.row > 0, lp.row_lower, np.where(np.isfinite(lp.row_upper), lp.row_upper, 0))
    bounds = np.where(duals.col > 0, lp.col_lower, lp.col_upper)
    assert duals.row @ sides + duals.col @ bounds + lp.offset == pytest.approx(outcome.objective)


def test_signs_of_prices():
    duals = relaxation(transport(), EXACT).duals
    assert duals.row == pytest.approx([3.0, -1.0])
    assert duals.col == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize("solver", ["simplex", "ipx"])
def test_both_linear_solvers_agree(solver):
    outcome = relaxation(transport(), dataclasses.replace(EXACT, highs_options={"solver": solver}))
    assert outcome.objective == pytest.approx(26.0)
    assert outcome.duals.row == pytest.approx([3.0, -1.0])


def test_fixed_lp_holds_the_integers_and_prices_the_rest():
    # y servers of capacity 4 at 10 each, 9 to serve or to drop at 6 each: 2 servers, 1 dropped.
    rows, integer = [[-4, 1, 0], [0, 1, 1]], [True, False, False]
    lp = program([10, 0, 6], rows, [-INF, 9], [0, 9], [0] * 3, [INF] * 3, integer)
    best = solve(lp, EXACT)
    assert best.objective == pytest.approx(26.0)
    nearly = best.x + np.array([3e-7, 0, 0])
    outcome = fixed_lp(lp, nearly, EXACT)
    assert outcome.status is Status.OPTIMAL
    assert outcome.x.tolist() == [2.0, 8.0, 1.0]
    assert outcome.duals.row == pytest.approx([-6.0, 6.0])
    assert outcome.notes == ()


def test_fixed_lp_with_integers_that_admit_nothing():
    lp = program([1, 1], [[1, 1]], [5], [5], [0, 0], [9, 1], [True, False])
    outcome = fixed_lp(lp, np.array([2.0, 1.0]), EXACT)
    assert outcome.status is Status.INFEASIBLE
    assert len(outcome.notes) == 2


def test_infeasible_unbounded_and_empty():
    both = program([1], [[1], [1]], [3, -INF], [INF, 2], [0], [9], [True])
    assert solve(both, EXACT).status is Status.INFEASIBLE
    integer_only = program([1], [[2]], [1], [1], [0], [9], [True])
    assert solve(integer_only, EXACT).status is Status.INFEASIBLE
    assert relaxation(integer_only, EXACT).objective == pytest.approx(0.5)
    free = program([-1, 0], [[1, -1]], [0], [0], [0, 0], [INF, INF], [True, False])
    with pytest.raises(SolverFailure, match="nbounded"):
        solve(free, EXACT)
    with pytest.raises(SolverFailure, match="nbounded"):
        relaxation(free, EXACT)
    empty = program(np.zeros(0), np.zeros((1, 0)), [0], [1], [], [], [], offset=2.0)
    assert solve(empty, EXACT).objective == 2.0
    assert solve(dataclasses.replace(empty, row_lower=np.array([1.0])), EXACT).status is Status.INFEASIBLE


def test_no_rows():
    lp = program([1, -1], np.zeros((0, 2)), [], [], [1, 0], [5, 3], [True, False])
    assert solve(lp, EXACT).objective == pytest.approx(-2.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"highs_options": {"mip_heuristic_efort": 0.1}}, "did you mean mip_heuristic_effort"),
        ({"highs_options": {"mip_heuristic_effort": "much"}}, "refuses the value 'much'"),
        ({"highs_options": {"mip_heuristic_effort": -1.0}}, "refuses the value -1.0"),
        ({"highs_options": {"presolve": None}}, "refuses the value None"),
        ({"highs_options": {"threads": 4}}, "set threads instead"),
        ({"gap": -0.1}, "gap"),
        ({"time_limit": 0.0}, "time_limit"),
        ({"threads": 0}, "threads"),
    ],
)
def test_options_that_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        SolveOptions(**options)


def test_every_bad_option_is_named_at_once():
    with pytest.raises(InputError) as raised:
        SolveOptions(gap=-1, threads=0, highs_options={"a_b_c": 1, "presolve": "perhaps"})
    assert len(raised.value.problems) == 4


def test_highs_options_reach_highs():
    highs = load(transport(), dataclasses.replace(EXACT, highs_options={"mip_heuristic_effort": 0.3}), {})
    assert highs.getOptionValue("mip_heuristic_effort")[1] == 0.3


@pytest.mark.parametrize("value", [np.nan, 1e-13, 1e16])
def test_numbers_that_highs_would_swallow_are_named(value):
    lp = transport().with_entries([1], [0], [value])
    with pytest.raises(SolverFailure, match="x0 in row r1"):
        solve(lp, EXACT)
    lp = dataclasses.replace(transport(), c=np.array([np.nan, 1.0]))
    with pytest.raises(SolverFailure, match="cost of x0"):
        relaxation(lp, EXACT)


def test_small_coefficients_count():
    """HiGHS drops 1e-10 by default; here it must still bind."""
    lp = program([1], [[1e-10]], [1], [INF], [0], [INF], [False])
    assert relaxation(lp, EXACT).objective == pytest.approx(1e10)


def test_start_is_used_completed_and_never_lost():
    lp = market_split()
    good = solve(lp, SolveOptions(gap=0.0, time_limit=2.0, threads=1))
    brief = SolveOptions(gap=0.0, time_limit=0.05, threads=1)
    assert solve(lp, brief, start=good.x).objective <= good.objective + 1e-6
    partial = np.where(lp.integrality, good.x, np.nan)
    roomier = dataclasses.replace(brief, time_limit=0.5)
    assert solve(lp, roomier, start=partial).objective <= good.objective + 1e-6
    with pytest.raises(ValueError, match="start"):
        solve(lp, brief, start=np.zeros(3))


def test_an_impossible_start_does_no_harm():
    lp = covering(1)
    assert solve(lp, EXACT, start=np.full(5, -7.0)).objective == pytest.approx(best_by_enumeration(lp))


def test_fixed_columns_stay():
    lp = covering(2)
    outcome = solve(lp, EXACT, fixed={0: 3.0})
    assert outcome.x[0] == 3.0
    assert outcome.objective >= best_by_enumeration(lp) - 1e-9
    assert lp.col_lower[0] == 0.0


def test_gap_and_known_bound():
    lp = market_split(30, 2, seed=1)
    wide = solve(lp, SolveOptions(gap=0.9, time_limit=5.0))
    assert wide.status in (Status.OPTIMAL, Status.WITHIN_GAP, Status.LIMIT)
    assert wide.gap == pytest.approx(relative_gap(wide.objective, wide.bound))
    hard = market_split()
    short = SolveOptions(gap=0.0, time_limit=1.0)
    found = solve(hard, short)
    assert found.status is Status.LIMIT
    assert found.bound <= 1.0
    assert solve(hard, short, known_bound=1.0).bound == 1.0
    with pytest.raises(SolverFailure, match="lies above"):
        solve(hard, short, known_bound=1e6)


def test_time_limit_returns_the_incumbent_in_time():
    started = time.perf_counter()
    outcome = solve(market_split(), SolveOptions(gap=0.0, time_limit=1.0))
    assert time.perf_counter() - started < 2.5
    assert outcome.status is Status.LIMIT
    assert outcome.violation < 1e-6
    assert outcome.bound <= outcome.objective
    assert outcome.gap > 0.01
    assert "limit reached" in str(outcome)


def test_interrupt_and_progress():
    seen = []
    outcome = solve(
        market_split(),
        SolveOptions(gap=0.0, time_limit=30.0),
        interrupt=lambda: bool(seen) and seen[-1][0] > 0.5,
        progress=lambda *numbers: seen.append(numbers),
    )
    assert outcome.status is Status.INTERRUPTED
    assert outcome.has_solution
    assert outcome.seconds < 5.0
    incumbents = [incumbent for _, incumbent, _, _ in seen]
    assert incumbents == sorted(incumbents, reverse=True)
    assert all(gap == relative_gap(incumbent, bound) for _, incumbent, bound, gap in seen)


def test_an_error_in_progress_reaches_the_caller():
    def broken(*_: float) -> None:
        raise RuntimeError("broken display")

    with pytest.raises(RuntimeError, match="broken display"):
        solve(market_split(), SolveOptions(gap=0.0, time_limit=30.0), progress=broken)
    for thread in threading.enumerate():
        if thread.name == "highs":
            thread.join(5.0)
            assert not thread.is_alive(), "the run left behind must stop"


def test_ctrl_c_returns_the_incumbent():
    """A shell starts what runs behind it with Ctrl-C ignored: the test puts the usual handler in place."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        outcome = solve(market_split(), SolveOptions(gap=0.0, time_limit=30.0))
    finally:
        signal.signal(signal.SIGINT, before)
    assert outcome.status is Status.INTERRUPTED
    assert outcome.has_solution
    assert 0.9 < outcome.seconds < 5.0


def test_ctrl_c_before_any_solution_raises():
    """Halves without left-overs: no solution in sight for minutes."""
    lp = market_split(40, 5)
    exact = fix(lp, dict.fromkeys(range(40, 50), 0.0))

    def press_ctrl_c() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(exact, SolveOptions(gap=0.0, time_limit=30.0), interrupt=press_ctrl_c)


def test_threads_change_within_one_process():
    lp = covering(3)
    answers = {solve(lp, dataclasses.replace(EXACT, threads=n)).objective for n in (1, 2, 1, 3, 2)}
    assert len({round(answer, 9) for answer in answers}) == 1


def test_no_stale_incumbent_between_solves():
    cheap, dear = covering(4), covering(5)
    first = solve(cheap, EXACT).objective
    solve(dear, EXACT)
    assert solve(cheap, EXACT).objective == first


def test_same_seed_same_answer():
    lp = market_split(20, 2, seed=2)
    options = SolveOptions(gap=0.0, time_limit=20.0, seed=7)
    assert np.array_equal(solve(lp, options).x, solve(lp, options).x)


def test_log_lines_arrive_in_the_callers_thread():
    lines = []
    heard = dataclasses.replace(EXACT, log=lambda line: lines.append((line, threading.current_thread())))
    solve(covering(0), heard)
    assert any("MIP" in line or "Solving" in line for line, _ in lines)
    assert {thread for _, thread in lines} == {threading.current_thread()}


def test_solves_in_parallel_threads():
    found = {}

    def work(seed: int) -> None:
        found[seed] = solve(covering(seed), EXACT).objective

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == pytest.approx({seed: best_by_enumeration(covering(seed)) for seed in range(6)})

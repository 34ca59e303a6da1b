"""Gates cut off fractions of instances and no layout: the same optimum, and a relaxation never lower."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from benchmarks.plain import written
from optimizer.catalog import load_catalog
from optimizer.design import margins, search
from optimizer.design.gates import gated
from optimizer.design.search import Clock
from optimizer.formulation import write
from optimizer.formulation.owners import owners
from optimizer.instance import Instance
from optimizer.instance.build import build
from optimizer.solver import LinearProgram, SolveOptions, compile, relaxation, solve
from optimizer.workload import load_workload
from tests.oracle.random_instances import random_instance

EXACT = SolveOptions(gap=0.0, time_limit=60.0)
SEEDS = range(1, 60, 2)


def plain_and_gated(instance: Instance) -> tuple[LinearProgram, LinearProgram]:
    """The program as the laws write it, and with gates."""
    model = write(instance)
    compiled = compile(model.pyomo)
    return compiled.lp, gated(model, compiled)


def gates_of(plain: LinearProgram, tight: LinearProgram) -> sparse.csr_array:
    """The rows of the gates alone."""
    return sparse.csr_array(tight.A)[plain.A.shape[0] :]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_optimum_is_the_same(seed: int) -> None:
    plain, tight = plain_and_gated(random_instance(seed))
    without, within = solve(plain, EXACT), solve(tight, EXACT)
    assert within.has_solution == without.has_solution
    if without.x is not None:
        assert within.objective == pytest.approx(without.objective, rel=1e-6)
        assert relaxation(tight, EXACT).objective >= relaxation(plain, EXACT).objective * (1 - 1e-9)
        rounded = np.where(plain.integrality, np.round(without.x), without.x)
        assert (gates_of(plain, tight) @ rounded).max(initial=0.0) <= 1e-6


@pytest.mark.slow
def test_five_hundred_random_problems_have_one_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain formulation handed to HiGHS whole; gated, opened by parts and searched as a large one is."""
    monkeypatch.setattr(LinearProgram, "is_large", property(lambda lp: True))
    solved = 0
    for seed in range(500):
        instance = random_instance(seed)
        plain = written.compiled(instance).lp
        whole = solve(plain, EXACT)
        model = write(instance)
        compiled = compile(model.pyomo)
        tight = gated(model, compiled)
        found = search.search(
            tight, EXACT, Clock.start(60.0), "test",
            owners=owners(model, compiled.variables), relaxed=relaxation(tight, EXACT),
        )  # fmt: skip
        assert found.has_solution == whole.has_solution, seed
        if whole.has_solution:
            solved += 1
            assert found.objective == pytest.approx(whole.objective, rel=1e-6), seed
            assert found.bound <= whole.objective * (1 + 1e-6), seed
            assert found.bound >= whole.objective * (1 - 1e-5), seed
    assert solved > 250


def tiny(*changes: str) -> Instance:
    """tiny as its first round begins."""
    return margins.first_guess(build(load_workload("tiny", changes).workload, load_catalog()))


def test_small_buckets_make_the_relaxation_of_a_small_facility_tell() -> None:
    """tiny's relaxation serves buckets with hundredths of an instance: gates more than double its bound."""
    plain, tight = plain_and_gated(tiny())
    assert relaxation(tight, EXACT).objective > 2 * relaxation(plain, EXACT).objective


def test_what_the_capacity_rows_say_already_is_left_out() -> None:
    """Where one instance cannot serve a whole bucket or stream, there is no gate."""
    plain, tight = plain_and_gated(tiny())
    busy = tuple(f"classes.{name}.peak_rate=x1000" for name in ("flash-chat", "k2-agentic"))
    large, larger = plain_and_gated(tiny(*busy, "hardware.servers={HGX-B300-8: {max: 100000}}"))
    assert gates_of(plain, tight).shape[0] > 0
    assert gates_of(large, larger).shape[0] == 0


def test_every_gate_ties_shares_to_one_count_of_instances() -> None:
    plain, tight = plain_and_gated(tiny())
    for row in range(plain.A.shape[0], tight.A.shape[0]):
        entries = sparse.csr_array(tight.A)[[row]]
        columns, values = entries.indices, entries.data
        (count,) = (c for c, v in zip(columns, values, strict=True) if v == -1.0)
        assert tight.col_names[count].startswith("instances[")
        assert (tight.row_lower[row], tight.row_upper[row]) == (-np.inf, 0.0)
        kinds = {tight.col_names[c].split("[")[0] for c in columns if c != count}
        assert kinds in ({"decode"}, {"path"})

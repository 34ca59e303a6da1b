"""Gates cut off fractions of instances and no layout: the same optimum, and a relaxation never lower."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from optimizer.catalog import load_catalog
from optimizer.design import margins
from optimizer.design.gates import gated
from optimizer.formulation import write
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

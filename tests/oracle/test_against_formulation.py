"""The product's model and solver against the oracle, which shares nothing with them but the Instance."""

from __future__ import annotations

import math

import pytest

from optimizer.formulation import formulate
from optimizer.solver import SolveOptions, Status, compile, relaxation, solve

from .enumerate import optimum, relaxed
from .random_instances import NAMES, random_instance, target

OPTIONS = SolveOptions(gap=0.0, time_limit=60)
TOLERANCE = 1e-6
SEEDS = 3 * len(NAMES)
FAST = range(0, SEEDS, 5)
REST = [seed for seed in range(SEEDS) if seed not in FAST]


def label(seed: int) -> str:
    """The name of a test: its seed and what it is about."""
    return f"{seed}-{target(seed)}"


def agrees(seed: int) -> None:
    """Same optimum, or both infeasible; and the same LP underneath, which feels every coefficient."""
    instance = random_instance(seed)
    lp = compile(formulate(instance)).lp
    best, outcome = optimum(instance), solve(lp, OPTIONS)
    if best is None:
        assert outcome.status is Status.INFEASIBLE
    else:
        assert outcome.status is Status.OPTIMAL
        assert outcome.objective == pytest.approx(best.objective, rel=TOLERANCE)
    loose, cheapest = relaxed(instance), relaxation(lp, OPTIONS).objective
    assert cheapest == pytest.approx(math.inf if loose is None else loose, rel=TOLERANCE)


@pytest.mark.parametrize("seed", FAST, ids=label)
def test_some_seeds_agree(seed: int) -> None:
    """A fifth of the seeds, every time."""
    agrees(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", REST, ids=label)
def test_other_seeds_agree(seed: int) -> None:
    """The other seeds."""
    agrees(seed)

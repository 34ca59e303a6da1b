"""The least cost of an instance, proven at gap 0: the number that metamorphic laws compare."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from optimizer.formulation import Model, read_back, write
from optimizer.instance import Instance, Layout
from optimizer.solver import Compiled, Outcome, SolveOptions, Status, compile, solve
from tests.oracle.random_instances import random_instance

EXACT = SolveOptions(gap=0.0, time_limit=120.0)
NOISE = 1e-9
"""Relative: the optimum of a program solved at gap 0 is known to this; what differs by more differs."""
FAST = range(0, 160, 4)
SLOW = [seed for seed in range(200) if seed not in FAST]


@dataclass(frozen=True)
class Optimum:
    """A solved instance. `usd` is infinite where no layout exists."""

    instance: Instance
    model: Model
    compiled: Compiled
    outcome: Outcome

    @property
    def usd(self) -> float:
        """The least cost."""
        return self.outcome.objective

    def layout(self) -> Layout:
        """The layout in the planner's words."""
        assert self.outcome.x is not None
        self.compiled.read_back(self.outcome.x)
        return read_back(self.model)


def optimum(instance: Instance, options: SolveOptions = EXACT) -> Optimum:
    """Solve to the end: proven optimal or proven infeasible."""
    model = write(instance)
    compiled = compile(model.pyomo)
    outcome = solve(compiled.lp, options)
    assert outcome.status in (Status.OPTIMAL, Status.INFEASIBLE), outcome
    return Optimum(instance, model, compiled, outcome)


def least(instance: Instance) -> float:
    """The least cost, or infinity."""
    return optimum(instance).usd


@cache
def base(seed: int) -> Optimum:
    """A random instance and its optimum."""
    return optimum(random_instance(seed))


def dearer(left: float, right: float) -> bool:
    """Whether left costs more than right, beyond what the solver can know."""
    return left > right + NOISE * max(1.0, abs(right)) if math.isfinite(right) else False


def differs(left: float, right: float) -> bool:
    """Whether two least costs differ."""
    return dearer(left, right) or dearer(right, left)

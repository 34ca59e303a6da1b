"""The least cost of an instance, proven at gap 0: the number that metamorphic laws compare."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

from optimizer.errors import InputError
from optimizer.formulation import Model, read_back, write
from optimizer.instance import Instance, Layout
from optimizer.solver import Compiled, Outcome, SolveOptions, Status, compile, relaxation, solve
from tests.oracle.random_instances import drawn, random_instance

EXACT = SolveOptions(gap=0.0, time_limit=120.0)
NOISE = 1e-9
"""Relative: what a solver at gap 0 cannot know of a least cost."""
FAST = range(40)
SLOW = range(40, 190)
STRIDE = 7  # targets of the oracle's generator that lie apart


@dataclass(frozen=True)
class Optimum:
    """A solved instance. A cost is infinite where no layout exists."""

    instance: Instance
    model: Model
    compiled: Compiled | None
    outcome: Outcome | None

    @property
    def usd(self) -> float:
        """The least cost."""
        return self.outcome.objective if self.outcome else math.inf

    @cached_property
    def relaxed(self) -> float:
        """The least cost with machines in parts: it feels every coefficient, where whole machines do not."""
        return relaxation(self.compiled.lp, EXACT).objective if self.compiled else math.inf

    @cached_property
    def layout(self) -> Layout:
        """The layout in the planner's words."""
        assert self.compiled
        assert self.outcome
        assert self.outcome.x is not None
        self.compiled.read_back(self.outcome.x)
        return read_back(self.model)


def optimum(
    instance: Instance, write: Callable[[Instance], Model] = write, *, integers: bool = True
) -> Optimum:
    """Solve to the end: proven optimal or proven infeasible, if need be by a row without a decision."""
    model = write(instance)
    try:
        compiled = compile(model.pyomo)
    except InputError as error:
        if "trivially infeasible" not in str(error):
            raise
        return Optimum(instance, model, None, None)
    outcome = solve(compiled.lp, EXACT) if integers else relaxation(compiled.lp, EXACT)
    assert outcome.status in (Status.OPTIMAL, Status.INFEASIBLE), outcome
    return Optimum(instance, model, compiled, outcome)


@cache
def base(seed: int) -> Optimum:
    """A random instance and its optimum: even seeds are about one law each, odd ones about anything."""
    return optimum(drawn("anything", seed) if seed % 2 else random_instance(seed // 2 * STRIDE))


def dearer(left: float, right: float) -> bool:
    """Whether left costs more than right, beyond what the solver can know."""
    return left > right + NOISE * max(1.0, abs(right)) if math.isfinite(right) else False


def differs(left: float, right: float) -> bool:
    """Whether two least costs differ."""
    return dearer(left, right) or dearer(right, left)

"""One problem for every method: an instance at touching points that are its own, and its plain formulation
as a file.

The touching points of the occupancy margins are moved to the relaxation once, as the product does before it
asks for integers; then they stand still, so that product, plain formulation and other solvers prove bounds
of one number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.plain import bare, written
from optimizer.design import margins
from optimizer.errors import SolverFailure
from optimizer.formulation import write
from optimizer.instance import Instance
from optimizer.solver import SolveOptions, compile, relaxation


@dataclass(frozen=True)
class Problem:
    """An instance, its plain formulation as a file, and the seconds, way and optimum of that one's
    relaxation: what everything is measured by."""

    name: str
    instance: Instance
    file: Path
    rows: int
    columns: int
    integers: int
    relaxed_seconds: float
    relaxed_by: str
    relaxed_usd: float


@dataclass(frozen=True)
class Task:
    """What a method is asked: a problem, a gap, wall seconds from the arrays on, and a seed."""

    problem: Problem
    gap: float
    limit: float
    seed: int = 0
    threads: int = 2

    @property
    def options(self) -> SolveOptions:
        """As the product takes them."""
        return SolveOptions(gap=self.gap, time_limit=self.limit, seed=self.seed, threads=self.threads)

    def to(self, gap: float, limit: float) -> Task:
        """The same problem, asked otherwise."""
        return replace(self, gap=gap, limit=limit)


def touched(instance: Instance, limit: float) -> Instance:
    """The instance with its margins touching at the relaxation. Raises SolverFailure where that has no
    optimum in time."""
    model = write(margins.first_guess(instance))
    arrays = compile(model.pyomo)
    outcome = relaxation(arrays.lp, SolveOptions(time_limit=limit))
    if outcome.x is None:
        raise SolverFailure(f"the relaxation of {instance.name} ended with {outcome.status.value}")
    arrays.read_back(outcome.x)
    return margins.touching(model)[0]


def prepared(name: str, instance: Instance, folder: Path, limit: float) -> Problem:
    """The problem of an instance; its file lies in `folder`. `limit` is for each linear program."""
    still = touched(instance, limit)
    lp = written.compiled(still).lp
    file = written.export(lp, folder / f"{name.replace(' ', '-')}.mps")
    seconds, way, optimum = bare.relaxed(file, limit)
    if not way:
        raise SolverFailure(f"the relaxation of {name} was not solved within {limit:g} s")
    rows, columns = lp.A.shape
    return Problem(name, still, file, rows, columns, int(lp.integrality.sum()), seconds, way, optimum)

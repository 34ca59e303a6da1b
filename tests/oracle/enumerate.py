"""The optimum by enumeration: every integer decision is tried unless its LP bound rules it out.

`optimum` splits the ranges of the integers until each is one value; a set of integer points is dropped
only when the LP over it costs as much as an answer already found, or has none. `exhaustive` prunes by
cost alone and is the check on `optimum`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np
from scipy.optimize import linprog

from optimizer.instance.types import Instance

from .linear import Arrays, Column, System, arrays
from .system import system

Box = tuple[np.ndarray, np.ndarray]
INTEGRAL = 1e-6
EXACTLY = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
WAYS = (
    {"method": "highs", "options": EXACTLY},
    {"method": "highs", "options": EXACTLY | {"presolve": False}},
    {"method": "highs-ipm", "options": EXACTLY},
)
"""Usual first. At a few points of the many dual simplex ends undecided."""


@dataclass(frozen=True)
class Best:
    """A proven optimum: cost, the integer decisions, and every column. `points` LPs were solved."""

    objective: float
    integers: dict[Column, int]
    values: dict[Column, float]
    points: int


@dataclass(order=True)
class _Part:
    """Integer points within a box, and the cheapest point of its LP."""

    bound: float
    depth: int
    age: int
    box: Box = field(compare=False)
    x: np.ndarray = field(compare=False)


def optimum(instance: Instance, without: Iterable[str] = ()) -> Best | None:
    """The cheapest layout, or None if there is none. `without` drops laws by name."""
    return solve_system(system(instance).without(without))


def relaxed(instance: Instance) -> float | None:
    """The cost of the LP in which nothing need be an integer; None if even that is infeasible."""
    a = arrays(system(instance))
    answer = _solve(a, a.lower, a.upper)
    return None if answer is None else answer[0]


def solve_system(full: System) -> Best | None:
    """The optimum of a system: the part with the lowest bound is divided first, and the first part whose
    cheapest point is integral is the answer."""
    a = arrays(full)
    ages, points = count(), 0
    queue: list[_Part] = []

    def bounded(depth: int, box: Box) -> _Part | None:
        nonlocal points
        points += 1
        answer = _solve(a, *box)
        return None if answer is None else _Part(answer[0], -depth, next(ages), box, answer[1])

    def add(depth: int, boxes: Iterable[Box]) -> None:
        for part in (bounded(depth, box) for box in boxes):
            if part is not None:
                heapq.heappush(queue, part)

    add(0, [(a.lower, a.upper)])
    while queue:
        part = heapq.heappop(queue)
        deeper = 1 - part.depth
        fraction = next((int(i) for i in a.decisions if abs(part.x[i] - round(part.x[i])) > INTEGRAL), None)
        if fraction is not None:
            low, high = np.floor(part.x[fraction]), np.ceil(part.x[fraction])
            add(deeper, [_cut(part.box, fraction, upper=low), _cut(part.box, fraction, lower=high)])
            continue
        point = np.round(part.x[a.decisions])
        exact = bounded(deeper, _only(part.box, a.decisions, point))
        if exact is not None and exact.bound <= part.bound + 1e-9 * max(1.0, abs(part.bound)):
            return _best(a, exact, points)
        if exact is not None:
            heapq.heappush(queue, exact)
        add(deeper, _around(part.box, a.decisions, point))
    return None


def _cut(box: Box, i: int, lower: float = -np.inf, upper: float = np.inf) -> Box:
    """A box with one side moved in."""
    low, high = box[0].copy(), box[1].copy()
    low[i], high[i] = max(low[i], lower), min(high[i], upper)
    return low, high


def _only(box: Box, decisions: np.ndarray, point: np.ndarray) -> Box:
    """A box closed to one integer point."""
    low, high = box[0].copy(), box[1].copy()
    low[decisions] = high[decisions] = point
    return low, high


def _around(box: Box, decisions: np.ndarray, point: np.ndarray) -> Iterator[Box]:
    """Boxes that cover the integer points of a box except one: needed only where that one, all but
    integral in the LP, turns out impossible or dearer when it is made exact."""
    for i, value in zip(decisions, point, strict=True):
        for side in (_cut(box, i, upper=value - 1), _cut(box, i, lower=value + 1)):
            if side[0][i] <= side[1][i]:
                yield side
        box = _cut(box, i, lower=value, upper=value)


def exhaustive(instance: Instance, most: int = 2_000_000) -> Best | None:
    """The optimum by trying integer points one after the other, cheapest first. Real columns cost
    nothing or more, so that enumeration stops when the next point alone costs as much as the best."""
    a = arrays(system(instance))
    if (points := integer_points(a)) > most:
        raise ValueError(f"{points:.3g} integer points are too many to try")
    sizes = (a.upper - a.lower)[a.decisions].astype(int) + 1
    others = np.delete(np.arange(len(a.names)), a.decisions)
    if (a.cost[others] < 0).any():
        raise ValueError("a real column has a negative cost: integer points have no order")
    points = np.indices(sizes).reshape(len(sizes), -1).T + a.lower[a.decisions]
    for matrix, limit, equal in ((a.below, a.below_limit, False), (a.equal, a.equal_value, True)):
        integer_only = np.asarray(abs(matrix)[:, others].sum(axis=1)).ravel() == 0
        activity = points @ matrix[integer_only][:, a.decisions].T.toarray() - limit[integer_only]
        points = points[((abs(activity) if equal else activity) <= 1e-9).all(axis=1)]
    costs = points @ a.cost[a.decisions] + a.constant
    best: _Part | None = None
    tried = 0
    for n in np.argsort(costs, kind="stable"):
        if best is not None and costs[n] >= best.bound:
            break
        box = _only((a.lower, a.upper), a.decisions, points[n])
        tried += 1
        answer = _solve(a, *box)
        if answer is not None and (best is None or answer[0] < best.bound):
            best = _Part(answer[0], 0, 0, box, answer[1])
    return None if best is None else _best(a, best, tried)


def integer_points(a: Arrays) -> float:
    """How many integer points the ranges of the columns hold."""
    return float(np.prod((a.upper - a.lower)[a.decisions] + 1.0))


def _solve(
    a: Arrays, lower: np.ndarray, upper: np.ndarray, goal: np.ndarray | None = None
) -> tuple[float, np.ndarray] | None:
    """Cost and point of the LP (or of another goal) within a box; None if there is none."""
    goal = a.cost if goal is None else goal
    for way in WAYS:
        answer = linprog(
            goal / (abs(goal).max() or 1.0), A_ub=a.below, b_ub=a.below_limit, A_eq=a.equal,
            b_eq=a.equal_value, bounds=np.column_stack([lower, upper]), **way,
        )  # fmt: skip
        if answer.status in (0, 2):
            break
    if answer.status == 2:
        return None
    if answer.status != 0:
        raise RuntimeError(f"linprog: {answer.message}")
    return float(a.cost @ answer.x) + a.constant, answer.x


def _best(a: Arrays, part: _Part, points: int) -> Best:
    """The answer, at the point that has least of the wish among those of its integers and cost."""
    lower, upper = part.box[0].copy(), part.box[1].copy()
    costly = a.cost != 0
    lower[costly] = upper[costly] = part.x[costly]
    answer = _solve(a, lower, upper, a.wish)
    part = replace(part, x=part.x if answer is None else answer[1])
    values = {name: float(v) for name, v in zip(a.names, part.x, strict=True)}
    integers = {a.names[i]: round(part.x[i]) for i in a.decisions}
    return Best(part.bound, integers, values, points)


def binding_laws(instance: Instance, best: Best, tolerance: float = 1e-7) -> set[str]:
    """The inequality laws of which some row holds with equality at the optimum, neither side 0."""
    found = set()
    for row in system(instance).rows:
        if row.equal:
            continue
        left, right = row.left.at(best.values), row.right.at(best.values)
        size = max(abs(left), abs(right))
        largest = max((abs(x) for x in row.difference().terms.values()), default=0.0)
        present = size > 1e-6 * largest and min(abs(left), abs(right)) > tolerance * size
        if present and abs(left - right) <= tolerance * size:
            found.add(row.law)
    return found

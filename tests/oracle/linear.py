"""Linear expressions over named columns, rows with two sides, and the arrays linprog takes.

Both sides of a row are kept apart, so that a reader of an answer can say what met what.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

Column = tuple[str, ...]


@dataclass(frozen=True)
class Linear:
    """Sum of coefficient x column, plus a constant."""

    terms: dict[Column, float] = field(default_factory=dict)
    constant: float = 0.0

    def __add__(self, other: Linear | float) -> Linear:
        if not isinstance(other, Linear):
            return Linear(self.terms, self.constant + other)
        terms = dict(self.terms)
        for column, coefficient in other.terms.items():
            terms[column] = terms.get(column, 0.0) + coefficient
        return Linear(terms, self.constant + other.constant)

    def __mul__(self, factor: float) -> Linear:
        return Linear({c: a * factor for c, a in self.terms.items()}, self.constant * factor)

    def __sub__(self, other: Linear | float) -> Linear:
        return self + other * -1.0

    __rmul__ = __mul__

    def at(self, values: dict[Column, float]) -> float:
        """The value at a point; a column that the point does not name is an error."""
        return self.constant + sum(a * values[c] for c, a in self.terms.items())


def column(*name: str) -> Linear:
    """One column with coefficient 1."""
    return Linear({name: 1.0})


def total(parts: Iterable[Linear]) -> Linear:
    """The sum of expressions; 0 when there is none."""
    terms: dict[Column, float] = {}
    constant = 0.0
    for part in parts:
        constant += part.constant
        for name, coefficient in part.terms.items():
            terms[name] = terms.get(name, 0.0) + coefficient
    return Linear(terms, constant)


@dataclass(frozen=True)
class Row:
    """left <= right, or left = right."""

    law: str
    index: tuple[str, ...]
    left: Linear
    right: Linear
    equal: bool = False

    def difference(self) -> Linear:
        """left - right: at most 0, or 0."""
        return self.left - self.right


def at_most(law: str, index: tuple[str, ...], left: Linear, right: Linear | float) -> Row:
    """left <= right."""
    return Row(law, index, left, right if isinstance(right, Linear) else Linear({}, right))


def equals(law: str, index: tuple[str, ...], left: Linear, right: Linear | float) -> Row:
    """left = right."""
    return Row(law, index, left, right if isinstance(right, Linear) else Linear({}, right), equal=True)


@dataclass(frozen=True)
class Bound:
    """The range of one column; integer columns carry their place in the order of decisions."""

    lower: float
    upper: float
    decision: int | None = None


@dataclass(frozen=True)
class System:
    """Columns, cost and rows of one instance; `wish` is what to have least of among equal costs."""

    columns: dict[Column, Bound]
    cost: Linear
    rows: tuple[Row, ...]
    wish: Linear = Linear()

    def without(self, laws: Iterable[str]) -> System:
        """The same system, some laws dropped."""
        dropped = set(laws)
        rows = tuple(r for r in self.rows if r.law not in dropped)
        return System(self.columns, self.cost, rows, self.wish)


@dataclass(frozen=True)
class Arrays:
    """cost.x + constant subject to below.x <= below_limit, equal.x = equal_value; rows scaled to 1."""

    names: tuple[Column, ...]
    cost: np.ndarray
    wish: np.ndarray
    constant: float
    below: csr_array
    below_limit: np.ndarray
    equal: csr_array
    equal_value: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    decisions: np.ndarray


def arrays(system: System) -> Arrays:
    """The arrays of a system. A row that names an unknown column is an error."""
    names = tuple(system.columns)
    place = {name: i for i, name in enumerate(names)}
    cost, wish = np.zeros(len(names)), np.zeros(len(names))
    for vector, expression in ((cost, system.cost), (wish, system.wish)):
        for name, coefficient in expression.terms.items():
            vector[place[name]] += coefficient
    below, below_limit = _matrix([r for r in system.rows if not r.equal], place)
    equal, equal_value = _matrix([r for r in system.rows if r.equal], place)
    decided = [(b.decision, i) for i, b in enumerate(system.columns.values()) if b.decision is not None]
    return Arrays(
        names, cost, wish, system.cost.constant, below, below_limit, equal, equal_value,
        np.array([b.lower for b in system.columns.values()], dtype=float),
        np.array([b.upper for b in system.columns.values()], dtype=float),
        np.array([i for _, i in sorted(decided)], dtype=int),
    )


def _matrix(rows: list[Row], place: dict[Column, int]) -> tuple[csr_array, np.ndarray]:
    data, columns, starts, limits = [], [], [0], []
    for row in rows:
        expression = row.difference()
        terms = {c: a for c, a in expression.terms.items() if a != 0.0}
        scale = max((abs(a) for a in terms.values()), default=1.0)
        for name, coefficient in terms.items():
            data.append(coefficient / scale)
            columns.append(place[name])
        starts.append(len(data))
        limits.append(-expression.constant / scale)
    shape = (len(rows), len(place))
    matrix = csr_array((np.array(data, float), np.array(columns, int), np.array(starts, int)), shape=shape)
    return matrix, np.array(limits, dtype=float)

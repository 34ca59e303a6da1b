"""How the share of contexts in each age slot is represented, so that laws need not know.

Under write-through the decision is not the share itself but how long: `kept[h,j]`, the share of contexts
held this way through slot j and no longer, so that share[h,j] = sum_{i>=j} kept[h,i]. It is the same
polytope as `share` with rows that forbid a rise, with those rows gone, and each column reads as what it
is: "hold for tau_j", which costs rate x int_0^tau_j S contexts and catches rate x (1 - S(tau_j)) returns.
For a home d, kept[(d,d),j] counts every context homed there; a faster copy (k,d) lies over part of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import pyomo.environ as pyo

from optimizer.formulation.tables import Tables
from optimizer.instance import Holding, Instance, Policy

Term = tuple[float, Any]
Terms = Sequence[Term]


class Contexts:
    """The decisions about where contexts live, and sums over them."""

    def __init__(self, instance: Instance, tables: Tables, model: pyo.ConcreteModel):
        self.instance, self.tables, self.model = instance, tables, model
        self.number = {h.id: i for i, h in enumerate(instance.holdings)}
        self.exclusive = instance.policy is Policy.EXCLUSIVE
        self.over: dict[tuple[str, str, str], list[Holding]] = {}
        for h in instance.holdings:
            if h.serve != h.home:
                self.over.setdefault((h.option, h.bucket, h.home), []).append(h)
        ages = [(i, j) for i, h in enumerate(instance.holdings) for j in range(1, self.slots(h) + 1)]
        name = "share" if self.exclusive else "kept"
        self.variable = pyo.Var(ages, bounds=(0, 1))
        model.add_component(name, self.variable)
        self.columns = [
            [self.variable[i, j] for j in range(1, self.slots(h) + 1)]
            for i, h in enumerate(instance.holdings)
        ]

    def slots(self, h: Holding) -> int:
        """Age slots of a holding's bucket."""
        return len(self.tables.buckets[h.bucket].slots)

    def weighted(self, h: Holding, weights: Sequence[float]) -> Terms:
        """sum_j weights_j share[h,j] for one holding (its own share, without faster copies over it)."""
        if self.exclusive:
            return self._columns(h, weights)
        own = self._columns(h, accumulate(weights))
        if h.serve != h.home:
            return own
        over = self.over.get((h.option, h.bucket, h.home), ())
        return [*own, *(t for other in over for t in self._columns(other, accumulate(-w for w in weights)))]

    def weighted_home(self, h: Holding, weights: Sequence[float]) -> Terms:
        """sum_j weights_j (share[h,j] + the shares of every faster copy over the home of h), h = (d,d)."""
        return self._columns(h, accumulate(weights))

    def begun(self, h: Holding) -> Terms:
        """The shares of slot 1 that a holding adds to the contexts held at all: homes count once."""
        if self.exclusive:
            return self.slot(h, 1)
        return self._columns(h, [1.0] * self.slots(h)) if h.serve == h.home else []

    def slot(self, h: Holding, j: int) -> Terms:
        """share[h,j]."""
        return self.weighted(h, [1.0 if i == j else 0.0 for i in range(1, self.slots(h) + 1)])

    def _columns(self, h: Holding, weights: Iterable[float]) -> list[tuple[float, Any]]:
        columns = self.columns[self.number[h.id]]
        return [(w, column) for w, column in zip(weights, columns, strict=True) if w]

    def value(self, h: Holding, j: int) -> float:
        """share[h,j] in the present solution."""
        return float(sum(c * (v.value or 0.0) for c, v in self.slot(h, j)))

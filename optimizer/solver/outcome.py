"""What a solve hands back: always incumbent, bound, gap, status and seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
from highspy import HighsBasis
from numpy.typing import NDArray

Floats = NDArray[np.float64]

OPTIMAL_GAP = 1e-6
"""Relative (or absolute) gap below which a solution is called optimal; HiGHS's own absolute gap."""


class Status(Enum):
    """How a solve ended. LIMIT and INTERRUPTED may come with or without a solution."""

    OPTIMAL = "optimal"
    WITHIN_GAP = "within the gap"
    LIMIT = "limit reached"
    INFEASIBLE = "infeasible"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, eq=False)
class Duals:
    """Prices of a minimisation: row[i] = d cost / d right-hand side of row i; col[j] = reduced cost, c =
    Aᵀ·row + col.

    A binding ≤ row has a price ≤ 0 (one unit more of the limit saves that much), a binding ≥ row a price ≥
    0.
    """

    row: Floats
    col: Floats


@dataclass(frozen=True, eq=False)
class Outcome:
    """The answer of one solve. x is None exactly when there is no solution; then objective is +inf.

    violation is the worst breach of a row, bound or integrality by x, relative to the row's scale. basis is
    where an LP's simplex ended, to begin a like one from.
    notes say in words what had to be done beyond the plain solve.
    """

    status: Status
    x: Floats | None
    objective: float
    bound: float
    gap: float
    seconds: float
    nodes: int
    row_activity: Floats | None
    violation: float = 0.0
    duals: Duals | None = None
    basis: HighsBasis | None = None
    notes: tuple[str, ...] = ()

    @property
    def has_solution(self) -> bool:
        """Whether there is an x, proven optimal or not."""
        return self.x is not None

    def __str__(self) -> str:
        cost = f"{self.objective:.6g}" if self.has_solution else "none"
        return (
            f"{self.status.value}: incumbent {cost}, bound {self.bound:.6g}, gap {self.gap:.3%}, "
            f"{self.seconds:.1f} s, {self.nodes} nodes"
        )


def relative_gap(objective: float, bound: float) -> float:
    """(objective − bound) / |objective|; inf without a solution or without a bound; 0 when they meet."""
    if not (math.isfinite(objective) and math.isfinite(bound)):
        return math.inf
    distance = objective - bound
    if distance <= 0:
        return 0.0
    return distance / abs(objective) if objective else math.inf

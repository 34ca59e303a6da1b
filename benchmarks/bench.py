"""What the questions of `benchmarks.solving` share: which cells, how long, and where the lines go."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.families import SIZES, Cell, cell
from benchmarks.problems import Problem, prepared
from benchmarks.tables import AtLeast
from optimizer.design.planning import version

LIBRARIES = ("tierplan", "highspy", "numpy", "pyomo", "pyscipopt", "scipy")
LP_LIMIT = 1200.0
"""Seconds for one linear program: L on a slow machine takes minutes."""
Line = dict[str, Any]
Ratio = float | dict[str, float]
"""Lower is better. {"above": x}: it was not reached, and would be more than x."""


@dataclass(frozen=True)
class Scope:
    """How much is measured: family and size of every cell, seconds for a search by family, and how far the
    ladders of growth go."""

    cells: tuple[tuple[str, str], ...]
    limits: dict[str, float]
    ladder: int
    growth_limit: float


TINY = Scope(cells=(("tiny", "as shipped"),), limits={"tiny": 5.0}, ladder=0, growth_limit=5.0)
"""To see that it runs."""
USUAL = Scope(
    cells=tuple((family, size) for family in "SM" for size in SIZES[:2]),
    limits={"S": 30.0, "M": 60.0},
    ladder=3,
    growth_limit=20.0,
)
"""Minutes."""
FULL = Scope(
    cells=tuple((family, size) for family in "SML" for size in SIZES),
    limits={"S": 60.0, "M": 120.0, "L": 240.0},
    ladder=5,
    growth_limit=120.0,
)
"""Hours."""


@dataclass
class Bench:
    """One run of the command: its scope, the folder for its files, a seed, and who hears each line."""

    scope: Scope
    folder: Path
    seed: int = 0
    hears: Callable[[Line], None] = lambda line: print(json.dumps(line), flush=True)
    lines: list[Line] = field(default_factory=list)
    _problems: dict[str, Problem] = field(default_factory=dict)

    def cells(self) -> list[Cell]:
        """The cells in order."""
        return [cell(family, size) for family, size in self.scope.cells]

    def problem(self, of: Cell) -> Problem:
        """The problem of a cell, prepared once."""
        if of.name not in self._problems:
            self._problems[of.name] = prepared(of.name, of.instance(), self.folder, LP_LIMIT)
        return self._problems[of.name]

    def say(self, question: str, ratios: dict[str, Ratio], **figures: Any) -> None:
        """A line of one run, with what it is compared by."""
        line: Line = {
            "benchmark": question,
            **figures,
            "seed": self.seed,
            "versions": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
            "ratios": ratios,
        }
        self.lines.append(line)
        self.hears(line)


def ratio(seconds: float, unit: float, limit: float) -> Ratio:
    """Seconds in units of others; above the limit where they are infinite."""
    return seconds / unit if math.isfinite(seconds) else {"above": limit / unit}


def figure(of: Ratio) -> float:
    """A ratio as a table shows it."""
    return AtLeast(of["above"]) if isinstance(of, dict) else of


def share(gap: float, least: float) -> Ratio:
    """A gap to compare by: below `least` all are one; above 1 where there is none."""
    return max(gap, least) if math.isfinite(gap) else {"above": 1.0}


def percent(gap: float) -> float | None:
    """A gap as a table shows it; nothing where there is none."""
    return 100 * gap if math.isfinite(gap) else None

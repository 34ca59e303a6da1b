"""An LP as text that can be read beside the formulation: columns and rows by the planner's words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np

from optimizer.formulation import Law, Model, write
from optimizer.formulation.tables import path_name
from optimizer.instance import Instance
from optimizer.solver import Compiled, compile

WIDTH = 110
GLUE = "~"  # a space at which no line breaks


class Text:
    """The compiled rows of an instance, family by family."""

    def __init__(self, instance: Instance):
        self.model: Model = write(instance)
        self.compiled: Compiled = compile(self.model.pyomo)
        self.columns = [self.column(v) for v in self.compiled.variables]
        self.matrix = self.compiled.lp.A.tocsr()

    def column(self, variable: Any) -> str:
        """A column's name: holdings and paths by what they are, not by number; the one period is left out."""
        family, index = variable.parent_component().local_name, variable.index()
        keys = list(index) if isinstance(index, tuple) else [index]
        if family in ("kept", "share", "entry"):
            keys[0] = self.model.instance.holdings[keys[0]].id
        elif family == "path":
            keys[0] = path_name(self.model.instance.paths[keys[0]])
        elif len(keys) > 1 and keys[-1] == self.model.t:
            keys.pop()
        return f"{family}[{','.join(map(str, keys))}]"

    def rows(self, family: str) -> Iterator[tuple[str, dict[str, float], str, float]]:
        """(name, coefficient by column, sense, right side) of every row of a family."""
        lp = self.compiled.lp
        for number, constraint in enumerate(self.compiled.constraints):
            if constraint.parent_component().local_name != family:
                continue
            start, end = self.matrix.indptr[number : number + 2]
            entries = zip(self.matrix.indices[start:end], self.matrix.data[start:end], strict=True)
            terms = {self.columns[column]: float(value) for column, value in entries if value}
            low, high = lp.row_lower[number], lp.row_upper[number]
            sense = "=" if low == high else "<=" if np.isfinite(high) else ">="
            yield constraint.name, terms, sense, float(high if np.isfinite(high) else low)

    def family(self, law: Law) -> str:
        """The rows of one law as text."""
        return "\n".join(_line(*row) for row in self.rows(law.row))

    def objective(self) -> str:
        """The objective as text."""
        costs = zip(self.columns, self.compiled.lp.c, strict=True)
        terms = {name: float(c) for name, c in costs if c}
        return _wrapped(f"least_total_cost: min {_sum(terms)}")

    def domains(self) -> str:
        """Every column family: how many columns, whole numbers or not, and their bounds."""
        lines: dict[str, list[str]] = {}
        lp = self.compiled.lp
        for v, low, high, whole in zip(
            self.compiled.variables, lp.col_lower, lp.col_upper, lp.integrality, strict=True
        ):
            bounds = f"{low:g}..{high:g}{' whole' if whole else ''}"
            lines.setdefault(v.parent_component().local_name, []).append(bounds)
        return "\n".join(f"{name}: {', '.join(_runs(found))}" for name, found in lines.items())


def _runs(items: list[str]) -> Iterator[str]:
    for item in dict.fromkeys(items):
        yield f"{items.count(item)} x {item}"


def _line(name: str, terms: dict[str, float], sense: str, right: float) -> str:
    return _wrapped(f"{name}: {_sum(terms)} {sense}{GLUE}{right:.12g}")


def _sum(terms: dict[str, float]) -> str:
    signed = (("-" if c < 0 else "+", abs(c), name.replace(" ", GLUE)) for name, c in terms.items())
    return " ".join(f"{sign}{GLUE}{c:.12g}*{name}" for sign, c, name in signed).removeprefix(f"+{GLUE}")


def _wrapped(text: str) -> str:
    lines = textwrap.wrap(
        text, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(line.replace(GLUE, " ") for line in lines)

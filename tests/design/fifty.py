"""Fifty demands and more that cannot be met: `python -m tests.design.fifty [WORD ...]` prints what stands in
the way of each (or of those with a word in their names), the overrides that mend it, and what that comes to.

They are listed in `infeasible/demands.yaml`. The workloads are small: tiny, those of
`tests/metamorphic/workloads`, and some beside the list.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from optimizer.catalog import Catalog, load_catalog
from optimizer.design import Result, plan
from optimizer.files import read_yaml
from optimizer.solver import SolveOptions
from optimizer.workload import load_workload

HERE = Path(__file__).parent / "infeasible"
PLACES = (
    HERE,
    Path(__file__).parents[1] / "metamorphic" / "workloads",
    Path(__file__).parents[2] / "workloads",
)
OPTIONS = SolveOptions(gap=1e-3, time_limit=60.0)


@dataclass(frozen=True)
class Demand:
    """A demand that cannot be met, as the list describes it."""

    name: str
    workload: str
    sets: tuple[str, ...]
    rows: tuple[str, ...]
    back: str = ""
    but: str = ""
    fast: bool = False
    lots: tuple[tuple[str, int], ...] = ()


def _demand(set: list[str], rows: list[str], lots: dict[str, int] | None = None, **more: Any) -> Demand:
    return Demand(sets=tuple(set), rows=tuple(rows), lots=tuple((lots or {}).items()), **more)


DEMANDS = tuple(_demand(**entry) for entry in read_yaml(HERE / "demands.yaml").data)


def path(demand: Demand) -> Path:
    """Where the workload of a demand lies."""
    return next(file for place in PLACES if (file := place / f"{demand.workload}.yaml").exists())


def catalog(demand: Demand) -> Catalog:
    """The shipped cards, with servers that are sold in lots only."""
    cards = load_catalog()
    if not demand.lots:
        return cards
    lots = dict(demand.lots)
    servers = tuple(
        s.model_copy(update={"minimum_order": lots[s.id]}) if s.id in lots else s
        for s in cards.devices.servers
    )
    return replace(cards, devices=cards.devices.model_copy(update={"servers": servers}))


@cache
def answer(demand: Demand, *more: str) -> Result:
    """The answer to a demand, with more overrides."""
    return plan(load_workload(path(demand), [*demand.sets, *more]), catalog(demand), OPTIONS)


def fixes(demand: Demand) -> tuple[str, ...]:
    """The overrides of all conflicts of a demand, in order."""
    return tuple(one for lack in answer(demand).infeasible for one in lack.sets)


def met(result: Result) -> bool:
    """Whether there is a layout that the exact check passed."""
    exact = result.checks.exact
    return result.layout is not None and exact is not None and exact.passed


def lines(demand: Demand) -> Iterator[str]:
    """One demand as text."""
    yield f"{demand.name}: {path(demand).stem}" + "".join(f' --set "{one}"' for one in demand.sets)
    began = time.monotonic()
    asked = answer(demand)
    yield f"    {asked.status} after {time.monotonic() - began:.1f} s"
    for lack in asked.infeasible:
        amounts = "" if lack.have is None else f": have {lack.have:.6g}, need {lack.need:.6g} {lack.unit}"
        yield f"    {lack.row}{amounts}"
        yield f"        {lack.fix}"
        yield from (f'        --set "{one}"' for one in lack.sets)
    if asked.status == "infeasible":
        fixed = answer(demand, *fixes(demand))
        verdict = f"costs ${fixed.objective_usd:,.0f}" if met(fixed) else "NO LAYOUT"
        yield f"    with these: {fixed.status}, {verdict}"


def main(words: list[str]) -> None:
    """Print the demands that are asked for, or all."""
    for demand in DEMANDS:
        if not words or any(word in demand.name for word in words):
            print("\n".join(lines(demand)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

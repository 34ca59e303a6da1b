"""How a trap is set: the shipped catalogue with one thing changed, a small workload planned, the order read.

A trap is *on* in the catalogue or the instance that a test alters; the shipped cards are the other state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from optimizer.catalog import Accelerator, Catalog, ModelCard, Server, Shape, load_catalog
from optimizer.design import Result, plan
from optimizer.instance import Instance
from optimizer.instance.build import build
from optimizer.solver import SolveOptions
from optimizer.workload import load_workload

SHIPPED: Catalog = load_catalog()
WORKLOAD = Path(__file__).parent / "workloads" / "agents.yaml"
OPTIONS = SolveOptions(gap=1e-3, time_limit=60.0)
BUYS = ("optimal", "within_gap")


def planned(*sets: str, catalog: Catalog = SHIPPED, workload: str | Path = WORKLOAD) -> Result:
    """The proven and exactly checked answer to the small workload with `--set` changes."""
    result = plan(load_workload(workload, sets), catalog, OPTIONS)
    assert result.status in BUYS, result.infeasible
    assert result.checks.exact is not None
    assert result.checks.exact.passed
    return result


def built(*sets: str, catalog: Catalog = SHIPPED) -> Instance:
    """The problem, unsolved."""
    return build(load_workload(WORKLOAD, sets).workload, catalog)


# ---- what was ordered -------------------------------------------------------------------------------------


def servers(result: Result) -> Counter[str]:
    """Machines ordered, by server."""
    assert result.layout is not None
    found: Counter[str] = Counter()
    for row in result.layout.servers:
        found[row.server] += row.count
    return +found


def accelerators(result: Result) -> int:
    """GPUs ordered."""
    assert result.layout is not None
    return sum(row.accelerators for row in result.layout.servers)


def shapes(result: Result) -> set[str]:
    """How instances run: tp8, dp8."""
    assert result.layout is not None
    return {pool.pool.split("/")[1] for pool in result.layout.pools}


def dollars(result: Result) -> float:
    """The bill."""
    assert result.objective_usd is not None
    return result.objective_usd


def cheaper(trap: Result, honest: Result) -> bool:
    """Whether one order undercuts whatever the other question admits: more than a gap explains."""
    assert honest.bound_usd is not None
    return dollars(trap) < honest.bound_usd


# ---- what is changed --------------------------------------------------------------------------------------


def figures(block: Any, **values: float) -> Any:
    """A block with other numbers in its sourced figures."""
    changed = {k: getattr(block, k).model_copy(update={"value": float(v)}) for k, v in values.items()}
    return block.model_copy(update=changed)


def with_model(catalog: Catalog, name: str, change: Callable[[ModelCard], ModelCard]) -> Catalog:
    """The catalogue with one model card changed."""
    return replace(catalog, models={**catalog.models, name: change(catalog.model(name))})


def with_accelerators(
    catalog: Catalog, names: set[str], change: Callable[[Accelerator], Accelerator]
) -> Catalog:
    """The catalogue with some accelerators changed."""
    parts = tuple(change(a) if a.id in names else a for a in catalog.devices.accelerators)
    return replace(catalog, devices=catalog.devices.model_copy(update={"accelerators": parts}))


def with_shape(catalog: Catalog, name: str, shape: Shape) -> Catalog:
    """The catalogue with one more shape on a model's card."""
    return with_model(catalog, name, lambda c: c.model_copy(update={"shapes": (*c.shapes, shape)}))


def with_servers(catalog: Catalog, names: set[str], change: Callable[[Server], Server]) -> Catalog:
    """The catalogue with some servers changed."""
    parts = tuple(change(s) if s.id in names else s for s in catalog.devices.servers)
    return replace(catalog, devices=catalog.devices.model_copy(update={"servers": parts}))

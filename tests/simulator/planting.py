"""A layout that passes its replay, and machines that are not what it says: one thing off at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any

from optimizer.design.rounds import Candidate, improve
from optimizer.design.search import Clock
from optimizer.design.verified import Verified, verified
from optimizer.instance import Build, Case, Instance, Layout, ServerRow
from optimizer.instance.build import build
from optimizer.instance.layout import PoolRow
from optimizer.simulator import simulate
from optimizer.simulator.types import Verdict
from optimizer.solver import SolveOptions
from optimizer.workload import Workload, load_workload
from tests.conftest import ROOT
from tests.instance.shipped import CATALOG

WORKLOADS = ROOT / "tests/simulator/workloads"
OPTIONS = SolveOptions(gap=0.02, time_limit=60.0)


@dataclass(frozen=True)
class Planned:
    """A layout and what it answers."""

    instance: Instance
    layout: Layout
    workload: Workload

    def replayed(self, seed: int = 0, **how: Any) -> Verdict:
        """What a replay says of it."""
        return simulate(self.instance, self.layout, self.workload, CATALOG, seed=seed, **how)


def asked(name: str, *overrides: str) -> tuple[Instance, Workload]:
    """The problem of a workload of this folder."""
    workload = load_workload(str(WORKLOADS / f"{name}.yaml"), overrides).workload
    return build(workload, CATALOG), workload


@cache
def solved(name: str, *overrides: str) -> tuple[Instance, Candidate, Workload]:
    """The layout that the search alone comes to."""
    instance, workload = asked(name, *overrides)
    best, _, _ = improve(instance, OPTIONS, Clock.start(OPTIONS.time_limit))
    assert best is not None
    return instance, best, workload


@cache
def looped(name: str, *overrides: str) -> Verified:
    """The layout that search and replays come to together."""
    instance, best, workload = solved(name, *overrides)

    def replayed(layout: Layout) -> Verdict:
        return simulate(instance, layout, workload, CATALOG)

    return verified(instance, best, replayed, OPTIONS, Clock.start(OPTIONS.time_limit))


@cache
def sound(name: str, *overrides: str) -> Planned:
    """The layout of the loop, at the coefficients of the cards."""
    instance, _, workload = solved(name, *overrides)
    return Planned(instance, looped(name, *overrides).judged.best.layout, workload)


def rebuilt(plan: Planned, count: int, **changes: Any) -> Planned:
    """The plan with so many of its servers of another make."""
    (row,) = plan.layout.servers
    old = next(b for b in plan.instance.builds if b.id == row.build)
    made: Build = replace(old, id=f"{old.id}/planted", **changes)
    rows = (replace(row, count=row.count - count), ServerRow(made.id, count, 0, 0.0, 0.0))
    return replace(
        plan,
        instance=replace(plan.instance, builds=(*plan.instance.builds, made)),
        layout=replace(plan.layout, servers=tuple(r for r in rows if r.count)),
    )


def without_drives(plan: Planned, banks: int) -> Planned:
    """So many servers came without their drives."""
    return rebuilt(
        plan, banks, drives=0, drive="", nvme_bytes=0.0, nvme_usable=0.0, nvme_read=0.0, nvme_write=0.0,
        nvme_endurance=0.0,
    )  # fmt: skip


def with_half_the_dram(plan: Planned) -> Planned:
    """Every server came with half of its DIMMs."""
    return with_dram(plan, 1 / 2)


def with_a_quarter_of_the_dram(plan: Planned) -> Planned:
    """Every server came with a quarter of its DIMMs."""
    return with_dram(plan, 1 / 4)


def with_dram(plan: Planned, part: float) -> Planned:
    """Every server came with a part of its DIMMs."""
    (row,) = plan.layout.servers
    old = next(b for b in plan.instance.builds if b.id == row.build)
    return rebuilt(plan, row.count, dram_bytes=old.dram_bytes * part, dram_usable=old.dram_usable * part)


def with_fewer(plan: Planned, pool: str) -> Planned:
    """One instance of a pool does not run, of those that it needs."""
    pools = plan.layout.pools
    rows = tuple(replace(r, instances=needed(plan, r) - 1) if r.pool == pool else r for r in pools)
    return replace(plan, layout=replace(plan.layout, pools=rows))


def needed(plan: Planned, row: PoolRow) -> int:
    """The instances that a pool must run: where accelerators are left over, a layout of the same cost may run
    more of a prefill pool."""
    load = next(p.design_load for p in plan.instance.pools if p.id == row.pool)
    return math.ceil(row.prefill_busy / load) if row.prefill_busy else row.instances


def with_slow_links(plan: Planned, pool: str) -> Planned:
    """The host links of a pool carry nine tenths of what it loads."""
    link = {(p.stream, p.case, p.location or ""): p.link for p in plan.instance.paths if p.pool == pool}
    mine = [row for row in plan.layout.paths if row.pool == pool]
    loads = sum(row.rate * link[row.stream, Case(row.case), row.location] for row in mine)
    (count,) = [row.instances for row in plan.layout.pools if row.pool == pool]
    pools = tuple(
        replace(p, link_read=0.9 * loads / count) if p.id == pool else p for p in plan.instance.pools
    )
    return replace(plan, instance=replace(plan.instance, pools=pools))


def under_option(plan: Planned, option: str, other: str, instance: Instance, workload: Workload) -> Planned:
    """The machines run another option than the layout was made for."""
    return Planned(instance, renamed(plan.layout, option, other), workload)


def renamed(value: Any, old: str, new: str) -> Any:
    """The value with a word replaced in all of its strings."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, tuple):
        return tuple(renamed(item, old, new) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: renamed(getattr(value, f.name), old, new) for f in fields(value)})
    return value

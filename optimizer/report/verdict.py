"""The head of the page: what is bought for which model, what it costs, how sure that is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from optimizer.design.result import LayoutOut, PoolOut, Result
from optimizer.report import words
from optimizer.report.blocks import facts
from optimizer.report.replay import in_short

_ENDED = {
    "optimal": "proven optimal", "within_gap": "within the gap asked for", "limit": "stopped at the limit",
    "interrupted": "interrupted", "infeasible": "infeasible",
}
_ROLES = {"prefill": 0, "mixed": 1, "decode": 2}


def verdict(result: Result) -> RenderableType:
    """The answer in a dozen lines."""
    if result.layout is None:
        return Group(Text(f"{result.name}: no layout", style="bold"), facts(_without(result)))
    bought = Text(f"{result.name}: {machines(result.layout)}", style="bold")
    trust = facts([*_cost(result), ("proof", _proof(result)), *_checked(result), *in_short(result)])
    return Group(bought, facts(_models(result.layout)), Text(""), trust)


def machines(layout: LayoutOut) -> str:
    """`8 GB200-NVL72-RACK = 576 GPUs, 1 STORAGE-NODE-24xE3S`."""
    counts: dict[str, int] = defaultdict(int)
    gpus: dict[str, int] = defaultdict(int)
    for row in layout.servers:
        counts[row.server] += row.count
        gpus[row.server] += row.accelerators
    parts = [
        f"{count:,} {name}" + (f" = {gpus[name]:,} GPUs" if gpus[name] else "")
        for name, count in counts.items()
    ]
    parts += [f"{pool.enclosures:,} {pool.enclosure}" for pool in layout.cxl]
    return ", ".join(parts) or "nothing is bought"


def gathered(pools: Iterable[PoolOut]) -> dict[str, list[PoolOut]]:
    """The pools of each model, those that prefill first."""
    found: dict[str, list[PoolOut]] = defaultdict(list)
    for pool in pools:
        found[pool.model].append(pool)
    for group in found.values():
        group.sort(key=lambda p: (_ROLES.get(p.role, 9), p.lane != "short", p.pool))
    return dict(found)


def role(pool: PoolOut) -> str:
    """`prefill, short` (of the lane of short requests), `decode`."""
    return pool.role if pool.lane in ("", "all") else f"{pool.role}, {pool.lane}"


def _models(layout: LayoutOut) -> Iterator[tuple[str, str]]:
    for model, pools in gathered(layout.pools).items():
        alike: dict[tuple[str, int], int] = defaultdict(int)
        for pool in pools:
            alike[pool.role, pool.gpus_per_instance] += pool.instances
        parts = [f"{count:,} x {gpus} {name}" for (name, gpus), count in alike.items()]
        total = sum(pool.instances * pool.gpus_per_instance for pool in pools)
        option = layout.options.get(model, "")
        yield model, f"{total:,} GPUs = {' + '.join(parts)}" + (f"; option {option}" if option else "")
    there = sum(row.accelerators for row in layout.servers)
    busy = sum(pool.instances * pool.gpus_per_instance for pool in layout.pools)
    if there > busy:
        yield "not used", f"{there - busy:,} GPUs: spares, and what instances leave over"


def _cost(result: Result) -> Iterator[tuple[str, str]]:
    cost = result.objective_usd
    if cost is not None:
        over, months = words.horizon(result.horizon_s), result.horizon_s / words.MONTH
        yield "cost", f"{words.usd(cost)} over {over}, discounted ({words.usd(cost / months)} a month)"


def _proof(result: Result) -> str:
    ended = f"{_ENDED[result.status]} after {result.seconds:,.1f} s"
    if result.bound_usd is None or result.gap is None:
        return f"{ended}: no bound is known"
    asked = result.options.get("gap")
    wanted = f" (asked: {asked:.2%})" if isinstance(asked, (int, float)) else ""
    return f"no layout costs less than {words.usd(result.bound_usd)}: gap {result.gap:.2%}{wanted}; {ended}"


def _checked(result: Result) -> Iterator[tuple[str, str]]:
    exact = result.checks.exact
    if exact is None:
        yield "check", "the layout was not checked exactly"
        return
    worst = f"worst excess {exact.worst_relative_excess:.1e} of a row's scale"
    rows = words.counted(exact.rows_checked, "row")
    if exact.passed:
        yield "check", f"exact check passed: {rows} in exact arithmetic, {worst}"
        return
    yield "check", f"EXACT CHECK REJECTED THIS LAYOUT: {rows}, {worst}. Do not buy it; report this."
    for violation in exact.violations:
        yield "", violation


def _without(result: Result) -> Iterator[tuple[str, str]]:
    if result.status != "infeasible":
        ended = f"{_ENDED[result.status]} after {result.seconds:,.1f} s, before any layout was found"
        bound = "" if result.bound_usd is None else f"; none costs less than {words.usd(result.bound_usd)}"
        yield "status", ended + bound
        return
    conflicts = words.counted(len(result.infeasible), "conflict")
    yield "status", f"the demands cannot be met: {conflicts}, found in {result.seconds:,.1f} s"

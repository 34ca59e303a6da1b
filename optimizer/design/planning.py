"""The main job: one workload file in, one checked and explained layout out."""

from __future__ import annotations

import importlib.metadata
import platform
from collections import Counter
from dataclasses import replace

from optimizer.catalog import Catalog
from optimizer.design.basis import Basis, Tightened, operation_digest
from optimizer.design.comparisons.compare import beside
from optimizer.design.conflicts import room_to_give
from optimizer.design.explain import bindings
from optimizer.design.fixing import PATIENCE, Searched, search, shortfalls
from optimizer.design.render import costs_out, layout_out, tokens_out
from optimizer.design.result import (
    AssumptionOut,
    Checks,
    ClassOut,
    ExactCheck,
    Result,
    Round,
    Size,
)
from optimizer.design.rounds import Candidate
from optimizer.design.search import Clock, Interrupt, Progress
from optimizer.design.tokens import RULE
from optimizer.design.warnings import warnings
from optimizer.design.witness import Witnessed, witnessed
from optimizer.formulation import write
from optimizer.instance import Instance, Tier
from optimizer.instance.build import build
from optimizer.instance.checks import Unmeetable
from optimizer.solver import Compiled, SolveOptions, Status, compile, is_infeasible
from optimizer.workload import Loaded

NO_LAYOUT = {
    "limit": "no layout was found in time: raise --time-limit",
    "interrupted": "interrupted before a layout was found",
}
LIBRARIES = ("tierplan", "pyomo", "highspy", "numpy", "scipy", "pydantic")


def plan(
    loaded: Loaded,
    catalog: Catalog,
    options: SolveOptions,
    *,
    simulate: bool = False,
    compare: bool = False,
    compare_seconds: float | None = None,
    progress: Progress | None = None,
    interrupt: Interrupt | None = None,
) -> Result:
    """Solve a workload: rounds of search, exact check, replay, reasons.

    `simulate` replays the layout, and solves again where promises break (`verified.py`). `compare` puts
    other questions beside a layout, which takes as much time again or `compare_seconds`.

    Raises InputError for input that cannot be planned with. A demand that cannot be met is a Result with
    status infeasible and every conflict as have / need / smallest fix.
    """
    clock = Clock.start(options.time_limit)
    try:
        instance = build(loaded.workload, catalog)
    except Unmeetable:
        lacks = shortfalls(loaded, catalog, _patient(options))
        return _result(loaded, options, clock, status="infeasible", infeasible=lacks)
    searched = search(instance, loaded.workload, options, clock, progress=progress, interrupt=interrupt)
    best = searched.best
    if best is None:
        return _without_layout(loaded, catalog, options, clock, searched)
    told = Witnessed(best)
    if simulate:
        told = witnessed(
            instance, loaded, catalog, best, options, progress=progress, interrupt=interrupt
        )
        best = told.best
    result = _with_layout(loaded, options, clock, instance, told, searched.rounds)
    if not compare or not best.certificate.passed:
        return result
    comparisons = beside(
        loaded.workload, catalog, options, best, bought_tiers(best), by=told.by,
        seconds=compare_seconds, progress=progress, interrupt=interrupt,
    )  # fmt: skip
    return result.model_copy(update={"comparisons": comparisons})


def sizes(loaded: Loaded, catalog: Catalog) -> Size:
    """The size of the model, without solving it."""
    return _size(compile(write(build(loaded.workload, catalog)).pyomo))


def _size(compiled: Compiled) -> Size:
    rows, columns = compiled.lp.A.shape
    families = Counter(v.parent_component().name for v in compiled.variables)
    return Size(columns=columns, rows=rows, nonzeros=int(compiled.lp.A.nnz), columns_by_family=dict(families))


def _patient(options: SolveOptions) -> SolveOptions:
    """Time enough for reasons, however little there was for the search."""
    return replace(options, time_limit=max(PATIENCE, options.time_limit))


def _without_layout(
    loaded: Loaded,
    catalog: Catalog,
    options: SolveOptions,
    clock: Clock,
    searched: Searched,
) -> Result:
    """Infeasible, with a witness; or out of time before any layout was found."""
    instance, outcome = searched.failed
    patient = _patient(options)
    _, compiled = room_to_give(instance, loaded.workload)
    if searched.conflicts and is_infeasible(compiled.lp, patient):
        return _result(
            loaded,
            options,
            clock,
            status="infeasible",
            infeasible=shortfalls(loaded, catalog, patient, searched.conflicts),
            rounds=searched.rounds,
            size=_size(compiled),
        )
    status = "interrupted" if outcome.status is Status.INTERRUPTED else "limit"
    return _result(
        loaded,
        options,
        clock,
        status=status,
        rounds=searched.rounds,
        bound=outcome.bound,
        size=_size(compiled),
        notes=(NO_LAYOUT[status], *outcome.notes),
    )


def _with_layout(
    loaded: Loaded,
    options: SolveOptions,
    clock: Clock,
    base: Instance,
    told: Witnessed,
    rounds: list[Round],
) -> Result:
    best = told.best
    cost, bound = best.layout.objective_usd, min(best.outcome.bound, best.layout.objective_usd)
    certificate = best.certificate
    return _result(
        loaded,
        options,
        clock,
        status=best.outcome.status.name.lower(),
        seconds=clock.elapsed - told.seconds,
        instance=best.model.instance,
        objective=cost,
        bound=bound,
        gap=max(0.0, (cost - bound) / abs(cost)) if cost else 0.0,
        checks=Checks(
            exact=ExactCheck(
                passed=certificate.passed,
                rows_checked=certificate.rows_checked,
                worst_relative_excess=certificate.worst,
                recomputed_usd=certificate.recomputed_usd,
                violations=tuple(str(v) for v in certificate.violations),
            ),
            replay=told.replay,
            replay_ended=told.ended,
        ),
        rejected=told.rejected,
        stress=told.stress,
        layout=layout_out(best.model, best.layout),
        costs=costs_out(best.model, best.layout),
        per_million_tokens=tokens_out(best.model, best.layout),
        binding=bindings(best.model, best.compiled, best.priced, best.relaxed, certificate),
        notes=(*_tier_notes(best), *best.outcome.notes, *best.priced.notes),
        rounds=(*rounds, *told.rounds),
        size=_size(best.compiled),
        basis=_basis(loaded, base, told),
    )


def _basis(loaded: Loaded, base: Instance, told: Witnessed) -> Basis:
    """What a layout rests on; `base` is the problem before touching points moved and replays tightened it."""
    solved = told.best.model.instance
    return Basis(
        workload=loaded.document.data,
        place=str(loaded.document.path),
        layout=told.best.layout,
        tightened=tuple(
            Tightened(law=law.value, resource=resource, factor=factor)
            for (law, resource), factor in told.by.factors.items()
        ),
        waits=dict(told.by.waits),
        store_slopes={s.id: s.slope for s in solved.stores if s.slope},
        pool_slopes={p.id: p.slope for p in solved.pools if p.slope},
        operation_sha256=operation_digest(base),
    )


def _tier_notes(best: Candidate) -> tuple[str, ...]:
    """Buying no tier is an answer, and so is saying which do not pay."""
    bought = bought_tiers(best)
    offered = {s.tier for s in best.model.instance.stores if s.tier is not Tier.HBM}
    if not bought:
        return (
            "no tier below HBM pays: nothing was bought beyond the smallest DIMM population; keeping "
            "contexts in HBM and that memory, or recomputing them, is cheaper",
        )
    unused = [
        "dram beyond the smallest population" if t is Tier.DRAM else t.value for t in sorted(offered - bought)
    ]
    return (f"tiers that do not pay here: {', '.join(unused)}",) if unused else ()


def bought_tiers(best: Candidate) -> set[Tier]:
    """The tiers that money was spent on: DRAM counts beyond the smallest population of its server."""
    tables = best.model.tables
    bought: set[Tier] = {Tier.CXL} if any(row.modules for row in best.layout.cxl) else set()
    for row in best.layout.servers:
        build = tables.builds[row.build]
        if build.tier:
            bought.add(build.tier)
        elif build.drives:
            bought.add(Tier.NVME)
        least = min(
            (b.dram_bytes for b in tables.builds_of.get(build.sku or "", [])), default=build.dram_bytes
        )
        if build.sku and build.dram_bytes > least:
            bought.add(Tier.DRAM)
    return bought


def _result(
    loaded: Loaded,
    options: SolveOptions,
    clock: Clock,
    *,
    status: str,
    instance: Instance | None = None,
    objective: float | None = None,
    bound: float | None = None,
    gap: float | None = None,
    seconds: float | None = None,
    **parts: object,
) -> Result:
    empty: dict[str, object] = {
        "checks": Checks(exact=None),
        "layout": None,
        "costs": (),
        "per_million_tokens": (),
        "binding": (),
        "infeasible": (),
        "notes": (),
        "rounds": (),
        "size": None,
    }
    ours = {"gap": options.gap, "time_limit": options.time_limit, "threads": options.threads}
    settings = {**ours, **options.highs_options}
    return Result.model_validate(
        {
            **empty,
            **parts,
            "rounds": tuple(parts.get("rounds", ())),  # type: ignore[arg-type]
            "name": loaded.workload.name,
            "status": status,
            "objective_usd": objective,
            "bound_usd": bound if bound is not None and abs(bound) < 1e300 else None,
            "gap": gap,
            "seconds": clock.elapsed if seconds is None else seconds,
            "classes": tuple(
                ClassOut(
                    cls=c.id,
                    model=c.model,
                    rate=c.rate,
                    mean_rate=c.mean_rate,
                    ttft_s=c.ttft,
                    tpot_s=c.tpot,
                    attainment=c.attainment,
                )
                for c in (instance.classes if instance else ())
            ),
            "horizon_s": loaded.workload.economics.horizon,
            "allocation_rule": RULE,
            "warnings": warnings(loaded, instance) if instance else (),
            "assumptions": tuple(
                AssumptionOut(name=a.name, value=a.value, source=a.source, basis=a.basis)
                for a in (instance.assumptions if instance else ())
            ),
            "versions": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
            "options": settings,
            "seed": options.seed,
            "input_sha256": loaded.digest,
            "instance_sha256": instance.digest() if instance else "",
        }
    )


def version(name: str) -> str:
    """The installed version of a distribution."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"

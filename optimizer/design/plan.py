"""The main job: one workload file in, one checked and explained layout out."""

from __future__ import annotations

import importlib.metadata
import math
import platform
from collections import Counter
from dataclasses import dataclass, replace

from optimizer.catalog import Catalog
from optimizer.design import margins
from optimizer.design.explain import bindings, shortfalls
from optimizer.design.render import costs_out, layout_out, tokens_out
from optimizer.design.result import AssumptionOut, Checks, ExactCheck, Result, Round, Shortfall, Size
from optimizer.design.search import Clock, Interrupt, Watch, search
from optimizer.design.tokens import RULE
from optimizer.formulation import Model, read_back, write
from optimizer.instance import Instance, Layout, Tier
from optimizer.instance.build import build
from optimizer.instance.checks import Unmeetable
from optimizer.solver import (
    Compiled,
    Outcome,
    SolveOptions,
    Status,
    compile,
    fixed_lp,
    is_infeasible,
    relaxation,
)
from optimizer.verify import Certificate, check
from optimizer.workload import Loaded

ROUNDS = 5
UNFINISHED = (Status.LIMIT, Status.INTERRUPTED)
LIBRARIES = ("tierplan", "pyomo", "highspy", "numpy", "scipy", "pydantic")


@dataclass(frozen=True)
class Candidate:
    """One verified layout with the model it came from."""

    model: Model
    compiled: Compiled
    outcome: Outcome
    priced: Outcome
    layout: Layout
    certificate: Certificate


def plan(
    loaded: Loaded,
    catalog: Catalog,
    options: SolveOptions,
    *,
    watch: Watch | None = None,
    interrupt: Interrupt | None = None,
) -> Result:
    """Solve a workload: rounds of search, exact check, reasons.

    Raises InputError for input that cannot be planned with. A demand that cannot be met is a Result with
    status infeasible and every conflict as have / need / smallest fix.
    """
    clock = Clock.start(options.time_limit)
    try:
        instance = build(loaded.workload, catalog)
    except Unmeetable as unmeetable:
        placed = [loaded.document.placed(p) for p in unmeetable.problems]
        lacks = tuple(
            Shortfall(
                row=f"{p.where} {p.path}".strip(),
                have=None,
                need=None,
                unit="",
                fix=f"{p.message}; {p.remedy}",
            )
            for p in placed
        )
        return _result(loaded, options, clock, status="infeasible", infeasible=lacks)
    best, rounds, failed = improve(instance, options, clock, watch=watch, interrupt=interrupt)
    if best is None:
        return _without_layout(loaded, options, clock, failed, rounds)
    return _with_layout(loaded, options, clock, best, rounds)


def improve(
    instance: Instance,
    options: SolveOptions,
    clock: Clock,
    *,
    watch: Watch | None = None,
    interrupt: Interrupt | None = None,
) -> tuple[Candidate | None, list[Round], tuple[Compiled, Outcome]]:
    """Rounds: solve, check, move the margins' touching points to the layout, until they settle.

    Every round is safe by itself and its bound holds at its own touching points. A layout stays feasible
    when they move to it, so the next round starts from it and can only be cheaper; a round that is not
    proven in time does not replace one that is.
    """
    ready = _from_relaxation(margins.first_guess(instance), options, clock)
    best: Candidate | None = None
    rounds: list[Round] = []
    while True:
        began = clock.elapsed
        start = best.outcome.x if best else None
        outcome = search(
            ready.compiled.lp,
            options,
            clock,
            f"round {len(rounds) + 1}",
            start=start,
            known_bound=ready.bound,
            watch=watch,
            interrupt=interrupt,
        )
        rounds.append(_round(len(rounds) + 1, outcome))
        failed = (ready.compiled, outcome)
        if outcome.x is None:
            return best, rounds, failed
        candidate = settle(ready.model, ready.compiled, outcome, options)
        if best is None or _better(candidate, best):
            best = candidate
        instance, moved = margins.touching(candidate.model)
        settled = moved < margins.SETTLED
        no_time = clock.left < clock.elapsed - began
        if settled or no_time or len(rounds) >= ROUNDS or outcome.status in UNFINISHED:
            return best, rounds, failed
        ready = _ready(instance)


def _better(candidate: Candidate, best: Candidate) -> bool:
    """Verified beats unverified; then a proven layout that costs no more."""
    if candidate.certificate.passed != best.certificate.passed:
        return candidate.certificate.passed
    proven = candidate.outcome.status not in UNFINISHED or best.outcome.status in UNFINISHED
    return proven and candidate.layout.objective_usd <= best.layout.objective_usd


@dataclass(frozen=True)
class Ready:
    """A model written and compiled, with a bound that its relaxation gave if it was solved."""

    model: Model
    compiled: Compiled
    bound: float = -math.inf


def _ready(instance: Instance) -> Ready:
    model = write(instance)
    return Ready(model, compile(model.pyomo))


def _from_relaxation(instance: Instance, options: SolveOptions, clock: Clock) -> Ready:
    """Move the touching points to the LP's answer before any integer is asked for: it costs seconds."""
    ready = _ready(instance)
    relaxed = relaxation(ready.compiled.lp, clock.within(options))
    if relaxed.x is None:
        return ready
    ready.compiled.read_back(relaxed.x)
    return _ready(margins.touching(ready.model)[0])


def settle(model: Model, compiled: Compiled, outcome: Outcome, options: SolveOptions) -> Candidate:
    """Integers rounded, the rest solved to 1e-10, put on the safe side, and judged exactly."""
    assert outcome.x is not None
    priced = fixed_lp(compiled.lp, outcome.x, options)
    compiled.read_back(priced.x if priced.x is not None else outcome.x)
    layout = read_back(model)
    return Candidate(model, compiled, outcome, priced, layout, check(model.instance, layout))


def sizes(loaded: Loaded, catalog: Catalog) -> Size:
    """The size of the model, without solving it."""
    return _size(compile(write(build(loaded.workload, catalog)).pyomo))


def _size(compiled: Compiled) -> Size:
    rows, columns = compiled.lp.A.shape
    families = Counter(v.parent_component().name for v in compiled.variables)
    return Size(columns=columns, rows=rows, nonzeros=int(compiled.lp.A.nnz), columns_by_family=dict(families))


def _round(number: int, outcome: Outcome) -> Round:
    known = outcome.x is not None
    return Round(
        what=f"round {number}",
        status=outcome.status.name.lower(),
        objective_usd=outcome.objective if known else None,
        bound_usd=outcome.bound if abs(outcome.bound) < 1e300 else 0.0,
        gap=outcome.gap if known else None,
        seconds=outcome.seconds,
    )


def _without_layout(
    loaded: Loaded, options: SolveOptions, clock: Clock, failed: tuple[Compiled, Outcome], rounds: list[Round]
) -> Result:
    """Infeasible, with a witness; or out of time before any layout was found."""
    compiled, outcome = failed
    patient = replace(options, time_limit=max(10.0, options.time_limit))
    if outcome.status is Status.INFEASIBLE and is_infeasible(compiled.lp, patient):
        return _result(
            loaded,
            options,
            clock,
            status="infeasible",
            infeasible=shortfalls(compiled, patient),
            rounds=rounds,
            size=_size(compiled),
        )
    status = "interrupted" if outcome.status is Status.INTERRUPTED else "limit"
    return _result(
        loaded,
        options,
        clock,
        status=status,
        rounds=rounds,
        bound=outcome.bound,
        size=_size(compiled),
        notes=("no layout was found in time: raise --time-limit", *outcome.notes),
    )


def _with_layout(
    loaded: Loaded, options: SolveOptions, clock: Clock, best: Candidate, rounds: list[Round]
) -> Result:
    cost, bound = best.layout.objective_usd, min(best.outcome.bound, best.layout.objective_usd)
    certificate = best.certificate
    return _result(
        loaded,
        options,
        clock,
        status=best.outcome.status.name.lower(),
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
            )
        ),
        layout=layout_out(best.model, best.layout),
        costs=costs_out(best.model, best.layout),
        per_million_tokens=tokens_out(best.model, best.layout),
        binding=bindings(best.compiled, best.priced, certificate),
        notes=(*_tier_notes(best), *best.outcome.notes, *best.priced.notes),
        rounds=rounds,
        size=_size(best.compiled),
    )


def _tier_notes(best: Candidate) -> tuple[str, ...]:
    """Buying no tier is an answer, and so is saying which."""
    used = {
        best.model.tables.stores[row.store].tier
        for row in best.layout.stores
        if row.used_bytes > 0 and row.store.split("@")[0] != Tier.HBM.value
    }
    offered = {s.tier for s in best.model.instance.stores if s.tier is not Tier.HBM}
    if not used:
        return ("no tier below HBM pays: keeping contexts in HBM or recomputing them is cheaper",)
    unused = sorted(t.value for t in offered - used)
    return (f"tiers that do not pay here: {', '.join(unused)}",) if unused else ()


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
    settings = {"gap": options.gap, "time_limit": options.time_limit, "threads": options.threads}
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
            "seconds": clock.elapsed,
            "horizon_s": loaded.workload.economics.horizon,
            "allocation_rule": RULE,
            "warnings": instance.warnings if instance else (),
            "assumptions": tuple(
                AssumptionOut(name=a.name, value=a.value, source=a.source, basis=a.basis)
                for a in (instance.assumptions if instance else ())
            ),
            "versions": {"python": platform.python_version(), **{name: _version(name) for name in LIBRARIES}},
            "options": settings,
            "seed": options.seed,
            "input_sha256": loaded.digest,
            "instance_sha256": instance.digest() if instance else "",
        }
    )


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"

"""What a replay said of a layout, as it stands in result.json (the simulator's own types hold arrays).

Shares are of requests, times seconds; an amount that is not finite (no limit, nothing seen) is null.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from optimizer.design.basis import Tightened
from optimizer.design.comparisons.result import Machines
from optimizer.units import Strict

if TYPE_CHECKING:
    from optimizer.simulator.types import ClassReplay, Interval, Quantiles, ResourceReplay, Verdict

SCHEMA = "tierplan-replay/1"
State = Literal["passed", "failed", "inconclusive"]


class Span(Strict):
    """A mean and the half-width of its 95% confidence interval; null where nothing was seen."""

    mean: float | None
    half: float | None


class Percentiles(Strict):
    """Seconds below which half, 95% and 99% of the requests are."""

    p50: float | None
    p95: float | None
    p99: float | None


class ClassSeen(Strict):
    """One class: shares of its requests by what they found (a tier, `miss`, `first`), as the layout says and
    as replayed; the times; the share in time beside what the layout promises and what is required.
    `ttft_fed_back_p95` is the prediction once the waits that this replay saw replace the queueing bound's."""

    cls: str
    requests: int
    rate: float
    predicted: dict[str, float]
    simulated: dict[str, Span]
    ttft_limit_s: float
    tpot_limit_s: float
    ttft: Percentiles
    ttft_predicted_p95: float | None
    ttft_fed_back_p95: float | None
    tpot: Percentiles
    required: float
    attainment_predicted: float | None
    attainment: Span
    tpot_attainment: Span


class ResourceSeen(Strict):
    """One resource under one law: what there is, predicted and seen use (in `unit`), how often too little."""

    law: str
    resource: str
    unit: str
    capacity: float | None
    predicted: float | None
    mean: float | None
    peak: float | None
    short: float


class Failure(Strict):
    """A promise that did not hold, and the resource to blame."""

    law: str
    resource: str
    reason: str
    have: float | None
    need: float | None


class ReplayOut(Strict):
    """One replay of one layout. `waits`: per pool, the waits seen as parts of what the queueing bound has."""

    state: State
    reasons: tuple[str, ...]
    failing: tuple[Failure, ...]
    classes: tuple[ClassSeen, ...]
    resources: tuple[ResourceSeen, ...]
    waits: dict[str, float]
    arrived: int
    served: int
    rejected: int
    in_flight: int
    warmup_s: float
    measured_s: float
    seed: int
    outage: str
    seconds: float


class Rejected(Strict):
    """A layout that the replay rejected on the way: what it costs, why, and what was asked for more since."""

    objective_usd: float
    machines: tuple[Machines, ...]
    reasons: tuple[str, ...]
    failing: tuple[Failure, ...]
    attainment: dict[str, Span]
    tightened: tuple[Tightened, ...]
    waits: dict[str, float]
    seconds: float


class StressCase(Strict):
    """The layout under one thing that is off, its hardware as it is.

    `factor` is what speeds, hits or rates are multiplied by, 1 for an outage. The worst class is the one with
    the least share in time for what is required, of its first token or of its pace. `steady` is False where
    the backlog grows: the longer it lasts the worse it gets. `usd_per_mtok` is the whole cost per million
    output tokens whose request was served in time (None: there are none).
    """

    case: Literal["as planned", "throughput", "hits", "demand", "one node down", "hits collapse for a day"]
    factor: float
    worst_class: str
    attainment: Span
    required: float
    hit_share: float
    usd_per_mtok: float | None
    steady: bool
    outage: str
    seconds: float


class Stress(Strict):
    """The cases that were replayed, with so many requests each, in so many seconds; by name those left out
    for want of time."""

    cases: tuple[StressCase, ...]
    requests: int
    seconds: float
    not_done: tuple[str, ...]


class Simulated(Strict):
    """A layout replayed by itself (`tierplan simulate --json`). `traces` are the files of recorded requests
    by class, "" for all classes; `remarks` what to know of the result it was read from."""

    schema_: str = Field(default=SCHEMA, alias="schema")
    name: str
    input_sha256: str
    instance_sha256: str
    traces: dict[str, str]
    remarks: tuple[str, ...]
    replay: ReplayOut


def state_of(verdict: Verdict) -> State:
    """A promise that breaks is a failure however the run ended; without a steady state nothing is shown."""
    if verdict.failing or (verdict.conclusive and not verdict.passed):
        return "failed"
    return "passed" if verdict.passed and verdict.conclusive else "inconclusive"


def replay_out(verdict: Verdict, fed_back: dict[str, float] | None = None) -> ReplayOut:
    """A verdict as result.json has it; `fed_back` is the predicted p95 TTFT of classes, waits being known."""
    return ReplayOut(
        state=state_of(verdict),
        reasons=verdict.reasons,
        failing=failures(verdict),
        classes=tuple(_class(c, fed_back or {}) for c in verdict.classes),
        resources=tuple(_resource(r) for r in verdict.resources),
        waits={pool: factor for pool, factor in verdict.waits.items() if math.isfinite(factor)},
        arrived=verdict.arrived,
        served=verdict.served,
        rejected=verdict.rejected,
        in_flight=verdict.in_flight,
        warmup_s=verdict.warmup_seconds,
        measured_s=verdict.measured_seconds,
        seed=verdict.seed,
        outage=verdict.outage,
        seconds=verdict.wall_seconds,
    )


def failures(verdict: Verdict) -> tuple[Failure, ...]:
    """What failed."""
    return tuple(
        Failure(
            law=f.law.value, resource=f.resource, reason=f.reason, have=finite(f.have), need=finite(f.need)
        )
        for f in verdict.failing
    )


def span(interval: Interval) -> Span:
    """An interval as result.json has it."""
    return Span(mean=finite(interval.mean), half=finite(interval.half))


def finite(value: float) -> float | None:
    """The value, or null where JSON has no word for it."""
    return float(value) if math.isfinite(value) else None


def _class(c: ClassReplay, fed_back: dict[str, float]) -> ClassSeen:
    return ClassSeen(
        cls=c.cls,
        requests=c.requests,
        rate=c.rate,
        predicted=dict(c.predicted),
        simulated={found: span(share) for found, share in c.simulated.items()},
        ttft_limit_s=c.ttft_limit,
        tpot_limit_s=c.tpot_limit,
        ttft=_percentiles(c.ttft),
        ttft_predicted_p95=finite(c.ttft_predicted_p95),
        ttft_fed_back_p95=finite(fed_back.get(c.cls, math.nan)),
        tpot=_percentiles(c.tpot),
        required=c.required,
        attainment_predicted=finite(c.attainment_predicted),
        attainment=span(c.attainment),
        tpot_attainment=span(c.tpot_attainment),
    )


def _percentiles(q: Quantiles) -> Percentiles:
    return Percentiles(p50=finite(q.p50), p95=finite(q.p95), p99=finite(q.p99))


def _resource(r: ResourceReplay) -> ResourceSeen:
    return ResourceSeen(
        law=r.law.value,
        resource=r.resource,
        unit=r.unit,
        capacity=finite(r.capacity),
        predicted=finite(r.predicted),
        mean=finite(r.mean),
        peak=finite(r.peak),
        short=r.short,
    )

"""The layout with one thing off and its hardware as it is: what a plan of least cost is worth in bad times.

Each case is a replay with fewer requests than the one that judges the layout, so its intervals are wider. No
case decides anything: a plan is asked to keep its promises as planned, and this table says how it breaks.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from optimizer.design.replay import Stress, StressCase, finite, span
from optimizer.design.search import Interrupt
from optimizer.instance import Instance, Layout
from optimizer.simulator import Disturbance
from optimizer.simulator.simulation import enough
from optimizer.simulator.types import ClassReplay, Interval, Verdict

PART = 3
"""Of the requests that judge a layout, each case gets one in so many."""
SECONDS = 60.0
"""For all cases together; those that are left over are named."""
PILED = 1.5
"""Times as many requests in flight as the case explains, at the end of a run without a steady state."""
OFF = (0.10, 0.25, 0.50)
COLLAPSED = 0.2
"""What is left of the hits on the day they collapse: a client's update took a fleet from 90% to below 20%."""
FAILS_AT = 60.0
"""Seconds into the run at which the node goes down; a tenth of a shorter run."""
MILLION = 1e6


@dataclass(frozen=True)
class Case:
    """One thing that is off: its name and factor, and what the replay is told."""

    name: str
    factor: float
    disturbance: Disturbance
    outage: str | None = None


Replaying = Callable[[Case, int], Verdict]


def cases(instance: Instance, layout: Layout) -> Iterator[Case]:
    """Every case, the layout as planned first."""
    yield Case("as planned", 1.0, Disturbance())
    for off in OFF:
        yield Case("throughput", 1 - off, Disturbance(throughput=1 - off))
    for off in OFF:
        yield Case("hits", 1 - off, Disturbance(hits=1 - off))
    for off in OFF:
        yield Case("demand", 1 + off, Disturbance(demand=1 + off))
    if node := largest_kind(instance, layout):
        lasts = enough(instance) // PART / sum(c.rate for c in instance.classes)
        yield Case("one node down", 1.0, Disturbance(), f"{node}@{min(FAILS_AT, lasts / 10):g} s")
    yield Case("hits collapse for a day", COLLAPSED, Disturbance(hits=COLLAPSED))


def largest_kind(instance: Instance, layout: Layout) -> str | None:
    """The server most of the facility's accelerators stand in: one of these goes down."""
    builds = {b.id: b for b in instance.builds}
    gpus = {s.id: s.gpus for s in instance.skus}
    counts: dict[str, int] = {}
    for row in layout.servers:
        if (sku := builds[row.build].sku) is not None:
            counts[sku] = counts.get(sku, 0) + gpus[sku] * row.count
    return max(counts, key=lambda sku: (counts[sku], sku), default=None)


def stress(
    instance: Instance, layout: Layout, replay: Replaying, *, interrupt: Interrupt | None = None
) -> Stress:
    """Replay every case, in SECONDS together."""
    began = time.monotonic()
    requests = enough(instance) // PART
    done: list[StressCase] = []
    left: list[str] = []
    planned: Verdict | None = None
    for case in cases(instance, layout):
        late = time.monotonic() - began > SECONDS
        if late or (interrupt is not None and interrupt()):
            left.append(said(case.name, case.factor))
            continue
        verdict = replay(case, requests)
        planned = planned or verdict
        done.append(judged(instance, layout, case, verdict, planned))
    return Stress(
        cases=tuple(done), requests=requests, seconds=time.monotonic() - began, not_done=tuple(left)
    )


def said(name: str, factor: float) -> str:
    """`throughput -25%`, `demand +50%`, `one node down`."""
    if name in ("throughput", "hits", "demand"):
        return f"{name} {factor - 1:+.0%}"
    return name


def judged(
    instance: Instance, layout: Layout, case: Case, verdict: Verdict, planned: Verdict
) -> StressCase:
    """One line of the table; `planned` is the verdict as planned."""
    seen = [c for c in verdict.classes if c.requests] or verdict.classes
    worst = min(seen, key=lambda c: (_in_time(c) / c.required if c.required else 1.0, c.cls))
    requests = sum(c.rate for c in verdict.classes)
    hits = sum(c.rate * _hits(c) for c in verdict.classes)
    served = _served_in_time(instance, verdict) * case.disturbance.demand
    return StressCase.model_validate(
        {
            "case": case.name,
            "factor": case.factor,
            "worst_class": worst.cls,
            "attainment": span(_least(worst)),
            "required": worst.required,
            "hit_share": hits / requests if requests else 0.0,
            "usd_per_mtok": finite(layout.objective_usd / served * MILLION) if served > 0 else None,
            "steady": verdict.conclusive or not piled_up(case, verdict, planned),
            "outage": verdict.outage,
            "seconds": verdict.wall_seconds,
        }
    )


def piled_up(case: Case, verdict: Verdict, planned: Verdict) -> bool:
    """Whether far more requests are left in flight than more of them and slower machines explain. A short run
    is seldom steady enough to be conclusive; one that falls behind shows it here."""
    explained = planned.in_flight * case.disturbance.demand / case.disturbance.throughput
    return verdict.in_flight > PILED * max(explained, 1.0)


def _in_time(cls: ClassReplay) -> float:
    """The share of a class that is in time, for its first token and its pace; 0 where nothing was seen."""
    return finite(_least(cls).mean) or 0.0


def _least(cls: ClassReplay) -> Interval:
    """The lesser of the two shares. Answers that take longer than the run have no pace, and say nothing."""
    shares = (cls.attainment, cls.tpot_attainment)
    seen = [share for share in shares if math.isfinite(share.mean)]
    return min(seen or shares, key=lambda share: share.mean)


def _hits(cls: ClassReplay) -> float:
    hits = (share.mean for found, share in cls.simulated.items() if found not in ("miss", "first"))
    return sum(finite(share) or 0.0 for share in hits)


def _served_in_time(instance: Instance, verdict: Verdict) -> float:
    """Output tokens of the horizon at the mean rates whose requests are served in time."""
    seconds = sum(p.seconds for p in instance.periods)
    asked = {c.id: c.mean_rate * c.output_tokens * seconds for c in instance.classes}
    return sum(asked[c.cls] * _in_time(c) for c in verdict.classes)

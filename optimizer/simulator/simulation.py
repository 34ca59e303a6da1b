"""The one door: a layout and its traffic in, a verdict out."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from optimizer.catalog import Catalog
from optimizer.errors import InputError, Problem
from optimizer.instance import Instance, Layout
from optimizer.simulator.engine.copies import LACKED
from optimizer.simulator.engine.run import Idle
from optimizer.simulator.engine.run import replay as run
from optimizer.simulator.engine.state import ARRIVED, Samples, State, fixed, samples, state
from optimizer.simulator.facility.assemble import facility
from optimizer.simulator.facility.plans import oldest_ages
from optimizer.simulator.traffic.demand import draw
from optimizer.simulator.traffic.replay import nothing
from optimizer.simulator.traffic.stretches import apart, checked
from optimizer.simulator.traffic.under_way import Busy, under_way
from optimizer.simulator.types import Demand, Facility, Floats, Names, Outage, Replay, Verdict
from optimizer.simulator.verdict.judge import judge
from optimizer.simulator.verdict.observed import Observed
from optimizer.simulator.verdict.predicted import predicted
from optimizer.units import UnitError, parse
from optimizer.workload import Workload

LEAST_REQUESTS = 40_000
MOST_REQUESTS = 400_000
LIVES = 12.0
"""Times the longest request that a replay lasts at least: the first three or so fill an empty facility."""
SAMPLES = 200
RESTART_SECONDS = 300.0
"""Until a spare has loaded its weights and serves: an estimate, some minutes for a terabyte from drives."""
SPARE_ROOM = 1.25
"""Rows of the table of requests per request that is expected."""


@dataclass(frozen=True)
class Disturbance:
    """What is worse than planned: the speed of every machine, the share of hits that are found, the rates."""

    throughput: float = 1.0
    hits: float = 1.0
    demand: float = 1.0


def simulate(
    instance: Instance,
    layout: Layout,
    workload: Workload,
    catalog: Catalog,
    *,
    requests: int | None = None,
    seed: int = 0,
    replay: Replay | None = None,
    replayed: tuple[str, ...] = (),
    block_tokens: float = 0.0,
    outage: str | None = None,
    disturbance: Disturbance = Disturbance(),
) -> Verdict:
    """Replay about `requests` requests through a layout of `instance`, and say whether its promises hold.

    `replay` stands for the drawn traffic of the classes `replayed`. `outage` is `SKU@time` or `SKU#n@time`.
    Without `requests` the replay lasts LIVES of the longest request, between LEAST_ and MOST_REQUESTS.
    Raises InputError for an outage of a server that is not there, or after the end.
    """
    began = time.monotonic()
    met = under(instance, disturbance.demand)
    built, names = facility(instance, layout, workload, catalog)
    built = slowed(built, disturbance.throughput)
    count = requests or enough(met)
    demand = draw(
        met, workload, count, seed,
        oldest=oldest_ages(instance, layout), longest=longest(built), without=replayed,
    )  # fmt: skip
    recorded = replay if replay is not None else nothing()
    failure = parse_outage(outage, built, names, instance.limits.spares > 0)
    if demand.horizon <= failure.time < np.inf:
        raise InputError(Problem("--fail", "", f"the replay ends before, at {demand.horizon:,.0f} s",
                                 "write an earlier time, or replay more requests"))
    busy = under_way(built, met, seed, replayed)
    last, seen = replayed_through(
        built, demand, recorded, failure, disturbance.hits, block_tokens, busy, count
    )
    observed = Observed(built, names, last, seen, demand.horizon, failure.time)
    verdict = judge(observed, instance, predicted(instance, layout, workload, catalog), layout)
    return replace(
        verdict, seed=seed, outage=outage or "", reasons=(*lost(failure, outage, verdict), *verdict.reasons),
        wall_seconds=time.monotonic() - began,
    )  # fmt: skip


def lost(failure: Outage, outage: str | None, verdict: Verdict) -> tuple[str, ...]:
    """What failed by itself before any promise did."""
    if outage is None or not verdict.failing:
        return ()
    if failure.restart < np.inf:
        return (f"{outage} failed, and a spare took {failure.restart:.0f} s to take its place",)
    return (f"{outage} failed, and no spare is there to take its place",)


def enough(instance: Instance) -> int:
    """Requests of a replay that lasts long enough."""
    rate = sum(c.rate for c in instance.classes)
    longest_run = max((b.run_seconds for b in instance.buckets), default=0.0)
    return int(min(MOST_REQUESTS, max(LEAST_REQUESTS, rate * LIVES * longest_run)))


def replayed_through(
    built: Facility,
    demand: Demand,
    recorded: Replay,
    outage: Outage,
    hits: float,
    block_tokens: float,
    busy: Busy,
    count: int,
) -> tuple[State, Samples]:
    """Run the event loop. The state at the end, and samples on the way."""
    if block_tokens <= 0:  # what gives way is a node as a whole, and may be one that others come after
        recorded = apart(recorded)
    recorded = checked(recorded)
    table = int(SPARE_ROOM * (count + len(recorded.time))) + len(busy.bucket) + 1000
    told = fixed(built, demand, recorded, outage, hits, block_tokens)
    now = state(built, demand, recorded, len(busy.bucket), table)
    seen = samples(built, now, SAMPLES, demand.horizon)
    order = np.argsort(-demand.idle_age, kind="stable")
    idle = Idle(
        demand.idle_bucket[order], demand.idle_age[order], demand.idle_return[order],
        demand.idle_kept[order],
    )  # fmt: skip
    run(told, now, seen, idle, busy)
    if now.counts[ARRIVED] >= table:
        raise RuntimeError(f"{table} requests filled the table of requests: the replay ended too early")
    if now.cache.counts[LACKED]:
        raise RuntimeError(f"{now.cache.counts[LACKED]} copies found the table of copies full")
    if now.heap.counts[2]:
        raise RuntimeError(f"{now.heap.counts[2]} events found the table of events full")
    return now, seen


def longest(built: Facility) -> Floats:
    """Tokens of the longest context of each bucket that a rank of every pool that decodes it can hold."""
    machines, work, routes = built.machines, built.work, built.routes
    ranks = np.array(
        [
            max(1, machines.instance_rank[i + 1] - machines.instance_rank[i])
            for i in machines.pool_instance[:-1]
        ]
    )
    found = np.full(len(built.classes.tokens), np.inf)
    for b in range(len(found)):
        for p in routes.decode_pool[routes.decode[b] : routes.decode[b + 1]]:
            room = machines.pool_room[p] / ranks[p]
            found[b] = min(found[b], np.interp(room, work.running[p], work.context))
    return np.maximum(found, built.classes.tokens)


def under(instance: Instance, demand: float) -> Instance:
    """The same problem at so many times the rates."""
    if demand == 1.0:
        return instance
    buckets = tuple(
        replace(
            b, rate=b.rate * demand, mean_rate=b.mean_rate * demand, returns=b.returns * demand,
            mean_returns=b.mean_returns * demand,
            slots=tuple(replace(s, rate=s.rate * demand) for s in b.slots),
        )
        for b in instance.buckets
    )  # fmt: skip
    classes = tuple(
        replace(c, rate=c.rate * demand, mean_rate=c.mean_rate * demand, first_rate=c.first_rate * demand)
        for c in instance.classes
    )
    return replace(instance, buckets=buckets, classes=classes)


def slowed(built: Facility, throughput: float) -> Facility:
    """The same machines at so much of their speed: prefill and decode, not the links. As many sequences run
    at once as before, more slowly: what an engine admits is set by the plan and not by its clock."""
    work, machines = built.work, built.machines
    return built._replace(
        work=work._replace(
            wall=work.wall / throughput, memory=work.memory / throughput, flops=work.flops / throughput,
            network=work.network / throughput,
        ),
        machines=machines._replace(
            pool_step_fixed=machines.pool_step_fixed / throughput,
            pool_overhead=machines.pool_overhead / throughput,
            pool_step_limit=machines.pool_step_limit / throughput,
        ),
    )  # fmt: skip


def parse_outage(text: str | None, built: Facility, names: Names, spares: bool) -> Outage:
    """The server and time of `SKU@time` or `SKU#n@time` (n from 1)."""
    if text is None:
        return Outage(-1, np.inf, np.inf)
    node, at, when = text.partition("@")
    sku, _, number = node.partition("#")
    if not at or sku not in names.skus or not (number == "" or number.isdigit()):
        wanted = ", ".join(f"{name}@600 s" for name in names.skus)
        raise InputError(Problem("--fail", "", f'"{text}" names no server of the layout', f"write {wanted}"))
    servers = np.flatnonzero(
        (built.machines.server_sku == names.skus.index(sku)) & ~built.machines.server_spare
    )
    which = int(number or 1)
    if not 1 <= which <= len(servers):
        raise InputError(
            Problem("--fail", "", f"{sku}#{which}: the layout has {len(servers)} of {sku} in use", "")
        )
    restart = RESTART_SECONDS if spares else np.inf
    try:
        return Outage(int(servers[which - 1]), parse(when.strip(), "seconds"), restart)
    except UnitError as fault:
        raise InputError(Problem("--fail", "", str(fault), f"write {node}@600 s")) from None

"""Case M7 by the simulator: DeepSeek's day at a tenth, with the rates that were measured there.

608e9 input tokens (342e9 found) at 73.7k tok/s a node and 168e9 output tokens at 14.8k: 95.5 + 131.4 = 226.9
nodes busy; 226.75 were published.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from optimizer.simulator.engine.state import SERVED
from optimizer.simulator.facility.assemble import facility
from optimizer.simulator.facility.plans import oldest_ages
from optimizer.simulator.simulation import enough, longest, parse_outage, replayed_through
from optimizer.simulator.traffic.demand import draw
from optimizer.simulator.traffic.replay import nothing
from optimizer.simulator.traffic.under_way import under_way
from optimizer.simulator.types import Interval, Law
from optimizer.simulator.verdict.observed import Z95, Observed
from tests.instance.shipped import CATALOG
from tests.simulator.planting import Planned, solved, with_fewer

pytestmark = pytest.mark.slow

SCALE = 10
DAY = 86_400
INPUT, FOUND, OUTPUT = 608e9, 342e9, 168e9
PREFILL_NODES, DECODE_NODES = INPUT / DAY / 73_700, OUTPUT / DAY / 14_800
GPUS = 8


@cache
def planned() -> Planned:
    """The layout that the search comes to."""
    instance, best, workload = solved("deepseek-day")
    return Planned(instance, best.layout, workload)


def decoding() -> tuple[str, int, float]:
    """The decode pool: name, instances, nodes of an instance."""
    (row,) = [row for row in planned().layout.pools if "/decode" in row.pool]
    return row.pool, row.instances, row.accelerators / row.instances / GPUS


@cache
def short_of_decoding() -> Planned:
    """One instance less than there are: a tenth fewer nodes than DeepSeek's."""
    name, instances, nodes = decoding()
    assert (instances - 1) * nodes * SCALE / DECODE_NODES == pytest.approx(0.9, abs=0.02)
    return with_fewer(planned(), name)


@cache
def observed(fewer: bool) -> Observed:
    """The run itself, with every request and sample of it."""
    plan = short_of_decoding() if fewer else planned()
    built, names = facility(plan.instance, plan.layout, plan.workload, CATALOG)
    count = enough(plan.instance)
    demand = draw(
        plan.instance, plan.workload, count, 0,
        oldest=oldest_ages(plan.instance, plan.layout), longest=longest(built),
    )  # fmt: skip
    never = parse_outage(None, built, names, False)
    state, samples = replayed_through(
        built, demand, nothing(), never, 1.0, 0.0, under_way(built, plan.instance, 0), count
    )
    return Observed(built, names, state, samples, demand.horizon)


def busy_prefill_nodes() -> Interval:
    """Nodes at work on prompts, at full scale."""
    seen = observed(fewer=False)
    ranks = np.diff(seen.facility.machines.instance_rank)
    row = {row.pool: row for row in planned().layout.pools}
    nodes = [row[name].accelerators / row[name].instances / GPUS for name in seen.names.pools]
    per_rank = np.array(nodes)[seen.facility.machines.instance_pool] / ranks
    busy = seen.samples.instance["prefill_busy"] @ per_rank
    return of_traffic(seen, float((busy[-1] - busy[seen.first_sample]) / seen.seconds) * SCALE)


def output(seen: Observed) -> Interval:
    """Output tokens per second of requests that ended."""
    q = seen.requests[(seen.requests["state"] == SERVED) & (seen.requests["done"] >= seen.start)]
    return of_traffic(seen, float(q["output"].sum() / (seen.end - seen.start)))


def of_traffic(seen: Observed, mean: float) -> Interval:
    """What goes with the count of requests, as sure as that is: sessions come at random, requests in sessions
    (a compound Poisson process: variance sum n_s^2)."""
    q = seen.requests[seen.requests["arrival"] >= seen.start]
    _, count = np.unique(q["session"], return_counts=True)
    return Interval(mean, mean * Z95 * math.sqrt(float(count @ count)) / len(q))


def test_the_traffic_is_that_of_the_day() -> None:
    seen = observed(fewer=False)
    q = seen.requests[(seen.requests["arrival"] >= seen.start) & (seen.requests["state"] == SERVED)]
    rate = q["total"].sum() / (seen.end - seen.start) * SCALE
    lasted = (q["done"] - q["arrival"]).mean()
    served = 1 - lasted / (seen.end - seen.start)  # those that came last have not ended
    assert rate / served == pytest.approx(INPUT / DAY, rel=0.02)
    assert q["cached"].sum() / q["total"].sum() == pytest.approx(FOUND / INPUT, rel=0.01)


def test_busy_prefill_nodes_are_95_5() -> None:
    nodes = busy_prefill_nodes()
    assert nodes.half < 2
    assert nodes.low <= PREFILL_NODES <= nodes.high
    assert pytest.approx(95.5, abs=0.05) == PREFILL_NODES


def test_busy_decode_nodes_are_131_4() -> None:
    """Output of the day over what a node does when it is full, which the run that is short of them shows."""
    day, full = output(observed(fewer=False)), output(observed(fewer=True))
    _, instances, nodes = decoding()
    each = full.mean / ((instances - 1) * nodes)
    assert each == pytest.approx(14_800, rel=0.005)
    busy = Interval(day.mean * SCALE / each, day.half * SCALE / each)
    assert busy.half < 2
    assert busy.low <= DECODE_NODES <= busy.high
    assert pytest.approx(131.4, abs=0.05) == DECODE_NODES


def test_together_they_are_what_was_published() -> None:
    prefill, decode = busy_prefill_nodes(), output(observed(fewer=False))
    together = prefill.mean + decode.mean * SCALE / 14_800
    assert together == pytest.approx(226.75, rel=0.01)


def test_the_layout_for_that_day_keeps_its_promises() -> None:
    verdict = planned().replayed()
    assert verdict.passed, verdict.reasons


def test_a_tenth_fewer_decode_nodes_break_them_and_are_named() -> None:
    verdict = short_of_decoding().replayed()
    assert not verdict.passed
    name, _, _ = decoding()
    assert {f.law for f in verdict.failing} <= {Law.DECODE_TIME, Law.RUNNING_KV}
    assert {f.resource for f in verdict.failing} == {name}


def test_decoding_does_not_grow_with_dram() -> None:
    """Case C9: ten times the DRAM, and the nodes that are short of decoding are as short as before."""
    plan = short_of_decoding()
    much = tuple(
        replace(b, dram_bytes=10 * b.dram_bytes, dram_usable=10 * b.dram_usable) for b in plan.instance.builds
    )
    verdict = replace(plan, instance=replace(plan.instance, builds=much)).replayed()
    before = plan.replayed()
    assert verdict.served == before.served
    assert [f.law for f in verdict.failing] == [f.law for f in before.failing]

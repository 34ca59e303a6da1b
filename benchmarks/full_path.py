"""The full path: drawn traffic through layouts of the shipped workloads, request by request."""

from __future__ import annotations

import json
import tempfile
from typing import NamedTuple

import numpy as np

from benchmarks.cases import Case, alone, given
from benchmarks.tables import Figure, Section
from benchmarks.timing import timed
from optimizer.catalog import load_catalog
from optimizer.simulator.engine.state import ARRIVED
from optimizer.simulator.facility.assemble import facility
from optimizer.simulator.facility.plans import oldest_ages
from optimizer.simulator.simulation import enough, longest, replayed_through, simulate
from optimizer.simulator.traffic.demand import draw
from optimizer.simulator.traffic.replay import nothing
from optimizer.simulator.traffic.under_way import Busy, under_way
from optimizer.simulator.types import Demand, Facility, Outage, Replay

FEW = 500
"""Requests of a run that compiles, or that is not compiled."""
NEVER = Outage(-1, np.inf, np.inf)


class Traffic(NamedTuple):
    """What the event loop is called with."""

    facility: Facility
    demand: Demand
    recorded: Replay
    outage: Outage
    hits: float
    block: float
    busy: Busy
    count: int

    @property
    def live(self) -> int:
        """Sessions that are idle or running at the beginning, and so, in a steady state, ever after."""
        return len(self.demand.idle_bucket) + len(self.busy.bucket)


def drawn(case: Case, count: int) -> Traffic:
    """About `count` requests at the rates of the workload."""
    built, _ = facility(case.instance, case.layout, case.workload, load_catalog())
    demand = draw(
        case.instance, case.workload, count, 0,
        oldest=oldest_ages(case.instance, case.layout), longest=longest(built),
    )  # fmt: skip
    return Traffic(built, demand, nothing(), NEVER, 1.0, 0.0, under_way(built, case.instance, 0), count)


def measure(cases: list[Case], quick: bool = False) -> Section:
    """Every case in a process of its own."""
    return Section(
        "Full path",
        "One core. *Loop* is the replay of the requests that a verdict rests on, with the tables it needs; "
        "*whole* is `simulate`: the layout as arrays, the draw, the loop, the verdict. *Plain* is the same "
        f"loop without numba, for {FEW} requests. Asked for: 20,000 requests/s.",
        tuple(alone("full_path", case, "quick" if quick else "all") for case in cases),
    )


def compiling(case: Case) -> Section:
    """A first call in a home without compiled kernels, and one that finds them there."""
    with tempfile.TemporaryDirectory() as home:
        first, later = (alone("full_path", case, "first", HOME=home) for _ in range(2))
    return Section(
        "Compiling",
        f"What the first replay of a process costs, in seconds of the processor, for {FEW} requests. Kernels "
        "are compiled once for every version of their sources; later processes read them from the user's "
        "cache.",
        ({"kernels": "compiled", **first}, {"kernels": "read from disk", **later}),
    )


def paces(case: Case, count: int) -> dict[str, Figure]:
    """Requests per second of the loop, of the whole, and of the loop without numba."""
    catalog, traffic = load_catalog(), drawn(case, count)
    replayed_through(*drawn(case, FEW))
    seconds, (state, _) = timed(lambda: replayed_through(*traffic))
    whole, verdict = timed(
        lambda: simulate(case.instance, case.layout, case.workload, catalog, requests=count)
    )
    arrived = int(state.counts[ARRIVED])
    slow = alone("full_path", case, "plain", NUMBA_DISABLE_JIT="1")
    plain = slow["requests"] / slow["seconds"]
    return {
        "workload": case.name,
        "live sessions": traffic.live,
        "requests": arrived,
        "events a request": (int(state.heap.counts[1]) + len(traffic.demand.first_time)) / arrived,
        "loop requests/s": arrived / seconds,
        "whole requests/s": verdict.arrived / whole,
        "plain requests/s": plain,
        "times plain": arrived / seconds / plain,
    }


def once(case: Case) -> dict[str, Figure]:
    """One run of few requests, as it comes."""
    seconds, (state, _) = timed(lambda: replayed_through(*drawn(case, FEW)), 1)
    return {"seconds": seconds, "requests": int(state.counts[ARRIVED])}


def main() -> None:
    """One case, for `alone`."""
    case, (what,) = given()
    if what in ("all", "quick"):
        found = paces(case, FEW if what == "quick" else enough(case.instance))
    else:
        found = once(case)
    print(json.dumps(found))


if __name__ == "__main__":
    main()

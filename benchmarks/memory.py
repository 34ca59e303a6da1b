"""Memory of a replay per live session: what its tables take, and what the process grows by."""

from __future__ import annotations

import json

import numpy as np

from benchmarks.cache_path import live
from benchmarks.cases import Case, alone, given
from benchmarks.full_path import FEW, NEVER, Traffic, drawn
from benchmarks.resident import growth
from benchmarks.tables import Figure, Section
from optimizer.catalog import load_catalog
from optimizer.simulator.engine.state import ARRIVED, SESSIONS, State
from optimizer.simulator.facility.assemble import facility
from optimizer.simulator.facility.plans import oldest_ages
from optimizer.simulator.simulation import enough, replayed_through
from optimizer.simulator.traffic.demand import draw
from optimizer.simulator.traffic.replay import recorded
from optimizer.simulator.traffic.script import script
from optimizer.simulator.traffic.under_way import under_way
from optimizer.traces import read_trace

TRACE = "weka_claude_code_60s_b512"
LIVE = 3_000
HOUR = 3600.0


def measure(cases: list[Case], quick: bool = False) -> Section:
    """Drawn traffic of every case, and a recorded trace through the last."""
    rows = [alone("memory", case, "quick" if quick else "drawn") for case in cases]
    if not quick:
        rows.append(alone("memory", cases[-1], "recorded"))
    return Section(
        "Memory",
        "Bytes over live sessions. *State* is what the replay knows of them: their rows, their copies in "
        "every tier, the events to come. *Log* is what the verdict is made from, a row for every request "
        "that came. *Process* is what the whole process grows by, from the layout to the end of the replay, "
        f"with all the traffic that it is handed. {TRACE} is played as {LIVE:,} live sessions for an hour, "
        "closed loop; contexts of ended sessions are held as long as the layout says, and a recorded one "
        "is about as many copies as it has had turns. Asked for: 2,000 bytes a live session.",
        tuple(rows),
    )


def recorded_hour(case: Case) -> tuple[Traffic, float]:
    """An hour of a recorded trace as the traffic of the first class, alone, and its live sessions."""
    trace = read_trace(f"{TRACE}.jsonl.gz")
    once = live(script(trace))
    rate = LIVE / once * len(trace) / float(trace.time[-1] - trace.time[0])
    classes = tuple(c.id for c in case.instance.classes)
    played = recorded(trace, case.instance, classes[0], rate=rate, seed=0, seconds=HOUR)
    built, _ = facility(case.instance, case.layout, case.workload, load_catalog())
    demand = draw(
        case.instance, case.workload, len(played.time), 0,
        oldest=oldest_ages(case.instance, case.layout), without=classes,
    )._replace(horizon=HOUR)  # fmt: skip
    busy = under_way(built, case.instance, 0, classes)
    return Traffic(built, demand, played, NEVER, 1.0, float(trace.block_tokens or 0), busy, 0), LIVE


def row(case: Case, what: str) -> dict[str, Figure]:
    """One run, after a first one that reads the kernels."""
    replayed_through(*drawn(case, FEW))

    def run() -> tuple[Traffic, float, State]:
        if what == "recorded":
            traffic, sessions = recorded_hour(case)
        else:
            traffic = drawn(case, FEW if what == "quick" else enough(case.instance))
            sessions = traffic.live
        return traffic, sessions, replayed_through(*traffic)[0]

    grown, (traffic, sessions, state) = growth(run)
    arrived = int(state.counts[ARRIVED])
    return {
        "traffic": f"{TRACE} in {case.name}" if what == "recorded" else case.name,
        "live sessions": sessions,
        "requests": arrived,
        "state": state_bytes(state, traffic) / sessions,
        "log": arrived * state.request.itemsize / sessions,
        "process": grown / sessions,
    }


def state_bytes(state: State, traffic: Traffic) -> float:
    """Bytes of rows that were ever in use, the log apart."""
    cache = state.cache
    copies = int((cache.copy["ratio"] != 0).sum())  # set when a row is first used
    events = int(np.flatnonzero(state.heap.event["order"]).max(initial=0)) + 1
    sessions = int(state.counts[SESSIONS]) + int((traffic.recorded.after < 0).sum())
    return (
        sessions * state.session.itemsize
        + copies * (cache.copy.itemsize + cache.free.itemsize)
        + cache.slot.nbytes
        + events * state.heap.event.itemsize
        + state.sequence.nbytes
    )


def main() -> None:
    """One case, for `alone`."""
    case, (what,) = given()
    print(json.dumps(row(case, what)))


if __name__ == "__main__":
    main()

"""Memory of a replay, per live session and per request, and what the process grows by."""

from __future__ import annotations

import json

import numpy as np

from benchmarks.cache_path import live
from benchmarks.cases import Case, alone, given
from benchmarks.full_path import FEW, NEVER, Traffic, drawn
from benchmarks.resident import growth
from benchmarks.tables import Figure, Section
from optimizer.catalog import load_catalog
from optimizer.simulator.engine.copies import ROWS, SLOTS
from optimizer.simulator.engine.state import ARRIVED, RECORDED, SESSIONS, State
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
        "*State* is bytes over live sessions: all that the replay knows of them, their rows, their copies in "
        "every tier, the events to come, the sequences being decoded; beside it the same of a run of *twice* "
        "the length. Asked for: 2,000 bytes a live session. *Log* and *drawn* are bytes over requests: a row "
        "for every request that came and every session that is over, of which the verdict is made, and the "
        "arrays that requests are drawn or copied into before. *Process* is the MB that it grows by, all "
        f"told. {TRACE} is played as {LIVE:,} live sessions for an hour, closed loop; the contexts of "
        "sessions that ended are held as long as the layout says.",
        tuple(rows),
    )


def recorded_hours(case: Case, hours: float) -> Traffic:
    """Hours of a recorded trace as the traffic of the first class, alone."""
    trace = read_trace(f"{TRACE}.jsonl.gz")
    once = live(script(trace))
    rate = LIVE / once * len(trace) / float(trace.time[-1] - trace.time[0])
    classes = tuple(c.id for c in case.instance.classes)
    played = recorded(trace, case.instance, classes[0], rate=rate, seed=0, seconds=HOUR * hours)
    built, _ = facility(case.instance, case.layout, case.workload, load_catalog())
    demand = draw(
        case.instance, case.workload, len(played.time), 0,
        oldest=oldest_ages(case.instance, case.layout), without=classes,
    )._replace(horizon=HOUR * hours)  # fmt: skip
    busy = under_way(built, case.instance, 0, classes)
    return Traffic(built, demand, played, NEVER, 1.0, float(trace.block_tokens or 0), busy, 0)


def row(case: Case, what: str) -> dict[str, Figure]:
    """A run and one twice as long, after a first one that reads the kernels."""
    replayed_through(*drawn(case, FEW))

    def run(times: int) -> tuple[Traffic, State]:
        if what == "recorded":
            traffic = recorded_hours(case, times)
        else:
            traffic = drawn(case, times * (FEW if what == "quick" else enough(case.instance)))
        return traffic, replayed_through(*traffic)[0]

    grown, (traffic, state) = growth(lambda: run(1))
    longer, later = run(2)
    arrived, sessions = int(state.counts[ARRIVED]), live_sessions(traffic)
    return {
        "traffic": f"{TRACE} in {case.name}" if what == "recorded" else case.name,
        "live sessions": sessions,
        "requests": arrived,
        "state": state_bytes(state, traffic, sessions) / sessions,
        "twice": state_bytes(later, longer, live_sessions(longer)) / live_sessions(longer),
        "log": log_bytes(state, sessions) / arrived,
        "drawn": traffic_bytes(traffic) / arrived,
        "process": grown / 1e6,
    }


def live_sessions(traffic: Traffic) -> int:
    """Idle or running at the beginning, and so, in a steady state, ever after."""
    return LIVE if len(traffic.recorded.time) else traffic.live


def state_bytes(state: State, traffic: Traffic, sessions: int) -> float:
    """Bytes of rows in use for live sessions: their own, those of idle ones that the run begins with (drawn,
    then in order), and the most copies, slots and events there ever were at once."""
    cache = state.cache
    events = int(np.flatnonzero(state.heap.event["order"]).max(initial=0)) + 1
    return (
        sessions * state.session.itemsize
        + 2 * idle_bytes(traffic)
        + int(cache.counts[ROWS]) * (cache.copy.itemsize + cache.free.itemsize)
        + int(cache.counts[SLOTS]) * cache.slot.itemsize
        + events * state.heap.event.itemsize
        + state.sequence.nbytes
    )


def log_bytes(state: State, sessions: int) -> float:
    """Bytes of rows that stay when a request, or a session, is over."""
    over = max(0, int(state.counts[SESSIONS]) - sessions)
    return int(state.counts[ARRIVED]) * state.request.itemsize + over * state.session.itemsize


def traffic_bytes(traffic: Traffic) -> float:
    """Bytes of the arrays of drawn and recorded requests, and of the table made of the latter."""
    arrays = sum(a.nbytes for a in (*traffic.demand[1:], *traffic.recorded))
    return arrays - idle_bytes(traffic) + len(traffic.recorded.time) * RECORDED.itemsize


def idle_bytes(traffic: Traffic) -> float:
    """Bytes of what is drawn of the sessions that are idle at the beginning."""
    demand = traffic.demand
    return sum(a.nbytes for a in (demand.idle_bucket, demand.idle_age, demand.idle_return, demand.idle_kept))


def main() -> None:
    """One case, for `alone`."""
    case, (what,) = given()
    print(json.dumps(row(case, what)))


if __name__ == "__main__":
    main()

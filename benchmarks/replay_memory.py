"""Bytes that a recorded trace takes in a replay, per request, per session and per live session.

    python -m benchmarks.replay_memory [trace ...]

A session is live from its first request to its last. The arrays hold every request of the window (here as
long as the trace), so the bytes per live session grow with the window over the length of a session; `shared`
is what the same copies would take if each kept only its start and pointed into the trace, held once.
"""

from __future__ import annotations

import sys

import numpy as np

from optimizer.catalog import load_catalog
from optimizer.instance.build import build
from optimizer.simulator.traffic.replay import recorded
from optimizer.simulator.traffic.script import script
from optimizer.traces import read_trace
from optimizer.workload import load_workload

TRACES = ("weka_claude_code_60s_b512", "weka_claude_code_60s_b64", "synthetic_agentic_aiperf_60s_b512")
PIECE = 24
"""Bytes of a copy's start, session and first node."""


def main(names: list[str]) -> None:
    """A line for each trace and number of live sessions."""
    instance = build(load_workload("small").workload, load_catalog())
    print(f"{'trace':38}{'live':>7}{'requests':>10}{'B/request':>11}{'B/session':>11}{'B/live':>9}{'shared':>9}")
    for name in names or TRACES:
        trace = read_trace(f"{name}.jsonl.gz")
        lines = script(trace)
        span = float(trace.time[-1])
        lasts = np.zeros(len(lines.start))
        np.maximum.at(lasts, lines.session, lines.offset)
        once = sum(column.nbytes for column in vars(lines).values())
        for wanted in (60, 720, 3000):
            sessions = wanted * span / float(lasts.mean())
            rate = sessions * len(trace) / len(lines.start) / span
            arrays = recorded(trace, instance, "agents", rate=rate, seed=0)
            size = sum(column.nbytes for column in arrays)
            requests = len(arrays.time)
            print(
                f"{name:38}{wanted:7,}{requests:10,}{size / requests:11,.0f}{size / sessions:11,.0f}"
                f"{size / wanted:9,.0f}{(once + PIECE * (sessions + wanted)) / wanted:9,.0f}"
            )


if __name__ == "__main__":
    main(sys.argv[1:])

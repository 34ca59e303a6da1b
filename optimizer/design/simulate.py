"""A result replayed by itself: other requests, another seed, a server that fails, recorded traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from optimizer.catalog import Catalog
from optimizer.design.rebuild import Rebuilt, rebuilt
from optimizer.design.replay import Simulated, replay_out
from optimizer.design.result import Result
from optimizer.design.traced import traffic
from optimizer.errors import InputError, Problem
from optimizer.simulator import simulate
from optimizer.simulator.verdict.fed_back import ttft_fed_back


@dataclass(frozen=True)
class Recorded:
    """A trace to be replayed as the traffic of a class ("": of the only one there is)."""

    cls: str
    file: str


def simulated(
    result: Result,
    catalog: Catalog,
    name: str,
    *,
    traces: Sequence[Recorded] = (),
    requests: int | None = None,
    seed: int = 0,
    outage: str | None = None,
) -> Simulated:
    """Replay the layout of a result; `name` stands for its file in messages.

    Raises InputError for a result that cannot be built again, a class or a server that is not there, and a
    trace that cannot be read.
    """
    found = rebuilt(result, catalog, name)
    played = {_class(one, found): one.file for one in traces}
    told = traffic(played, found.instance, requests, seed)
    verdict = simulate(
        found.instance, found.layout, found.loaded.workload, catalog, requests=requests, seed=seed,
        outage=outage, replay=told.replay if told else None, replayed=told.classes if told else (),
        block_tokens=told.block_tokens if told else 0.0,
    )  # fmt: skip
    waits = ttft_fed_back(found.instance, found.layout, found.loaded.workload, catalog, verdict)
    return Simulated(
        name=result.name,
        input_sha256=result.input_sha256,
        instance_sha256=result.instance_sha256,
        traces=played,
        remarks=found.remarks,
        replay=replay_out(verdict, waits),
    )


def _class(one: Recorded, found: Rebuilt) -> str:
    """The class whose traffic a trace is."""
    names = [c.id for c in found.instance.classes]
    if one.cls in names:
        return one.cls
    if not one.cls and len(names) == 1:
        return names[0]
    where = f"--trace {one.cls}={one.file}" if one.cls else f"--trace {one.file}"
    said = f"there is no class {one.cls}" if one.cls else "the workload has several classes"
    raise InputError(Problem(where, "", said, f"write CLASS=FILE, with one of: {', '.join(names)}"))

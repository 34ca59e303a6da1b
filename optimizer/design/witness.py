"""The replay as a witness of a layout: the loop that asks for more, and the table of bad times."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from optimizer import simulator
from optimizer.catalog import Catalog
from optimizer.design.replay import Rejected, ReplayOut, Stress, replay_out
from optimizer.design.result import Round
from optimizer.design.rounds import Candidate
from optimizer.design.search import Clock, Interrupt, Progress
from optimizer.design.stress import Case, stress
from optimizer.design.tighten import Tightening
from optimizer.design.verified import verified
from optimizer.instance import Instance, Layout
from optimizer.simulator.types import Verdict
from optimizer.simulator.verdict.fed_back import ttft_fed_back
from optimizer.solver import SolveOptions
from optimizer.workload import Loaded

STOPPED = "interrupted"


@dataclass(frozen=True)
class Witnessed:
    """The layout to return, the coefficients it was found at, and everything that replays said.

    `replay` is None where none was made (and the layout then is the one that was given), `ended` says why
    there were no more rounds, where the layout did not pass; `seconds` went to replays, not to search.
    """

    best: Candidate
    by: Tightening = field(default_factory=Tightening)
    replay: ReplayOut | None = None
    rejected: tuple[Rejected, ...] = ()
    rounds: tuple[Round, ...] = ()
    ended: str = ""
    stress: Stress | None = None
    seconds: float = 0.0


def witnessed(
    instance: Instance,
    loaded: Loaded,
    catalog: Catalog,
    best: Candidate,
    options: SolveOptions,
    *,
    progress: Progress | None = None,
    interrupt: Interrupt | None = None,
) -> Witnessed:
    """Replay a layout that passed the exact check, repair it where it fails, and replay it in bad times.

    `instance` is the problem as built: layouts are replayed at its coefficients, whatever they were found at.
    Ctrl-C ends the replay and keeps the layout.
    """
    if not best.certificate.passed:
        return Witnessed(best)
    if interrupt is not None and interrupt():
        return Witnessed(best, ended=STOPPED)

    spent: list[float] = []

    def replayed(layout: Layout) -> Verdict:
        with taken(spent):
            return simulator.simulate(instance, layout, loaded.workload, catalog, seed=options.seed)

    def stressed(case: Case, requests: int) -> Verdict:
        return simulator.simulate(
            instance, found.judged.best.layout, loaded.workload, catalog, requests=requests,
            seed=options.seed, outage=case.outage, disturbance=case.disturbance,
        )  # fmt: skip

    try:
        again = Clock.start(options.time_limit)  # a search that used all of its time is verified, too
        found = verified(instance, best, replayed, options, again, progress=progress, interrupt=interrupt)
    except KeyboardInterrupt:  # a second Ctrl-C: no more of this, but the answer is there
        return Witnessed(best, ended=STOPPED, seconds=sum(spent))
    layout, verdict = found.judged.best.layout, found.judged.verdict
    try:
        table = stress(instance, layout, stressed, interrupt=interrupt)
    except KeyboardInterrupt:
        table = None
    return Witnessed(
        best=found.judged.best,
        by=found.judged.by,
        replay=replay_out(
            verdict, ttft_fed_back(instance, layout, loaded.workload, catalog, verdict)
        ),
        rejected=found.rejected,
        rounds=found.rounds,
        ended=found.ended,
        stress=table,
        seconds=sum(spent) + (table.seconds if table else 0.0),
    )


@contextmanager
def taken(spent: list[float]) -> Iterator[None]:
    """Adds the seconds that what stands inside takes."""
    began = time.monotonic()
    try:
        yield
    finally:
        spent.append(time.monotonic() - began)

"""The same file and SCIP: another solver's word on the same problem. For development only, like its tests."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from benchmarks.plain.bare import Solved
from benchmarks.trajectory import Trajectory

ABSENT = "SCIP is not installed: pip install pyscipopt"


def installed() -> bool:
    """Whether there is a SCIP to ask."""
    try:
        import pyscipopt  # noqa: F401
    except ImportError:
        return False
    return True


def scip(file: Path, gap: float, limit: float) -> Solved:
    """Solve a file to a gap or a limit, with SCIP's own defaults. SCIP takes its gap over the smaller end,
    the bound, so that one of its is never larger by ours."""
    from pyscipopt import SCIP_EVENTTYPE, Eventhdlr, Model

    class Heard(Eventhdlr):  # type: ignore[misc]
        """Tells the trajectory of every better solution and every solved node."""

        def eventinit(self) -> None:
            for kind in kinds:
                self.model.catchEvent(kind, self)

        def eventexit(self) -> None:
            for kind in kinds:
                self.model.dropEvent(kind, self)

        def eventexec(self, event: Any) -> None:
            seen.add(time.perf_counter() - began, self.model.getPrimalbound(), self.model.getDualbound())

    kinds = (SCIP_EVENTTYPE.BESTSOLFOUND, SCIP_EVENTTYPE.NODESOLVED, SCIP_EVENTTYPE.LPSOLVED)
    model, seen = Model(), Trajectory()
    model.hideOutput()
    began = time.perf_counter()
    model.readProblem(str(file))
    read = time.perf_counter() - began
    model.setParam("limits/gap", gap)
    model.setParam("limits/time", limit)
    model.includeEventhdlr(Heard(), "heard", "what is known, and when")
    began = time.perf_counter()
    model.optimize()
    seconds = time.perf_counter() - began
    seen.add(seconds, model.getPrimalbound(), model.getDualbound())
    return Solved(read, seconds, seen, model.getStatus())

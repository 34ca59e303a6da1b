"""Layouts to replay, and fresh processes to replay them in."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optimizer.catalog import load_catalog
from optimizer.design.rounds import improve
from optimizer.design.search import Clock
from optimizer.instance import Instance, Layout
from optimizer.instance.build import build
from optimizer.solver import SolveOptions
from optimizer.workload import Workload, load_workload

LOOSE = SolveOptions(gap=0.2, time_limit=300.0)
"""Any layout will do, as long as it keeps the laws."""
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Case:
    """A layout and what it answers."""

    name: str
    instance: Instance
    layout: Layout
    workload: Workload


def solved(name: str) -> Case:
    """One round of search for a shipped workload."""
    workload = load_workload(name, ()).workload
    best, _, _ = improve(build(workload, load_catalog()), LOOSE, Clock.start(LOOSE.time_limit), rounds=1)
    if best is None:
        raise RuntimeError(f"no layout of {name} within {LOOSE.time_limit:g} s")
    return Case(name, best.model.instance, best.layout, workload)


def alone(
    module: str, case: object, *words: str, seconds: float | None = None, **environment: str
) -> dict[str, Any]:
    """What `python -m benchmarks.<module>` says of a case that it is `given`, in a process of its own.

    Raises subprocess.TimeoutExpired after `seconds`.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case"
        file.write_bytes(pickle.dumps(case))
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{module}", str(file), *words],
            cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, check=True, timeout=seconds,
        )  # fmt: skip
    return json.loads(done.stdout)


def given() -> tuple[Any, list[str]]:
    """The case and the words that `alone` called this process with."""
    return pickle.loads(Path(sys.argv[1]).read_bytes()), sys.argv[2:]

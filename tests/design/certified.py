"""Problems that are solved, settled and judged: what the tests of this folder look at."""

from __future__ import annotations

from functools import cache

from optimizer.catalog import load_catalog
from optimizer.design.rounds import Candidate, improve
from optimizer.design.search import Clock
from optimizer.instance import Instance
from optimizer.instance.build import build
from optimizer.solver import SolveOptions
from optimizer.workload import load_workload
from tests.conftest import ROOT
from tests.oracle.random_instances import drawn, random_instance

OPTIONS = SolveOptions(gap=1e-4, time_limit=120.0)
SMALL = "tests/metamorphic/workloads"
WORKLOADS = {
    "tiny": ("tiny",),
    "tiny, flash forced in": ("tiny", "tiers.nvme.min_bytes=1 GB"),
    "tiny, one age per cache": ("tiny", "tiers.dram.eviction=lru", "tiers.nvme.eviction=lru"),
    "tiny, owned and spare": ("tiny", "hardware.spares=1", "hardware.servers.HGX-B300-8.owned=2"),
    "CXL past the slots": (f"{SMALL}/cxl-slots.yaml",),
    "CXL with margins": (f"{SMALL}/cxl-sharing.yaml", "occupancy_dispersion=1"),
    "a DRAM pool": (f"{SMALL}/cxl-latency.yaml", "occupancy_dispersion=1"),
    "tiny, one copy": ("tiny", "tiers.policy=exclusive"),
    "flash, one copy": (f"{SMALL}/tier-prices.yaml", "tiers.policy=exclusive"),
    "flash and its wear": (f"{SMALL}/tier-prices.yaml", "occupancy_dispersion=2"),
}


FIRST = ("tiny", "CXL with margins", "flash and its wear")
"""Those that are looked at every time."""


@cache
def of_workload(path: str, *sets: str) -> Candidate:
    """The layout of a workload file."""
    where = path if path == "tiny" else ROOT / path
    return solved(build(load_workload(where, sets).workload, load_catalog()))


@cache
def of_seed(seed: int) -> Candidate | None:
    """The layout of a random instance, if it has one: even seeds are about a law, odd ones about anything."""
    instance = drawn("anything", seed) if seed % 2 else random_instance(seed // 2)
    best, _, _ = improve(instance, OPTIONS, Clock.start(OPTIONS.time_limit))
    return best


def solved(instance: Instance) -> Candidate:
    """Solve in rounds."""
    best, _, _ = improve(instance, OPTIONS, Clock.start(OPTIONS.time_limit))
    assert best is not None
    return best

"""Layouts with what stands beside them, made once: what the tests of comparisons look at."""

from __future__ import annotations

from functools import cache

from optimizer.catalog import Catalog, load_catalog
from optimizer.design.comparisons import compare
from optimizer.design.comparisons.result import Comparisons
from optimizer.design.planning import bought_tiers, plan
from optimizer.design.result import Result
from optimizer.design.rounds import Candidate, improve
from optimizer.design.search import Clock
from optimizer.instance.build import build
from optimizer.solver import SolveOptions
from optimizer.workload import Loaded, load_workload
from tests.conftest import ROOT

CATALOG = load_catalog()
OPTIONS = SolveOptions(gap=1e-4, time_limit=60.0)
FOLDER = "tests/metamorphic/workloads"
SLOTS, PRICES = f"{FOLDER}/cxl-slots.yaml", f"{FOLDER}/tier-prices.yaml"
SHARING, LATENCY = f"{FOLDER}/cxl-sharing.yaml", f"{FOLDER}/cxl-latency.yaml"


def asked(path: str, *sets: str) -> Loaded:
    """A workload with overrides."""
    return load_workload(path if path == "tiny" else ROOT / path, sets)


@cache
def planned(path: str, *sets: str) -> Result:
    """A layout with everything beside it."""
    return plan(asked(path, *sets), CATALOG, OPTIONS, compare=True)


@cache
def solved(path: str, *sets: str) -> Candidate:
    """A layout alone."""
    best, _, _ = improve(build(asked(path, *sets).workload, CATALOG), OPTIONS, Clock.start(60.0))
    assert best is not None
    return best


def beside(path: str, *sets: str, catalog: Catalog = CATALOG, **other) -> Comparisons:
    """What stands beside a layout."""
    best = solved(path, *sets)
    return compare.beside(asked(path, *sets).workload, catalog, OPTIONS, best, bought_tiers(best), **other)

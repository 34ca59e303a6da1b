"""The shipped workloads, solved as the README solves them: proven, checked, within the memory allowed."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from optimizer.design import Result
from tests.instance.shipped import WORKLOADS

pytestmark = pytest.mark.slow
PATIENCE = "300 s"  # a loaded machine is slow; how fast it is belongs to benchmarks
MEMORY = 1.5e9  # bytes


LARGE = {"six-models": 100_000}  # columns; the others keep to 30,000
GAPS = {"small": "0.5%"}  # whole instances weigh most in a small facility


def by_the_command(name: str, out: Path, *options: str) -> Result:
    """The result of a shipped workload, as the README solves it."""
    command = [Path(sys.executable).parent / "tierplan", "solve", name, "--out", out, "--no-compare"]
    command += ["--time-limit", PATIENCE, "--gap", GAPS.get(name, "1%"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Result.model_validate(json.loads((out / "result.json").read_text()))


@pytest.fixture(scope="module", params=[name for name in WORKLOADS if name != "tiny"])
def solved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The result of a shipped workload."""
    return by_the_command(request.param, tmp_path_factory.mktemp(request.param))


def test_the_gap_asked_for_is_proven(solved: Result) -> None:
    asked = 0.005 if solved.name == "small" else 0.01
    assert solved.status in ("optimal", "within_gap")
    assert solved.gap is not None
    assert solved.gap <= asked
    assert solved.objective_usd * (1 - asked) <= solved.bound_usd <= solved.objective_usd


def test_layout_is_checked_exactly(solved: Result) -> None:
    assert solved.checks.exact is not None
    assert solved.checks.exact.passed
    assert solved.checks.exact.rows_checked > 200


def test_every_dollar_is_allocated(solved: Result) -> None:
    total = sum(
        (price or 0.0) * amount
        for t in solved.per_million_tokens
        for price, amount in ((t.cached, t.cached_mtok), (t.missed, t.missed_mtok), (t.output, t.output_mtok))
    )
    assert total == pytest.approx(solved.objective_usd, rel=1e-6)
    assert sum(c.usd for c in solved.costs) == pytest.approx(solved.objective_usd, rel=1e-9)


def test_model_and_memory_stay_small(solved: Result) -> None:
    assert solved.size is not None
    assert solved.size.columns <= LARGE.get(solved.name, 30_000)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    assert peak < MEMORY


def test_sovereign_names_its_binding_limits_with_prices(solved: Result) -> None:
    """Power and a quota bind: one more kilowatt, one more server of the licence would save money."""
    if solved.name != "sovereign":
        pytest.skip("about one workload")
    prices = {b.row: b.long_run_price_usd for b in solved.binding}
    assert prices["power[now]"] > 1_000  # USD per kW
    quotas = {row: price for row, price in prices.items() if row.startswith("supply[")}
    assert quotas
    assert all(price > 100_000 for price in quotas.values())  # USD per server

"""The shipped workloads, solved as the README solves them: proven, checked, within the memory allowed."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from optimizer.design import Result

pytestmark = pytest.mark.slow
PATIENCE = "300 s"  # a loaded machine is slow; how fast it is belongs to benchmarks
MEMORY = 1.5e9  # bytes


@pytest.fixture(scope="module", params=["two-directions", "kimi-only", "deepseek-only"])
def solved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The result of a shipped workload, by the command."""
    out: Path = tmp_path_factory.mktemp(request.param)
    command = [Path(sys.executable).parent / "tierplan", "solve", request.param, "--out", out]
    done = subprocess.run([*command, "--time-limit", PATIENCE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Result.model_validate(json.loads((out / "result.json").read_text()))


def test_gap_of_a_percent_is_proven(solved: Result) -> None:
    assert solved.status in ("optimal", "within_gap")
    assert solved.gap is not None
    assert solved.gap <= 0.01
    assert solved.objective_usd * 0.99 <= solved.bound_usd <= solved.objective_usd


def test_layout_is_checked_exactly(solved: Result) -> None:
    assert solved.checks.exact is not None
    assert solved.checks.exact.passed
    assert solved.checks.exact.rows_checked > 500


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
    assert solved.size.columns <= 30_000
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    assert peak < MEMORY

"""One real solve from the command line to the file, and its page."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from optimizer.cli import ExitCode, main


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return folder, CliRunner().invoke(main, ["solve", "tiny", "--json", "--out", str(folder)])


def test_solve_tiny(solved):
    folder, done = solved
    assert done.exit_code == ExitCode.OK, done.stderr
    result = json.loads(done.stdout)
    assert result == json.loads((folder / "result.json").read_text())
    assert result["checks"]["exact"]["passed"] is True
    assert result["gap"] <= 0.01


def test_explain_what_was_solved(solved):
    folder, _ = solved
    done = CliRunner().invoke(main, ["explain", str(folder)])
    assert done.exit_code == ExitCode.OK
    assert done.stdout.startswith("tiny: ")


def test_a_demand_that_cannot_be_met(solved):
    done = CliRunner().invoke(main, ["solve", "tiny", "--set", "classes.k2-agentic.slo.tpot=1 ms"])
    assert done.exit_code == ExitCode.INFEASIBLE
    assert "no allowed hardware decodes contexts of 60,000 tokens" in done.stdout

"""`tierplan solve --dry-run`: what the solver would be given, and no solve."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import optimizer.design
from optimizer.catalog import load_catalog
from optimizer.cli import ExitCode, main
from optimizer.design.sizing import LARGEST, SMALLEST, DryRun, dry_run
from optimizer.formulation import LAWS, write
from optimizer.instance.build import build
from optimizer.solver import compile
from optimizer.workload import load_workload


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Run a command in an empty folder, where a search would be a fault."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setattr(optimizer.design, "plan", None)
    return lambda *arguments: CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def tiny() -> DryRun:
    """The tiny workload, built."""
    return dry_run(load_workload("tiny"), load_catalog())


def test_sizes_are_those_of_the_arrays_that_are_solved(tiny: DryRun) -> None:
    lp = compile(write(build(load_workload("tiny").workload, load_catalog())).pyomo).lp
    assert (tiny.rows, tiny.columns) == lp.A.shape
    assert tiny.nonzeros == lp.A.nnz
    assert tiny.integers == lp.integrality.sum() > 0
    sizes = np.abs(lp.A.data[lp.A.data != 0])
    assert tiny.coefficients is not None
    assert (tiny.coefficients.least, tiny.coefficients.largest) == (sizes.min(), sizes.max())
    costs = np.abs(lp.c[lp.c != 0])
    assert tiny.costs is not None
    assert (tiny.costs.least, tiny.costs.largest) == (costs.min(), costs.max())


def test_families_add_up_to_the_whole(tiny: DryRun) -> None:
    assert sum(family.columns for family in tiny.columns_by_family) == tiny.columns
    assert sum(family.integers for family in tiny.columns_by_family) == tiny.integers
    assert sum(family.rows for family in tiny.rows_by_family) == tiny.rows
    assert sum(family.nonzeros for family in tiny.rows_by_family) == tiny.nonzeros
    ranges = [family.coefficients for family in tiny.rows_by_family if family.coefficients]
    assert tiny.coefficients is not None
    assert min(r.least for r in ranges) == tiny.coefficients.least
    assert max(r.largest for r in ranges) == tiny.coefficients.largest


def test_a_row_family_is_a_law(tiny: DryRun) -> None:
    assert {family.row for family in tiny.rows_by_family} <= {law.row for law in LAWS}


def test_what_lies_outside_the_harmless_range_is_flagged(tiny: DryRun) -> None:
    for family in tiny.rows_by_family:
        assert family.coefficients is not None
        inside = family.coefficients.least >= SMALLEST and family.coefficients.largest <= LARGEST
        assert family.flagged == (not inside)
        assert (family.row in tiny.flagged) == family.flagged


def test_a_row_of_ones_own_with_wild_numbers_is_flagged() -> None:
    limit = "limits={wild: {terms: {servers.HGX-B300-8: 1, nvme: 1.0e-4}, max: 1.0e+14}}"  # machines, bytes
    assert "user" in dry_run(load_workload("tiny", [limit]), load_catalog()).flagged


def test_the_page_names_everything(run, tiny: DryRun) -> None:
    done = run("solve", "tiny", "--dry-run")
    assert done.exit_code == ExitCode.OK
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "tiny: built, not solved"
    words = [line.split() for line in lines]
    for family in tiny.rows_by_family:
        (row,) = [w for w in words if w and w[0] == family.row and w[1] == f"{family.rows:,}"]
        assert (row[-1] == "!") == family.flagged
    for family in tiny.columns_by_family:
        assert [family.column, f"{family.columns:,}", f"{family.integers:,}"] in words
    assert max(map(len, lines)) <= 110


def test_json_is_all_that_stdout_carries(run, tiny: DryRun) -> None:
    done = run("solve", "tiny", "--dry-run", "--json")
    found = DryRun.model_validate(json.loads(done.stdout))
    assert set(found.seconds) == {"instance", "formulation", "arrays"}
    assert found.model_copy(update={"seconds": tiny.seconds}) == tiny


def test_it_refuses_what_a_solve_refuses(run) -> None:
    done = run("solve", "tiny", "--dry-run", "--set", "classes.k2-agentic.slo.tpot=1 ms")
    assert done.exit_code == ExitCode.INFEASIBLE
    assert "no allowed hardware decodes" in done.stderr
    assert run("solve", "tinny", "--dry-run").exit_code == ExitCode.BAD_INPUT
    assert run("solve", "tiny", "--dry-run", "--solver-option", "presolv=off").exit_code == ExitCode.BAD_INPUT


def test_it_writes_nothing_and_says_so(run) -> None:
    done = run("solve", "tiny", "--dry-run", "--out", "out")
    assert done.exit_code == ExitCode.USAGE
    assert list(Path().iterdir()) == []

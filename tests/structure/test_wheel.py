"""The wheel stands alone: built, installed elsewhere, and used from an empty folder without the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path, timeout: float = 900) -> subprocess.CompletedProcess[str]:
    """Run a command without the checkout on the path, keeping what it says."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def succeed(*command: str | Path, cwd: Path) -> str:
    """Run a command that must exit with 0, and return its stdout."""
    done = run(*command, cwd=cwd)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(root, tmp_path_factory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    dist = tmp_path_factory.mktemp("dist")
    succeed(sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, root, cwd=dist)
    return dist


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory) -> Path:
    """The bin folder of a fresh environment that holds the wheel and what it depends on."""
    home = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(home, with_pip=True)
    (wheel,) = built.glob("*.whl")
    python = home / "bin" / "python"
    succeed(python, "-m", "pip", "install", "--disable-pip-version-check", wheel, cwd=home)
    return home / "bin"


@pytest.fixture
def empty(tmp_path) -> Path:
    """An empty folder to work in."""
    return tmp_path


def test_wheel_holds_the_data_and_nothing_of_the_tests(built, root):
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for kind in ("models", "workloads"):
        files = [path for path in (root / kind).rglob("*") if path.is_file()]
        assert files
        missing = {f"optimizer/_data/{path.relative_to(root).as_posix()}" for path in files} - names
        assert not missing
    assert not [name for name in names if name.startswith("tests/")]
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_sdist_is_complete(built, root):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    for folder in ("optimizer", "models", "workloads", "solutions", "tests", "docs"):
        files = [
            path for path in (root / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts
        ]
        missing = {path.relative_to(root).as_posix() for path in files} - names
        assert not missing
    assert {"LICENSE", "Makefile", "README.md", "pyproject.toml"} <= names


def test_help(installed, empty):
    assert "solve" in succeed(installed / "tierplan", "--help", cwd=empty)


def test_validate_a_shipped_workload(installed, empty):
    succeed(installed / "tierplan", "validate", "tiny", cwd=empty)


def test_solve_a_shipped_workload(installed, empty):
    result = json.loads(succeed(installed / "tierplan", "solve", "tiny", "--json", cwd=empty))
    assert result["status"]
    assert result["checks"]["exact"]["passed"] is True


def test_a_workload_that_is_not_there_is_an_error(installed, empty):
    done = run(installed / "tierplan", "validate", "no-such-workload", cwd=empty)
    assert done.returncode != 0
    assert "no-such-workload" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr

"""The README does what it says."""

from __future__ import annotations

import re

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from optimizer.cli import ExitCode, main
from optimizer.workload import load_workload


@pytest.fixture(scope="module")
def readme(root):
    return (root / "README.md").read_text(encoding="utf-8")


def test_the_example_workload_is_valid(readme, tmp_path):
    (block,) = re.findall(r"```yaml\n(.*?)```", readme, re.DOTALL)
    (tmp_path / "desk.yaml").write_text(block)
    done = CliRunner().invoke(main, ["validate", str(tmp_path / "desk.yaml")])
    assert done.exit_code == ExitCode.OK, done.stderr


def test_every_exit_code_is_listed(readme):
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", readme, re.MULTILINE)] == list(ExitCode)


def test_every_command_is_listed(readme):
    listed = re.findall(r"^\| `tierplan ([a-z ]*[a-z])", readme, re.MULTILINE)
    assert sorted(listed) == sorted(names(get_command(main)))


def names(group, before=""):
    """`solve`, and `trace stats` of a command inside a group."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from names(command, f"{before}{name} ")
        else:
            yield before + name


def test_overrides_of_the_examples_apply(readme):
    examples = re.findall(r"^tierplan solve (\S+) --set (\S+?)=(?:\"([^\"]+)\"|(\S+))", readme, re.MULTILINE)
    assert len(examples) == 3
    for name, path, quoted, bare in examples:
        load_workload(name, [f"{path}={quoted or bare}"])

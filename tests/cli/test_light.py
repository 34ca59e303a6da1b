"""What asks for nothing heavy imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"pyomo", "highspy", "numpy", "numba", "scipy", "ruamel", "yaml"}
LIGHT_ROOMS = {"cli", "errors"}
SCRIPT = """
import sys
from optimizer.cli import main
try:
    main(sys.argv[1:], prog_name="tierplan")
except SystemExit as ended:
    assert not ended.code, ended.code
print(*sys.modules, file=sys.stderr)
"""


def modules_of(arguments, root):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], cwd=root, capture_output=True, text=True, check=True,
        timeout=60,
    )
    assert done.stdout
    return {tuple(name.split(".")) for name in done.stderr.split()}


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["solve", "--help"], ["models", "--help"], ["trace", "stats", "--help"], ["--version"]],
)
def test_help_is_instant(arguments, root):
    modules = modules_of(arguments, root)
    assert not HEAVY & {parts[0] for parts in modules}
    assert {parts[1] for parts in modules if parts[0] == "optimizer" and len(parts) > 1} <= LIGHT_ROOMS


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_the_first_thing_typed_needs_no_pydantic_either(arguments, root):
    assert ("pydantic",) not in modules_of(arguments, root)

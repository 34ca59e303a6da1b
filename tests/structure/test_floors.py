"""The house: a room imports only itself and rooms on floors below its own, wherever the import is written."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "optimizer"

FLOORS = (
    {"errors", "compiled", "growing"},
    {"units", "files"},
    {"traces"},
    {"catalog", "workload"},
    {"physics"},
    {"instance"},
    {"formulation", "simulator", "verify"},
    {"solver"},
    {"design"},
    {"study"},
    {"report"},
    {"cli"},
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
WITHOUT_A_SOLVER = {"physics", "instance", "verify", "simulator", "traces"}
SOLVERS = {"pyomo", "highspy", "pyscipopt", "linopy", "gurobipy"}

MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "_data")


def room_of(module: Path) -> str:
    """The room a module of the package stands in; "" for the package's own front door."""
    first = module.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def imported(source: str, package: str) -> list[tuple[int, str]]:
    """Every module imported anywhere in the source, with its line; relative imports are made absolute."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                parts = parts[: len(parts) - node.level + 1]
                base = ".".join([*parts, base] if base else parts)
            found += [(node.lineno, f"{base}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in {
            "import_module",
            "__import__",
        }:
            found += [
                (node.lineno, argument.value) for argument in node.args if isinstance(argument, ast.Constant)
            ]
    return found


def faults(source: str, room: str, package: str) -> list[str]:
    """What a module of the room imports and must not."""
    wrong = []
    for line, name in imported(source, package):
        parts = str(name).split(".")
        if parts[0] in SOLVERS and room in WITHOUT_A_SOLVER:
            wrong.append(f"line {line}: {room} must not know {parts[0]}")
        if parts[0] != "optimizer" or len(parts) == 1:
            continue
        target = parts[1]
        if target not in FLOOR:
            wrong.append(f"line {line}: {target} is no room of the house")
        elif target != room and not (room in FLOOR and FLOOR[target] < FLOOR[room]):
            wrong.append(f"line {line}: {room or 'the front door'} must not import {target}")
    return wrong


def package_of(module: Path) -> str:
    """The dotted package that relative imports of a module start from."""
    return ".".join(module.relative_to(ROOT).parent.parts)


def test_every_folder_is_a_room():
    rooms = {room_of(module) for module in MODULES} - {""}
    assert rooms <= FLOOR.keys(), f"no floor is given for {sorted(rooms - FLOOR.keys())}"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_import_runs_up_or_sideways(module):
    assert faults(module.read_text(encoding="utf-8"), room_of(module), package_of(module)) == []


@pytest.mark.parametrize(
    ("room", "source", "words"),
    [
        ("units", "from optimizer.catalog import card", "must not import catalog"),
        ("catalog", "from optimizer.workload.schema import Workload", "must not import workload"),
        ("catalog", "def f():\n    import optimizer.cli", "must not import cli"),
        ("catalog", "from ..design import x", "must not import design"),
        ("physics", "import pyomo.environ as pyo", "must not know pyomo"),
        ("verify", "from highspy import Highs", "must not know highspy"),
        ("solver", "importlib.import_module('optimizer.report')", "must not import report"),
        ("errors", "from optimizer.units import x", "must not import units"),
        ("design", "from optimizer.attic import x", "no room"),
    ],
)
def test_the_check_itself_would_notice(room, source, words):
    (fault,) = faults(source, room, f"optimizer.{room}")
    assert words in fault


@pytest.mark.parametrize(
    "source",
    [
        "from optimizer.units import x",
        "from .other import y",
        "from . import other",
        "import optimizer",
        "import json",
    ],
)
def test_what_is_allowed(source):
    assert faults(source, "catalog", "optimizer.catalog") == []

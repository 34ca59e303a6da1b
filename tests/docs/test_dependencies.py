"""docs/dependencies.md against pyproject.toml, the licences that packages state, and the imports."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib

import pytest

from .markdown import ROOT, page, quoted, section, table

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TABLES = {
    "To run": PROJECT["dependencies"],
    "To develop and test": PROJECT["optional-dependencies"]["test"],
}
ROWS = [row for heading in TABLES for row in table(section(page("dependencies.md"), heading), "package")]
DOORS = {
    "highspy": {"solver"},
    "pyomo": {"formulation", "solver"},
    "ruamel": {"files"},
    "yaml": {"files"},
    "rich": {"report"},
    "typer": {"cli"},
}


@pytest.mark.parametrize("heading", TABLES)
def test_every_requirement_has_a_row_and_its_versions(heading):
    wanted = {}
    for requirement in TABLES[heading]:
        name, floor, ceiling = re.fullmatch(r"([\w.-]+)>=([\d.]+)(?:,<(\d+))?", requirement).groups()
        wanted[name] = f"{floor}, below {ceiling}" if ceiling else floor
    rows = table(section(page("dependencies.md"), heading), "package")
    assert {quoted(name)[0]: versions for name, versions, *_ in rows} == wanted


@pytest.mark.parametrize(
    ("name", "licence"), [(quoted(row[0])[0], row[2]) for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_the_licence_is_what_the_package_states(name, licence):
    try:
        stated = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    classifiers = [c for c in stated.get_all("Classifier") or [] if c.startswith("License")]
    words = [stated.get("License-Expression") or "", (stated.get("License") or "")[:80], *classifiers]
    assert licence.split("-")[0] in " ".join(words)


@pytest.mark.parametrize("package", DOORS)
def test_a_package_has_few_doors(package):
    pattern = re.compile(rf"^\s*(?:from|import) {package}\b", re.MULTILINE)
    rooms = {
        path.relative_to(ROOT / "optimizer").parts[0]
        for path in (ROOT / "optimizer").rglob("*.py")
        if pattern.search(path.read_text(encoding="utf-8"))
    }
    assert rooms == DOORS[package]

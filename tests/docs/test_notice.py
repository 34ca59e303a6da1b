"""Every source that a shipped workload names is in workloads/NOTICE.md with its licence, and none besides."""

from __future__ import annotations

import re

import pytest

from optimizer.files import schema
from optimizer.workload import Workload

from .markdown import ROOT, quoted, table
from .test_workload_keys import reachable

WORKLOADS = sorted((ROOT / "workloads").glob("*.yaml"))
ROWS = table((ROOT / "workloads" / "NOTICE.md").read_text(encoding="utf-8"), "short name")
NOTED = {quoted(row[0])[0] for row in ROWS}
KEYS = {key for model in reachable(Workload) for key in schema.fields(model) or {}}
NAME = re.compile(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b|\bservegen\b")


def named(text: str) -> set[str]:
    """Short names of sources in comments and `source:` lines: words with an underscore that are no keys."""
    spoken = [line.partition("#")[2] for line in text.splitlines()]
    spoken += re.findall(r"^ *source: (.*)$", text, re.MULTILINE)
    return {name for line in spoken for name in NAME.findall(line)} - KEYS


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)
def test_every_source_is_noted(path):
    found = named(path.read_text(encoding="utf-8"))
    assert found
    assert found <= NOTED


def test_nothing_is_noted_that_is_not_used():
    used = {name for path in WORKLOADS for name in named(path.read_text(encoding="utf-8"))}
    assert used == NOTED


def test_every_source_has_a_licence():
    assert all(row[-1] for row in ROWS)

"""No row is left out: every id has a test that is named after it and says where its answer comes from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .rows import ROWS

NAMED = re.compile(r"test_([a-z]\d+)_")


def written() -> Iterator[tuple[str, str, str]]:
    """Id, name and docstring of every test of a row in this folder."""
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and (found := NAMED.match(node.name)):
                yield found[1].upper(), node.name, ast.get_docstring(node) or ""


@pytest.mark.parametrize("row", ROWS)
def test_row_has_its_test(row: str) -> None:
    assert row in {name for name, _, _ in written()}


def test_every_test_names_a_row_and_its_source() -> None:
    for row, name, text in written():
        assert row in ROWS, name
        assert text.startswith(f"{row} ({ROWS[row]}): "), name

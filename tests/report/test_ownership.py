"""docs/ownership-cost.md is what the cards say today."""

from __future__ import annotations

import runpy
import sys

import pytest

from optimizer.catalog import load_catalog
from optimizer.instance.money.ownership import ownership
from optimizer.report.ownership import GROUPS, markdown


def test_the_page_is_current(root) -> None:
    shown = (root / "docs" / "ownership-cost.md").read_text(encoding="utf-8")
    assert shown == markdown(load_catalog()), "python -m optimizer.report.ownership > docs/ownership-cost.md"


def test_no_component_is_left_out() -> None:
    shown = {name for _, components in GROUPS for name in components}
    assert {line.component for row in ownership(load_catalog()) for line in row.parts} <= shown


def test_the_module_prints_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    sys.modules.pop("optimizer.report.ownership", None)
    runpy.run_module("optimizer.report.ownership", run_name="__main__")
    assert capsys.readouterr().out == markdown(load_catalog())

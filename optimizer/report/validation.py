"""What a workload asks, in a few lines, once it has passed every check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from optimizer.design.result import Size
from optimizer.report import words
from optimizer.report.blocks import facts, table
from optimizer.workload import Loaded


def summary(loaded: Loaded, size: Size) -> RenderableType:
    """`OK`, the question, and the size of its model."""
    return Group(Text(f"{loaded.workload.name}: OK", style="bold"), facts(_lines(loaded, size)))


def preset_table(presets: Mapping[str, str]) -> RenderableType:
    """What a workload file can begin from, one line each."""
    return table(("preset", "<what it asks"), presets.items())


def _lines(loaded: Loaded, size: Size) -> Iterator[tuple[str, str]]:
    workload = loaded.workload
    serves = ", ".join(dict.fromkeys(c.model for c in workload.classes.values()))
    rate = sum(c.peak_rate for c in workload.classes.values())
    classes = words.counted(len(workload.classes), "traffic class", "es")
    yield "demand", f"{classes}, {words.number(rate)} req/s at their peaks; models {serves}"
    yield "hardware", ", ".join(workload.hardware.servers)
    terms = workload.economics
    yield "horizon", f"{words.horizon(terms.horizon)}, {terms.ownership}, {terms.prices} prices"
    yield "model", f"{size.columns:,} columns, {size.rows:,} rows, {size.nonzeros:,} nonzeros"
    yield "columns", ", ".join(f"{count:,} {name}" for name, count in size.columns_by_family.items())
    yield "input", f"sha256 {loaded.digest}"

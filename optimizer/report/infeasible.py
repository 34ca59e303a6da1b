"""The page of a demand that cannot be met: have, need and the smallest fix, for every conflict."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from optimizer.design.result import Result, Shortfall
from optimizer.report import words
from optimizer.report.blocks import facts, section


def conflicts(result: Result) -> RenderableType:
    """Every conflict at once: giving way on all of them is what it takes."""
    lines = [pair for place, lack in enumerate(result.infeasible, 1) for pair in _conflict(place, lack)]
    return section("What stands in the way (all of these together)", facts(lines))


def _conflict(place: int, lack: Shortfall) -> Iterator[tuple[str, str]]:
    yield f"{place}", lack.row
    unit = f" {lack.unit}" if lack.unit else ""
    if lack.have is not None:
        yield "have", f"{words.number(lack.have)}{unit}"
    if lack.need is not None:
        yield "need", f"{words.number(lack.need)}{unit}"
    yield "fix", lack.fix
    for override in lack.sets:
        yield "", f'--set "{override}"'

"""A result as a page that a planner can read, rendered from result.json alone."""

from __future__ import annotations

import os
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.segment import Segment, Segments
from rich.text import Text

from optimizer.design.result import Result
from optimizer.report import words
from optimizer.report.comparisons import beside, beside_in_full
from optimizer.report.infeasible import conflicts
from optimizer.report.memory import contexts, requests, tiers
from optimizer.report.purchase import models, purchases
from optimizer.report.reasons import assumptions, costs, remarks, tokens, why
from optimizer.report.replay import replayed
from optimizer.report.verdict import verdict

WIDTH = 110  # columns where nobody says how many there are
WIDEST = 120


def page(result: Result) -> RenderableType:
    """The whole answer, the verdict first."""
    parts: list[RenderableType | None] = [verdict(result)]
    if (layout := result.layout) is not None:
        parts += [
            purchases(result, layout), models(layout), tiers(result, layout), contexts(layout),
            requests(result, layout), replayed(result), why(result), costs(result), tokens(result),
            beside(result),
        ]
    elif result.infeasible:
        parts.append(conflicts(result))
    parts += [remarks(result), assumptions(result), _footer(result)]
    return Group(*(part for part in parts if part is not None))


def reasons(result: Result) -> RenderableType:
    """Why alone, in full: every limit with its price, the costs, the tokens, every assumption."""
    parts: list[RenderableType | None] = [verdict(result)]
    if result.layout is not None:
        parts += [
            replayed(result, None), why(result, None), costs(result), tokens(result), beside_in_full(result),
        ]
    elif result.infeasible:
        parts.append(conflicts(result))
    parts += [remarks(result), assumptions(result, None), _footer(result)]
    return Group(*(part for part in parts if part is not None))


def show(content: RenderableType, stream: TextIO) -> None:
    """Write to a stream, without the blanks that fill up a table's lines."""
    console = console_for(stream)
    kept: list[Segment] = []
    for line in console.render_lines(content, pad=False):
        while line and not line[-1].text.rstrip():
            line.pop()
        if line:
            line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
        kept += [*line, Segment.line()]
    console.print(Segments(kept), end="", soft_wrap=True)


def console_for(stream: TextIO) -> Console:
    """A console on a stream: as wide as the terminal, WIDEST at most; what it cannot write becomes `?`."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    sized = stream.isatty() or "COLUMNS" in os.environ
    console = Console(file=stream, width=None if sized else WIDTH, highlight=False, markup=False, emoji=False)
    console.width = min(console.width, WIDEST)
    return console


def _footer(result: Result) -> RenderableType:
    size = ""
    if result.size is not None:
        size = f"{result.size.columns:,} columns, {result.size.rows:,} rows, "
    rounds = words.counted(len(result.rounds), "round")
    text = f"\nModel: {size}{rounds}; seed {result.seed}; input {result.input_sha256[:12]}"
    return Text(text, style="dim")

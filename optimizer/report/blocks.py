"""The few shapes a page is made of: a titled section, a table without lines, lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

INDENT = 2
NARROWEST = 16  # columns left to a text that gives way


def section(title: str, *bodies: RenderableType) -> Group:
    """A title, and below it, indented, what belongs to it."""
    return Group(Text(""), Text(title, style="bold"), *(Padding(body, (0, 0, 0, INDENT)) for body in bodies))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, widths: Sequence[int] = ()) -> Table:
    """A table without lines. A column whose heading begins with `>` is set right, one with `<` gives way when
    the page is narrow, the others then stay whole; `widths` are minimums."""
    gives_way = any(heading.startswith("<") for heading in columns)
    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim", show_edge=False)
    for position, heading in enumerate(columns):
        right, narrows = heading.startswith(">"), heading.startswith("<")
        least = widths[position] if position < len(widths) else None
        made.add_column(
            Text(heading.lstrip("<>"), justify="right" if right else "left"),
            justify="right" if right else "left", overflow="fold", vertical="top",
            no_wrap=gives_way and not narrows,
            min_width=NARROWEST if narrows else least,
        )
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return made


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """Names on the left, what is to be said about each on the right."""
    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False, show_edge=False)
    made.add_column(style="dim")
    made.add_column(overflow="fold")
    for name, text in rows:
        made.add_row(Text(name), Text(text))
    return made


def bullets(lines: Iterable[str]) -> Table:
    """One dash a line; what is long goes on below its own beginning."""
    return facts(("-", line) for line in lines)

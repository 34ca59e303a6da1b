"""The laws as a page: `python -m optimizer.formulation.table > docs/laws.md`.

Everything on it comes from the laws themselves, so that the page cannot drift from what is solved.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable

from optimizer.formulation import LAWS, Law
from optimizer.formulation.tables import group

HEAD = """\
# The laws, one by one

Written by `python -m optimizer.formulation.table > docs/laws.md` from the laws themselves; do not edit. A row
has the name of its family everywhere: in the code, the LP file, the exact check, the infeasibility report and
the table of prices. `mathematics` is in the unit in brackets, the rows and their prices are in `unit`. The
symbols stand in `formulation.md`.
"""
COLUMNS = ("law", "row family", "unit", "mathematics", "what its price means")


def sentence(law: Law) -> str:
    """Why the law is there."""
    return _parts(law)[0]


def mathematics(law: Law) -> str:
    """The line of mathematics, with its unit in brackets."""
    return _parts(law)[1]


def markdown() -> str:
    """Every law as a row of a table, one table a room, under the room's own first line."""
    rooms = group(LAWS, lambda law: law.body.__module__)
    return "\n".join([HEAD, *("\n".join(_room(name, laws)) for name, laws in rooms.items())])


def _room(module: str, laws: list[Law]) -> list[str]:
    title = inspect.cleandoc(sys.modules[module].__doc__ or module).splitlines()[0].rstrip(".")
    rows = [(sentence(law), _code(law.row), law.unit, _code(mathematics(law)), law.price) for law in laws]
    return [f"## {title}", "", _row(COLUMNS), _row("---" for _ in COLUMNS), *map(_row, rows), ""]


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _parts(law: Law) -> tuple[str, str]:
    why, _, line = inspect.cleandoc(law.body.__doc__ or "").partition("\n\n")
    return " ".join(why.split()), " ".join(line.split())


if __name__ == "__main__":
    sys.stdout.write(markdown())

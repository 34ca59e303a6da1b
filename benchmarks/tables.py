"""What a benchmark found, as lines of JSON and as a table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

END = "<!-- end -->"


class AtLeast(float):
    """A figure that was not reached: the true one is larger."""


Figure = str | int | float | None


@dataclass(frozen=True)
class Section:
    """Runs of one benchmark: rows of the same figures, and a line that says what they mean."""

    title: str
    says: str
    rows: tuple[dict[str, Figure], ...]

    def lines(self) -> list[str]:
        """One line of JSON a run."""
        return [json.dumps({"benchmark": self.title, **row}) for row in self.rows]

    def table(self) -> str:
        """The section in Markdown, its columns aligned."""
        heads = list(self.rows[0])
        cells = [heads, *([_shown(row[head]) for head in heads] for row in self.rows)]
        width = [max(2, *(len(row[i]) for row in cells)) for i in range(len(heads))]  # a rule is -: at least
        numbers = [not any(isinstance(row[head], str) for row in self.rows) for head in heads]
        rule = ["-" * (w - 1) + ":" if right else "-" * w for w, right in zip(width, numbers, strict=True)]
        shown = [
            [f"{cell:{'>' if right else '<'}{w}}" for cell, w, right in zip(row, width, numbers, strict=True)]
            for row in cells
        ]
        shown.insert(1, rule)
        return "\n".join(
            [f"### {self.title}", "", self.says, "", *("| " + " | ".join(row) + " |" for row in shown)]
        )


def said(lines: Iterable[str], file: Path | None = None) -> None:
    """Print lines of JSON, and append them to a file."""
    text = "".join(f"{line}\n" for line in lines)
    print(text, end="", flush=True)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as opened:
            opened.write(text)


def spliced(tables: str, page: Path, begin: str) -> None:
    """Put tables in the place of those that stand on a page between a line and the next end."""
    text = page.read_text(encoding="utf-8")
    place = re.compile(f"{re.escape(begin)}.*?{re.escape(END)}", re.DOTALL)
    if not place.search(text):
        raise ValueError(f"{page} has no line {begin}")
    page.write_text(place.sub(lambda _: f"{begin}\n\n{tables}\n\n{END}", text), encoding="utf-8")


def _shown(figure: Figure) -> str:
    """Three digits, thousands set apart; a dash where there is no figure."""
    if figure is None:
        return "-"
    if isinstance(figure, str):
        return figure
    if isinstance(figure, AtLeast):
        return f"> {_shown(float(figure))}"
    if figure >= 100:
        digits = max(0, len(str(int(figure))) - 3)
        return f"{round(figure, -digits):,.0f}"
    return f"{figure:.3g}"

"""What a benchmark found, as lines of JSON and as a table."""

from __future__ import annotations

import json
from dataclasses import dataclass

Figure = str | int | float


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
        width = [max(len(row[i]) for row in cells) for i in range(len(heads))]
        numbers = [not isinstance(self.rows[0][head], str) for head in heads]
        rule = ["-" * (w - 1) + ":" if right else "-" * w for w, right in zip(width, numbers, strict=True)]
        shown = [
            [f"{cell:{'>' if right else '<'}{w}}" for cell, w, right in zip(row, width, numbers, strict=True)]
            for row in cells
        ]
        shown.insert(1, rule)
        return "\n".join(
            [f"### {self.title}", "", self.says, "", *("| " + " | ".join(row) + " |" for row in shown)]
        )


def _shown(figure: Figure) -> str:
    """Three digits, thousands set apart."""
    if isinstance(figure, str):
        return figure
    if figure >= 100:
        digits = max(0, len(str(int(figure))) - 3)
        return f"{round(figure, -digits):,.0f}"
    return f"{figure:.3g}"

"""Reading our own Markdown: fenced blocks with their info string, sections, tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))


class Block(NamedTuple):
    """A fenced block: where it stands, the words after the fence, its text."""

    page: str
    line: int
    info: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def page(name: str) -> str:
    """The text of a page of docs/."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def blocks(*paths: Path) -> list[Block]:
    """Every fenced block of the pages."""
    found = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"^```([^\n`]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            found.append(Block(path.name, text.count("\n", 0, match.start()) + 1, match[1].strip(), match[2]))
    return found


def prose(text: str) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def sections(text: str) -> Iterator[tuple[str, str]]:
    """(heading, body) of every section, of any depth, without the sections inside it."""
    parts = re.split(r"^#+ +(.+)$", prose(text), flags=re.MULTILINE)
    yield from zip(parts[1::2], parts[2::2], strict=True)


def section(text: str, heading: str) -> str:
    """The body of the one section whose heading begins so."""
    (body,) = [body for title, body in sections(text) if title.startswith(heading)]
    return body


def table(body: str, head: str) -> list[list[str]]:
    """The rows of the one table whose head begins so, without the head."""
    lines = body.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith(f"| {head}")]
    assert len(starts) == 1, f"{len(starts)} tables begin with {head!r}"
    found = []
    for line in lines[starts[0] + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return found


def quoted(text: str) -> list[str]:
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", text)


def number(text: str) -> float:
    """A printed number: `1,446` is 1446.0."""
    return float(text.strip("` ").replace(",", ""))

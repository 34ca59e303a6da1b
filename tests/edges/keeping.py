"""Ways to write a workload file otherwise and mean the same: the digest of what is loaded stays."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

from optimizer.files import read_text_yaml
from tests.edges.entries import Base

Keeping = Callable[[Base, random.Random], bytes | None]


COMMENTS = ("# a: b", "#", "# {[\"'", "#!x: 4 GB", "# é ∑ 日本", "# - &a *b")


def comments(base: Base, rng: random.Random) -> bytes:
    """Comments on lines of their own and behind others."""
    lines = []
    for line in base.lines:
        if rng.random() < 0.3:
            lines.append(" " * rng.randrange(9) + rng.choice(COMMENTS))
        behind = "  # x: [y" if rng.random() < 0.3 and line.strip() else ""
        lines.append(line + behind)
    return "\n".join(lines).encode()


def white_space(base: Base, rng: random.Random) -> bytes:
    """Empty lines, spaces behind lines, line ends of another system, a mark of byte order."""
    lines = []
    for line in base.lines:
        lines += [" " * rng.randrange(4)] * (rng.random() < 0.2)
        lines.append(line + " " * rng.randrange(3))
    text = rng.choice(("\n", "\r\n")).join(lines)
    return rng.choice((b"", b"\xef\xbb\xbf")) + text.encode()


def document_marks(base: Base, rng: random.Random) -> bytes:
    """The marks of one document."""
    head = rng.choice(("---\n", "%YAML 1.2\n---\n", "--- # here\n", ""))
    return (head + base.text + rng.choice(("...\n", "", "\n\n"))).encode()


def in_json(base: Base, rng: random.Random) -> bytes:
    """JSON is YAML; the keys in another order."""
    data = _shuffled(read_text_yaml(base.text, base.name).data, rng)
    return json.dumps(data, indent=rng.choice((None, 1, 4)), ensure_ascii=rng.random() < 0.5).encode()


def in_another_order(base: Base, rng: random.Random) -> bytes:
    """The sections of the file in another order, comments and all."""
    parts = re.split(r"^(?=[a-z]\w*:)", base.text, flags=re.MULTILINE)
    head, sections = parts[0], parts[1:]
    if not sections[-1].endswith("\n"):
        sections[-1] += "\n"
    rng.shuffle(sections)
    return (head + "".join(sections)).encode()


def in_quotes(base: Base, rng: random.Random) -> bytes:
    """Texts and quantities in quotes."""
    text = base.text
    for entry in sorted(base.entries, key=lambda e: -e.start):
        suffixed = entry.kind == "quantity" and not re.fullmatch(r"[0-9.]+", entry.value)
        if (suffixed or entry.kind in ("text",)) and rng.random() < 0.5:
            quote = rng.choice("\"'")
            text = text[: entry.start] + quote + entry.value + quote + text[entry.end :]
    return text.encode()


def numbers_otherwise(base: Base, rng: random.Random) -> bytes:
    """`4 req/s` as `4.0req/s` or `+4  req/s`."""
    text = base.text
    for entry in sorted(base.entries, key=lambda e: -e.start):
        match = re.fullmatch(r"([0-9]+)( ?)([A-Za-z/]+)", entry.value)
        if match and entry.kind == "quantity":
            number = rng.choice(("{}.0", "+{}", "{}.", "0{}", "{}e0")).format(match[1])
            text = text[: entry.start] + number + rng.choice((" ", "  ", "")) + match[3] + text[entry.end :]
    return text.encode()


def by_alias(base: Base, rng: random.Random) -> bytes | None:
    """A value that stands twice, the second time by an alias."""
    twins = [
        (first, second)
        for i, first in enumerate(base.entries)
        for second in base.entries[i + 1 :]
        if first.value == second.value and first.start < second.start
    ]
    if not twins:
        return None
    first, second = rng.choice(twins)
    text = base.text[: second.start] + "*same " + base.text[second.end :]
    return (text[: first.start] + "&same " + text[first.start :]).encode()


def _shuffled(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        keys = rng.sample(list(value), len(value))
        return {key: _shuffled(value[key], rng) for key in keys}
    return [_shuffled(item, rng) for item in value] if isinstance(value, list) else value


KINDS: tuple[Keeping, ...] = (
    comments, white_space, document_marks, in_json, in_another_order, in_quotes, numbers_otherwise, by_alias,
)  # fmt: skip

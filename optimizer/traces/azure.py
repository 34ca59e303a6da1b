"""Azure's CSV: when a request came and how long it and its answer were, without blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from optimizer.errors import InputError, Problem
from optimizer.traces.columns import REMARKS, Row
from optimizer.traces.values import MOST_TOKENS, BadLine, shown, whole

COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?")
_WHOLE = re.compile(r"\d{1,12}")
_EPOCH = datetime(1970, 1, 1)


class Azure:
    """`TIMESTAMP,ContextTokens,GeneratedTokens`; a time such as `2023-11-16 18:17:03.9799600`.

    Times are seconds since the first line's: 7 decimals would be lost in seconds since 1970.
    """

    header: Mapping[str, Any] = {REMARKS: ("times count from the earliest request",)}
    block_tokens: int | None = None

    def __init__(self, block_tokens: int | None) -> None:
        if block_tokens is not None:
            raise InputError(Problem("--block-tokens", "", "this format has no blocks", "leave it out"))
        self._zero: tuple[int, int] | None = None

    def row(self, text: str) -> Row | None:
        """A request; None for a comment, and for the line of column names."""
        if text.startswith("#"):
            return None
        cells = [cell.strip() for cell in text.split(",")]
        if tuple(cells) == COLUMNS:
            return None
        if len(cells) != len(COLUMNS):
            raise BadLine(f"{len(cells)} columns, not {len(COLUMNS)}")
        input_tokens, output_tokens = _tokens(cells[1], COLUMNS[1]), _tokens(cells[2], COLUMNS[2])
        seconds, billionths = _moment(cells[0])
        zero = self._zero = self._zero or (seconds, billionths)
        return Row((seconds - zero[0]) + (billionths - zero[1]) / 1e9, input_tokens, output_tokens)


def recognised(text: str) -> bool:
    """Whether a line is one of such a file: the column names, or a request."""
    try:
        Azure(None).row(text)
    except BadLine:
        return False
    return True


def _tokens(cell: str, name: str) -> int:
    if not _WHOLE.fullmatch(cell) or not cell.isascii():
        raise BadLine(f"{name} is no whole number: {shown(cell)}")
    return whole(int(cell), name, MOST_TOKENS)


def _moment(cell: str) -> tuple[int, int]:
    """Seconds since 1970 by the clock of the file, or of UTC where it names a zone, and billionths."""
    parts = _STAMP.fullmatch(cell)
    try:
        if parts is None or not cell.isascii():
            raise ValueError
        seconds = int(datetime.fromisoformat(parts[1] + (parts[3] or "+00:00")).timestamp())
        if seconds < 0:
            raise ValueError
    except (ValueError, OverflowError):
        raise BadLine(f"{COLUMNS[0]} is no date and time since 1970: {shown(cell)}") from None
    return seconds, int((parts[2] or "0").ljust(9, "0"))

"""Traces written to files, in each format, and requests to write."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from optimizer.traces import Trace

BLOCK = 16
TOKENS = st.integers(0, 10**9)
SECONDS = st.floats(0, 1e8, allow_subnormal=False)


def rows_of(trace: Trace, *, runs: bool = False) -> list[dict[str, Any]]:
    """The requests of a trace as mappings of the project's own format."""
    rows = []
    for i in range(len(trace)):
        row: dict[str, Any] = {
            "t": float(trace.time[i]), "in": int(trace.input[i]), "out": int(trace.output[i])
        }
        if trace.session[i] >= 0:
            row["s"] = int(trace.session[i])
        if trace.sub[i]:
            row["sub"] = 1
        for name, column in (("api", trace.api), ("think", trace.think)):
            if not math.isnan(column[i]):
                row[name] = float(column[i])
        if trace.chains is not None:
            start, ids = trace.chains.flat()
            blocks = [int(block) for block in ids[start[i] : start[i + 1]]]
            if runs:
                row["runs"] = [[first, count] for first, count in run_lengths(blocks)]
            else:
                row["h"] = blocks
        rows.append(row)
    return rows


def run_lengths(ids: Sequence[int]) -> Iterable[tuple[int, int]]:
    """(first, count) of neighbouring ids."""
    at = 0
    while at < len(ids):
        end = at + 1
        while end < len(ids) and ids[end] == ids[end - 1] + 1:
            end += 1
        yield ids[at], end - at
        at = end


def project(rows: Iterable[dict[str, Any]], block_tokens: int | None = BLOCK, **header: Any) -> str:
    """The text of a file of the project's own format."""
    lines = [{"_header": {"block_tokens": block_tokens, **header}}, *rows]
    return "".join(json.dumps(line) + "\n" for line in lines)


def mooncake(rows: Iterable[dict[str, Any]]) -> str:
    """The same requests as Mooncake writes them; times must be whole milliseconds."""
    return "".join(
        json.dumps({
            "timestamp": round(row["t"] * 1000), "input_length": row["in"], "output_length": row["out"],
            "hash_ids": row["h"],
        }) + "\n"
        for row in rows
    )


def write(path: Path, text: str | bytes) -> Path:
    """The text in a file, gzipped where the name says so."""
    raw = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


@st.composite
def requests(draw: st.DrawFn, blocks: bool = True) -> list[dict[str, Any]]:
    """Rows in order of time, ids numbered in order of appearance; a column is in all rows, some or none."""
    number = draw(st.integers(1, 12))
    times = sorted(draw(st.lists(SECONDS, min_size=number, max_size=number)))
    recorded = {
        "s": st.integers(0, 2**40), "sub": st.just(1), "api": SECONDS, "think": SECONDS,
    }
    present = {name: draw(st.sampled_from(("all", "some", "none"))) for name in recorded}
    rows, unique = [], 0
    for time in times:
        row = {"t": time, "in": draw(TOKENS), "out": draw(TOKENS)}
        for name, values in recorded.items():
            if present[name] == "all" or (present[name] == "some" and draw(st.booleans())):
                row[name] = draw(values)
        if blocks:
            row["h"] = []
            for _ in range(draw(st.integers(0, 8))):
                row["h"].append(draw(st.integers(0, unique)))
                unique = max(unique, row["h"][-1] + 1)
        rows.append(row)
    return rows

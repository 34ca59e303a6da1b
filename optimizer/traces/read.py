"""From a file to a `Trace`, line by line: its format is told from its content, its faults are counted."""

from __future__ import annotations

import itertools
from pathlib import Path

from optimizer.files import resolve_trace, shown
from optimizer.traces.columns import Columns
from optimizer.traces.faults import MAX_FAULTY, Faults
from optimizer.traces.formats import PARSERS, Format, format_of
from optimizer.traces.lines import lines
from optimizer.traces.types import Trace
from optimizer.traces.values import BadLine

_PROBED = 20  # lines, not blank, within which a format must show


def read_trace(
    path: str | Path, *, format: Format | None = None, max_faulty: float = MAX_FAULTY,
    block_tokens: int | None = None,
) -> Trace:
    """The requests of a file, or of the shipped trace of that name, in order of time.

    `block_tokens`: the size of a block where the file does not say it. InputError where the file cannot be
    opened, is of no known format, holds no request, or where more than the share `max_faulty` of its lines is
    faulty.
    """
    file = resolve_trace(path)
    stream = lines(file)
    first = list(itertools.islice(stream, _PROBED))
    parser = PARSERS[format or format_of(first, shown(file))](block_tokens)
    columns, faults = Columns(file.name), Faults(shown(file), max_faulty)
    for line in itertools.chain(first, stream):
        if line.fault:
            faults.add(line.number, line.fault)
            continue
        try:
            row = parser.row(line.text)
        except BadLine as fault:
            faults.add(line.number, str(fault))
            continue
        if row is not None:
            columns.add(row)
    faults.judge(len(columns), "request")
    return columns.trace(parser.header, parser.block_tokens, faults.count, tuple(faults.first))

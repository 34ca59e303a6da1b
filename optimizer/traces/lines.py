"""A trace file as lines: unpacked where it is gzipped, bounded, decoded, or told why not."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from optimizer.errors import InputError, Problem
from optimizer.files import open_regular, shown

LONGEST_LINE = 8 * 2**20
"""Bytes of the longest line that is read: 20 times a request of a million tokens in blocks of 16."""
_PIECE = 2**20
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
Source = BinaryIO | gzip.GzipFile


class Line(NamedTuple):
    """A line with its number from 1; `fault` says why there is no text."""

    number: int
    text: str
    fault: str = ""


def lines(path: Path) -> Iterator[Line]:
    """Every line that is not blank, without its end.

    InputError for what is no readable regular file, and for a gzip stream that is damaged: what comes out of
    one may look like lines and be none that anybody wrote. One that ends early is a fault of its last line.
    """
    stream, _ = open_regular(path)
    with stream:
        packed = stream.read(len(_GZIP)) == _GZIP
        stream.seek(0)
        source: Source = gzip.GzipFile(fileobj=stream) if packed else stream
        number = 0
        while True:
            number += 1
            try:
                raw = source.readline(LONGEST_LINE + 1)
                if overlong := len(raw) > LONGEST_LINE:
                    _skip_line(source, raw)
            except EOFError:
                yield Line(number, "", "the gzip stream ends early: what followed is lost")
                return
            except (gzip.BadGzipFile, zlib.error) as fault:
                where, said = f"{shown(path)}:{number}", f"the gzip stream is damaged: {fault}"
                raise InputError(Problem(where, "", said, "fetch the file again")) from None
            if not raw:
                return
            if overlong:
                yield Line(number, "", f"more than {LONGEST_LINE:,} bytes in a line")
            elif line := _decoded(number, raw.removeprefix(_BOM) if number == 1 else raw):
                yield line


def _skip_line(source: Source, piece: bytes) -> None:
    """Read on to the end of an overlong line, keeping nothing."""
    while piece and not piece.endswith(b"\n"):
        piece = source.readline(_PIECE)


def _decoded(number: int, raw: bytes) -> Line | None:
    """The text of a line; None for a blank one."""
    if b"\0" in raw:
        return Line(number, "", "a NUL byte: not text")
    try:
        text = raw.decode().strip(" \t\r\n")
    except UnicodeDecodeError as fault:
        return Line(number, "", f"not UTF-8 text at byte {fault.start + 1}")
    return Line(number, text) if text else None

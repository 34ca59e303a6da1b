"""Lines of JSON: the project's own format, and Mooncake's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from optimizer.errors import InputError, Problem
from optimizer.traces.columns import REMARKS, Row
from optimizer.traces.labels import Ids
from optimizer.traces.values import (
    BadLine,
    amount,
    get,
    refuse_unknown,
    runs_of_ids,
    runs_of_pairs,
    shown,
    whole,
)

HEADER = "_header"
MOST_BLOCK_TOKENS = 2**20
MOST_SESSION = 2**62
MOONCAKE_BLOCK_TOKENS = 512


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise BadLine("a key stands twice")
    return record


def record_of(text: str) -> dict[str, Any]:
    """The mapping that a line holds. BadLine for anything else."""
    try:
        record = json.loads(text, object_pairs_hook=_unique)
    except BadLine:
        raise
    except (ValueError, RecursionError) as fault:
        raise BadLine(f"no JSON: {fault}") from None
    if type(record) is not dict:
        raise BadLine(f"no JSON mapping: {shown(record)}")
    return record


class Project:
    """`{"_header": {...}}`, then `{"t", "in", "out"}` with `s`, `sub`, `api`, `think`, and `h` or `runs`."""

    known = frozenset({"t", "in", "out", "s", "sub", "api", "think", "h", "runs"})

    def __init__(self, block_tokens: int | None) -> None:
        self.header: Mapping[str, Any] = {}
        self.block_tokens = self._stated = block_tokens
        self._begun = False

    def row(self, text: str) -> Row | None:
        """A request; None for the header."""
        record = record_of(text)
        if HEADER in record:
            self._take_header(record[HEADER])
            return None
        refuse_unknown(record, self.known)
        session, sub, api, think = (record.get(key) for key in ("s", "sub", "api", "think"))
        row = Row(
            amount(get(record, "t"), "t"), whole(get(record, "in"), "in"), whole(get(record, "out"), "out"),
            None if session is None else whole(session, "s", MOST_SESSION),
            sub if sub is None or type(sub) is bool else bool(whole(sub, "sub", 1)),
            None if api is None else amount(api, "api"), None if think is None else amount(think, "think"),
            self._runs(record),
        )
        self._begun = True
        return row

    def _take_header(self, header: Any) -> None:
        if self.header or self._begun:
            raise BadLine("a second header" if self.header else "a header behind requests")
        if type(header) is not dict:
            raise BadLine("the header is no mapping")
        size = header.get("block_tokens")
        if size is not None and whole(size, "block_tokens", MOST_BLOCK_TOKENS) == 0:
            raise BadLine("block_tokens is 0")
        if self._stated not in (None, size):
            said = f"the header of the trace says {size or 'that there are no blocks'}, not {self._stated}"
            raise InputError(Problem("--block-tokens", "", said, "leave it out"))
        self.header = {key: value for key, value in header.items() if key != REMARKS}
        self.block_tokens = size

    def _runs(self, record: Mapping[str, Any]) -> tuple[Ids, Ids] | None:
        given = [key for key in ("h", "runs") if key in record]
        if self.block_tokens is None:
            if given:
                raise BadLine(f"{given[0]} without block_tokens in a header line")
            return None
        if len(given) != 1:
            raise BadLine("both h and runs" if given else "h or runs is missing")
        (key,) = given
        return runs_of_ids(record[key], key) if key == "h" else runs_of_pairs(record[key], key)


class Mooncake:
    """`{"timestamp" in ms, "input_length", "output_length", "hash_ids"}`; no line tells a block's length.

    It is taken to be Mooncake's own unless the user says another. Every line must fit it, with an id for a
    partial last block or without.
    """

    known = frozenset({"timestamp", "input_length", "output_length", "hash_ids"})

    def __init__(self, block_tokens: int | None) -> None:
        self._size = block_tokens or MOONCAKE_BLOCK_TOKENS
        self.block_tokens: int | None = self._size
        self.header: Mapping[str, Any] = {REMARKS: (f"blocks are taken to hold {self._size} tokens",)}

    def row(self, text: str) -> Row:
        """A request."""
        record = record_of(text)
        refuse_unknown(record, self.known)
        tokens = whole(get(record, "input_length"), "input_length")
        first, count = runs_of_ids(get(record, "hash_ids"), "hash_ids")
        if int(count.sum()) not in (tokens // self._size, -(-tokens // self._size)):
            said = f"{count.sum():,} hash_ids are not {tokens:,} tokens in blocks of {self._size}"
            raise BadLine(f"{said} (--block-tokens says another size)")
        return Row(
            time=amount(get(record, "timestamp"), "timestamp") / 1e3, input=tokens,
            output=whole(get(record, "output_length"), "output_length"), runs=(first, count),
        )

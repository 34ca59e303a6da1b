"""The values a line may hold: whole numbers and amounts within stated bounds, block ids, runs of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from optimizer.traces.labels import Ids

MOST_TOKENS = 10**9
"""Tokens of a request: a thousand contexts of a million."""
MOST_BLOCKS = 2**22
"""Blocks of a request: 64 million tokens in blocks of 16."""
LATEST = 1e10
"""Seconds of the latest time: three centuries, so that milliseconds since 1970 are none."""
_LAST_ID = 2**62
_SHOWN = 40


class BadLine(ValueError):
    """A line that is no request: the message says why."""


def get(record: Mapping[str, Any], key: str) -> Any:
    """A value that must be there."""
    if key not in record:
        raise BadLine(f"{key} is missing")
    return record[key]


def refuse_unknown(record: Mapping[str, Any], known: frozenset[str]) -> None:
    """A key that nobody knows may change what the others mean: another unit, another kind of id."""
    for key in record:
        if key not in known:
            raise BadLine(f"unknown key {shown(key)}")


def whole(value: Any, name: str, most: int = MOST_TOKENS) -> int:
    """A whole number from 0 to `most`."""
    if type(value) is not int:  # True is an int to isinstance
        raise BadLine(f"{name} is no whole number: {shown(value)}")
    if not 0 <= value <= most:
        raise BadLine(f"{name} is not between 0 and {most:,}: {shown(value)}")
    return value


def amount(value: Any, name: str) -> float:
    """A number of seconds from 0 to LATEST."""
    if type(value) not in (int, float):
        raise BadLine(f"{name} is no number: {shown(value)}")
    if not (math.isfinite(value) and 0 <= value <= LATEST):
        raise BadLine(f"{name} is not between 0 and {LATEST:g} s: {shown(value)}")
    return float(value)


def runs_of_ids(value: Any, name: str) -> tuple[Ids, Ids]:
    """(first, count) of a list of block ids."""
    if type(value) is not list or not {type(each) for each in value} <= {int}:
        raise BadLine(f"{name} is no list of whole numbers")
    if value and not 0 <= min(value) <= max(value) < _LAST_ID:
        raise BadLine(f"{name} holds an id that is not between 0 and 2^62")
    if len(value) > MOST_BLOCKS:
        raise BadLine(f"{name} holds more than {MOST_BLOCKS:,} blocks")
    ids = np.array(value, dtype=np.int64)
    starts = np.flatnonzero(np.diff(ids, prepend=-2) != 1)
    return ids[starts], np.diff(starts, append=len(ids))


def runs_of_pairs(value: Any, name: str) -> tuple[Ids, Ids]:
    """(first, count) of a list of [first, count]."""
    if type(value) is not list or any(type(pair) is not list or len(pair) != 2 for pair in value):
        raise BadLine(f"{name} is no list of [first, count]")
    if not {type(each) for pair in value for each in pair} <= {int}:
        raise BadLine(f"{name} holds what is no whole number")
    if any(not (0 <= first < _LAST_ID and 1 <= count <= MOST_BLOCKS) for first, count in value):
        raise BadLine(f"{name} holds an id that is not between 0 and 2^62, or a count below 1")
    pairs = np.array(value, dtype=np.int64).reshape(-1, 2)
    if pairs[:, 1].sum() > MOST_BLOCKS:
        raise BadLine(f"{name} holds more than {MOST_BLOCKS:,} blocks")
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def shown(value: Any) -> str:
    """A value as messages show it."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."

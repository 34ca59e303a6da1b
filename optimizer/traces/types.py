"""A trace in memory: columns, one entry a request in order of time, and block chains as runs of ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Fault:
    """A line that could not be read, and why."""

    line: int
    reason: str


@dataclass(frozen=True)
class Chains:
    """The block ids of every request, run-length encoded.

    Request i has the runs `first[k], first[k]+1, ... (count[k] ids)` for k in `start[i]:start[i+1]`. An id
    stands for the whole prefix up to its block, and is global in its file; ids are dense, from 0.
    """

    start: NDArray[np.int64]
    first: NDArray[np.int64]
    count: NDArray[np.int64]
    unique: int

    @property
    def accesses(self) -> int:
        """Blocks asked for, over all requests."""
        return int(self.count.sum())

    def flat(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(start, ids): the ids of all requests in turn; request i owns ids[start[i]:start[i+1]]."""
        ends = np.concatenate(([0], np.cumsum(self.count)))
        ids = np.repeat(self.first - ends[:-1], self.count) + np.arange(ends[-1])
        return ends[self.start], ids


@dataclass(frozen=True)
class Trace:
    """Requests in order of arrival.

    `time` seconds from the file's own zero; `input` and `output` tokens; `session` -1 where none is recorded;
    `sub` marks a sub-agent's call; `api` and `think` seconds of service and of the client's delay before the
    request (nan where not recorded). `chains` and `block_tokens` are None where a trace tells lengths only.
    `faults`: the lines that were left out (the first of them; `faulty` counts all).
    """

    name: str
    time: NDArray[np.float64]
    input: NDArray[np.int64]
    output: NDArray[np.int64]
    session: NDArray[np.int64]
    sub: NDArray[np.bool_]
    api: NDArray[np.float64]
    think: NDArray[np.float64]
    block_tokens: int | None = None
    chains: Chains | None = None
    header: Mapping[str, Any] = field(default_factory=dict)
    faulty: int = 0
    faults: tuple[Fault, ...] = ()

    def __len__(self) -> int:
        return len(self.time)

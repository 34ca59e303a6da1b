"""Traces written in a test: requests as rows, chains as lists of block ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.traces import Chains, Trace

BLOCK = 100


@dataclass(frozen=True)
class Request:
    """One request; `blocks` are its ids from the root, none for a trace that tells lengths only."""

    time: float
    input: int
    output: int = 0
    session: int = -1
    blocks: Sequence[int] | None = None
    sub: bool = False
    api: float = np.nan


def trace(requests: Sequence[Request], block: int = BLOCK) -> Trace:
    """The requests as a trace; ids are made dense."""
    known = [request.blocks for request in requests if request.blocks is not None]
    dense = {old: new for new, old in enumerate(dict.fromkeys(b for blocks in known for b in blocks))}
    chains = None
    if known:
        flat = [dense[b] for request in requests for b in request.blocks or ()]
        start = np.cumsum([0, *(len(request.blocks or ()) for request in requests)])
        chains = Chains(start, np.array(flat, np.int64), np.ones(len(flat), np.int64), len(dense))
    return Trace(
        name="made.jsonl", time=np.array([float(r.time) for r in requests]),
        input=np.array([r.input for r in requests]), output=np.array([r.output for r in requests]),
        session=np.array([r.session for r in requests]), sub=np.array([r.sub for r in requests]),
        api=np.array([r.api for r in requests]), think=np.full(len(requests), np.nan),
        block_tokens=block if chains is not None else None, chains=chains,
    )  # fmt: skip

"""Recorded traces as the traffic of classes: read, brought to each class's rate, and laid side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.instance import Instance
from optimizer.simulator.simulation import enough
from optimizer.simulator.traffic.replay import recorded
from optimizer.simulator.types import Floats, Ints, Replay
from optimizer.traces import read_trace

NONE = -1


@dataclass(frozen=True)
class Traffic:
    """Recorded requests of all traced classes. Copies are kept in whole blocks of so many tokens."""

    replay: Replay
    classes: tuple[str, ...]
    block_tokens: float


def traffic(files: Mapping[str, str], instance: Instance, requests: int | None, seed: int) -> Traffic | None:
    """The traces of `files` (by class) at the classes' peak rates, for as long as a run of `requests` lasts.

    Where traces differ in their blocks, the larger block is taken for all: it finds less. Raises InputError
    for a trace that cannot be read.
    """
    if not files:
        return None
    rates = {c.id: c.rate for c in instance.classes}
    seconds = (requests or enough(instance)) / sum(rates.values())
    found, blocks = [], [0]
    for number, (cls, file) in enumerate(files.items()):
        trace = read_trace(file)
        found.append(recorded(trace, instance, cls, rate=rates[cls], seed=seed + number, seconds=seconds))
        blocks.append(trace.block_tokens or 0)
    return Traffic(joined(found), tuple(files), float(max(blocks)))


def joined(parts: Sequence[Replay]) -> Replay:
    """Several recordings as one, in order of time; what one asks for is never what another does."""
    requests, nodes = _starts([len(p.time) for p in parts]), _starts([len(p.node_tokens) for p in parts])
    time = np.concatenate([p.time for p in parts])
    order = np.argsort(time, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    moved = [np.where(p.after == NONE, NONE, p.after + at) for p, at in zip(parts, requests, strict=False)]
    after = np.concatenate(moved)[order]
    ids = np.concatenate([p.node_id + at for p, at in zip(parts, nodes, strict=False)])
    count = np.concatenate([np.diff(p.node) for p in parts])
    first = np.cumsum(count) - count
    node = np.concatenate(([0], np.cumsum(count[order]))).astype(np.int64)
    entry = np.repeat(first[order] - node[:-1], count[order]) + np.arange(node[-1])
    return Replay(
        time=time[order],
        bucket=np.concatenate([p.bucket for p in parts])[order],
        input=_in_order([p.input for p in parts], order),
        output=_in_order([p.output for p in parts], order),
        after=np.where(after == NONE, NONE, place[after]),
        think=_in_order([p.think for p in parts], order),
        first=np.concatenate([p.first for p in parts])[order],
        node=node,
        node_id=ids[entry],
        node_count=np.concatenate([p.node_count for p in parts])[entry],
        node_tokens=np.concatenate([p.node_tokens for p in parts]),
    )


def _starts(sizes: Sequence[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def _in_order(columns: Sequence[Floats], order: Ints) -> Floats:
    return np.asarray(np.concatenate(columns)[order])

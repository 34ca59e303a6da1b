"""The passes over all block accesses that cut a trace into threads (`threads.py` says what they are for)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optimizer.compiled import entry

Ints = NDArray[np.int64]
NONE = -1


@entry
def users(order: Ints, start: Ints, first: Ints, count: Ints, unique: int, user: Ints) -> Ints:
    """How many users ask for each block; `order` has the requests of one user after those of another."""
    uses, latest = np.zeros(unique, np.int64), np.full(unique, -1, np.int64)
    for i in order:
        for k in range(start[i], start[i + 1]):
            for block in range(first[k], first[k] + count[k]):
                if latest[block] != user[i]:
                    uses[block] += 1
                    latest[block] = user[i]
    return uses


@entry
def follow(
    order: Ints, start: Ints, first: Ints, count: Ints, unique: int, group: Ints, strict: NDArray[np.bool_],
    blocks: Ints, full: Ints, shared: int,
) -> tuple[Ints, Ints, Ints]:
    """(the request before in its thread, the request whose context it finds, blocks of it that are known).

    `order` has the requests of one group after those of another, within a group in order of time. A request
    finds the leading run of blocks that its group has touched. It continues, where `strict`, the longest
    prompt whose `full` blocks all are in that run; else the one that touched the last block of the run last,
    if the run is half of either's `blocks`. A run within the `shared` blocks proves nothing.
    """
    number = len(group)
    previous, parent = np.full(number, -1, np.int64), np.full(number, -1, np.int64)
    known, thread, tail = np.zeros(number, np.int64), np.arange(number), np.arange(number)
    toucher, ending = np.full(unique, -1, np.int64), np.full(unique, -1, np.int64)
    for i in order:
        depth, at, nearest, whole, leading = 0, 0, -1, -1, True
        for k in range(start[i], start[i + 1]):
            for block in range(first[k], first[k] + count[k]):
                last, end = toucher[block], ending[block]
                leading = leading and last >= 0 and last != i and group[last] == group[i]
                if leading:
                    depth += 1
                    nearest = last
                    if depth > shared and end >= 0 and group[end] == group[i]:
                        whole = end
                toucher[block] = i
                at += 1
                if at == full[i]:
                    ending[block] = i
        known[i] = depth
        if depth > shared:
            found = nearest
            if strict[i]:
                found = whole
            elif 2 * depth < min(blocks[i], blocks[nearest]):
                found = -1
            if found >= 0:
                parent[i] = found
                thread[i] = thread[found]
                previous[i] = tail[thread[i]]
                tail[thread[i]] = i
    return previous, parent, known

"""Events in order of time: a binary heap; of equal times the first pushed comes first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optimizer.compiled import compiled

EVENT = np.dtype(
    [("time", np.float64), ("order", np.int64), ("b", np.int64), ("kind", np.int32), ("a", np.int32)]
)
TOP = np.int64(0)


class Heap(NamedTuple):
    """`counts`: how many events there are, how many were ever pushed, how many found the heap full, and how
    many there may be before those that came to nothing are sought out."""

    event: NDArray[np.void]
    counts: NDArray[np.int64]


def empty(capacity: int) -> Heap:
    """A heap for at most `capacity` events at a time."""
    return Heap(np.zeros(capacity, EVENT), np.array([0, 0, 0, 3 * capacity // 4], np.int64))


@compiled
def earlier(heap: Heap, i: int, j: int) -> bool:
    """Whether event i comes before event j."""
    a, b = heap.event[i], heap.event[j]
    return bool(a["time"] < b["time"] or (a["time"] == b["time"] and a["order"] < b["order"]))


@compiled
def swap(heap: Heap, i: int, j: int) -> None:
    """Exchange two events."""
    a, b = heap.event[i], heap.event[j]
    a["time"], b["time"] = b["time"], a["time"]
    a["order"], b["order"] = b["order"], a["order"]
    a["kind"], b["kind"] = b["kind"], a["kind"]
    a["a"], b["a"] = b["a"], a["a"]
    a["b"], b["b"] = b["b"], a["b"]


@compiled
def push(heap: Heap, time: float, kind: int, a: int, b: int) -> None:
    """Something will happen at a time; never (inf) is not remembered."""
    if time == np.inf:
        return
    at = heap.counts[0]
    if at == len(heap.event):
        heap.counts[2] += 1
        return
    e = heap.event[at]
    e["time"], e["order"], e["kind"], e["a"], e["b"] = time, heap.counts[1], kind, a, b
    heap.counts[0] += 1
    heap.counts[1] += 1
    while at > 0 and earlier(heap, at, (at - 1) >> 1):
        swap(heap, at, (at - 1) >> 1)
        at = (at - 1) >> 1


@compiled
def pop(heap: Heap) -> tuple[float, int, int, int]:
    """The earliest event: time, kind, a, b."""
    e = heap.event[0]
    first = (e["time"], np.int64(e["kind"]), np.int64(e["a"]), e["b"])
    heap.counts[0] -= 1
    swap(heap, TOP, heap.counts[0])
    sink(heap, TOP)
    return first


@compiled
def sink(heap: Heap, at: int) -> None:
    """Move an event down until none below it comes earlier."""
    count = heap.counts[0]
    while True:
        child = 2 * at + 1
        if child >= count:
            return
        if child + 1 < count and earlier(heap, child + 1, child):
            child += 1
        if earlier(heap, at, child):
            return
        swap(heap, at, child)
        at = child


@compiled
def in_order(heap: Heap) -> None:
    """A heap again, whatever was taken out; the next search for what came to nothing is half way to full."""
    for at in range(heap.counts[0] // 2 - 1, -1, -1):
        sink(heap, at)
    heap.counts[3] = (heap.counts[0] + len(heap.event)) // 2

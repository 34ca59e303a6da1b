"""Copies as rows of a table, and the hash table that finds them by key. Both grow with what is held."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optimizer.compiled import compiled

COPY = np.dtype(
    [
        ("key", np.int64),  # node * domains + domain; -1 on the free list
        ("size", np.float64),  # bytes of its last node
        ("until", np.float64),  # the time it is dropped if nobody asks for it
        ("alarm", np.float64),  # when the event that may drop it comes; inf: there is none
        ("slope", np.float64),  # bytes of a token of the nodes before its last one
        ("newer", np.int32),  # neighbours in the list of its domain
        ("older", np.int32),
        ("first", np.int32),  # of Cache.tokens: its first node
        ("last", np.int32),  # nodes before its last one
    ],
    align=True,
)
DOMAIN = np.dtype(
    [
        ("capacity", np.float64),  # bytes
        ("used", np.float64),  # bytes of copies and reservations
        ("area", np.float64),  # integral of used over time, byte-seconds
        ("since", np.float64),  # up to which the integral is taken
        ("peak", np.float64),  # most bytes since the last sample
        ("evicted", np.float64),  # bytes that left before their time, for want of room
        ("refused", np.float64),  # bytes that found no room at all
        ("newest", np.int32),  # ends of the list
        ("oldest", np.int32),
        ("below", np.int32),  # where exclusive copies go when they must leave, -1: nowhere
    ],
    align=True,
)
EMPTY = -1
EPSILON = 1e-9  # relative: what rounding may add to the bytes of a full domain


LEFT, LACKED, ROWS, SLOTS = range(4)  # of Cache.counts


class Cache(NamedTuple):
    """All copies of all domains. `slot` is a hash table of copies by key (linear probing), 0 where there is
    none, else a row of `copy` and one; `free` a stack of rows that were given back. `counts`: copies that
    there is room for yet, how often there was none, rows that were ever in use, slots in use; memory is
    touched as more are. `tokens`: of the nodes of stretches, those of a stretch one after another."""

    copy: NDArray[np.void]
    domain: NDArray[np.void]
    slot: NDArray[np.int32]
    free: NDArray[np.int32]
    counts: NDArray[np.int64]
    tokens: NDArray[np.float64]


NO_STRETCHES = np.empty(0)
FEWEST_SLOTS = 16


def empty(
    capacity: NDArray[np.float64],
    copies: int,
    below: NDArray[np.int64] | None = None,
    tokens: NDArray[np.float64] = NO_STRETCHES,
) -> Cache:
    """An empty cache over domains of these capacities (bytes), for at most `copies` copies."""
    domain = np.zeros(len(capacity), DOMAIN)
    domain["capacity"] = capacity
    domain["newest"] = domain["oldest"] = EMPTY
    domain["below"] = EMPTY if below is None else below
    slots = max(FEWEST_SLOTS, 1 << (2 * copies - 1).bit_length())
    return Cache(
        np.zeros(copies, COPY), domain, np.zeros(slots, np.int32), np.zeros(copies, np.int32),
        np.array([copies, 0, 0, FEWEST_SLOTS], np.int64), tokens,
    )  # fmt: skip


@compiled
def home_slot(key: int, slots: int) -> int:
    """Where a key's probing begins: the bits of a Fibonacci hash (slots is a power of two)."""
    mixed = (key * 0x9E3779B1) & 0xFFFFFFFFFFFF
    return (mixed ^ (mixed >> 21)) & (slots - 1)


@compiled
def find(cache: Cache, key: int) -> int:
    """The copy of a key, or -1."""
    slots = cache.counts[SLOTS]
    at = home_slot(key, slots)
    while cache.slot[at] != 0:
        c = cache.slot[at] - 1
        if cache.copy[c]["key"] == key:
            return int(c)
        at = (at + 1) & (slots - 1)
    return EMPTY


@compiled
def forget(cache: Cache, key: int) -> None:
    """Take a key out of the hash table, closing the gap behind it (Knuth 6.4, algorithm R)."""
    slots = cache.counts[SLOTS]
    gap = home_slot(key, slots)
    while cache.copy[cache.slot[gap] - 1]["key"] != key:
        gap = (gap + 1) & (slots - 1)
    at = gap
    while True:
        cache.slot[gap] = 0
        while True:
            at = (at + 1) & (slots - 1)
            if cache.slot[at] == 0:
                return
            wish = home_slot(cache.copy[cache.slot[at] - 1]["key"], slots)
            if ((at - wish) & (slots - 1)) >= ((at - gap) & (slots - 1)):
                break
        cache.slot[gap] = cache.slot[at]
        gap = at


@compiled
def enter(cache: Cache, c: int) -> None:
    """Put a copy in the hash table, under its key."""
    slots = cache.counts[SLOTS]
    at = home_slot(cache.copy[c]["key"], slots)
    while cache.slot[at] != 0:
        at = (at + 1) & (slots - 1)
    cache.slot[at] = c + 1


@compiled
def widen(cache: Cache) -> None:
    """Twice as many slots, and everybody at a place of its own again."""
    for at in range(cache.counts[SLOTS]):
        cache.slot[at] = 0
    cache.counts[SLOTS] *= 2
    for c in range(cache.counts[ROWS]):
        if cache.copy[c]["key"] != EMPTY:
            enter(cache, c)


@compiled
def claim(cache: Cache, key: int) -> int:
    """An unused copy, entered in the hash table under a key, of no size yet."""
    held = len(cache.copy) - cache.counts[LEFT]
    if 2 * held >= cache.counts[SLOTS]:
        widen(cache)
    c = cache.counts[ROWS]
    if held < c:
        c = np.int64(cache.free[c - held - 1])
    else:
        cache.counts[ROWS] += 1
    cache.counts[LEFT] -= 1
    cache.copy[c]["key"] = key
    cache.copy[c]["size"] = 0.0
    cache.copy[c]["alarm"] = np.inf
    cache.copy[c]["slope"] = 0.0
    cache.copy[c]["last"] = 0
    enter(cache, c)
    return int(c)


@compiled
def give_back(cache: Cache, c: int) -> None:
    """A row is unused again, and its key forgotten."""
    forget(cache, cache.copy[c]["key"])
    cache.copy[c]["key"] = EMPTY
    cache.counts[LEFT] += 1
    cache.free[cache.counts[ROWS] - (len(cache.copy) - cache.counts[LEFT]) - 1] = c

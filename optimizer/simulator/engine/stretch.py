"""A stretch of a recorded chain in a domain: one copy, though each of its nodes comes and goes by itself.

The nodes of a stretch are touched together, from the last that is asked for to the first, and nobody asks
for fewer of them than were asked for before (`optimizer/simulator/traffic/stretches.py`). So what a domain
holds of a stretch is always its first nodes, side by side in the order in which they leave: a copy says how
many, and how much of the last one. Everything is as if each node were a copy of its own, to the last byte.
"""

from __future__ import annotations

import numpy as np

from optimizer.compiled import compiled
from optimizer.simulator.engine.cache import account, discard, link, recede, shed, unlink
from optimizer.simulator.engine.copies import (
    EMPTY,
    EPSILON,
    LACKED,
    LEFT,
    Cache,
    claim,
    enter,
    find,
    forget,
)


@compiled
def node_bytes(cache: Cache, c: int, i: int) -> float:
    """What a copy holds of node i of its stretch; nothing where there is no copy."""
    if c == EMPTY or i > cache.copy[c]["last"]:
        return 0.0
    if i == cache.copy[c]["last"]:
        return float(cache.copy[c]["size"])
    return float(cache.copy[c]["slope"] * cache.tokens[cache.copy[c]["first"] + i])


@compiled
def wanted_bytes(cache: Cache, i: int, first: int, count: int, slope: float, extra: float) -> float:
    """What node i of a stretch is to take: the last of those that are asked for, `extra` bytes more."""
    return float(slope * cache.tokens[first + i] + (extra if i == count - 1 else 0.0))


@compiled
def hold_stretch(
    cache: Cache, key: int, first: int, count: int, slope: float, extra: float, until: float, unit: float,
    now: float,
) -> tuple[int, float]:  # fmt: skip
    """Hold the first `count` nodes of a stretch in a domain, from the last to the first: `slope` bytes for a
    token, and `extra` for the last node. `first`: of Cache.tokens; `until`, `unit`: as of `hold`. Returns the
    copy, or -1 where nothing of it stayed, and the bytes that were not there."""
    c, domain = find(cache, key), key % len(cache.domain)
    if c == EMPTY:
        return build(cache, key, c, first, count, slope, extra, until, unit, now)
    low = cache.copy[c]["last"] if slope == cache.copy[c]["slope"] else np.int32(0)  # nothing changes below
    more = 0.0
    for i in range(count - 1, low - 1, -1):
        more += max(0.0, wanted_bytes(cache, i, first, count, slope, extra) - node_bytes(cache, c, i))
    if cache.domain[domain]["used"] + more > cache.domain[domain]["capacity"] * (1 + EPSILON):
        # what it holds may have to give way to what it asks for, before it has been touched
        old = aside(cache, c, len(cache.tokens) - first)
        return build(cache, key, old, first, count, slope, extra, until, unit, now)
    for i in range(count - 1, low - 1, -1):
        size = wanted_bytes(cache, i, first, count, slope, extra)
        account(cache, domain, size - node_bytes(cache, c, i), now)
    copy = cache.copy[c]
    copy["size"] = wanted_bytes(cache, count - 1, first, count, slope, extra)
    copy["last"], copy["slope"], copy["until"] = count - 1, slope, until
    unlink(cache, c, domain)
    link(cache, c, domain)
    return c, more


@compiled
def aside(cache: Cache, c: int, beyond: int) -> int:
    """Make room under a copy's key: until all its nodes have been touched it stands where it did, as of the
    node after all others, which is `beyond` those of its own."""
    forget(cache, cache.copy[c]["key"])
    cache.copy[c]["key"] += beyond * len(cache.domain)
    enter(cache, c)
    return c


@compiled
def build(
    cache: Cache, key: int, old: int, first: int, count: int, slope: float, extra: float, until: float,
    unit: float, now: float,
) -> tuple[int, float]:  # fmt: skip
    """`hold_stretch` node by node, out of the copy `old` that was set aside (-1: there is none)."""
    domain, missing, c = key % len(cache.domain), 0.0, EMPTY
    aside_key = key if old == EMPTY else cache.copy[old]["key"]
    for i in range(count - 1, -1, -1):
        if old != EMPTY and cache.copy[old]["key"] != aside_key:
            old = EMPTY  # all of it gave way
        size, before = wanted_bytes(cache, i, first, count, slope, extra), node_bytes(cache, old, i)
        missing += max(0.0, size - before)
        if old != EMPTY and i == cache.copy[old]["last"]:
            if i > 0:
                recede(cache, old)
            else:
                discard(cache, old)
        refused = unit == 0 and size > cache.domain[domain]["capacity"] * (1 + EPSILON)
        if refused:
            account(cache, domain, -before, now)
        else:
            c = put(cache, key, c, first + i, size, slope)
            if c == EMPTY:
                continue
            cache.copy[c]["until"] = until
            account(cache, domain, size - before, now)
            shed(cache, domain, unit, now)
            refused = cache.copy[c]["key"] != key
        if refused:
            cache.domain[domain]["refused"] += size
            c = EMPTY
    return c, missing


@compiled
def put(cache: Cache, key: int, c: int, node: int, size: float, slope: float) -> int:
    """One more node before the first of a copy, or a new copy of it (-1: the table is full)."""
    if c != EMPTY:
        cache.copy[c]["first"] -= 1
        cache.copy[c]["last"] += 1
        return c
    if cache.counts[LEFT] == 0:
        cache.counts[LACKED] += 1
        return EMPTY
    c = claim(cache, key)
    cache.copy[c]["first"], cache.copy[c]["size"], cache.copy[c]["slope"] = node, size, slope
    link(cache, c, key % len(cache.domain))
    return c

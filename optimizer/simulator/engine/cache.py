"""Copies of contexts in domains: who holds what, in which order it leaves, and how full a domain is.

A node is a run of blocks that is always asked for together: a private context, or a piece of a recorded
chain. A copy is of one node, or of the first nodes of a stretch (`stretch.py`): all are whole but the last,
which is the first to give way.
A domain keeps its copies in one list by the time of the last touch. A chain is touched from its leaf to its
root, so that what leaves first is the end of a chain and what is left of it is a prefix.
"""

from __future__ import annotations

import numpy as np

from optimizer.compiled import compiled
from optimizer.simulator.engine.copies import (
    COPY,
    DOMAIN,
    EMPTY,
    EPSILON,
    LACKED,
    LEFT,
    Cache,
    claim,
    empty,
    find,
    give_back,
)

__all__ = ["COPY", "DOMAIN", "EMPTY", "EPSILON", "Cache", "drop", "empty", "find", "hold"]


@compiled
def account(cache: Cache, domain: int, change: float, now: float) -> None:
    """Add bytes to a domain (or take them), keeping its integral over time and its peak."""
    d = cache.domain[domain]
    d["area"] += d["used"] * (now - d["since"])
    d["since"] = now
    d["used"] = max(0.0, d["used"] + change)
    d["peak"] = max(d["peak"], d["used"])


@compiled
def unlink(cache: Cache, c: int, domain: int) -> None:
    """Take a copy out of its domain's list."""
    newer, older = cache.copy[c]["newer"], cache.copy[c]["older"]
    if newer == EMPTY:
        cache.domain[domain]["newest"] = older
    else:
        cache.copy[newer]["older"] = older
    if older == EMPTY:
        cache.domain[domain]["oldest"] = newer
    else:
        cache.copy[older]["newer"] = newer


@compiled
def link(cache: Cache, c: int, domain: int) -> None:
    """Put a copy in front of its domain's list: the last to leave."""
    head = cache.domain[domain]["newest"]
    cache.copy[c]["newer"] = EMPTY
    cache.copy[c]["older"] = head
    if head == EMPTY:
        cache.domain[domain]["oldest"] = c
    else:
        cache.copy[head]["newer"] = c
    cache.domain[domain]["newest"] = c


@compiled
def touch(cache: Cache, c: int, until: float) -> None:
    """Ask for a copy: it moves to the front and is kept until a new time."""
    domain = cache.copy[c]["key"] % len(cache.domain)
    cache.copy[c]["until"] = until
    if cache.domain[domain]["newest"] != c:
        unlink(cache, c, domain)
        link(cache, c, domain)


@compiled
def recede(cache: Cache, c: int) -> None:
    """A copy without its last node: the one before, whole, is its last one."""
    copy = cache.copy[c]
    copy["last"] -= 1
    copy["size"] = copy["slope"] * cache.tokens[copy["first"] + copy["last"]]


@compiled
def drop(cache: Cache, c: int, now: float) -> None:
    """A copy goes, from its end."""
    domain = cache.copy[c]["key"] % len(cache.domain)
    account(cache, domain, -cache.copy[c]["size"], now)
    while cache.copy[c]["last"] > 0:
        recede(cache, c)
        account(cache, domain, -cache.copy[c]["size"], now)
    discard(cache, c)


@compiled
def discard(cache: Cache, c: int) -> None:
    """Nothing is left of a copy: its row is free again."""
    unlink(cache, c, cache.copy[c]["key"] % len(cache.domain))
    give_back(cache, c)


@compiled
def shed(cache: Cache, domain: int, unit: float, now: float) -> None:
    """Let the oldest nodes of an overfull domain go until it is full: whole units (bytes of a block) of the
    last one, or all of it where `unit` is 0. Exclusive copies go to the domain below, which sheds in turn."""
    while domain != EMPTY:
        d = cache.domain[domain]
        below = d["below"]
        while d["used"] > d["capacity"] * (1 + EPSILON) and d["oldest"] != EMPTY:
            c = d["oldest"]
            key, size, until = cache.copy[c]["key"], cache.copy[c]["size"], cache.copy[c]["until"]
            part = size
            if unit > 0:
                part = min(size, np.ceil((d["used"] - d["capacity"]) / unit * (1 - EPSILON)) * unit)
            if part < size:
                cache.copy[c]["size"] = size - part
                account(cache, domain, -part, now)
            elif cache.copy[c]["last"] > 0:
                account(cache, domain, -part, now)
                recede(cache, c)
            else:
                drop(cache, c, now)
            if below == EMPTY:
                d["evicted"] += part
            else:
                lay(cache, key - domain + below, part, until, now)
        domain = below


@compiled
def lay(cache: Cache, key: int, more: float, until: float, now: float) -> int:
    """Add bytes to a node's copy in a domain, as its newest, whether or not they fit. Returns the copy, or -1
    where the table is full."""
    domain = key % len(cache.domain)
    c = find(cache, key)
    if c != EMPTY:
        unlink(cache, c, domain)
    elif cache.counts[LEFT] == 0:
        cache.counts[LACKED] += 1
        return EMPTY
    else:
        c = claim(cache, key)
    link(cache, c, domain)
    cache.copy[c]["size"] += more
    cache.copy[c]["until"] = until
    account(cache, domain, more, now)
    return c


@compiled
def hold(cache: Cache, key: int, size: float, until: float, unit: float, now: float) -> int:
    """Hold a node in a domain at a size, as its newest copy: a new one, or the one there is, resized. What a
    domain holds depends on the last touches alone: older copies give way first, then (unit > 0) the end of
    the node itself. Returns the copy, or -1 where there is no room for it at all."""
    domain = key % len(cache.domain)
    c = find(cache, key)
    before = 0.0 if c == EMPTY else cache.copy[c]["size"]
    if unit == 0 and size > cache.domain[domain]["capacity"] * (1 + EPSILON):
        cache.domain[domain]["refused"] += size
        if c != EMPTY:
            drop(cache, c, now)
        return EMPTY
    c = lay(cache, key, size - before, until, now)
    shed(cache, domain, unit, now)
    if c == EMPTY or cache.copy[c]["key"] != key:
        cache.domain[domain]["refused"] += size
        return EMPTY
    return c


@compiled
def reserve(cache: Cache, domain: int, size: float, unit: float, now: float) -> bool:
    """Bytes that a running request takes: idle copies give way. Taken even where they do not fit (False)."""
    account(cache, domain, size, now)
    shed(cache, domain, unit, now)
    fits = cache.domain[domain]["used"] <= cache.domain[domain]["capacity"] * (1 + EPSILON)
    if not fits:
        cache.domain[domain]["refused"] += size
    return fits


@compiled
def flush(cache: Cache, domain: int, now: float) -> None:
    """Everything in a domain is lost."""
    while cache.domain[domain]["oldest"] != EMPTY:
        drop(cache, cache.domain[domain]["oldest"], now)

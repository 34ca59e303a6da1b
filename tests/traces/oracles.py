"""The same questions answered slowly: an LRU list, every choice of what to keep, a clock that ticks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from optimizer.traces import Trace
from tests.traces.synthetic import BLOCK, Request, trace

Requests = Sequence[Sequence[int]]


@st.composite
def chains(draw: st.DrawFn, most: int = 12, repeats: bool = True) -> list[list[int]]:
    """Requests as lists of any ids; nothing says that they form a tree."""
    one = st.lists(st.integers(0, 9), max_size=8, unique=not repeats)
    return draw(st.lists(one, min_size=1, max_size=most).filter(any))


@st.composite
def trees(draw: st.DrawFn, most: int = 12, longest: int = 6) -> list[list[int]]:
    """Requests as true prefix chains: an id stands for the whole path up to it."""
    words = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=longest), min_size=1, max_size=most)
    names: dict[tuple[int, ...], int] = {}
    return [
        [names.setdefault(tuple(word[: depth + 1]), len(names)) for depth in range(len(word))]
        for word in draw(words)
    ]


def as_trace(requests: Requests, times: Sequence[float] | None = None, short: int = 0) -> Trace:
    """The requests as a trace, one a second unless told; `short` tokens missing in the last block."""
    when = times or [float(number) for number in range(len(requests))]
    return trace([
        Request(at, max(1, len(blocks) * BLOCK - short), blocks=blocks, session=0)
        for at, blocks in zip(when, requests, strict=True)
    ])


def lru_hits(requests: Requests, capacity: int, *, prefix: bool, reverse: bool) -> list[int]:
    """Hit blocks of each request, from a list in order of the last touch."""
    stack: list[int] = []
    hits = []
    for blocks in requests:
        found = 0
        if prefix:
            for block in blocks:
                if block not in stack[:capacity]:
                    break
                found += 1
        for block in reversed(blocks) if reverse else blocks:
            found += not prefix and block in stack[:capacity]
            if block in stack:
                stack.remove(block)
            stack.insert(0, block)
        hits.append(found)
    return hits


def best_hits(requests: Requests, capacity: int) -> int:
    """The most hits of any cache under the prefix reading: whatever may be kept is tried."""

    @cache
    def best(number: int, held: frozenset[int]) -> int:
        if number == len(requests):
            return 0
        found = 0
        for block in requests[number]:
            if block not in held:
                break
            found += 1
        known = sorted(held | set(requests[number]))
        return found + max(
            best(number + 1, frozenset(choice)) for choice in combinations(known, min(capacity, len(known)))
        )

    return best(0, frozenset())


def min_hits(requests: Requests, capacity: int, *, bypass: bool) -> int:
    """Belady's MIN, block by block from root to leaf; with `bypass` a block may be declined."""
    order = [block for blocks in requests for block in blocks]
    held: set[int] = set()
    hits = 0
    for number, block in enumerate(order):
        hits += block in held
        ahead = order[number + 1 :]
        held.add(block)
        if len(held) > capacity:
            others = held if bypass else held - {block}
            held.remove(max(others, key=lambda one: ahead.index(one) if one in ahead else len(order)))
    return hits


def kept_hits_and_area(times: Sequence[float], requests: Requests, keep: float) -> tuple[int, float]:
    """Hits and block-seconds of a retention, block by block: residence is a union of intervals."""
    hits, area = 0, 0.0
    for block in {block for blocks in requests for block in blocks}:
        touches = [at for at, blocks in zip(times, requests, strict=True) for one in blocks if one == block]
        for at, following in zip(touches, [*touches[1:], np.inf], strict=True):
            hits += following - at <= keep
            area += max(0.0, min(following, at + keep, times[-1]) - at)
    return hits, area

"""The cache path: chains of recorded requests looked up from the root and touched from leaf to root.

The kernels of the simulator hold a stretch of blocks that only grows at its end as one entry, so that a chain
is a few entries. Beside them runs what one would write first: an OrderedDict with an entry a block.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import Figure, Section
from benchmarks.timing import timed
from optimizer.compiled import entry
from optimizer.simulator.engine.copies import Cache, empty, find
from optimizer.simulator.engine.stretch import hold_stretch, node_bytes
from optimizer.simulator.traffic.replay import scaled
from optimizer.simulator.traffic.script import Script, script
from optimizer.simulator.traffic.stretches import Stretches, stretches
from optimizer.traces import Trace, read_trace
from optimizer.traces.curve import default_capacities

TRACES = (
    "weka_claude_code_60s_b512", "weka_claude_code_60s_b64", "synthetic_agentic_aiperf_60s_b512",
    "lmcache_miniswe_b64", "mooncake_conversation_0_20min",
)  # fmt: skip
CAPACITIES = (5, 10, 15)
"""Of the reference capacities of a trace: few blocks, the knee, nearly all that is ever found."""
COPIES = 50
FASTER = 6.0
"""Sessions begin so many times as close to each other as recorded."""
DOMAINS = 8
NAIVE_ACCESSES = 3_000_000
"""Blocks, about, that the OrderedDict is asked for: it takes the first requests of a long run only."""


@dataclass(frozen=True)
class Asked:
    """Requests for chains, as those of `Replay`: entries node[r] to node[r+1] - 1 of node_id, root first, for
    nodes node_id to node_id + node_count - 1 each; the blocks of a node, the domain of a request."""

    node: NDArray[np.int64]
    node_id: NDArray[np.int64]
    node_count: NDArray[np.int64]
    blocks: NDArray[np.int64]
    domain: NDArray[np.int64]
    domains: int
    live: float  # sessions between their first and their last request, on average

    @property
    def accesses(self) -> int:
        """Blocks asked for."""
        return int(self.entry_blocks.sum())

    @property
    def entry_blocks(self) -> NDArray[np.int64]:
        """Blocks that each entry asks for."""
        ends = np.concatenate(([0], np.cumsum(self.blocks)))
        return np.asarray(ends[self.node_id + self.node_count] - ends[self.node_id])

    def first(self, requests: int) -> Asked:
        """The same for the first requests only."""
        node = self.node[: requests + 1]
        return replace(
            self, node=node, node_id=self.node_id[: node[-1]], node_count=self.node_count[: node[-1]],
            domain=self.domain[:requests],
        )  # fmt: skip


def measure(quick: bool = False) -> Section:
    """Every shipped block trace at some reference capacities, then thousands of sessions in domains."""
    rows = []
    for name in TRACES[-2:-1] if quick else TRACES:
        trace = read_trace(f"{name}.jsonl.gz")
        asked, largest = as_recorded(trace), default_capacities(trace.chains.unique)
        for i in CAPACITIES[1:2] if quick else CAPACITIES:
            rows.append(beside_naive(name, asked, largest[i]))
    trace = read_trace(f"{TRACES[-2 if quick else 0]}.jsonl.gz")
    copies = 2 if quick else COPIES
    many, unique = copied(trace, copies, DOMAINS), copies * trace.chains.unique
    name = f"{trace.name.partition('.')[0]} x {copies}"
    for share in (2,) if quick else (10, 2):
        rows.append(beside_naive(name, many, max(1, unique // (share * DOMAINS))))
    return Section(
        "Cache path",
        "One core. A request is a lookup of its chain and a touch of all of it, leaf to root; capacities are "
        "blocks of a domain. *Naive* is an OrderedDict with an entry a block, in Python, over the same "
        f"requests (the first {NAIVE_ACCESSES:,} blocks of them); both find the same. Asked for: 100,000 "
        "requests/s.",
        tuple(rows),
    )


def beside_naive(name: str, asked: Asked, capacity: int) -> dict[str, Figure]:
    """One run of both. Raises ArithmeticError where they do not find the same."""
    requests = len(asked.domain)
    seconds, _ = timed(lambda: compiled_hits(asked, capacity))
    ends = np.cumsum(asked.entry_blocks)[asked.node[1:] - 1]
    part = asked.first(max(1, int(np.searchsorted(ends, NAIVE_ACCESSES, side="right"))))
    found = compiled_hits(part, capacity)
    slow, again = timed(lambda: naive_hits(part, capacity), 1)
    if found != again:
        raise ArithmeticError(f"{name}, {capacity} blocks: {found} found, {again} by the naive cache")
    pace, naive = requests / seconds, len(part.domain) / slow
    return {
        "trace": name,
        "live sessions": round(asked.live),
        "domains": asked.domains,
        "capacity": capacity,
        "found": f"{found / part.accesses:.1%}",
        "requests/s": pace,
        "block accesses/s": asked.accesses / seconds,
        "naive requests/s": naive,
        "times naive": pace / naive,
    }


def as_recorded(trace: Trace) -> Asked:
    """The requests of a trace, in one domain."""
    lines = script(trace)
    cut = stretches(lines.node, lines.node_id, lines.before, lines.common)
    nowhere = np.zeros(len(lines.session), np.int64)
    blocks = blocks_of(trace, lines, cut)
    return Asked(cut.node, cut.first[cut.stretch], cut.asked, blocks, nowhere, 1, live(lines))


def blocks_of(trace: Trace, lines: Script, cut: Stretches) -> NDArray[np.int64]:
    """Blocks of every node, in the order of the stretches."""
    return np.asarray((lines.node_tokens[cut.order] / trace.block_tokens).astype(np.int64))


def copied(trace: Trace, copies: int, domains: int) -> Asked:
    """Copies of every session, each with a start and blocks of its own, over several domains in turn: in a
    fraction of the time that the trace took, so that thousands are live at once."""
    lines = script(trace)
    window = float(trace.time[-1] - trace.time[0]) / FASTER
    played = scaled(lines, float(copies * len(trace)), window, np.random.Generator(np.random.PCG64(0)))
    come = played.time >= 0  # the others were over before
    row, laps = played.row[come], int(played.lap.max()) + 1
    realm = (played.copy * laps + played.lap)[come]  # what was wrapped is another session
    cut = stretches(lines.node, lines.node_id, lines.before, lines.common)
    count = np.diff(cut.node)[row]
    node = np.concatenate(([0], np.cumsum(count)))
    at = np.repeat(cut.node[:-1][row] - node[:-1], count) + np.arange(node[-1])
    blocks = blocks_of(trace, lines, cut)
    node_id = cut.first[cut.stretch[at]] + len(blocks) * np.repeat(realm, count)
    domain = (realm * len(lines.start) + lines.session[row]) % domains
    return Asked(
        node, node_id, cut.asked[at], np.tile(blocks, copies * laps), domain, domains,
        copies * FASTER * live(lines),
    )  # fmt: skip


def live(lines: Script) -> float:
    """Sessions that have begun and not ended, over the window of the trace (Little's law)."""
    last = np.zeros(len(lines.start))
    np.maximum.at(last, lines.session, lines.offset)
    return float(last.sum() / (lines.start + last).max())


def compiled_hits(asked: Asked, capacity: int) -> int:
    """Blocks found by the simulator's kernels, from empty."""
    blocks = asked.blocks.astype(np.float64)
    cache = empty(np.full(asked.domains, float(capacity)), len(blocks) + 1, tokens=blocks)
    return int(look_up_and_touch(cache, asked.node, asked.node_id, asked.node_count, asked.domain))


@entry
def look_up_and_touch(
    cache: Cache,
    node: NDArray[np.int64],
    node_id: NDArray[np.int64],
    node_count: NDArray[np.int64],
    domain: NDArray[np.int64],
) -> int:
    """Blocks found: for each request, the leading run of blocks that are there; then all are touched."""
    found, domains = 0, len(cache.domain)
    for r in range(len(domain)):
        for k in range(node[r], node[r + 1]):
            c, whole = find(cache, node_id[k] * domains + domain[r]), True
            for n in range(node_count[k]):
                there = node_bytes(cache, c, n)
                found += int(there)
                whole = there == cache.tokens[node_id[k] + n]
                if not whole:
                    break
            if not whole:
                break
        for k in range(node[r + 1] - 1, node[r] - 1, -1):
            key, first, count = node_id[k] * domains + domain[r], node_id[k], node_count[k]
            hold_stretch(cache, key, first, count, 1.0, 0.0, np.inf, 1.0, 0.0)
    return found


def naive_hits(asked: Asked, capacity: int) -> int:
    """Blocks found by an LRU of single blocks, from empty."""
    begin = np.concatenate(([0], np.cumsum(asked.blocks))).tolist()
    node, found = asked.node.tolist(), 0
    nodes = list(zip(asked.node_id.tolist(), (asked.node_id + asked.node_count).tolist(), strict=True))
    held: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(asked.domains)]
    for r, domain in enumerate(asked.domain.tolist()):
        cache = held[domain]
        ids = [i for a, b in nodes[node[r] : node[r + 1]] for i in range(begin[a], begin[b])]
        for i in ids:
            if i not in cache:
                break
            found += 1
        for i in reversed(ids):
            if i in cache:
                cache.move_to_end(i)
            else:
                cache[i] = None
                if len(cache) > capacity:
                    cache.popitem(last=False)
    return found

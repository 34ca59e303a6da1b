"""Our LRU beside libCacheSim's, on one stream of block accesses. For development only (it is GPL): a row
says why where it is not installed.

libCacheSim replays the stream by the fastest of its ways, in C from a binary file; our kernels have it as
an array, block by block, and as the simulator has it, in stretches of blocks that are always asked for
together. The first two are one algorithm on one stream and must miss as often.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cache_path import TRACES, Asked, as_recorded, compiled_hits
from benchmarks.tables import Figure, Section
from benchmarks.timing import timed
from optimizer.compiled import entry
from optimizer.simulator.engine.cache import hold
from optimizer.simulator.engine.copies import EMPTY, Cache, empty, find
from optimizer.traces import read_trace
from optimizer.traces.curve import default_capacities

Numbers = NDArray[np.int64]
MOST = 5_000_000
"""Accesses, about, of the longest traces."""
CAPACITY = 10
"""Of the reference capacities of a trace: the knee."""
RECORD = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
"""A request of libCacheSim's binary trace format, oracleGeneral."""
ABSENT = "libCacheSim is not installed: pip install libcachesim"


def installed() -> Any:
    """The library, or None."""
    try:
        import libcachesim
    except ImportError:
        return None
    return libcachesim


def measure(quick: bool = False) -> Section:
    """Every shipped block trace at the knee of its reuse."""
    return Section(
        "Cache beside libCacheSim",
        "Block accesses a second of the processor, leaf to root over the chains of the requests, one "
        "LRU: *libCacheSim* in C from a binary file, *single* by our kernels from an array, an entry a "
        "block, *chains* by our kernels as the simulator has them. *Missed* is the same for libCacheSim "
        f"and *single*. The first {MOST:,} blocks.",
        tuple(row(name) for name in (TRACES[3:4] if quick else TRACES)),
    )


def row(name: str) -> dict[str, Figure]:
    """One trace by all. Raises ArithmeticError where the two that are one algorithm do not miss the same."""
    trace = read_trace(f"{name}.jsonl.gz")
    asked = shortened(as_recorded(trace))
    capacity = int(default_capacities(trace.chains.unique)[CAPACITY])
    ids = stream(asked)
    single, hits = timed(lambda: single_hits(ids, capacity))
    chains, _ = timed(lambda: compiled_hits(asked, capacity))
    found: dict[str, Figure] = {
        "trace": name,
        "capacity": capacity,
        "accesses": len(ids),
        "missed": f"{1 - hits / len(ids):.2%}",
        "single": len(ids) / single,
        "chains": len(ids) / chains,
    }
    library = installed()
    if library is None:
        return {**found, "libCacheSim": ABSENT, "times libCacheSim": None}
    with tempfile.TemporaryDirectory() as folder:
        file = written(ids, Path(folder) / "trace.oracleGeneral.bin")
        seconds, missed = timed(lambda: peer_misses(library, file, capacity))
    if round(missed * len(ids)) != len(ids) - hits:
        raise ArithmeticError(f"{name}: {missed:.6%} missed by libCacheSim, {1 - hits / len(ids):.6%} by us")
    return {**found, "libCacheSim": len(ids) / seconds, "times libCacheSim": seconds / chains}


def shortened(asked: Asked) -> Asked:
    """The first requests, of about as many blocks as are asked for at most."""
    ends = np.cumsum(asked.entry_blocks)[asked.node[1:] - 1]
    return asked.first(max(1, int(np.searchsorted(ends, MOST, side="right"))))


def stream(asked: Asked) -> Numbers:
    """Every block of every request by number, leaf to root."""
    begin = np.concatenate(([0], np.cumsum(asked.blocks)))
    entries = np.arange(len(asked.node_id))
    request = np.repeat(np.arange(len(asked.domain)), np.diff(asked.node))
    leaf_first = asked.node[:-1][request] + asked.node[1:][request] - 1 - entries
    count, ends = asked.entry_blocks[leaf_first], asked.node_id + asked.node_count
    last = begin[ends[leaf_first]] - 1
    into = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return np.repeat(last, count) - into


def single_hits(ids: Numbers, capacity: int) -> int:
    """Accesses that find their block, by the simulator's kernels with an entry a block, from empty."""
    return int(touched(empty(np.array([float(capacity)]), int(ids.max()) + 2), ids))


@entry
def touched(cache: Cache, ids: Numbers) -> int:
    """Accesses that find their block; each is then the most recent."""
    hits = 0
    for block in ids:
        if find(cache, block) != EMPTY:
            hits += 1
        hold(cache, block, 1.0, np.inf, 1.0, 0.0)
    return hits


def written(ids: Numbers, file: Path) -> Path:
    """The stream as a binary trace of libCacheSim: a request a second, of one byte, its next access
    unknown."""
    records = np.zeros(len(ids), RECORD)
    records["time"], records["id"] = np.arange(len(ids)), ids + 1  # 0 may mean: no object
    records["size"], records["next"] = 1, -2
    records.tofile(file)
    return file


def peer_misses(library: Any, file: Path, capacity: int) -> float:
    """The share of accesses that libCacheSim's LRU misses, from empty. Its table is given twice the room that
    the blocks take: the default is for millions."""
    room = max(4, int(np.ceil(np.log2(2 * capacity))))
    cache = library.LRU(cache_size=capacity, hashpower=room)
    reader = library.TraceReader(str(file), library.TraceType.ORACLE_GENERAL_TRACE)
    missed, _ = cache.process_trace(reader)
    return float(missed)

"""What a trace says before any cache is asked: arrivals, lengths, sessions, chains, concurrency.

Percentiles are numpy's linear ones; they and the means are rounded to four places, extremes are as recorded.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optimizer.compiled import entry
from optimizer.files import open_regular, resolve_trace
from optimizer.traces.columns import REMARKS
from optimizer.traces.concurrency import Concurrency, concurrency
from optimizer.traces.types import Chains, Fault, Trace

PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9)
_MINUTE = 60.0
_PIECE = 2**20

Distribution = dict[str, float]
"""`p1` to `p99.9`, `mean`, `min`, `max`, `n`, and `cv` (standard deviation over mean) where asked for."""


@dataclass(frozen=True)
class BlockCounts:
    """The chains of a trace, counted.

    `tree_violations`: accesses of a block behind another one than at its first appearance, which an id that
    stands for a whole prefix cannot have. Of `blocks_equal_...` the larger one tells whether a partial last
    block has an id (ceil) or not (floor).
    """

    block_accesses: int
    unique_blocks: int
    tree_violations: int
    repeated_block_within_request: int
    blocks_equal_ceil_in_over_block: int
    blocks_equal_floor_in_over_block: int


@dataclass(frozen=True)
class TraceStats:
    """Times in seconds, lengths in tokens. None: a trace without sessions, blocks, or a second request."""

    name: str
    block_tokens: int | None
    requests: int
    t_first_s: float
    t_last_s: float
    duration_s: float
    input_tokens: int
    output_tokens: int
    input_len: Distribution
    output_len: Distribution
    sessions: int | None
    arrivals_per_min: Distribution
    interarrival_s: Distribution | None
    blocks: BlockCounts | None
    concurrency: Concurrency
    file_sha256: str
    faulty_lines: int
    faults: tuple[Fault, ...]
    remarks: tuple[str, ...]


def trace_stats(trace: Trace, path: str | Path) -> TraceStats:
    """Everything that needs no cache, of a trace and of the file it was read from."""
    first, last = float(trace.time[0]), float(trace.time[-1])
    sessions = len(np.unique(trace.session[trace.session >= 0]))
    return TraceStats(
        name=trace.name, block_tokens=trace.block_tokens, requests=len(trace), t_first_s=first, t_last_s=last,
        duration_s=round(last - first, 9), input_tokens=int(trace.input.sum()),
        output_tokens=int(trace.output.sum()), input_len=distribution(trace.input),
        output_len=distribution(trace.output), sessions=sessions or None,
        arrivals_per_min=arrivals(trace.time),
        interarrival_s=distribution(np.diff(trace.time), cv=True) if len(trace) > 1 else None,
        blocks=block_counts(trace, trace.chains) if trace.chains is not None else None,
        concurrency=concurrency(trace), file_sha256=sha256(path), faulty_lines=trace.faulty,
        faults=trace.faults, remarks=tuple(trace.header.get(REMARKS, ())),
    )


def distribution(values: NDArray[Any], *, cv: bool = False) -> Distribution:
    """Percentiles, mean and extremes of at least one value."""
    points = np.percentile(values, PERCENTILES).round(4).tolist()
    found = {f"p{percent:g}": point for percent, point in zip(PERCENTILES, points, strict=True)}
    mean = float(values.mean())
    least, most = float(values.min()), float(values.max())
    found |= {"mean": round(mean, 4), "min": least, "max": most, "n": len(values)}
    if cv:
        found["cv"] = round(float(values.std()) / mean, 4) if mean else 0.0
    return found


def arrivals(time: NDArray[np.float64]) -> Distribution:
    """Requests by minute from the first one on; the last minute may be a part of one."""
    bins = np.bincount(((time - time[0]) // _MINUTE).astype(np.int64))
    p50, p99 = np.percentile(bins, (50, 99)).tolist()
    mean, peak = float(bins.mean()), int(bins.max())
    return {
        "mean_over_bins": round(mean, 4), "p50": p50, "p99": p99, "peak": peak, "bins": len(bins),
        "peak_to_mean": round(peak / mean, 4),
    }


def block_counts(trace: Trace, chains: Chains) -> BlockCounts:
    """How long the chains are, and whether they are chains."""
    ends = np.concatenate(([0], np.cumsum(chains.count)))
    blocks = np.diff(ends[chains.start])
    size = trace.block_tokens or 1
    violations, repeated = _shape(chains.start, chains.first, chains.count, chains.unique)
    return BlockCounts(
        block_accesses=chains.accesses, unique_blocks=chains.unique, tree_violations=violations,
        repeated_block_within_request=repeated,
        blocks_equal_ceil_in_over_block=int(np.count_nonzero(blocks == -(-trace.input // size))),
        blocks_equal_floor_in_over_block=int(np.count_nonzero(blocks == trace.input // size)),
    )


@entry
def _shape(
    start: NDArray[np.int64], first: NDArray[np.int64], count: NDArray[np.int64], unique: int
) -> tuple[int, int]:
    """(accesses behind another block than at the first appearance, accesses of a block that the request has
    touched before)."""
    behind = np.full(unique, -2)  # not seen; -1 is the root
    owner = np.full(unique, -1)
    violations = repeated = 0
    for request in range(len(start) - 1):
        before = -1
        for run in range(start[request], start[request + 1]):
            for block in range(first[run], first[run] + count[run]):
                if behind[block] == -2:
                    behind[block] = before
                elif behind[block] != before:
                    violations += 1
                if owner[block] == request:
                    repeated += 1
                owner[block] = request
                before = block
    return violations, repeated


def sha256(path: str | Path) -> str:
    """The digest of the file as it lies on the disk."""
    stream, _ = open_regular(resolve_trace(path))
    digest = hashlib.sha256()
    with stream:
        while piece := stream.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def stats_json(stats: TraceStats) -> dict[str, Any]:
    """Plain data: what a trace does not have is left out, the counts of blocks stand beside the others."""
    plain = asdict(stats)
    blocks = plain.pop("blocks") or {}
    kept = {key: value for key, value in plain.items() if value is not None or key == "block_tokens"}
    return {**kept, **blocks}

"""What the blocks of a trace say about memory: the miss-ratio curve, its bounds, reuse gaps, retention.

The fields of `Curve` and of what it holds are the keys of `tierplan trace curve --json`; ratios carry the
digits they are printed with, counts are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from optimizer.errors import InputError, Problem
from optimizer.traces.belady import optimal_hits
from optimizer.traces.columns import REMARKS
from optimizer.traces.retention import Clock, Kept, retention
from optimizer.traces.reuse import Reuses, accesses_per_block, blocks_of, infinite_hits, reuses
from optimizer.traces.stack import Positions, positions
from optimizer.traces.stats import block_counts
from optimizer.traces.types import Chains, Fault, Trace
from optimizer.traces.weighted import summary

POINTS = 20
FEWEST_BLOCKS = 8
SHORT_GAPS = (1, 10, 60, 300, 600, 1800, 3600, 7200, 21600)
"""Seconds at which the distribution of reuse gaps is told."""
ENOUGH = 0.01
"""A gap to a bound below this share of the accesses is worth neither memory nor a policy."""
MINUTE = 60.0


class Missing(StrEnum):
    """What stands between an LRU cache of this size and an infinite one."""

    NOTHING = "nothing"
    CAPACITY = "capacity"
    POLICY = "policy"


@dataclass(frozen=True)
class InfiniteCache:
    """The content bound: what a cache that forgets nothing would find."""

    plain_block_hits: int
    plain_block_hit_ratio: float
    prefix_block_hits: int
    prefix_block_hit_ratio: float
    prefix_token_hits: int
    prefix_token_hit_ratio: float
    storage_to_compute_token_ratio: float | None
    requests_with_zero_hit: int
    per_request_token_hit_fraction: Mapping[str, float]


@dataclass(frozen=True)
class Point:
    """One capacity: misses of LRU in the four readings and of the optimal policy, and what they come to.

    `capacity_gap`: the share of the accesses that an infinite cache finds and the optimal policy of this
    size does not. `policy_gap`: the share that the optimal policy finds and LRU (`prefix_rev`) does not.
    `missing`: the larger of the two.
    """

    capacity_blocks: int
    plain_fwd_miss: int
    plain_rev_miss: int
    prefix_fwd_miss: int
    prefix_rev_miss: int
    plain_fwd_miss_ratio: float
    plain_rev_miss_ratio: float
    prefix_fwd_miss_ratio: float
    prefix_rev_miss_ratio: float
    prefix_fwd_token_hit_ratio: float
    prefix_rev_token_hit_ratio: float
    optimal_miss: int
    optimal_miss_ratio: float
    capacity_gap: float
    policy_gap: float
    missing: Missing


@dataclass(frozen=True)
class Curve:
    """Everything `tierplan trace curve` tells. A ratio is None where it would divide by nothing."""

    name: str
    block_tokens: int
    requests: int
    duration_s: float
    input_tokens: int
    block_accesses: int
    unique_blocks: int
    tree_violations: int
    repeated_block_within_request: int
    infinite_cache: InfiniteCache
    reuse_distance_unique_blocks: Mapping[str, float]
    reuse_time_s_per_block_reuse: Mapping[str, float]
    reuse_time_fraction_le: Mapping[str, float]
    blocks_never_reused_fraction: float
    share_of_reuses_by_top10pct_blocks: float | None
    new_blocks_per_s_mean: float | None
    new_blocks_per_min: Mapping[str, float]
    hit_tokens_per_min: Mapping[str, float]
    mrc: tuple[Point, ...]
    ages_from: Clock
    requests_without_end: int
    retention: tuple[Kept, ...]
    faulty_lines: int
    faults: tuple[Fault, ...]
    remarks: tuple[str, ...]


def default_capacities(unique: int) -> tuple[int, ...]:
    """Twenty capacities, each larger by one factor, from a thousandth of a trace's blocks to all of them."""
    least = min(unique, max(FEWEST_BLOCKS, unique // 1000))
    steps = least * (unique / least) ** (np.arange(POINTS) / (POINTS - 1))
    return tuple(int(blocks) for blocks in np.unique(np.rint(steps)))


def curve(trace: Trace, capacities: Sequence[int] | None = None, clock: Clock = Clock.START) -> Curve:
    """The reuse of a trace, at the given capacities (blocks). Refuses a trace without blocks or accesses."""
    chains, block_tokens = blocks_of(trace)
    if min(capacities or (1,)) < 1:
        raise ValueError("a cache holds at least one block")
    if chains.accesses == 0 or not trace.input.any():
        raise InputError(Problem(
            trace.name, "", "no request of this trace fills a block",
            f"a block is {block_tokens:,} tokens; use smaller blocks or longer prompts",
        ))
    groups, forward = reuses(trace), positions(trace, reverse=False)
    hits = infinite_hits(groups, len(trace))
    tokens = np.minimum(hits * block_tokens, trace.input)
    again, gaps = groups.again, groups.gaps(trace.time)
    new = np.bincount(groups.request, np.where(again, 0, groups.blocks), minlength=len(trace))
    touched, shape = accesses_per_block(chains), block_counts(trace, chains)
    span = float(trace.time[-1] - trace.time[0])
    return Curve(
        name=trace.name, block_tokens=block_tokens, requests=len(trace), duration_s=span,
        input_tokens=int(trace.input.sum()), block_accesses=chains.accesses, unique_blocks=chains.unique,
        tree_violations=shape.tree_violations,
        repeated_block_within_request=shape.repeated_block_within_request,
        infinite_cache=_infinite(trace, hits, tokens),
        reuse_distance_unique_blocks=summary(np.arange(chains.unique + 1), forward.plain),
        reuse_time_s_per_block_reuse=summary(gaps[again], groups.blocks[again]),
        reuse_time_fraction_le=_within(gaps[again], groups.blocks[again]),
        blocks_never_reused_fraction=round(float(np.mean(touched == 1)), 6),
        share_of_reuses_by_top10pct_blocks=_top_tenth(touched),
        new_blocks_per_s_mean=round(chains.unique / span, 6) if span > 0 else None,
        new_blocks_per_min=_by_minute(trace, new, digits=3, middle=True),
        hit_tokens_per_min=_by_minute(trace, tokens, digits=2, middle=False),
        mrc=_points(trace, capacities or default_capacities(chains.unique), groups, forward),
        ages_from=clock,
        requests_without_end=int(np.isnan(trace.api).sum()) if clock is Clock.END else 0,
        retention=retention(trace, clock=clock, groups=groups),
        faulty_lines=trace.faulty, faults=trace.faults, remarks=tuple(trace.header.get(REMARKS, ())),
    )


def _infinite(trace: Trace, hits: NDArray[np.int64], tokens: NDArray[np.int64]) -> InfiniteCache:
    chains, _ = blocks_of(trace)
    accesses, found, given = chains.accesses, int(tokens.sum()), int(trace.input.sum())
    return InfiniteCache(
        plain_block_hits=accesses - chains.unique,
        plain_block_hit_ratio=round(1 - chains.unique / accesses, 8),
        prefix_block_hits=int(hits.sum()),
        prefix_block_hit_ratio=round(int(hits.sum()) / accesses, 8),
        prefix_token_hits=found,
        prefix_token_hit_ratio=round(found / given, 8),
        storage_to_compute_token_ratio=round(found / (given - found), 4) if given > found else None,
        requests_with_zero_hit=int(np.sum(hits == 0)),
        per_request_token_hit_fraction=summary(
            tokens[trace.input > 0] / trace.input[trace.input > 0], trace.input[trace.input > 0] > 0
        ),
    )


def _points(
    trace: Trace, capacities: Sequence[int], groups: Reuses, forward: Positions
) -> tuple[Point, ...]:
    """The curve at each capacity."""
    chains, _ = blocks_of(trace)
    reverse, at = positions(trace, reverse=True), np.asarray(capacities, np.int64)
    return tuple(
        _point(chains, int(trace.input.sum()), *counts)
        for counts in zip(
            at.tolist(), forward.plain_misses(at).tolist(), reverse.plain_misses(at).tolist(),
            forward.prefix_misses(at).tolist(), reverse.prefix_misses(at).tolist(),
            forward.token_hits(at).tolist(), reverse.token_hits(at).tolist(),
            optimal_hits(groups, len(trace), capacities), strict=True,
        )
    )


def _point(
    chains: Chains, tokens: int, capacity: int, plain_fwd: int, plain_rev: int, prefix_fwd: int,
    prefix_rev: int, tokens_fwd: int, tokens_rev: int, optimal: int,
) -> Point:
    """One capacity: misses in blocks, tokens found, and hits of the optimal policy."""
    accesses = chains.accesses
    short, policy = accesses - chains.unique - optimal, optimal - (accesses - prefix_rev)
    larger = Missing.CAPACITY if short >= policy else Missing.POLICY

    def share(blocks: int) -> float:
        return round(blocks / accesses, 8)

    return Point(
        capacity_blocks=capacity,
        plain_fwd_miss=plain_fwd,
        plain_rev_miss=plain_rev,
        prefix_fwd_miss=prefix_fwd,
        prefix_rev_miss=prefix_rev,
        plain_fwd_miss_ratio=share(plain_fwd),
        plain_rev_miss_ratio=share(plain_rev),
        prefix_fwd_miss_ratio=share(prefix_fwd),
        prefix_rev_miss_ratio=share(prefix_rev),
        prefix_fwd_token_hit_ratio=round(tokens_fwd / tokens, 8),
        prefix_rev_token_hit_ratio=round(tokens_rev / tokens, 8),
        optimal_miss=accesses - optimal,
        optimal_miss_ratio=share(accesses - optimal),
        capacity_gap=share(short),
        policy_gap=share(policy),
        missing=larger if max(short, policy) >= ENOUGH * accesses else Missing.NOTHING,
    )


def _within(gap: NDArray[np.float64], blocks: NDArray[np.int64]) -> dict[str, float]:
    """Share of the reuses that came within so many seconds."""
    reused = int(blocks.sum())
    return {
        str(limit): round(int(blocks[gap <= limit].sum()) / reused, 6) for limit in SHORT_GAPS if reused > 0
    }


def _top_tenth(touched: NDArray[np.int64]) -> float | None:
    """Share of the reuses that the most reused tenth of the blocks has."""
    reused = np.sort(touched - 1)[::-1]
    return round(int(reused[: len(reused) // 10].sum()) / int(reused.sum()), 6) if reused.any() else None


def _by_minute(trace: Trace, amount: NDArray[np.number], digits: int, middle: bool) -> dict[str, float]:
    """Sums over the minutes of the recording, empty ones and a last partial one among them."""
    minute = ((trace.time - trace.time[0]) // MINUTE).astype(np.int64)
    sums = np.bincount(minute, amount)
    return {
        "mean": round(float(sums.mean()), digits),
        **({"p50": round(float(np.percentile(sums, 50)), digits)} if middle else {}),
        "p99": round(float(np.percentile(sums, 99)), digits),
        "peak": int(sums.max()),
    }

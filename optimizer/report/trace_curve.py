"""What the blocks of a trace say about memory, as a page and as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from optimizer.report import words
from optimizer.report.blocks import bullets, facts, section, table
from optimizer.report.traces import notes
from optimizer.traces.curve import Curve, Missing
from optimizer.traces.retention import Clock

_SHOWN = ("p5", "p25", "p50", "p75", "p95", "p99", "max")
_MEANT = {
    Missing.CAPACITY: "memory is what is missing",
    Missing.POLICY: "a better policy is what is missing",
    Missing.NOTHING: "nothing to speak of is missing",
}


def curve_json(curve: Curve) -> dict[str, Any]:
    """The same, exact, under the names of the fields of `Curve`."""
    return asdict(curve)


def curve_page(curve: Curve) -> RenderableType:
    """The miss-ratio curve with its bounds, gaps and retention."""
    blocks = words.counted(curve.unique_blocks, "block")
    head = f"{curve.block_accesses:,} accesses of {blocks} of {curve.block_tokens:,} tok"
    sizes = "Shares of the block accesses that a cache of this size finds"
    kept = section(_RETENTION[curve.ages_from], _retention(curve)) if curve.retention else None
    return Group(
        Text(f"{curve.name}: {head} in {words.span(curve.duration_s)}", style="bold"),
        section("What any cache could find", facts(_content(curve))),
        section(sizes, _points(curve), bullets(_verdict(curve))),
        section("Between two touches of a block", _gaps(curve)),
        *([kept] if kept else []),
        *notes(_remarks(curve), curve.faulty_lines, curve.faults),
    )


_RETENTION = {
    Clock.START: "Every block kept for a time after the start of the request that touched it last",
    Clock.END: "Every block kept for a time after the end of the request that touched it last",
}


def _content(curve: Curve) -> Iterable[tuple[str, str]]:
    every = curve.infinite_cache
    yield "blocks", f"{words.share(every.prefix_block_hit_ratio)} of {curve.block_accesses:,}"
    ratio = every.storage_to_compute_token_ratio
    remembered = "" if ratio is None else f", {words.number(ratio)} remembered for each computed"
    yield "tokens", f"{words.share(every.prefix_token_hit_ratio)} of {curve.input_tokens:,}{remembered}"
    yield "requests that find nothing", f"{every.requests_with_zero_hit:,} of {curve.requests:,}"
    yield "blocks never asked for again", words.share(curve.blocks_never_reused_fraction)
    if curve.share_of_reuses_by_top10pct_blocks is not None:
        share = words.share(curve.share_of_reuses_by_top10pct_blocks)
        yield "most wanted tenth of the blocks", f"{share} of the reuses"
    yield "new blocks a minute", (
        f"{words.number(curve.new_blocks_per_min['mean'])} on average, "
        f"{words.number(curve.new_blocks_per_min['peak'])} at most"
    )


def _points(curve: Curve) -> RenderableType:
    columns = (
        ">blocks", ">tokens", ">LRU", ">of tokens", ">head first", ">plain", ">plain, head first", ">optimal"
    )
    rows = (
        (
            f"{point.capacity_blocks:,}", words.scaled(point.capacity_blocks * curve.block_tokens, "tok", 3),
            words.share(1 - point.prefix_rev_miss_ratio), words.share(point.prefix_rev_token_hit_ratio),
            *(words.share(1 - miss) for miss in (
                point.prefix_fwd_miss_ratio, point.plain_rev_miss_ratio, point.plain_fwd_miss_ratio,
                point.optimal_miss_ratio,
            )),
        )
        for point in curve.mrc
    )
    return table(columns, rows)


def _verdict(curve: Curve) -> Iterable[str]:
    yield (
        "LRU: the chain is looked up first, then touched from leaf to root, as engines do; head first: "
        "touched from root to leaf; plain: each block looked up and touched in turn"
    )
    points = sorted(curve.mrc, key=lambda point: point.capacity_blocks)
    for missing, alike in groupby(points, key=lambda point: point.missing):
        among = list(alike)
        first, last = among[0], among[-1]
        sizes = f"{first.capacity_blocks:,}"
        if last is not first:
            sizes += f" to {last.capacity_blocks:,}"
        short = _range(point.capacity_gap for point in among)
        policy = _range(point.policy_gap for point in among)
        gaps = f"infinite less optimal {short}, optimal less LRU {policy}"
        yield f"{sizes} blocks: {_MEANT[missing]} ({gaps})"


def _range(values: Iterable[float]) -> str:
    found = sorted(values)
    low, high = words.share(found[0]), words.share(found[-1])
    return low if low == high else f"{low} to {high}"


def _gaps(curve: Curve) -> RenderableType:
    rows = [
        (name, *(words.number(each[key]) for key in _SHOWN))
        for name, each in (
            ("different blocks", curve.reuse_distance_unique_blocks),
            ("seconds, start to start", curve.reuse_time_s_per_block_reuse),
        )
        if each["n"]
    ]
    if not rows:
        return bullets(["no block is touched twice"])
    return table(("", *(f">{name}" for name in _SHOWN)), rows)


def _retention(curve: Curve) -> RenderableType:
    rows = (
        (
            words.span(kept.retention_s),
            words.share(kept.block_hit_ratio), words.share(kept.token_hit_ratio),
            words.number(kept.resident_blocks), words.number(kept.working_set_blocks),
        )
        for kept in curve.retention
    )
    return Group(
        table((">kept for", ">finds", ">of tokens", ">blocks held", ">from gaps alone"), rows),
        bullets([
            "blocks held: measured, on average until the last arrival; from gaps alone: rate x integral of "
            "S, what lasting traffic of this kind holds (S: share of accesses not asked for again in time)"
        ]),
    )


def _remarks(curve: Curve) -> Iterable[str]:
    yield from curve.remarks
    if curve.tree_violations:
        yield (
            f"{words.counted(curve.tree_violations, 'access', 'es')} behind another block than at first: ids "
            "that stand for no whole prefixes; only the plain readings hold, and the optimum is but a bound"
        )
    if curve.repeated_block_within_request:
        repeated = words.counted(curve.repeated_block_within_request, "access", "es")
        yield f"{repeated} of a block that the request has touched before"
    if curve.requests_without_end:
        yield (
            f"{curve.requests_without_end:,} of {curve.requests:,} requests have no recorded end: the ages "
            "of their blocks count from the start"
        )

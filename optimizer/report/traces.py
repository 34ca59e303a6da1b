"""What a trace or a token ledger says, as a page and as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from optimizer.report import words
from optimizer.report.blocks import bullets, facts, section, table
from optimizer.traces import Fault
from optimizer.traces.ledger import Denominator, Ledger
from optimizer.traces.ledger_columns import Column
from optimizer.traces.stats import BlockCounts, TraceStats

_SHOWN = ("p5", "p50", "p90", "p95", "p99", "mean", "max")
_FAULTS = 5  # faults that a page names


def stats_page(stats: TraceStats) -> RenderableType:
    """A trace before any cache is asked."""
    head = Text(f"{stats.name}: {words.counted(stats.requests, 'request')} in {words.span(stats.duration_s)}",
                style="bold")
    minute = stats.arrivals_per_min
    requests = [
        ("sessions", f"{stats.sessions:,}" if stats.sessions else "not recorded"),
        ("input", f"{stats.input_tokens:,} tok"),
        ("output", f"{stats.output_tokens:,} tok"),
        ("a minute", f"{words.number(minute['mean_over_bins'])} on average, {minute['peak']:,} at most, "
                     f"{words.number(minute['peak_to_mean'])} times the average"),
        ("digest", f"sha256 {stats.file_sha256[:12]}"),
    ]
    parts: list[RenderableType] = [head, section("Requests", facts(requests))]
    parts.append(section("Distributions", _distributions(stats)))
    if stats.blocks is not None:
        parts.append(section("Blocks", facts(_blocks(stats.blocks, stats.block_tokens))))
    parts.append(section("In service at once, if nothing waits", _in_service(stats)))
    return Group(*parts, *notes(stats.remarks, stats.faulty_lines, stats.faults))


def _distributions(stats: TraceStats) -> RenderableType:
    rows = [("input, tok", stats.input_len), ("output, tok", stats.output_len)]
    if stats.interarrival_s is not None:
        rows.append(("between arrivals, s", stats.interarrival_s))
    columns = ("", *(f">{name}" for name in _SHOWN))
    return table(columns, ((name, *(words.number(each[key]) for key in _SHOWN)) for name, each in rows))


def _blocks(blocks: BlockCounts, block_tokens: int | None) -> Iterable[tuple[str, str]]:
    full, partial = blocks.blocks_equal_floor_in_over_block, blocks.blocks_equal_ceil_in_over_block
    yield "tokens in a block", f"{block_tokens:,}"
    yield "asked for", f"{blocks.block_accesses:,}"
    yield "different ones", f"{blocks.unique_blocks:,}"
    yield "blocks of a request", f"input over block size, rounded down in {full:,}, rounded up in {partial:,}"
    if blocks.tree_violations or blocks.repeated_block_within_request:
        yield "no prefix chains", (
            f"{words.counted(blocks.tree_violations, 'access', 'es')} behind another block than at first, "
            f"{words.counted(blocks.repeated_block_within_request, 'block')} twice in a request"
        )


def _in_service(stats: TraceStats) -> RenderableType:
    rows = (("every block kept", stats.concurrency.infinite_cache), ("none kept", stats.concurrency.no_cache))
    counts = [
        (name, words.number(at.time_weighted_mean), *map(str, (at.p50, at.p95, at.p99, at.max)))
        for name, at in rows
    ]
    shown = table(("", ">mean", ">p50", ">p95", ">p99", ">max"), counts)
    return Group(shown, bullets([stats.concurrency.assumption]))


def ledger_page(ledger: Ledger, named: Denominator) -> RenderableType:
    """The sums of a ledger; its hit ratio under the denominator that was named, and under the others."""
    head = Text(f"{ledger.name}: {words.counted(ledger.rows, 'row')}", style="bold")
    sums = [
        (name, _sum(ledger, tokens, column))
        for name, tokens, column in (
            ("read from cache", ledger.read, Column.READ), ("written to cache", ledger.write, Column.WRITE),
            ("other input", ledger.input, Column.INPUT), ("output", ledger.output, Column.OUTPUT),
        )
    ]
    rows = [
        (each.value, f"{ledger.total(each):,}", _hit(ledger.hit_ratio(each)),
         _ratio(ledger.storage_to_compute(each)), "as asked" if each is named else "")
        for each in (named, *(other for other in Denominator if other is not named))
    ]
    shown = table(("reads over", ">tokens", ">hit ratio", ">reads : rest", ""), rows)
    return Group(head, section("Tokens", facts(sums)), section("Hit ratio", shown),
                 *notes(_ledger_remarks(ledger), ledger.faulty, ledger.faults))


def _hit(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2%}"


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{words.number(ratio)} : 1"


def _sum(ledger: Ledger, tokens: int, column: Column) -> str:
    """The tokens, and which column tells them."""
    if column in ledger.used:
        return f"{tokens:,} tok (column {ledger.used[column]})"
    if column is Column.INPUT:
        return f"{tokens:,} tok (column {ledger.used[Column.ALL_INPUT]}, less reads and writes)"
    return "no column tells it"


def _ledger_remarks(ledger: Ledger) -> Iterable[str]:
    if Column.WRITE not in ledger.used:
        yield "no column tells cache writes: they count as other input"
    if ledger.unused:
        yield f"columns not used: {', '.join(ledger.unused)}"


def ledger_json(ledger: Ledger, named: Denominator) -> dict[str, Any]:
    """The same, exact."""
    return {
        "name": ledger.name, "rows": ledger.rows, "cache_read_tokens": ledger.read,
        "cache_write_tokens": ledger.write, "input_tokens": ledger.input, "output_tokens": ledger.output,
        "denominator": named.value, **_shares(ledger, named),
        "beside": {other.value: _shares(ledger, other) for other in Denominator if other is not named},
        "columns": {column.value: name for column, name in ledger.used.items()},
        "columns_not_used": list(ledger.unused), "faulty_lines": ledger.faulty,
        "faults": [asdict(fault) for fault in ledger.faults],
    }


def _shares(ledger: Ledger, denominator: Denominator) -> dict[str, float | int | None]:
    return {
        "denominator_tokens": ledger.total(denominator), "hit_ratio": ledger.hit_ratio(denominator),
        "storage_to_compute_token_ratio": ledger.storage_to_compute(denominator),
    }


def notes(remarks: Iterable[str], faulty: int, faults: Sequence[Fault]) -> list[RenderableType]:
    """What reading had to assume, and the lines it left out; nothing where there is nothing to say."""
    lines = list(remarks)
    if faulty:
        named = "; ".join(f"line {fault.line}: {fault.reason}" for fault in faults[:_FAULTS])
        more = "; ..." if faulty > _FAULTS else ""
        lines.append(f"{words.counted(faulty, 'line')} left out: {named}{more}")
    return [section("Remarks", bullets(lines))] if lines else []

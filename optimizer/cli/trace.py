"""`tierplan trace`: what recorded traffic says. Each command loads the rooms it needs when it runs."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from optimizer.cli import values
from optimizer.cli.guard import guarded
from optimizer.errors import InputError, Problem

trace = typer.Typer(
    name="trace", no_args_is_help=True, rich_markup_mode=None, short_help="What recorded traffic says.",
    help="What recorded traffic says: requests and their lengths, and how a cache would meet them.",
)

File = Annotated[str, typer.Argument(metavar="FILE", help="A trace, or the name of a shipped one.")]
MaxFaulty = Annotated[
    float,
    typer.Option(
        parser=values.share, metavar="SHARE", show_default="1%", help="Refuse a file with more faulty lines."
    ),
]
BlockTokens = Annotated[
    int | None,
    typer.Option(min=1, max=2**20, metavar="TOKENS", help="In a block, where the file does not say."),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON to stdout and nothing else.")]


@trace.command(short_help="Arrivals, lengths, sessions, blocks, concurrency; or the sums of a token ledger.")
def stats(
    file: File,
    denominator: Annotated[
        str | None,
        typer.Option(
            metavar="TOKENS",
            help="Of a ledger's hit ratio: read+input, read+write+input or read+write+input+output.",
        ),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="MEANING",
            help="What a ledger's column called input counts: all, or the rest beside reads and writes.",
        ),
    ] = None,
    max_faulty: MaxFaulty = 0.01,
    block_tokens: BlockTokens = None,
    as_json: Json = False,
) -> None:
    """What a trace says before any cache is asked; of a token ledger, its sums and its hit ratio."""
    with guarded():
        from optimizer.report import traces as room
        from optimizer.report.console import show
        from optimizer.traces import read_trace
        from optimizer.traces.ledger import denominator_named, is_ledger, read_ledger
        from optimizer.traces.ledger_columns import meaning_named
        from optimizer.traces.stats import stats_json, trace_stats

        if is_ledger(file):
            named = denominator_named(denominator)
            ledger = read_ledger(file, meaning=meaning_named(column), max_faulty=max_faulty)
            data, page = room.ledger_json(ledger, named), room.ledger_page(ledger, named)
        elif denominator is not None or column is not None:
            option = "--input" if denominator is None else "--denominator"
            raise InputError(Problem(option, "", f"{file} is no token ledger", "leave it out"))
        else:
            found = trace_stats(read_trace(file, max_faulty=max_faulty, block_tokens=block_tokens), file)
            data, page = stats_json(found), room.stats_page(found)
        if as_json:
            typer.echo(json.dumps(data, indent=2))
        else:
            show(page, sys.stdout)


@trace.command(short_help="Miss-ratio curves, the optimal policy, reuse gaps and retention.")
def curve(
    file: File,
    capacity_blocks: Annotated[
        values.Capacities | None,
        typer.Option(
            parser=values.capacities, metavar="BLOCKS", show_default="20 up to all blocks of the trace",
            help="Sizes of the cache, in blocks of the trace, as in 1000,4000.",
        ),
    ] = None,
    from_end: Annotated[
        bool,
        typer.Option("--from-end", help="Retention counts from the end of a request, not from its start."),
    ] = False,
    max_faulty: MaxFaulty = 0.01,
    as_json: Json = False,
) -> None:
    """What LRU caches of any size find, what any policy could at best, and when blocks return."""
    with guarded():
        from optimizer.report import trace_curve as room
        from optimizer.report.console import show
        from optimizer.traces import read_trace
        from optimizer.traces.curve import curve as curve_of
        from optimizer.traces.retention import Clock

        found = curve_of(
            read_trace(file, max_faulty=max_faulty), capacity_blocks.blocks if capacity_blocks else None,
            Clock.END if from_end else Clock.START,
        )
        if as_json:
            typer.echo(json.dumps(room.curve_json(found), indent=2))
        else:
            show(room.curve_page(found), sys.stdout)


@trace.command(short_help="A traffic class for a workload file.")
def classes(
    file: File,
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Id of the model; `tierplan models` prints them.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            parser=values.class_name, metavar="NAME", show_default="the file's", help="Of the class."
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            parser=values.rate, metavar="RATE", show_default="the trace's busiest minutes",
            help='Of the forecast at its peak, such as "20 req/s".',
        ),
    ] = None,
    buckets: Annotated[
        int, typer.Option(min=1, max=12, metavar="N", help="Lengths of stored contexts, at most.")
    ] = 3,
    max_faulty: MaxFaulty = 0.01,
    as_json: Json = False,
) -> None:
    """What a trace tells of a traffic class, as a block that is pasted into a workload file."""
    with guarded():
        from optimizer.catalog import load_catalog
        from optimizer.report import class_block as room
        from optimizer.traces import read_trace
        from optimizer.traces.classes import derive
        from optimizer.traces.stats import sha256

        if model is not None:
            load_catalog().model(model)  # a misspelt one is told here, and not when the block is read
        derived, content = derive(read_trace(file, max_faulty=max_faulty), buckets), sha256(file)
        if as_json:
            typer.echo(json.dumps(room.class_json(derived, content), indent=2))
        else:
            typer.echo(
                room.class_block(derived, content, name or room.class_name(derived), model, rate), nl=False
            )

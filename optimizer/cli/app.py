"""The commands of `tierplan`. Each loads the rooms it needs when it runs, so that --help is instant."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import optimizer
from optimizer.cli import values
from optimizer.cli.exit_codes import ExitCode, of_replay, of_result
from optimizer.cli.guard import answering_for, complain, guarded, placed, warn
from optimizer.cli.interrupt import Interrupt
from optimizer.cli.progress import Progress
from optimizer.cli.trace import trace

if TYPE_CHECKING:
    from optimizer.catalog import Catalog
    from optimizer.workload import Loaded

main = typer.Typer(
    name="tierplan", add_completion=False, no_args_is_help=True, rich_markup_mode=None,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
    help="The cheapest layout of an LLM facility: what to buy, which compression, where contexts live.",
)

File = Annotated[str, typer.Argument(metavar="FILE", help="A workload file, or the name of a shipped one.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change the workload, e.g. prices.dram=x3; repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON to stdout and nothing else.")]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"tierplan {optimizer.__version__}")
        raise typer.Exit


@main.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


@main.command(short_help="Find the cheapest layout, and say why.")
def solve(
    file: File,
    sets: Sets = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write DIR/result.json, all of it or nothing.")
    ] = None,
    gap: Annotated[
        float, typer.Option(parser=values.gap, metavar="SHARE", help="Stop within this share of the bound.")
    ] = 0.01,
    time_limit: Annotated[
        float, typer.Option(parser=values.seconds, metavar="TIME", show_default="60 s", help="Stop after it.")
    ] = 60.0,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, metavar="N", help="Of random choices.")] = 0,
    simulate: Annotated[
        bool, typer.Option("--simulate/--no-simulate", help="Replay requests through the layout.")
    ] = True,
    compare: Annotated[
        bool, typer.Option("--compare/--no-compare", help="Answer other questions beside the layout.")
    ] = True,
    compare_time: Annotated[
        float | None,
        typer.Option(
            parser=values.seconds, metavar="TIME", show_default="as --time-limit", help="For all of them."
        ),
    ] = None,
    solver_options: Annotated[
        list[str] | None,
        typer.Option(
            "--solver-option", parser=values.solver_option, metavar="NAME=VALUE",
            help="Set an option of HiGHS by its own name; repeatable.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Build the model and tell its sizes and ranges; no solve.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find the layout of least total cost, check it exactly, replay requests through it, and say why."""
    if dry_run and out is not None:
        raise typer.BadParameter("a dry run has no result to write", param_hint="'--out'")
    with guarded():
        loaded, catalog = _read(file, sets)
        from optimizer.design import plan
        from optimizer.report.console import page, show
        from optimizer.report.files import as_json as text_of
        from optimizer.report.files import prepare, write_result
        from optimizer.solver import SolveOptions

        own: dict[str, Any] = dict(solver_options or [])  # type: ignore[arg-type]  # pairs, by the parser
        options = SolveOptions(gap=gap, time_limit=time_limit, seed=seed, highs_options=own)
        if dry_run:
            _measure(loaded, catalog, as_json)
            return
        if out is not None:
            prepare(out)
        with (
            placed(loaded), answering_for(own), Interrupt() as interrupt, Progress(quiet=as_json) as progress
        ):
            result = plan(
                loaded, catalog, options, simulate=simulate, compare=compare, compare_seconds=compare_time,
                progress=progress, interrupt=interrupt,
            )
        warn(result.warnings)
        try:
            if out is not None:
                complain(f"written: {write_result(result, out)}")
        finally:
            if as_json:
                typer.echo(text_of(result), nl=False)
            else:
                show(page(result), sys.stdout)
        raise typer.Exit(of_result(result))


def _read(file: str, sets: list[str] | None) -> tuple[Loaded, Catalog]:
    """The question, with its names checked: what is wrong with a file is told before a solver is loaded."""
    from optimizer.catalog import load_catalog
    from optimizer.instance.checks import names
    from optimizer.workload import load_workload

    loaded, catalog = load_workload(file, sets or []), load_catalog()
    with placed(loaded):
        names(loaded.workload, catalog)
    return loaded, catalog


def _measure(loaded: Loaded, catalog: Catalog, as_json: bool) -> None:
    """A dry run."""
    from optimizer.design.sizing import dry_run
    from optimizer.report.console import show
    from optimizer.report.sizing import dry_run_page

    with placed(loaded):
        model = dry_run(loaded, catalog)
    warn(model.warnings)
    if as_json:
        typer.echo(model.model_dump_json(by_alias=True, indent=2))
    else:
        show(dry_run_page(model), sys.stdout)


@main.command(short_help="Check a workload without solving it.")
def validate(file: File, sets: Sets = None) -> None:
    """Check a workload without solving it: schema, names, and whether any allowed hardware can serve it."""
    with guarded():
        loaded, catalog = _read(file, sets)
        from optimizer.design.sizing import dry_run
        from optimizer.report.console import show
        from optimizer.report.validation import summary

        with placed(loaded):
            model = dry_run(loaded, catalog)
        warn(model.warnings)
        show(summary(loaded, model.size), sys.stdout)


@main.command(short_help="Begin a workload file from a shipped one.")
def init(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Of the workload. NAME.yaml is written, over no file.")
    ] = "workload",
    preset: Annotated[
        str, typer.Option(metavar="PRESET", help="What to begin from; `list` prints what there is.")
    ] = "small",
) -> None:
    """Write a commented workload file to begin with. `tierplan init --preset list` shows what there is."""
    with guarded():
        from optimizer.report.console import show
        from optimizer.report.validation import preset_table
        from optimizer.workload.presets import presets, write_starter

        if preset == "list":
            show(preset_table(presets()), sys.stdout)
        else:
            complain(f"written: {write_starter(name, preset)}")


@main.command(short_help="The JSON Schema of a workload file, for editors.")
def schema() -> None:
    """The JSON Schema (draft 2020-12) of a workload file: with it an editor checks while you type."""
    with guarded():
        from optimizer.catalog import load_catalog
        from optimizer.report.editors import workload_schema

        typer.echo(workload_schema(load_catalog()), nl=False)


@main.command(short_help="What models hold, read and compute.")
def models(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One model; without it, all.")] = None,
    context: Annotated[
        float,
        typer.Option(
            parser=values.tokens, metavar="TOKENS", show_default="128 Kitok",
            help='Length of the context: "128 Kitok", "100 ktok" or a whole number.',
        ),
    ] = 131072.0,
    option: Annotated[str | None, typer.Option(metavar="OPTION", help="Only this option.")] = None,
    as_json: Json = False,
) -> None:
    """What each option (compression) of a model holds, reads, writes and computes."""
    with guarded():
        from optimizer.catalog import load_catalog
        from optimizer.report.console import show
        from optimizer.report.llms import all_facts, model_page, models_json, models_table

        catalog = load_catalog()
        found, remarks = all_facts(catalog, context, name, option)
        for remark in remarks:
            complain(remark)
        if as_json:
            typer.echo(json.dumps(models_json(found), indent=2))
        else:
            show(model_page(catalog.model(name), found) if name else models_table(found), sys.stdout)


@main.command(short_help="What can be bought, and its price.")
def devices(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One device; without it, all.")] = None,
    as_json: Json = False,
) -> None:
    """What can be bought, at which price, from which source."""
    with guarded():
        from optimizer.catalog import load_catalog
        from optimizer.report import devices as room
        from optimizer.report.console import show

        catalog = load_catalog()
        if name is None:
            offers = room.offers(catalog)
            if as_json:
                typer.echo(json.dumps(room.devices_json(offers), indent=2))
            else:
                show(room.devices_table(offers), sys.stdout)
            return
        kind, card = room.device(catalog, name)
        stated = room.statements(catalog, card)
        if as_json:
            typer.echo(json.dumps(room.devices_json(stated), indent=2))
        else:
            show(room.device_page(kind, name, stated), sys.stdout)


@main.command(short_help="Replay requests through a result's layout.")
def simulate(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="A result.json, or the folder with it.")],
    traces: Annotated[
        list[str] | None,
        typer.Option(
            "--trace", metavar="[CLASS=]FILE",
            help="Recorded requests in place of drawn ones, at the class's rate; repeatable.",
        ),
    ] = None,
    requests: Annotated[
        int | None,
        typer.Option(min=100, max=100_000_000, metavar="N", show_default="as many as it takes",
                     help="About so many requests."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, metavar="N", help="Of what is drawn.")] = 0,
    fail: Annotated[
        str | None,
        typer.Option(metavar="SERVER@TIME", help='A server that fails, such as "HGX-B300-8@600 s".'),
    ] = None,
    as_json: Json = False,
) -> None:
    """Replay requests through the layout of a result: predicted beside seen, and the verdict."""
    with guarded():
        from optimizer.catalog import load_catalog
        from optimizer.design.simulate import Recorded, simulated
        from optimizer.report.console import show
        from optimizer.report.files import read_result
        from optimizer.report.simulated import simulated_page

        asked = read_result(result)
        named = [Recorded(*values.of_class(text)) for text in traces or []]
        found = simulated(
            asked, load_catalog(), str(result), traces=named, requests=requests, seed=seed, outage=fail
        )
        if as_json:
            typer.echo(found.model_dump_json(by_alias=True, indent=2))
        else:
            show(simulated_page(found), sys.stdout)
        raise typer.Exit(of_replay(found.replay))


@main.command(short_help="Why a result is as it is.")
def explain(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="A result.json, or the folder with it.")],
) -> None:
    """Why a result is as it is: every limit with its price, the costs, the assumptions."""
    with guarded():
        from optimizer.report.console import reasons, show
        from optimizer.report.files import read_result

        show(reasons(read_result(result)), sys.stdout)


main.add_typer(trace)

__all__ = ["ExitCode", "main"]

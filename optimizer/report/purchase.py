"""What to buy, and how the models run on it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from optimizer.design.result import CxlPool, LayoutOut, PoolOut, Result, Servers
from optimizer.report import words
from optimizer.report.blocks import section, table
from optimizer.report.verdict import gathered, role
from optimizer.units import format_bytes

Row = tuple[str, str, str, str]


def purchases(result: Result, layout: LayoutOut) -> RenderableType:
    """The bill of materials; a machine's cost is with everything in it, over the horizon."""
    cost = f">over {words.horizon(result.horizon_s)}"
    rows = [row for server in layout.servers for row in _server(server)]
    rows += [row for pool in layout.cxl for row in _cxl(pool)]
    owned = ((name, used) for name, used in layout.owned_used.items() if used)
    rows += [(f"{used:,}", f"{name}, owned", "used instead of bought", "") for name, used in owned]
    return section("What to buy", table((">count", "what", "<of which", cost), rows))


def _server(row: Servers) -> Iterator[Row]:
    each = row.accelerators // row.count if row.count else 0
    what = [f"{each} {row.accelerator} each"] if row.accelerator else []
    if row.dimms == "fixed" and row.dram_bytes:
        what.append(f"{format_bytes(row.dram_bytes)} of memory each")
    if row.spare:
        what.append(f"{row.spare:,} spare")
    yield f"{row.count:,}", row.server, ", ".join(what), words.usd(row.usd)
    modules, times, dimm = row.dimms.partition(" x ")
    if times and modules.isdigit():
        per_server = f"{modules} a server, {format_bytes(row.dram_bytes)} each server"
        yield f"{int(modules) * row.count:,}", f"  {dimm}", per_server, ""
    if row.drives:
        total = format_bytes(row.nvme_bytes * row.count)
        yield f"{row.drives * row.count:,}", f"  {row.drive}", f"{row.drives} a server, {total} in all", ""


def _cxl(row: CxlPool) -> Iterator[Row]:
    yield f"{row.enclosures:,}", row.enclosure, "CXL pool", words.usd(row.usd)
    yield f"{row.modules:,}", f"  {row.module}", f"{format_bytes(row.bytes)} in all", ""
    hosts = ", ".join(f"{count:,} {name}" for name, count in row.hosts.items())
    yield f"{row.adapters:,}", "  adapters", f"in {hosts}" if hosts else "", ""


def models(layout: LayoutOut) -> RenderableType:
    """Per model: the option (compression) and its pools."""
    parts: list[RenderableType] = []
    for model, pools in gathered(layout.pools).items():
        if parts:
            parts.append(Text(""))
        parts += [Text(f"{model}, option {_option(layout, model)}"), _pools(pools)]
    return section("How the models run (busy: prefill instances at work; running: sequences being decoded)",
                   Group(*parts))


def _option(layout: LayoutOut, model: str) -> str:
    return layout.options.get(model, "unknown")


def _pools(pools: list[PoolOut]) -> RenderableType:
    columns = ("role", "on", ">count x GPUs", ">iteration", ">busy", ">running", ">running KV")
    return table(columns, (
        (
            role(p), p.server, f"{p.instances:,} x {p.gpus_per_instance}",
            f"{p.iteration_ms:,.4g} ms" if p.iteration_ms else "-",
            f"{p.prefill_busy:,.1f} of {p.instances:,}" if p.role != "decode" else "-",
            f"{p.sequences:,.0f}" if p.role != "prefill" else "-",
            words.size(p.running_bytes) if p.role != "prefill" else "-",
        )
        for p in pools
    ), widths=(14, 20, 12, 9, 10, 7, 10))

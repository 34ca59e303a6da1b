"""Why this layout: the limits that decide, what it costs and by what, tokens, remarks, assumptions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from optimizer.design.result import AssumptionOut, Binding, Result
from optimizer.report import words
from optimizer.report.blocks import bullets, facts, section, table

SHOWN = 12
DOUBTED = 6
_NUMBER = r"([-+]?[\d.]+(?:e[-+]?\d+)?)"
_STATED = re.compile(rf"{_NUMBER} ([A-Za-z][A-Za-z/ -]*?)(?: \({_NUMBER} to {_NUMBER}\))?")


def why(result: Result, shown: int | None = SHOWN) -> RenderableType:
    """The binding limits, most money at stake first; `shown` None for all of them."""
    ranked = sorted(result.binding, key=at_stake, reverse=True)
    kept = ranked[:shown]
    lines = [pair for place, b in enumerate(kept, 1) for pair in _limit(place, b)]
    if not ranked:
        lines = [("-", "no limit has a price: one more unit of nothing saves a dollar")]
    if len(ranked) > len(kept):
        more = words.counted(len(ranked) - len(kept), "smaller limit")
        lines.append(("", f"and {more}: see tierplan explain"))
    title = "Why: the limits it stands at (what one more unit saves: long run, counts may follow; local)"
    return section(title, facts(lines))


def at_stake(limit: Binding) -> float:
    """Dollars that hang on a limit: its long-run price times the amount at which it stands."""
    return abs(limit.long_run_price_usd) * max(abs(limit.have), abs(limit.need))


def _limit(place: int, b: Binding) -> Iterator[tuple[str, str]]:
    effect = "saves" if b.long_run_price_usd >= 0 else "costs"
    now = f"; as bought {words.usd(b.price_usd)}" if abs(b.price_usd) >= 0.01 else ""
    stake = words.usd(at_stake(b))
    amounts = f"have {words.number(b.have)}, need {words.number(b.need)} {b.unit}"
    yield f"{place}", f"{b.price_means}: {effect} {words.usd(abs(b.long_run_price_usd))}{now}; {amounts}"
    yield "", f"{b.row} ({stake} at stake)"


def costs(result: Result) -> RenderableType:
    """Every component over the horizon and a month, and its part of the total."""
    total = sum(c.usd for c in result.costs)
    months = sum(c.usd_per_month for c in result.costs)
    rows = [
        (c.component, words.usd(c.usd), words.usd(c.usd_per_month), f"{c.usd / total:.1%}" if total else "-")
        for c in result.costs
    ]
    rows.append(("total", words.usd(total), words.usd(months), "100.0%"))
    columns = ("component", f">over {words.horizon(result.horizon_s)}", ">a month", ">share")
    return section("What it costs (discounted, before tax)", table(columns, rows))


def tokens(result: Result) -> RenderableType:
    """Dollars per million tokens of each kind, the millions, and the rule that allocates."""
    columns = (
        "class", ">cached $/Mtok", ">missed $/Mtok", ">output $/Mtok", ">cached Mtok", ">missed Mtok",
        ">output Mtok",
    )
    rows = [
        (
            t.cls, *(words.per_million(v) for v in (t.cached, t.missed, t.output)),
            *(f"{v:,.0f}" for v in (t.cached_mtok, t.missed_mtok, t.output_mtok)),
        )
        for t in result.per_million_tokens
    ]
    rule = Text(f"Rule: {result.allocation_rule}", style="dim")
    return section("What a million tokens cost", table(columns, rows), rule)


def remarks(result: Result) -> RenderableType | None:
    """Warnings first, then notes."""
    lines = [f"warning: {text}" for text in result.warnings] + list(result.notes)
    return section("Remarks", bullets(lines)) if lines else None


def assumptions(result: Result, shown: int | None = DOUBTED) -> RenderableType | None:
    """How many numbers were assumed, and those to doubt first; `shown` None for all of them."""
    if not result.assumptions:
        return None
    ranked = sorted(result.assumptions, key=lambda a: doubt(result, a), reverse=True) if shown else None
    kept = ranked[:shown] if ranked is not None else list(result.assumptions)
    estimated = sum(a.basis == "estimated" for a in result.assumptions)
    title = f"Assumptions: {len(result.assumptions):,} numbers, {estimated:,} of them estimates"
    if len(kept) < len(result.assumptions):
        title += f"; the {len(kept)} to doubt first (all are in result.json)"
    return section(title, facts((a.name, _assumed(a)) for a in kept))


def _assumed(a: AssumptionOut) -> str:
    said = "" if a.value and a.value in a.source else f"{stated(a.value)}; "
    return f"{said}{a.basis}, {a.source}"


def doubt(result: Result, assumption: AssumptionOut) -> tuple[bool, bool, float]:
    """Order of doubt: touches what is bought or run, is an estimate, and how wide its range is."""
    return _touches(result, assumption.name), assumption.basis == "estimated", _width(assumption.value)


def _touches(result: Result, name: str) -> bool:
    layout = result.layout
    if layout is None:
        return True
    if any(part in f".{name}." for part in (".rent.", ".tco.", ".all_in_power.", ".module_price.")):
        return False  # of contracts; a purchase goes by the server's price
    if ".options." in name:
        model, _, rest = name.partition(".options.")
        return rest.split(".", 1)[0] == layout.options.get(model)
    parts = {row.server for row in layout.servers} | {row.accelerator for row in layout.servers}
    return any(name.startswith(f"{part}.") for part in (*parts, *layout.options, "facility") if part)


def _width(value: str) -> float:
    """High over low of a stated range; 1 without one."""
    found = _STATED.fullmatch(value)
    if not found or found[3] is None:
        return 1.0
    low, high = float(found[3]), float(found[4])
    return high / low if low > 0 else 1.0


def stated(value: str) -> str:
    """An assumption's value in the units people quote, its range with it."""
    found = _STATED.fullmatch(value)
    if not found:
        return value
    text = words.si(float(found[1]), found[2])
    if found[3] is None or found[3] == found[4]:
        return text
    return f"{text} ({words.si(float(found[3]), found[2])} to {words.si(float(found[4]), found[2])})"

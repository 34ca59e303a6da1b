"""What stands beside the layout: other questions, a rent and an API bill, in one short block."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from optimizer.design.comparisons.result import ApiBill, Comparisons, Machines, Neighbour, Rent
from optimizer.design.result import Result
from optimizer.report import words
from optimizer.report.blocks import bullets, section, table

NOTHING = 1.0  # USD: less between two costs is rounding
_NAMES = {
    "baseline": "usual machines, no tiers", "low performance": "performance at the low end",
    "high performance": "performance at the high end", "without dram": "without more DRAM",
}
_WITHOUT = {"not_offered": "not on offer", "same": "not bought: the same layout without"}
_ENDED = {"interrupted": "interrupted", "rejected": "rejected by the exact check", "infeasible": "infeasible"}
_CHEAPER = "cheaper than the answer, within its gap: ask for a smaller --gap"


def beside(result: Result) -> RenderableType | None:
    """The short block; nothing where no comparison was made."""
    if (found := result.comparisons) is None:
        return None
    return section(_title(found), *_tables(result, found), Text(""), bullets(_remarks(found)))


def beside_in_full(result: Result) -> RenderableType | None:
    """The block with what was bought in each, the performance factors and the rules."""
    if (found := result.comparisons) is None:
        return None
    lines = [*_remarks(found), *_layouts(found), *_factors(found)]
    rules = f"Rent: {found.rent.rule} Bill: {found.api_bill.rule}"
    return section(_title(found), *_tables(result, found), Text(""), bullets(lines), Text(rules, style="dim"))


def name(question: Neighbour) -> str:
    """A question as it is written on a page: `without NVMe`."""
    first, _, tier = question.change.partition(" ")
    return _NAMES.get(question.change) or (f"without {words.tier(tier)}" if first == "without" else first)


def between(question: Neighbour) -> str:
    """How far the least cost lies from the answer's, as far as it is known."""
    low, high = question.least_extra_usd, question.most_extra_usd
    if low is None:
        return "" if high is None else f"at most {words.usd(high)} more"
    if high is None:
        return f"at least {words.usd(low)} more" if low > 0 else "not known"
    if low <= 0 <= high:
        if high - low < NOTHING:
            return "the same cost"
        return f"within the gaps ({words.usd(low)} to {words.usd(high)})"
    if high < 0:
        return _span(-high, -low, "less")
    return _span(low, high, "more")


def _span(low: float, high: float, which: str) -> str:
    first, last = words.usd(low), words.usd(high)
    return f"{first} {which}" if first == last else f"{first} to {last} {which}"


def _title(found: Comparisons) -> str:
    spent, budget = f"{found.seconds:,.0f} s", f"{found.budget_s:,.0f} s"
    return f"Beside it (searched for {spent} of {budget}; docs/comparisons.md says how)"


def _tables(result: Result, found: Comparisons) -> Iterator[RenderableType]:
    over = words.horizon(result.horizon_s)
    shown = [q for q in _questions(found) if q.status not in _WITHOUT]
    yield table(("question", f">over {over}", ">gap", "<than this layout"), [
        ("as asked: this layout", _usd(result.objective_usd), _gap(result.gap), ""),
        *((name(q), _usd(q.objective_usd), _gap(q.gap), _outcome(q)) for q in shown),
    ])
    if found.rent.lines:
        yield Text("")
        yield _rent(found.rent, over)
    if found.api_bill.classes:
        yield Text("")
        yield _bill(found.api_bill, over)


def _questions(found: Comparisons) -> list[Neighbour]:
    return [found.baseline, *found.without, found.error_band.low, found.error_band.high]


def _outcome(question: Neighbour) -> str:
    ended = "; ".join(part for part in (_ENDED.get(question.status), *question.reasons[:1]) if part)
    said = between(question)
    if question.objective_usd is None:
        return f"{ended} ({said})" if said and said != "not known" else ended
    return said


def _rent(rent: Rent, over: str) -> RenderableType:
    columns = (f"rented over {over}", ">low quote", ">base", ">high", ">these servers")
    return table(columns, (
        (
            f"{line.accelerators:,} {line.accelerator}",
            *map(words.usd, (line.low_usd, line.base_usd, line.high_usd, line.layout_usd)),
        )
        for line in rent.lines
    ))


def _bill(bill: ApiBill, over: str) -> RenderableType:
    rows = [
        (
            c.cls if first else "", f"{c.model}, {plan.plan}" if plan.plan != c.model else c.model,
            words.usd(plan.usd), words.usd(c.layout_usd) if first else "", _times(plan.usd, c.layout_usd),
        )
        for c in bill.classes
        for first, plan in ((k == 0, plan) for k, plan in enumerate(c.plans))
    ]
    return table(("the same tokens", "from an API", f">over {over}", ">this layout", ">times"), rows)


def _remarks(found: Comparisons) -> Iterator[str]:
    alike: dict[str, list[str]] = defaultdict(list)
    for question in found.without:
        if question.status in _WITHOUT:
            alike[question.status].append(name(question).removeprefix("without "))
    for status, tiers in alike.items():
        yield f"{', '.join(tiers)}: {_WITHOUT[status]}"
    if found.baseline.status == "same":
        yield "the usual machines, no tiers and default options: this is that layout"
    for question in _questions(found):
        if question.change != "baseline" and not question.change.startswith("without"):
            continue
        if question.extra_usd is not None and question.extra_usd < 0:
            yield f"{name(question)}: {_CHEAPER}"
    yield from (f"usual machines: {note}" for note in found.baseline.notes)
    bands = ", ".join(f"{part} {band:.0%}" for part, band in found.error_band.bands.items())
    yield f"performance: every factor of every accelerator at the same end of its band ({bands})"
    for part in found.rent.without_quote:
        yield f"{part}: no rent is quoted"
    for model in found.api_bill.without_price:
        yield f"{model}: no API price is known"


def _layouts(found: Comparisons) -> Iterator[str]:
    for question in _questions(found):
        if question.machines and question.status != "same":
            options = ", ".join(f"{model} {option}" for model, option in question.options.items())
            yield f"{name(question)}: {bought(question.machines)}; {options}"
        yield from (f"{name(question)}: {reason}" for reason in question.reasons[1:])
        if question is not found.baseline:
            yield from (f"{name(question)}: {note}" for note in question.notes)


def bought(machines: Sequence[Machines]) -> str:
    """`8 HGX-B300-8 of 2.05 TB, 1 XC50256-POOL`."""
    sizes = (f" of {words.size(m.dram_bytes)}" if m.dram_bytes else "" for m in machines)
    return ", ".join(f"{m.count:,} {m.name}{size}" for m, size in zip(machines, sizes, strict=True))


def _factors(found: Comparisons) -> Iterator[str]:
    for factor in found.error_band.factors:
        low, base, high = (words.si(v, factor.unit) for v in (factor.low, factor.base, factor.high))
        yield f"{factor.accelerator} {factor.factor}: {base}; {low} at the low end, {high} at the high end"


def _usd(value: float | None) -> str:
    return "-" if value is None else words.usd(value)


def _gap(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"


def _times(bill: float, ours: float) -> str:
    return f"{bill / ours:,.2f}" if ours > 0 else "-"

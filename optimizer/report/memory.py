"""The memory tiers, where contexts live in them as they age, and how requests meet them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.console import Group, RenderableType
from rich.text import Text

from optimizer.design.result import Flow, LayoutOut, Placement, Result
from optimizer.report import words
from optimizer.report.blocks import bullets, section, table
from optimizer.units import format_bytes

VISIBLE = 0.0005  # shares below it are what a solver leaves behind
AGES_A_LINE = 6
_TIERS = list(words.TIERS)


def tiers(result: Result, layout: LayoutOut) -> RenderableType:
    """What is installed, what of it can be used and is, and the peak traffic."""
    columns = ("tier", ">installed", ">usable", ">used", ">margin", ">read GB/s", ">write GB/s")
    here = {name: t for name, t in layout.tiers.items() if t.installed_bytes > 0}
    rows = [
        (
            words.tier(name), _both(t.installed_bytes), _both(t.usable_bytes), _both(t.used_bytes),
            _both(t.margin_bytes), f"{t.read_bytes_s / 1e9:,.1f}", f"{t.write_bytes_s / 1e9:,.1f}",
        )
        for name, t in here.items()
    ]
    remarks = ["HBM: what weights and reserves leave for KV; its traffic is decoding and is not listed"]
    if absent := [words.tier(name) for name in layout.tiers if name not in here]:
        remarks.append(f"not installed: {', '.join(absent)}")
    lower = {name: t for name, t in here.items() if name != "hbm"}
    if empty := [words.tier(name) for name, t in lower.items() if not t.used_bytes > 0]:
        remarks.append(f"installed and holding nothing: {', '.join(empty)}")
    if not any(t.used_bytes > 0 for t in lower.values()):
        remarks.append(_nothing_below(result))
    return section("Memory tiers (mean use and the margin for its fluctuation; peak traffic)",
                   table(columns, rows), bullets(remarks))


def _both(value: float) -> str:
    """Decimal and binary on two lines, so that four of them stand side by side."""
    return format_bytes(value).replace(" (", "\n(") if value else "-"


def _nothing_below(result: Result) -> str:
    said = next((note for note in result.notes if "below HBM" in note), "")
    return said or "no memory below HBM is used: contexts stay in HBM or are computed again"


def contexts(layout: LayoutOut) -> RenderableType:
    """Per class and length: the share served from each tier, by age."""
    classes = list(dict.fromkeys([*(p.cls for p in layout.placement), *(f.cls for f in layout.flows)]))
    parts: list[RenderableType] = []
    for cls in classes:
        mine = [p for p in layout.placement if p.cls == cls and p.share >= VISIBLE]
        if parts:
            parts.append(Text(""))
        parts.append(Text(cls if mine else f"{cls}: nothing is kept; every return is computed again"))
        parts += _blocks(mine)
    title = "Where contexts live as they age (share of contexts served from a tier; the rest is not kept)"
    return section(title, Group(*parts))


def _blocks(placed: list[Placement]) -> Iterator[RenderableType]:
    """One table of a class; ages at which nothing changes share a column."""
    edges = sorted({edge for p in placed for edge in (p.age_from_s, p.age_to_s)})
    shares = _shares(placed)
    cells = {key: [_at(key, shares, age) for age in pairwise(edges)] for key in shares}
    columns: list[int] = []
    for i in range(len(edges) - 1):
        if columns and all(row[i] == row[columns[-1]] for row in cells.values()):
            columns[-1] = i
        else:
            columns.append(i)
    for first in range(0, len(columns), AGES_A_LINE):
        shown = columns[first : first + AGES_A_LINE]
        ages = [words.span(edges[i + 1]) for i in shown]
        headings = ("context", "served from", f">until {ages[0]}", *(f">{age}" for age in ages[1:]))
        yield table(headings, _rows(cells, shown), widths=(11, 24))


Key = tuple[float, str]


def _shares(placed: list[Placement]) -> dict[Key, list[Placement]]:
    """The placements of each length and place, lengths in order and places from fast to slow."""
    found: dict[Key, list[Placement]] = defaultdict(list)
    for p in sorted(placed, key=lambda p: (p.context_tokens, _rank(p.tier), _rank(p.home), p.location)):
        found[p.context_tokens, _place(p)].append(p)
    return dict(found)


def _rank(tier: str) -> int:
    return _TIERS.index(tier) if tier in _TIERS else len(_TIERS)


def _place(p: Placement) -> str:
    """`DRAM`, `storage, lossless-ans`, `HBM, copy in DRAM`."""
    coded = words.codec(p.location)
    text = words.tier(p.tier) + (f", {coded}" if coded else "")
    return text if p.home == p.tier else f"{text}, copy in {words.tier(p.home)}"


def _at(key: Key, shares: dict[Key, list[Placement]], age: tuple[float, float]) -> str:
    total = sum(p.share for p in shares[key] if p.age_from_s <= age[0] and age[1] <= p.age_to_s)
    return words.share(total) if total >= VISIBLE else ""


def _rows(cells: dict[Key, list[str]], shown: Sequence[int]) -> Iterator[tuple[str, ...]]:
    before = None
    for (tokens, place), row in cells.items():
        label = f"{words.number(tokens)} tok" if tokens != before else ""
        before = tokens
        yield label, place, *(row[i] for i in shown)


def requests(result: Result, layout: LayoutOut) -> RenderableType:
    """Per class: the share of requests that hit each tier, miss, or come for the first time; and in time."""
    hit = sorted({f.tier for f in layout.flows if f.case == "hit" and f.rate > 0}, key=_rank)
    columns = (
        "class", ">req/s", *(f">hit {words.tier(t)}" for t in hit), ">miss", ">first", ">in time",
        ">required",
    )
    return section(
        "How requests meet the cache (at the peak; in time: at least this share)",
        table(columns, _requests(result, layout, hit)),
        bullets(["miss: a return whose context is no longer held; first: a request with no earlier context"]),
    )


def _requests(result: Result, layout: LayoutOut, hit: list[str]) -> Iterator[tuple[str, ...]]:
    flows: dict[str, list[Flow]] = defaultdict(list)
    for flow in layout.flows:
        flows[flow.cls].append(flow)
    for cls, mine in flows.items():
        total = sum(f.rate for f in mine)
        if not total:
            continue
        yield (
            cls, words.rate(total), *(words.share(_rate(mine, "hit", t) / total) for t in hit),
            words.share(_rate(mine, "miss") / total), words.share(_rate(mine, "first") / total),
            words.share(sum(f.in_time for f in mine) / total), _required(result, cls),
        )


def _rate(flows: list[Flow], case: str, tier: str | None = None) -> float:
    return sum(f.rate for f in flows if f.case == case and tier in (None, f.tier))


def _required(result: Result, cls: str) -> str:
    """The share that must be in time."""
    return next((words.share(c.attainment) for c in result.classes if c.cls == cls), "-")

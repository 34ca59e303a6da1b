"""A replay by itself, in full: what requests found, how long they took, what was used, where they waited."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from optimizer.design.replay import ClassSeen, Percentiles, ReplayOut, ResourceSeen, Simulated, Span
from optimizer.report import words
from optimizer.report.blocks import bullets, facts, section, table
from optimizer.report.replay import LAWS, planned_share, seconds, shown

BUSIEST = 12  # resources that are told
VISIBLE = 0.0005  # shares below it, planned and seen, are left out
OF = "share of "  # units of which there is one: time, the iteration
_TITLES = {
    "passed": "every promise held", "failed": "a promise broke", "inconclusive": "inconclusive",
}


def simulated_page(found: Simulated) -> RenderableType:
    """The verdict, every class, the resources nearest to their limits, the waits."""
    replay = found.replay
    parts: list[RenderableType] = [
        Text(f"{found.name}: {_TITLES[replay.state]}", style="bold"),
        facts(_head(found)), _hits(replay), _times(replay), _resources(replay),
    ]
    if replay.waits:
        parts.append(_waits(replay))
    return Group(*parts)


def _head(found: Simulated) -> Iterator[tuple[str, str]]:
    replay = found.replay
    yield from (("why" if i == 0 else "", reason) for i, reason in enumerate(replay.reasons))
    yield "requests", (
        f"{replay.arrived:,} arrived = {replay.served:,} served + {replay.rejected:,} rejected + "
        f"{replay.in_flight:,} in flight"
    )
    span = f"{words.span(replay.measured_s)} after {words.span(replay.warmup_s)} of warm-up"
    yield "measured", f"{span}; seed {replay.seed}; replayed in {replay.seconds:.1f} s"
    if replay.outage:
        yield "outage", replay.outage
    for cls, file in found.traces.items():
        yield "trace", f"{cls} from {file}" if cls else file
    yield from (("note", remark) for remark in found.remarks)


def _hits(replay: ReplayOut) -> RenderableType:
    rows = [
        (c.cls if first else "", *row) for c in replay.classes for first, row in _led(_places(c))
    ]
    return section("What requests found (shares of the requests of a class)",
                   table(("class", "found in", ">planned", ">seen", ">off by"), rows))


def _led(rows: Iterator[tuple[str, ...]]) -> Iterator[tuple[bool, tuple[str, ...]]]:
    """Each row, and whether it is the first."""
    for number, row in enumerate(rows):
        yield number == 0, row


def _places(c: ClassSeen) -> Iterator[tuple[str, ...]]:
    """A class's requests by what they found, from fast to slow."""
    for name in (*words.TIERS, "miss", "first"):
        planned, seen = c.predicted.get(name, 0.0), c.simulated.get(name, Span(mean=0.0, half=0.0))
        if max(planned, seen.mean or 0.0) >= VISIBLE:
            off = "" if seen.mean is None else f"{(seen.mean - planned) * 100:+.1f} pt"
            yield words.tier(name), words.share(planned), shown(seen), off


def _times(replay: ReplayOut) -> RenderableType:
    late = table(
        ("class", ">requests", ">required", ">planned", ">in time", ">in pace"),
        (
            (c.cls, f"{c.requests:,}", words.share(c.required), planned_share(c), shown(c.attainment),
             shown(c.tpot_attainment))
            for c in replay.classes
        ),
    )
    first = table(
        ("TTFT", ">p50", ">p95", ">p99", ">limit", ">p95 planned", ">with the waits seen"),
        (
            (c.cls, *_three(c.ttft), seconds(c.ttft_limit_s), seconds(c.ttft_predicted_p95),
             seconds(c.ttft_fed_back_p95))
            for c in replay.classes
        ),
    )
    pace = table(
        ("TPOT", ">p50", ">p95", ">p99", ">limit"),
        ((c.cls, *_three(c.tpot), seconds(c.tpot_limit_s)) for c in replay.classes),
    )
    remark = "planned: what is sure under the queueing bound; more in time than that is as it should be"
    return section("In time", late, Text(""), first, Text(""), pace, Text(""), bullets([remark]))


def _three(q: Percentiles) -> tuple[str, str, str]:
    return seconds(q.p50), seconds(q.p95), seconds(q.p99)


def _resources(replay: ReplayOut) -> RenderableType:
    """The resources nearest to their limits, those that were short first."""
    order = sorted(replay.resources, key=lambda r: (not r.short, -_fullness(r), r.resource))
    rows = (
        (r.resource, LAWS.get(r.law, r.law), _amount(r.capacity, r.unit), _part(r.predicted, r),
         _part(r.mean, r), _part(r.peak, r), words.share(r.short))
        for r in order[:BUSIEST]
    )
    remarks = ["short: share of the requests for which it was not enough"]
    if (left := len(order) - BUSIEST) > 0:
        remarks.append(f"{words.counted(left, 'resource')} with more room: --json has them")
    columns = ("<resource", "of what", ">there is", ">planned", ">mean", ">peak", ">short")
    return section("Resources, those nearest to their limits first", table(columns, rows), bullets(remarks))


def _fullness(r: ResourceSeen) -> float:
    return (r.peak or 0.0) / r.capacity if r.capacity else 0.0


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    match unit:
        case "bytes":
            return words.size(value)
        case "bytes/s":
            return f"{words.size(value)}/s"
        case "bytes a day and drive":
            return f"{words.size(value)} a day"
        case _ if unit.startswith(OF):
            return unit.removeprefix(OF)
        case _:
            return f"{words.number(value)} {unit}".rstrip()


def _part(value: float | None, r: ResourceSeen) -> str:
    """As a share of what there is, where that is known."""
    if value is None:
        return "-"
    return words.share(value / r.capacity) if r.capacity else _amount(value, r.unit)


def _waits(replay: ReplayOut) -> RenderableType:
    rows = ((pool, f"{times:.2f}") for pool, times in sorted(replay.waits.items(), key=lambda w: -w[1]))
    return section("Waits for prefill, as parts of what the queueing bound says (1: as the bound)",
                   table(("<pool", ">times the bound"), rows))

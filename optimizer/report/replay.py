"""What the replay saw beside what the layout promises, in short, and the layout in bad times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from optimizer.design.replay import ClassSeen, Rejected, ReplayOut, Span, Stress, StressCase
from optimizer.design.result import Result
from optimizer.report import words
from optimizer.report.blocks import bullets, facts, section, table
from optimizer.report.comparisons import bought

TOLD = 3  # reasons that are told in the head of a page
LAWS = {
    "prefill_time": "waits for prefill", "decode_time": "decoding",
    "running_kv_fits_hbm": "HBM of running requests", "hbm_room": "HBM of idle contexts",
    "tier_capacity": "bytes held", "tier_read": "reading", "tier_write": "writing",
    "host_link_read": "host links", "network_in": "network", "nvme_endurance": "wear",
}
"""What a replay found too little of, in words."""


def in_short(result: Result) -> Iterator[tuple[str, str]]:
    """The lines of the head that say whether a replay found the promises kept."""
    replay = result.checks.replay
    if replay is None:
        if result.checks.replay_ended:
            yield "replay", f"not replayed: {result.checks.replay_ended}"
        return
    yield "replay", _said(replay)
    if replay.state != "passed":
        yield from (("", reason) for reason in replay.reasons[:TOLD])
        if len(replay.reasons) > TOLD:
            yield "", f"and {len(replay.reasons) - TOLD:,} more: tierplan explain shows them"
    if result.checks.replay_ended:
        yield "", f"not solved again: {result.checks.replay_ended}"
    if result.rejected:
        layouts = words.counted(len(result.rejected), "layout")
        yield "", f"{layouts} rejected by a replay before this one (below)"


def _said(replay: ReplayOut) -> str:
    requests = words.counted(replay.arrived, "request")
    if replay.state == "passed":
        return f"{requests}: every promise held ({_worst(replay)})"
    if replay.state == "inconclusive":
        return f"REPLAY INCONCLUSIVE: {requests}, and no steady state ({_worst(replay)})"
    return f"NOT VERIFIED: {requests} replayed, and a promise broke ({_worst(replay)})"


def _worst(replay: ReplayOut) -> str:
    """`attainment agents 99.2 +- 0.3%, required 95.0%`: the class that is nearest to its limit."""
    seen = [c for c in replay.classes if c.attainment.mean is not None]
    if not seen:
        return "no class had requests enough to judge"
    cls = min(seen, key=lambda c: ((_attained(c).mean or 0.0) - c.required, c.cls))
    return f"attainment {cls.cls} {shown(_attained(cls))}, required {words.share(cls.required)}"


def _attained(c: ClassSeen) -> Span:
    """The smaller share: of first tokens in time, or of requests at their pace."""
    if c.tpot_attainment.mean is None or c.attainment.mean is None:
        return c.attainment
    return min(c.attainment, c.tpot_attainment, key=lambda span: span.mean or 0.0)


def shown(span: Span) -> str:
    """`99.2 +- 0.3%`: a page is ascii."""
    if span.mean is None:
        return "-"
    if span.half is None:
        return words.share(span.mean)
    return f"{span.mean * 100:.1f} +- {span.half * 100:.1f}%"


def replayed(result: Result, most: int | None = TOLD) -> RenderableType | None:
    """The block of a solve's page, with every reason where `most` is None; nothing where nothing was
    replayed."""
    replay = result.checks.replay
    if replay is None:
        return None
    title = "Replayed, request by request (docs/simulator.md says how to read it)"
    parts: list[RenderableType] = [_promises(replay)]
    if most is None:
        parts += [Text(""), bullets(replay.reasons)]
    if result.rejected:
        parts += [Text(""), facts(_rejections(result.rejected))]
    if result.stress is not None:
        parts += [Text(""), _stressed(result.stress), Text(""), bullets(_of_stress(result.stress))]
    return section(title, *parts)


def _promises(replay: ReplayOut) -> RenderableType:
    """One line a class: in time, at its pace, hits as planned and as seen, the first token's p95."""
    columns = (
        "class", ">required", ">planned", ">in time", ">in pace", ">hits planned", ">seen", ">p95 TTFT",
        ">limit",
    )
    return table(columns, (_promise(c) for c in replay.classes))


def _promise(c: ClassSeen) -> Sequence[str]:
    return (
        c.cls, words.share(c.required), planned_share(c), shown(c.attainment), shown(c.tpot_attainment),
        words.share(sum(share for found, share in c.predicted.items() if _hit(found))),
        words.share(sum(s.mean or 0.0 for found, s in c.simulated.items() if _hit(found))),
        seconds(c.ttft.p95), seconds(c.ttft_limit_s),
    )


def _hit(found: str) -> bool:
    return found not in ("miss", "first")


def planned_share(c: ClassSeen) -> str:
    """The share in time that the layout is sure of."""
    return "-" if c.attainment_predicted is None else words.share(c.attainment_predicted)


def seconds(value: float | None) -> str:
    """Three figures, milliseconds below a tenth of a second."""
    if value is None:
        return "-"
    return f"{words.number(value * 1e3, 3)} ms" if value < 0.1 else f"{words.number(value, 3)} s"


def _rejections(rejected: Sequence[Rejected]) -> Iterator[tuple[str, str]]:
    """A layout, why it was refused, what the next one was asked for; each on a line of its own."""
    for r in rejected:
        yield "rejected", f"{words.usd(r.objective_usd)}: {bought(r.machines)}"
        yield from (("because", reason) for reason in r.reasons[:TOLD])
        yield "asked for", _asked(r)


def _asked(r: Rejected) -> str:
    """`20% more of dram@X (bytes held)`, or what is thought of a pool's waits."""
    more = [f"{t.factor - 1:.0%} more of {t.resource} ({LAWS.get(t.law, t.law)})" for t in r.tightened]
    longer = [f"waits of {pool} {times:.2g} times the bound" for pool, times in r.waits.items() if times > 1]
    shorter = sum(factor < 1 for factor in r.waits.values())
    waits = [f"shorter waits in {words.counted(shorter, 'pool')}"] if shorter else []
    return "; ".join([*more, *longer, *waits]) or "nothing: it ended there"


def _stressed(stress: Stress) -> RenderableType:
    columns = ("in bad times", "worst class", ">in time", ">required", ">hits", ">output in time")
    return table(columns, (_case(c) for c in stress.cases))


def _case(c: StressCase) -> Sequence[str]:
    cost = "-" if c.usd_per_mtok is None else f"{words.per_million(c.usd_per_mtok)}/Mtok"
    worst = shown(c.attainment) + ("" if c.steady else " *")
    return (
        case_name(c), c.worst_class, worst, words.share(c.required), words.share(c.hit_share), cost,
    )


def case_name(c: StressCase) -> str:
    """`throughput -25%`, `one node down (HGX-B300-8)`."""
    if c.case in ("throughput", "hits", "demand"):
        return f"{c.case} {c.factor - 1:+.0%}"
    return f"{c.case} ({c.outage.partition('@')[0]})" if c.outage else c.case


def _of_stress(stress: Stress) -> Iterator[str]:
    size = f"{words.counted(stress.requests, 'request')} a case, {stress.seconds:.1f} s in all"
    yield f"the same machines with one thing off: {size}"
    yield "output in time: the whole cost per million output tokens whose request was served in time"
    if any(not c.steady for c in stress.cases):
        yield "*: what waits piles up, and it gets worse the longer it lasts"
    if stress.not_done:
        yield f"not replayed for want of time: {', '.join(stress.not_done)}"

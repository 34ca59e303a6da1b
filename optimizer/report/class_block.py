"""What a trace says of a traffic class, as a block to be pasted into a workload file, and as plain data."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from optimizer.report import words
from optimizer.traces.classes import DECODE_RATE, PREFILL_RATE, Derived, Gaps, LengthBucket
from optimizer.workload import Survival, knees
from optimizer.workload.gaps import TableGap
from optimizer.workload.presets import LONGEST_NAME
from optimizer.workload.schema import Grid

MODEL = "kimi-k3"
"""The model of a block where none is named: some card must stand there for the file to load."""
SLO = "{ttft: 10 s, tpot: 50 ms, attainment: 0.95}"
"""Limits of time where the planner must set them: those of the shipped agents."""
_AGES = Grid().ages
_WIDTH = 110
_TOO_MANY = 0.1  # returns before the estimated end of the request before
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")


def class_json(derived: Derived, sha256: str) -> dict[str, Any]:
    """All that is known, SI, with the ages at which a plan would cut."""
    return {**asdict(derived), "file_sha256": sha256, "ages": list(ages(derived))}


def ages(derived: Derived) -> tuple[float, ...]:
    """Where the age slots of such a class would end, seconds; the first age is 0."""
    curves = [Survival(TableGap.through(b.gaps.table), b.gaps.return_probability) for b in derived.buckets]
    return knees(curves, [bucket.share for bucket in derived.buckets], _AGES)


def class_name(derived: Derived) -> str:
    """A name for the class, after the file."""
    stem = derived.name.split(".")[0]
    return _UNFIT.sub("-", stem).strip("._-")[:LONGEST_NAME] or "traced"


def class_block(
    derived: Derived, sha256: str, name: str, model: str | None = None, rate: float | None = None
) -> str:
    """The block, indented to stand under `classes:`. `rate`: the forecast, requests a second."""
    lines = [*_head(derived, name), f"  {name}:", *_traffic(derived, model, rate), "    contexts:"]
    for bucket, share in zip(derived.buckets, _shares([b.share for b in derived.buckets]), strict=True):
        lines += _context(bucket, share)
    lines += [
        "    reuse:  # of all contexts together; every length above has its own",
        *_gaps(derived.gaps, "      "),
        *_prefix(derived),
        f"    slo: {SLO}  # set these: no trace tells what users were promised",
        f"    source: {json.dumps(f'{derived.name}, sha256 {sha256}')}",
    ]
    return "\n".join(lines) + "\n"


def _head(derived: Derived, name: str) -> list[str]:
    """Where it comes from, what is estimated, how to say the same in a line; as comments."""
    said = [
        f"To stand under `classes:`. What {derived.name} tells of {derived.requests:,} requests in "
        f"{words.span(derived.seconds)}; `reuse: {{trace: ...}}` takes the same from the file itself.",
        f"Gaps run from the end of a request to the return; {_ends(derived)} Contexts that were idle when "
        "the trace ended count as cut off, not as never asked for again.",
    ]
    if derived.sub_calls:
        calls = words.counted(derived.sub_calls, "call")
        said.append(f"{calls} of sub-agents have contexts of their own, beside their session's.")
    cuts = ", ".join(words.span(age) for age in ages(derived)[1:])
    said.append(f"A plan that holds {name} alone would cut its ages at {cuts} (grid.ages: {_AGES}).")
    return [f"# {line}" for part in said for line in textwrap.wrap(part, _WIDTH - 2)]


def _ends(derived: Derived) -> str:
    """How the ends of requests are known."""
    estimated, early = derived.service_estimated, derived.overlapping
    said = f"the end is recorded for {words.share(1 - estimated)} of the returns"
    if estimated:
        said += f", else estimated: input that is not found at {PREFILL_RATE:,.0f} tok/s, output at "
        said += f"{DECODE_RATE:g} tok/s"
    if early:
        said += f". {words.share(early)} came before that end: their gap is 0"
    if estimated and early > _TOO_MANY:
        said += ", and the estimate is too slow for this trace"
    return f"{said}."


def _traffic(derived: Derived, model: str | None, rate: float | None) -> Iterator[str]:
    """Model, rates, lengths of a turn."""
    yield f"    model: {model}" if model else f"    model: {MODEL}  # set this: `tierplan models` lists them"
    busiest = f"{_figures(derived.peak_rate)} req/s in its busiest {words.span(derived.peak_window)}"
    seen = f"the trace: {busiest}, {_figures(derived.mean_rate)} on average"
    said = seen if rate else f"set this; {seen}"
    yield f"    peak_rate: {_figures(rate or derived.peak_rate)} req/s  # {said}"
    yield f"    peak_to_mean: 1.0  # set this: {words.span(derived.seconds)} of requests tell no day"
    first, returns = derived.first_requests, derived.returns
    yield f"    first_prompt: {_tokens(derived.first_prompt)}  # mean; {first:,} requests began a context"
    yield f"    new_tokens: {_tokens(derived.new_tokens)}  # mean of what {returns:,} returns did not find"
    yield f"    output_tokens: {_tokens(derived.output_tokens)}  # mean"


def _context(bucket: LengthBucket, share: float) -> Iterator[str]:
    """One length of stored contexts."""
    seen = f"{bucket.gaps.returns:,} returns, {bucket.gaps.cut:,} cut off"
    yield f"      - tokens: {_tokens(bucket.tokens)}  # mean of prompt and answer; {seen}"
    yield f"        share: {share:.5f}"
    yield f"        spread: {bucket.spread:.3f}"
    yield from _gaps(bucket.gaps, "        ")


def _gaps(gaps: Gaps, indent: str) -> Iterator[str]:
    """The two keys of the declared form; the table in as many lines as it takes."""
    yield f"{indent}return_probability: {gaps.return_probability:.5f}"
    yield f"{indent}gaps:"
    yield f"{indent}  table: ["
    line = ""
    for time, share in gaps.table:
        point = f"{{within: {words.span(time)}, share: {share:.5f}}},"
        if line and len(indent) + 4 + len(line) + 1 + len(point) > _WIDTH:
            yield f"{indent}    {line}"
            line = ""
        line = f"{line} {point}".strip()
    yield f"{indent}    {line}"
    yield f"{indent}  ]"


def _prefix(derived: Derived) -> Iterator[str]:
    """What nearly all sessions begin with."""
    if derived.shared_prefix:
        said = "nearly all sessions begin with them; set where they are held"
        yield f"    shared_prefix: {{tokens: {derived.shared_prefix} tok, held_in: hbm}}  # {said}"
    else:
        yield "    # no shared prefix: no block is common to nearly all sessions (ids may be a session's own)"


def _shares(shares: Sequence[float]) -> list[float]:
    """Rounded so that they add up to 1: the largest takes the difference."""
    rounded = [round(share, 5) for share in shares]
    largest = rounded.index(max(rounded))
    rounded[largest] = 1.0 - sum(rounded[:largest]) - sum(rounded[largest + 1 :])
    return rounded


def _tokens(count: float) -> str:
    return f"{count:.1f} tok"


def _figures(value: float) -> str:
    """Six figures, without an exponent."""
    return f"{value:.6g}" if 1e-4 <= value < 1e6 else f"{value:.6f}"

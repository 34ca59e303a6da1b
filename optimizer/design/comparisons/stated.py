"""From what a search found to what is said of it: a neighbour of the answer, with the dollars between."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from optimizer.design.comparisons.changes import Note
from optimizer.design.comparisons.nearby import Found
from optimizer.design.comparisons.questions import Question
from optimizer.design.comparisons.result import Ended, Machines, Neighbour
from optimizer.design.rounds import Candidate
from optimizer.solver import relative_gap

NO_LAYOUT = "no layout was found in its part of the time"


@dataclass(frozen=True)
class Answer:
    """The answer that everything stands beside: its layout, its cost, and what no layout costs less than."""

    best: Candidate

    @property
    def usd(self) -> float:
        """What the layout costs."""
        return self.best.layout.objective_usd

    @property
    def bound(self) -> float:
        """What no layout costs less than."""
        return min(self.best.outcome.bound, self.usd)


def unsearched(question: Question, status: Ended, *reasons: str, notes: Sequence[Note] = ()) -> Neighbour:
    """A question without a layout, and why."""
    return Neighbour(change=question.name, status=status, reasons=tuple(reasons), notes=_told(notes))


def same(question: Question, answer: Answer, notes: Sequence[Note]) -> Neighbour:
    """The answer's layout keeps the change, so no layout that is still allowed costs less than its bound."""
    return _priced(question, "same", answer, answer.best, answer.bound, notes)


def found(question: Question, answer: Answer, got: Found, notes: Sequence[Note]) -> Neighbour:
    """What a search came to: a layout with its bound, or at least the bound."""
    ended: Ended = got.outcome.status.name.lower()  # type: ignore[assignment]
    bound = got.outcome.bound if abs(got.outcome.bound) < math.inf else None
    if bound is not None and question.restricts:
        bound = max(bound, answer.bound)  # what no layout costs less than, fewer layouts do not either
    best = got.candidate
    if best is None:
        least = None if bound is None else _least(question, answer, bound)
        return unsearched(question, ended, NO_LAYOUT, notes=notes).model_copy(
            update={"bound_usd": bound, "least_extra_usd": least}
        )
    if not best.certificate.passed:
        return unsearched(question, "rejected", *map(str, best.certificate.violations[:1]), notes=notes)
    return _priced(question, ended, answer, best, -math.inf if bound is None else bound, notes)


def _priced(
    question: Question, ended: Ended, answer: Answer, best: Candidate, bound: float, notes: Sequence[Note]
) -> Neighbour:
    usd = best.layout.objective_usd
    bound = min(bound, usd)
    machines = bought(best)
    named = {m.name for m in machines} | {*best.model.instance.models}
    return Neighbour(
        change=question.name,
        status=ended,
        objective_usd=usd,
        bound_usd=bound,
        gap=relative_gap(usd, bound),
        extra_usd=usd - answer.usd,
        least_extra_usd=_least(question, answer, bound),
        most_extra_usd=usd - answer.bound,
        machines=machines,
        options={row.model: row.option.split(":", 1)[1] for row in best.layout.options},
        notes=_told(note for note in notes if note.about in named | {""}),
    )


def _least(question: Question, answer: Answer, bound: float) -> float:
    """What the change costs at least: less choice never saves."""
    least = bound - answer.usd
    return max(0.0, least) if question.restricts else least


def bought(best: Candidate) -> tuple[Machines, ...]:
    """What is bought, by kind."""
    builds = ((best.model.tables.builds[row.build], row.count) for row in best.layout.servers)
    servers = [Machines(name=b.server, count=count, dram_bytes=b.dram_bytes) for b, count in builds]
    pools = [Machines(name=row.enclosure, count=row.enclosures, dram_bytes=0.0) for row in best.layout.cxl]
    return (*servers, *pools)


def _told(notes: Iterable[Note]) -> tuple[str, ...]:
    """In words, what is said of several at once."""
    about: dict[str, list[str]] = {}
    for note in notes:
        about.setdefault(note.text, []).append(note.about)
    return tuple(f"{', '.join(names)}: {text}" if all(names) else text for text, names in about.items())

"""The catalogue as a page: `python -m optimizer.report.catalogue > docs/catalogue.md`.

Every number of every card with unit, basis, source, date and note, so that a reader can check any of them and
see at once how many are estimates. Everything comes from the cards; the same cards give the same page.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple

from optimizer.catalog import Basis, Catalog, load_catalog
from optimizer.report.card_rows import KINDS, MODELS, Card, cards
from optimizer.report.devices import pool
from optimizer.report.words import counted

HEAD = """\
# The catalogue

Written by `python -m optimizer.report.catalogue > docs/catalogue.md` from the cards in `models/`; do not
edit, run it again after any change of a card. Every number stands here with its unit, basis, source, date and
note; the keys of the sources are explained at the end. USD before tax, 1 GB = 1e9 B, bandwidth one way. A
price is its base, with the range in brackets. A block of numbers with one source is one figure.

- *measured*: somebody ran it, weighed it, or saw it asked as a price on the market;
- *vendor*: the maker of the thing prints it;
- *estimated*: worked out or assumed, the note says from what;
- *off*: its price or speed is a guess, or it is no part of every bill; a workload gets it only by asking
  (`hardware.enable`, for cost lines `economics.lines`).
"""
BASES = tuple(basis.value for basis in (Basis.MEASURED, Basis.VENDOR, Basis.ESTIMATED))
FIGURES = ("figure", "value", "basis", "source", "date", "note")


def markdown(catalog: Catalog) -> str:
    """The whole page."""
    found = cards(catalog)
    parts = [
        [HEAD], _summary(found), _pools(found), _left_out(catalog),
        *(_group(kind, found) for kind in (*KINDS.values(), MODELS)),
        _estimates(found), _sources(catalog),
    ]
    return "\n".join(line for part in parts for line in part)


def tally(card: Card) -> Counter[str]:
    """How many figures of a card have which basis; options, which have none, under ``."""
    return Counter(line.basis for line in card.lines)


def row(cells: Iterable[str]) -> str:
    """One line of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    columns = tuple(columns)
    yield from (row(columns), "|" + "---|" * len(columns), *map(row, rows), "")


def _summary(found: list[Card]) -> Iterator[str]:
    total = sum((tally(card) for card in found), Counter())
    figures = sum(total[basis] for basis in BASES)
    shares = ", ".join(f"{total[basis]:,} {basis} ({total[basis] / figures:.0%})" for basis in BASES)
    yield "## Summary"
    yield ""
    yield (
        f"**{figures:,} figures on {counted(len(found), 'card')}: {shares}.** "
        f"Besides, {total['']} options of models name their source; the figures in them are counted."
    )
    yield ""
    yield from _table(("kind", "cards", "figures", *BASES), _by_kind(found))


def _by_kind(found: list[Card]) -> Iterator[list[str]]:
    sums: Counter[str] = Counter()
    for kind in (*KINDS.values(), MODELS):
        mine = [card for card in found if card.kind == kind]
        counts = sum((tally(card) for card in mine), Counter())
        numbers = [len(mine), sum(counts[basis] for basis in BASES), *(counts[basis] for basis in BASES)]
        sums.update(dict(enumerate(numbers)))  # type: ignore[arg-type]
        yield [kind, *map(str, numbers)]
    yield ["in all", *(f"{sums[i]:,}" for i in range(5))]  # type: ignore[index]


def _pools(found: list[Card]) -> Iterator[str]:
    """Memory that several hosts read; what it means is told in physics.md."""
    yield from ("## Pools", "", "What a protocol means for a plan is told in section 6 of `physics.md`.", "")
    shared = ((card.id, pool(card.block)) for card in found)
    yield from _table(("pool", "read over, shared by"), (line for line in shared if line[1]))


def _left_out(catalog: Catalog) -> Iterator[str]:
    yield from ("## Without a card, and why", "")
    yield from _table(("part", "why"), ((part.id, part.why) for part in catalog.devices.left_out))


def _group(kind: str, found: list[Card]) -> Iterator[str]:
    yield from (f"## {kind}", "")
    for card in found:
        if card.kind == kind:
            yield from _card(card)


def _card(card: Card) -> Iterator[str]:
    counts = tally(card)
    shares = ", ".join(f"{counts[basis]} {basis}" for basis in BASES if counts[basis])
    off = "" if card.enabled else " **Off** by default."
    figures = counted(sum(counts[basis] for basis in BASES), "figure")
    yield from (f"### {card.id}", "", f"{figures}: {shares}.{off}", "")
    if facts := card.facts:
        yield from ("\n".join(f"- {fact}" for fact in facts), "")
    yield from _table(FIGURES, map(astuple, card.lines))


def _estimates(found: list[Card]) -> Iterator[str]:
    """Every estimate by card: what to replace by a quote or a measurement of one's own."""
    rows, count = [], 0
    for card in found:
        guessed = [line for line in card.lines if line.basis == Basis.ESTIMATED.value]
        count += len(guessed)
        if guessed:
            rows.append((card.id, str(len(guessed)), "; ".join(f"{ln.name} {ln.text}" for ln in guessed)))
    advice = "replace what matters by a quote or a measurement"
    yield from ("## Estimates", "", f"All {count:,}, by card: {advice}.", "")
    yield from _table(("card", "estimates", "which"), rows)


def _sources(catalog: Catalog) -> Iterator[str]:
    yield from ("## Sources", "", "Of everything that can be bought:", "")
    yield from _table(("key", "what"), sorted(catalog.devices.sources.items()))
    for name, card in sorted(catalog.models.items()):
        yield from (f"Of {name}:", "", *_table(("key", "what"), sorted(card.sources.items())))


if __name__ == "__main__":
    sys.stdout.write(markdown(load_catalog()))

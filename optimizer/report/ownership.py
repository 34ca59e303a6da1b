"""Owned accelerators by the hour, as a page: `python -m optimizer.report.ownership > docs/ownership-cost.md`.

Everything on it comes from the cards and the bill that prices layouts, so that it cannot drift from either.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence

from optimizer.catalog import Catalog, load_catalog
from optimizer.instance.money.ownership import (
    APART,
    ROOM_AND_POWER,
    TOLERANCE,
    Ownership,
    out_of_order,
    ownership,
    terms,
)
from optimizer.report import words

WIDTH = 110
HEAD = """\
# Owned accelerators by the hour

Written by `python -m optimizer.report.ownership > docs/ownership-cost.md` from the cards and from the code
that prices every layout; do not edit. The published figures are the ownership costs of a hyperscaler over
four years that InferenceX uses (surveys of August 2025); what was chosen where they are silent stands in
`money.md`. A star marks a published figure that is a multiple of another part's and no survey.
"""
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("server", ("accelerator servers",)),
    ("memory", ("dram",)),
    ("network", ("cluster network",)),
    ("maintenance", ("maintenance",)),
    ("energy", ("energy",)),
    ("room", ("racks", "space")),
    ("residual", ("residual value",)),
)


def markdown(catalog: Catalog) -> str:
    """The page."""
    rows, hosted = ownership(catalog), ownership(catalog, "colocation")
    parts = [HEAD, _terms(catalog), _figures(rows), _order(rows), _room(hosted)]
    return "\n".join(parts)


def _terms(catalog: Catalog) -> str:
    money, facility = terms(catalog), catalog.devices.facility
    at = money.preset
    share = catalog.devices.network.share.price.at(at)
    text = (
        f"Terms: purchase, {words.horizon(money.economics.horizon)}, 64 GB modules at "
        f"${(money.prices.dram or 0.0) * 1e9:.2f}/GB, network {share:.0%} of the server, maintenance "
        f"{facility.maintenance_per_year.at(at):.0%} a year, {facility.mean_power_fraction.at(at):g} of the "
        f"nameplate power at {words.si(facility.electricity.at(at), 'USD/J')}, PUE {money.pue():g} and racks "
        f"of an own building, cost of capital {money.rate:.0%}, residual value "
        f"{facility.residual_36_months.at(at):.0%} at 36 months."
    )
    return textwrap.fill(text, width=WIDTH, break_on_hyphens=False) + "\n"


def _figures(rows: Sequence[Ownership]) -> str:
    verdict = ("computed", "published", "off by", f"within {TOLERANCE:.0%}", "hours discounted too")
    head = ("", *(name for name, _ in GROUPS), *verdict)
    lines = [
        (
            f"`{row.server}`",
            *(_cents(_sum(row, components)) for _, components in GROUPS),
            f"{row.usd:.2f}",
            f"{row.published:.2f}{'*' if row.placeholder else ''}",
            f"{row.deviation:+.0%}",
            "yes" if abs(row.deviation) <= TOLERANCE else "**no**",
            f"{row.levelised:.2f}",
        )
        for row in rows
    ]
    return _section("USD per accelerator and hour", _table(head, lines))


def _sum(row: Ownership, components: Iterable[str]) -> float:
    return sum(line.usd for line in row.parts if line.component in components)


def _cents(value: float) -> str:
    return "0" if abs(value) < 5e-4 else f"{value:.3f}"


def _order(rows: tuple[Ownership, ...]) -> str:
    turned = [
        (f"`{cheaper.server}`", f"`{dearer.server}`", f"{cheaper.published:.2f} < {dearer.published:.2f}",
         f"{cheaper.usd:.2f} > {dearer.usd:.2f}")
        for cheaper, dearer in out_of_order(rows)
    ]
    text = f"Pairs of surveyed figures more than {APART:.0%} apart that the cards turn round: "
    if not turned:
        return _section("Order", text + "none.\n")
    table = _table(("cheaper", "dearer", "published", "computed"), turned)
    return _section("Order", f"{text}{len(turned)}.\n", table)


def _room(rows: Sequence[Ownership]) -> str:
    head = ("server", "computed", "off by", "room and electricity", f"below {ROOM_AND_POWER:.0%}")
    lines = [
        (
            f"`{row.server}`", f"{row.usd:.2f}", f"{row.deviation:+.0%}", f"{share:.0%}",
            "yes" if share < ROOM_AND_POWER else "no",
        )
        for row in rows
        for share in [row.share("space", "energy")]
    ]
    text = (
        "The same with colocation on nameplate kilowatts in place of the building. By the same source "
        f"colocation and electricity are normally below {ROOM_AND_POWER:.0%} of the whole."
    )
    return _section("In colocation", textwrap.fill(text, width=WIDTH) + "\n", _table(head, lines))


def _section(title: str, *bodies: str) -> str:
    return "\n".join([f"## {title}\n", *bodies])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    sys.stdout.write(markdown(load_catalog()))

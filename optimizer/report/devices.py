"""What can be bought, at which price, from which source; and all that one card says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from optimizer.catalog import Basis, Catalog, CxlEnclosure, Figure, Price, Server, figures_in
from optimizer.errors import InputError, Problem
from optimizer.files import alike
from optimizer.report import words
from optimizer.report.blocks import facts, section, table

_KINDS = {
    "servers": "server", "accelerators": "accelerator", "dimms": "DIMM", "drives": "drive",
    "cxl_modules": "CXL module", "cxl_enclosures": "CXL enclosure", "cxl_adapters": "CXL adapter",
    "cost_lines": "cost line",
}
_NODES = {"dram_node": "DRAM node", "storage_node": "storage node"}


@dataclass(frozen=True)
class Offer:
    """One price of one thing. `enabled` False: offered only to a workload that enables it. `pool`: over which
    protocol others read its memory or drives, and how many; empty where it is nobody else's."""

    kind: str
    id: str
    price: str
    low: float
    base: float
    high: float
    unit: str
    basis: str
    estimated: bool
    source: str
    date: str
    note: str
    enabled: bool
    pool: str


@dataclass(frozen=True)
class Stated:
    """One sourced number of one card; `value` None where a whole block has one source, and where words say it
    (the pool, which has no source of its own)."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    basis: str
    source: str
    address: str
    date: str
    note: str


def offers(catalog: Catalog) -> list[Offer]:
    """Every price of the catalogue: things, contracts, network and building."""
    found = [offer for kind, card in _cards(catalog) for offer in _priced(kind, card.id, card, card)]
    found += _priced("facility", "facility", catalog.devices.facility, None)
    return found


def _cards(catalog: Catalog) -> Iterator[tuple[str, Any]]:
    for field, kind in _KINDS.items():
        for card in getattr(catalog.devices, field):
            yield _NODES.get(getattr(card, "kind", ""), kind), card
    network = catalog.devices.network
    yield from (("network", card) for card in (*network.itemised, network.share))


def _priced(kind: str, name: str, block: object, card: Any) -> Iterator[Offer]:
    for where, figure in figures_in(block):
        if isinstance(figure, Price):
            yield Offer(
                kind, name, where, figure.low, figure.base, figure.high, figure.unit, figure.basis.value,
                figure.basis is Basis.ESTIMATED, figure.source, figure.date, figure.note,
                bool(getattr(card, "enabled", True)), pool(card),
            )


def pool(card: object) -> str:
    """Over which protocol others read what this thing holds, and how many hosts share it."""
    if isinstance(card, CxlEnclosure):
        return f"{card.protocol}, {words.counted(card.ports, 'port')}"
    if isinstance(card, Server) and (card.kind != "accelerator" or card.pooled_over[1] is not None):
        protocol, hosts = card.pooled_over
        return f"{protocol}, {words.counted(hosts, 'tray') if hosts else 'the whole facility'}"
    return ""


def device(catalog: Catalog, name: str) -> tuple[str, Any]:
    """The kind and card of an id, `network` or `facility`. InputError for an unknown one, and for one that is
    known and left out, with the reason."""
    single = {"network": catalog.devices.network, "facility": catalog.devices.facility}
    if name in single:
        return name, single[name]
    known = {card.id: (kind, card) for kind, card in _cards(catalog)}
    left_out = {part.id: part.why for part in catalog.devices.left_out}
    if name in left_out:
        why = f"{name} has no card: {left_out[name]}"
        raise InputError(Problem("", "", why, "tierplan devices lists those that do"))
    if name not in known:
        remedy = alike(name, [*known, *single]) or "tierplan devices lists them"
        raise InputError(Problem("", "", f'no device "{name}" in the catalog', remedy))
    return known[name]


def statements(catalog: Catalog, card: object) -> list[Stated]:
    """Every sourced number of a card; before them, of a pool, its protocol and hosts."""
    found = [_stated(catalog, where, block) for where, block in figures_in(card)]
    shared = pool(card)
    return [Stated("pool", None, None, None, "", "", "", "", "", shared), *found] if shared else found


def _stated(catalog: Catalog, where: str, block: Any) -> Stated:
    value = low = high = None
    if isinstance(block, Price):
        value, low, high = block.base, block.low, block.high
    elif isinstance(block, Figure):
        value = block.value
    return Stated(
        name=where, value=value, low=low, high=high, unit=getattr(block, "unit", ""), basis=block.basis.value,
        source=block.source, address=catalog.devices.sources.get(block.source, ""), date=block.date,
        note=block.note,
    )


def devices_json(rows: Iterable[Offer | Stated]) -> list[dict[str, Any]]:
    """One mapping a row, SI numbers."""
    return [asdict(row) for row in rows]


def devices_table(rows: list[Offer]) -> RenderableType:
    """Every offer by kind, then what is pooled; `~` marks an estimate, `off` what a workload must enable."""
    columns = ("what", "price", ">low", ">base", ">high", "", "source")
    lines, before = [], ""
    for o in rows:
        if o.kind != before:
            lines.append((o.kind, *[""] * 6))
            before = o.kind
        marks = f"{'~' if o.estimated else ' '}{'' if o.enabled else ' off'}"
        prices = (words.si(v, o.unit) for v in (o.low, o.base, o.high))
        lines.append((f"  {o.id}", o.price, *prices, marks, f"{o.source} {o.date}"))
    title = "What can be bought, USD before tax (~ estimate; off: only where a workload enables it)"
    pooled = {o.id: o.pool for o in rows if o.pool}
    return Group(Text(title, style="bold"), table(columns, lines), section("Pools", facts(pooled.items())))


def device_page(kind: str, name: str, rows: list[Stated]) -> RenderableType:
    """All that one card states, and where its sources are."""
    lines = [
        (
            row.name, _value(row), f"{'~' if row.basis == 'estimated' else ' '} {row.basis}",
            f"{row.source} {row.date}", row.note,
        )
        for row in rows
    ]
    cited = {row.source: row.address for row in rows if row.address}
    return Group(
        Text(f"{name} ({kind}; ~ estimate)", style="bold"),
        table(("figure", ">value", "", "source", "<note"), lines),
        section("Sources", table(("key", "<address"), cited.items())),
    )


def _value(row: Stated) -> str:
    if row.value is None:
        return ""
    text = words.si(row.value, row.unit)
    if row.low is None or row.high is None or row.low == row.high:
        return text
    return f"{text}\n({words.si(row.low, row.unit)} to {words.si(row.high, row.unit)})"

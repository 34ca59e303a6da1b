"""The layout read as decisions of the instance: every label resolved, no key twice.

What cannot be read is a violation and takes part in nothing else.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optimizer.instance.layout import (
    CxlHostRow,
    CxlRow,
    DecodeRow,
    Layout,
    LruRow,
    PathRow,
    PlacementRow,
    PoolRow,
    ServerRow,
    StoreRow,
)
from optimizer.instance.types import Bucket, Build, Decode, Holding, Path, Policy, Pool, Slot
from optimizer.verify.certificate import Violation
from optimizer.verify.tables import Tables


@dataclass(frozen=True)
class Bought:
    """Machines of one build."""

    row: ServerRow
    build: Build
    count: Fraction
    replaced: Fraction


@dataclass(frozen=True)
class Running:
    """Instances of one pool."""

    row: PoolRow
    pool: Pool
    instances: Fraction


@dataclass(frozen=True)
class Decoded:
    """The share of a bucket decoded on a pool."""

    row: DecodeRow
    decode: Decode
    pool: Pool
    share: Fraction


@dataclass(frozen=True)
class Placed:
    """The share and entry of one holding in one slot (j = 1 is the first)."""

    row: PlacementRow
    holding: Holding
    bucket: Bucket
    slot: Slot
    j: int
    share: Fraction
    entry: Fraction


@dataclass(frozen=True)
class Routed:
    """The rate of one path."""

    row: PathRow
    path: Path
    pool: Pool
    rate: Fraction


@dataclass(frozen=True)
class Attached:
    """The hosts of one SKU at one kind of enclosure."""

    row: CxlHostRow
    enclosure: str
    sku: str
    hosts: Fraction
    adapters: Fraction


class Decisions:
    """The decisions of a layout, in the instance's terms. `problems` lists rows that could not be read."""

    def __init__(self, tables: Tables, layout: Layout):
        self.layout = layout
        self.problems: list[Violation] = []
        self._seen: set[Hashable] = set()
        self.bought = {item.build.id: item for item in self._servers(tables, layout)}
        self.owned = {
            row.sku: self._at_least_zero(f"OwnedRow.used[{row.sku}]", row.used)
            for row in layout.owned
            if self._known("OwnedRow", row.sku, tables.skus)
        }
        self.cxl: dict[str, CxlRow] = {
            row.enclosure: row
            for row in layout.cxl
            if self._known("CxlRow", row.enclosure, tables.enclosures)
        }
        self.attached = list(self._hosts(tables, self.cxl.values()))
        self.options = dict(self._options(tables, layout))
        self.running = {
            row.pool: Running(
                row,
                tables.pools[row.pool],
                self._at_least_zero(f"PoolRow.instances[{row.pool}]", row.instances),
            )
            for row in layout.pools
            if self._known("PoolRow", row.pool, tables.pools)
        }
        self.decoded = list(self._decodes(tables, layout))
        self.placed = list(self._placements(tables, layout))
        self.routed = list(self._paths(tables, layout))
        self.stores: dict[str, StoreRow] = {
            row.store: row for row in layout.stores if self._known("StoreRow", row.store, tables.stores)
        }
        self.lru = dict(self._lru(tables, layout))

    def _refuse(self, name: str, detail: str) -> None:
        self.problems.append(Violation(name, detail))

    def _known(self, kind: str, key: Hashable, table: Mapping[Any, Any]) -> bool:
        """Whether a row's key exists in the instance and stands here for the first time."""
        words = ",".join(map(str, key)) if isinstance(key, tuple) else str(key)
        if key not in table:
            self._refuse(f"admissible[{kind},{words}]", "the instance has no such column")
            return False
        if (kind, key) in self._seen:
            self._refuse(f"stated_once[{kind},{words}]", "stands twice in the layout")
            return False
        self._seen.add((kind, key))
        return True

    def _at_least_zero(self, name: str, number: float) -> Fraction:
        """The number, exactly. Every decision is at least zero."""
        if number < 0:
            self._refuse(f"not_negative[{name}]", f"{number!r} is below zero")
        return Fraction(number)

    def _servers(self, tables: Tables, layout: Layout) -> Iterator[Bought]:
        for row in layout.servers:
            if self._known("ServerRow", row.build, tables.builds):
                count = self._at_least_zero(f"ServerRow.count[{row.build}]", row.count)
                replaced = self._at_least_zero(f"ServerRow.replaced[{row.build}]", row.replaced)
                yield Bought(row, tables.builds[row.build], count, replaced)

    def _hosts(self, tables: Tables, rows: Iterable[CxlRow]) -> Iterator[Attached]:
        for row in rows:
            self._at_least_zero(f"CxlRow.enclosures[{row.enclosure}]", row.enclosures)
            self._at_least_zero(f"CxlRow.modules[{row.enclosure}]", row.modules)
            for host in row.hosts:
                if self._known(f"CxlHostRow,{row.enclosure}", host.sku, tables.skus):
                    place = f"{row.enclosure},{host.sku}"
                    hosts = self._at_least_zero(f"CxlHostRow.hosts[{place}]", host.hosts)
                    adapters = self._at_least_zero(f"CxlHostRow.adapters[{place}]", host.adapters)
                    yield Attached(host, row.enclosure, host.sku, hosts, adapters)

    def _options(self, tables: Tables, layout: Layout) -> Iterator[tuple[str, Fraction]]:
        for row in layout.options:
            if not self._known("OptionRow", row.option, tables.options):
                continue
            if tables.options[row.option].model != row.model:
                self._refuse(f"admissible[OptionRow,{row.model},{row.option}]", "an option of another model")
                continue
            yield row.option, Fraction(1)

    def _decodes(self, tables: Tables, layout: Layout) -> Iterator[Decoded]:
        for row in layout.decodes:
            if self._known("DecodeRow", (row.bucket, row.pool), tables.decodes):
                share = self._at_least_zero(f"DecodeRow.share[{row.bucket},{row.pool}]", row.share)
                yield Decoded(row, tables.decodes[row.bucket, row.pool], tables.pools[row.pool], share)

    def _placements(self, tables: Tables, layout: Layout) -> Iterator[Placed]:
        for row in layout.placements:
            key = (row.option, row.bucket, row.serve, row.home)
            words = ",".join((*key, str(row.slot)))
            holding, bucket = tables.holdings.get(key), tables.buckets.get(row.bucket)
            if holding is None or bucket is None or not 1 <= row.slot <= len(bucket.slots):
                self._refuse(f"admissible[PlacementRow,{words}]", "the instance has no such column")
                continue
            if (key, row.slot) in self._seen:
                self._refuse(f"stated_once[PlacementRow,{words}]", "stands twice in the layout")
                continue
            self._seen.add((key, row.slot))
            share = self._at_least_zero(f"PlacementRow.share[{words}]", row.share)
            entry = self._at_least_zero(f"PlacementRow.entry[{words}]", row.entry)
            if entry and (row.slot == 1 or tables.instance.policy is not Policy.EXCLUSIVE):
                self._refuse(
                    f"admissible[PlacementRow.entry,{words}]", "nothing sinks into a first slot or a copy"
                )
            yield Placed(row, holding, bucket, bucket.slots[row.slot - 1], int(row.slot), share, entry)

    def _paths(self, tables: Tables, layout: Layout) -> Iterator[Routed]:
        for row in layout.paths:
            key = (row.stream, row.option, row.case, row.location, row.pool)
            if self._known("PathRow", key, tables.paths):
                rate = self._at_least_zero(f"PathRow.rate[{','.join(key)}]", row.rate)
                yield Routed(row, tables.paths[key], tables.pools[row.pool], rate)

    def _lru(self, tables: Tables, layout: Layout) -> Iterator[tuple[tuple[str, int], Fraction]]:
        columns: dict[tuple[str, int], LruRow] = {}
        ages = max((len(bucket.slots) for bucket in tables.instance.buckets), default=0)
        slots = {
            (store.tier.value, j): j
            for store in tables.instance.stores
            if store.lru
            for j in range(1, ages + 1)
        }
        for row in layout.lru:
            if self._known("LruRow", (row.tier, row.slot), slots):
                columns[row.tier, row.slot] = row
                yield (
                    (row.tier, int(row.slot)),
                    self._at_least_zero(f"LruRow.share[{row.tier},{row.slot}]", row.share),
                )

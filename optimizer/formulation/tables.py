"""The instance's records indexed once, the way the laws ask for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from optimizer.instance import (
    Bucket,
    Build,
    Decode,
    Holding,
    Instance,
    Location,
    Path,
    Pool,
    Role,
    SharedPrefix,
    Sku,
    Store,
    Stored,
    Tier,
    TrafficClass,
)

Record = TypeVar("Record")
Key = TypeVar("Key", bound=Hashable)


def group(records: Iterable[Record], key: Callable[[Record], Key]) -> dict[Key, list[Record]]:
    """Records by key, in order of appearance."""
    found: dict[Key, list[Record]] = defaultdict(list)
    for record in records:
        found[key(record)].append(record)
    return dict(found)


@dataclass(frozen=True)
class Tables:
    """Look-up tables over one instance. Empty keys are absent: use `.get(key, [])`."""

    classes: dict[str, TrafficClass]
    buckets: dict[str, Bucket]
    skus: dict[str, Sku]
    builds: dict[str, Build]
    pools: dict[str, Pool]
    stores: dict[str, Store]
    locations: dict[str, Location]
    stored: dict[tuple[str, str, str], Stored]
    holdings: dict[tuple[str, str], list[Holding]]
    holdings_at: dict[str, list[Holding]]
    locations_of: dict[str, list[Location]]
    builds_of: dict[str, list[Build]]
    nodes_of: dict[Tier, list[Build]]
    pools_of_option: dict[str, list[Pool]]
    pools_of_sku: dict[str, list[Pool]]
    shape_pools: dict[str, list[Pool]]
    decodes: dict[str, list[Decode]]
    decodes_of: dict[str, list[Decode]]
    paths: dict[tuple[str, str], list[int]]
    paths_on: dict[str, list[int]]
    paths_from: dict[str, list[int]]
    prefixes: dict[str, list[SharedPrefix]]

    @classmethod
    def of(cls, instance: Instance) -> Tables:
        """Index an instance."""
        numbered = list(enumerate(instance.paths))
        locations = {loc.id: loc for loc in instance.locations}
        at: dict[str, list[Holding]] = defaultdict(list)
        for h in instance.holdings:
            at[h.serve].append(h)
            if h.home in locations and h.home != h.serve:
                at[h.home].append(h)
        fills = [p for p in instance.pools if p.role is not Role.DECODE]
        return cls(
            classes={c.id: c for c in instance.classes},
            buckets={b.id: b for b in instance.buckets},
            skus={s.id: s for s in instance.skus},
            builds={b.id: b for b in instance.builds},
            pools={p.id: p for p in instance.pools},
            stores={s.id: s for s in instance.stores},
            locations=locations,
            stored={(s.option, s.bucket, s.location): s for s in instance.stored},
            holdings=group(instance.holdings, lambda h: (h.option, h.bucket)),
            holdings_at=dict(at),
            locations_of=group(instance.locations, lambda loc: loc.store),
            builds_of=group((b for b in instance.builds if b.sku), lambda b: b.sku or ""),
            nodes_of=group((b for b in instance.builds if b.tier), lambda b: b.tier or Tier.STORAGE),
            pools_of_option=group(instance.pools, lambda p: p.option),
            pools_of_sku=group(instance.pools, lambda p: p.sku),
            shape_pools=group(fills, lambda p: p.shape),
            decodes=group(instance.decodes, lambda d: d.pool),
            decodes_of=group(instance.decodes, lambda d: d.bucket),
            paths={
                k: [i for i, _ in v] for k, v in group(numbered, lambda n: (n[1].option, n[1].stream)).items()
            },
            paths_on={k: [i for i, _ in v] for k, v in group(numbered, lambda n: n[1].pool).items()},
            paths_from={
                k: [i for i, _ in v]
                for k, v in group(
                    (n for n in numbered if n[1].location), lambda n: n[1].location or ""
                ).items()
            },
            prefixes=group(instance.shared_prefixes, lambda s: s.store),
        )


def path_name(path: Path) -> str:
    """A path in words: stream, case, place, pool."""
    return "|".join((path.stream, path.case.value, path.location or "-", path.pool))

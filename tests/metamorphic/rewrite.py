"""The same problem in other words: ids renamed, records shuffled, a class split, a spare record added; and
the problem without one of its parts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from random import Random
from typing import Any

from optimizer.instance import Bucket, CostLine, Instance, TrafficClass

SETS = (
    "models",
    "options",
    "classes",
    "buckets",
    "skus",
    "builds",
    "enclosures",
    "stores",
    "locations",
    "stored",
    "holdings",
    "pools",
    "decodes",
    "paths",
    "shared_prefixes",
    "user_rows",
)
NAMED = (
    "options",
    "classes",
    "buckets",
    "skus",
    "builds",
    "enclosures",
    "stores",
    "locations",
    "holdings",
    "pools",
)


def shuffled(instance: Instance, rng: Random) -> Instance:
    """Every set in another order."""
    return replace(
        instance,
        **{name: tuple(rng.sample(rows, len(rows))) for name in SETS if (rows := getattr(instance, name))},
    )


def renamed(instance: Instance, rng: Random) -> Instance:
    """Every id replaced by a number; which number goes to which id is chance, and so is their order."""
    known = {record.id for name in NAMED for record in getattr(instance, name)} | set(instance.models)
    known |= {p.shape for p in instance.pools} | {b.server for b in instance.builds}
    known |= {s.accelerator for s in instance.skus}
    numbers = rng.sample(range(1000, 1000 + 9 * len(known)), len(known))
    new = {old: f"n{number}" for old, number in zip(sorted(known), numbers, strict=True)}
    return _mapped(instance, new)


def _mapped(value: Any, new: dict[str, str]) -> Any:
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        kind, dot, item = value.partition(".")  # a quantity of a user row: servers.<id>
        return f"{kind}.{new[item]}" if dot and item in new else new.get(value, value)
    if isinstance(value, tuple):
        return tuple(_mapped(v, new) for v in value)
    if is_dataclass(value):
        return replace(value, **{f.name: _mapped(getattr(value, f.name), new) for f in fields(value)})
    return value


def halved(instance: Instance, name: str) -> Instance:
    """One class as two, each with half its traffic. Its shared prefix stays one, and both halves read it."""
    mine = {b.id for b in instance.buckets if b.cls == name}
    twins = {x: f"{x}'" for x in (name, *mine)}

    def twin(record: Any) -> Any:
        named = {"id", "cls", "bucket", "stream"} & {f.name for f in fields(record)}
        new = {n: twins.get(getattr(record, n), getattr(record, n)) for n in named}
        if "serve" in {f.name for f in fields(record)}:
            new["id"] = f"{record.id}'"
        return replace(record, **new)

    def both(rows: tuple[Any, ...], key: str) -> tuple[Any, ...]:
        return (*rows, *(twin(r) for r in rows if getattr(r, key) in twins))

    def rated(rows: tuple[Any, ...], key: str, *rates: str) -> tuple[Any, ...]:
        halves = (
            replace(r, **{n: getattr(r, n) / 2 for n in rates}) if getattr(r, key) in twins else r
            for r in rows
        )
        return both(tuple(halves), key)

    buckets = tuple(
        replace(b, slots=tuple(replace(s, rate=s.rate / 2) for s in b.slots)) if b.id in mine else b
        for b in instance.buckets
    )
    return replace(
        instance,
        classes=rated(instance.classes, "id", "rate", "mean_rate", "first_rate"),
        buckets=rated(buckets, "id", "rate", "mean_rate", "returns", "mean_returns"),
        stored=both(instance.stored, "bucket"),
        holdings=both(instance.holdings, "bucket"),
        decodes=rated(instance.decodes, "bucket", "rate", "sequences", "exchange_bytes"),
        paths=both(instance.paths, "stream"),
        shared_prefixes=(
            *instance.shared_prefixes,
            *(replace(twin(p), bytes=0.0) for p in instance.shared_prefixes if p.cls == name),
        ),
    )


def with_dearer_builds(instance: Instance, usd: float = 1000.0) -> Instance:
    """Every machine offered a second time, at a higher price."""
    again = tuple(
        replace(b, id=f"{b.id}!", cost=(*b.cost, CostLine("markup", usd)), capex_usd=b.capex_usd + usd)
        for b in instance.builds
    )
    return replace(instance, builds=(*instance.builds, *again))


def with_twin_option(instance: Instance, name: str) -> Instance:
    """An option offered twice under two names: its pools, places in HBM and shared prefixes too."""
    shapes = {p.shape for p in instance.pools if p.option == name}
    stores = {s.id for s in instance.stores if s.scope in shapes}
    own = {name, *shapes, *stores}
    own |= {p.id for p in instance.pools if p.option == name}
    own |= {h.id for h in instance.holdings if h.option == name}
    own |= {loc.id for loc in instance.locations if loc.option == name}
    new = {x: f"{x}~" for x in own}
    twins = {
        n: tuple(_mapped(r, new) for r in rows if _mapped(r, new) != r)
        for n in SETS
        if n != "models" and (rows := getattr(instance, n))
    }
    return replace(instance, **{n: (*getattr(instance, n), *rows) for n, rows in twins.items()})


# ---- less choice ----------------------------------------------------------------------------------------


def without(
    instance: Instance,
    *,
    options: Collection[str] = (),
    skus: Collection[str] = (),
    builds: Collection[str] = (),
    locations: Collection[str] = (),
    enclosures: Collection[str] = (),
    pools: Collection[str] = (),
    holdings: Collection[str] = (),
) -> Instance:
    """The instance without some of its parts, and without all that stands on them."""
    kept_pools = [
        p for p in instance.pools if p.option not in options and p.sku not in skus and p.id not in pools
    ]
    gone = {p.id for p in instance.pools} - {p.id for p in kept_pools}
    shapes = {p.shape for p in kept_pools}
    stores = [
        s
        for s in instance.stores
        if s.scope not in skus and s.scope not in enclosures and (s.tier != "hbm" or s.scope in shapes)
    ]
    standing = {s.id for s in stores}
    places = [
        x
        for x in instance.locations
        if x.store in standing and x.id not in locations and x.option not in options
    ]
    away = {x.id for x in instance.locations} - {x.id for x in places} | set(skus)
    return replace(
        instance,
        options=tuple(o for o in instance.options if o.id not in options),
        skus=tuple(s for s in instance.skus if s.id not in skus),
        builds=tuple(b for b in instance.builds if b.id not in builds and b.sku not in skus),
        enclosures=tuple(e for e in instance.enclosures if e.id not in enclosures),
        stores=tuple(stores),
        locations=tuple(places),
        stored=tuple(s for s in instance.stored if s.option not in options and s.location not in away),
        holdings=tuple(
            h
            for h in instance.holdings
            if h.option not in options and h.id not in holdings and not {h.serve, h.home} & away
        ),
        pools=tuple(kept_pools),
        decodes=tuple(d for d in instance.decodes if d.pool not in gone),
        paths=tuple(p for p in instance.paths if p.pool not in gone and p.location not in away),
        shared_prefixes=tuple(
            s for s in instance.shared_prefixes if s.option not in options and s.store in standing
        ),
    )


__all__ = [
    "Bucket",
    "TrafficClass",
    "halved",
    "renamed",
    "shuffled",
    "with_dearer_builds",
    "with_twin_option",
    "without",
]

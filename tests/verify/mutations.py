"""Layouts with one thing wrong: what the exact check must catch, whatever the layout.

    for description, mutated in every_number_moved(layout): assert not check(instance, mutated).passed

Both walk the dataclass fields, so a field added to `Layout` is moved too, and a label added there without a
kind in `KINDS` is an error.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from optimizer.instance import Case, Instance, Layout, Tier

Place = tuple[str | int, ...]
Mutant = tuple[str, Layout]


def scalars(value: Any, place: Place = ()) -> Iterator[tuple[Place, str, Any]]:
    """Every scalar below a dataclass or tuple: where it stands, `Type.field`, its value."""
    items = (
        enumerate(value)
        if isinstance(value, tuple)
        else ((f.name, getattr(value, f.name)) for f in fields(value))
    )
    for key, inner in items:
        here = (*place, key)
        if isinstance(inner, tuple) or is_dataclass(inner):
            yield from scalars(inner, here)
        else:
            yield here, f"{type(value).__name__}.{key}", inner


def with_value(value: Any, place: Place, new: Any) -> Any:
    """The same dataclass with one scalar changed."""
    if not place:
        return new
    key, *rest = place
    if isinstance(value, tuple):
        changed = with_value(value[key], tuple(rest), new)  # type: ignore[index]
        return (*value[:key], changed, *value[key + 1 :])  # type: ignore[index, operator, misc]
    return replace(value, **{key: with_value(getattr(value, key), tuple(rest), new)})  # type: ignore[arg-type]


def sampled(sites: list[Any], at_most: int | None, seed: int) -> list[Any]:
    """All sites, or so many drawn without replacement."""
    if at_most is None or len(sites) <= at_most:
        return sites
    return random.Random(seed).sample(sites, at_most)


def said(layout: Layout, place: Place) -> str:
    """A scalar's place in words: the row it stands in, by its labels."""
    row: Any = layout
    labels: list[str] = []
    for key in place[:-1]:
        row = row[key] if isinstance(row, tuple) else getattr(row, key)  # type: ignore[index]
        if is_dataclass(row):
            named = (f.name for f in fields(row) if f.type == "str" or f.name == "slot")
            labels += [str(getattr(row, name)) for name in named]
    return f"{type(row).__name__}[{','.join(labels)}].{place[-1]}"


def every_number_moved(layout: Layout, at_most: int | None = None, seed: int = 0) -> Iterator[Mutant]:
    """Every float by one percent, every int by one, either way. A float that is zero stays (see below)."""
    sites = []
    for place, _, value in scalars(layout):
        if isinstance(value, float) and value:
            sites += [(place, value, value * 1.01), (place, value, value * 0.99)]
        elif isinstance(value, int) and not isinstance(value, bool):
            sites += [(place, value, value + 1), (place, value, value - 1)]
    for place, old, new in sampled(sites, at_most, seed):
        yield f"{said(layout, place)}: {old!r} -> {new!r}", with_value(layout, place, new)


def every_zero_filled(layout: Layout, amount: float = 0.01) -> Iterator[Mutant]:
    """Every float that is zero made a little more."""
    for place, _, value in scalars(layout):
        if isinstance(value, float) and not value:
            yield f"{said(layout, place)}: 0 -> {amount!r}", with_value(layout, place, amount)


KINDS = {
    "ServerRow.build": "build", "OwnedRow.sku": "sku", "CxlRow.enclosure": "enclosure",
    "CxlHostRow.sku": "sku", "OptionRow.model": "model", "OptionRow.option": "option", "PoolRow.pool": "pool",
    "DecodeRow.bucket": "bucket", "DecodeRow.pool": "pool",
    "PlacementRow.option": "option", "PlacementRow.bucket": "bucket",
    "PlacementRow.serve": "location", "PlacementRow.home": "home", "PathRow.stream": "stream",
    "PathRow.option": "option", "PathRow.case": "case", "PathRow.location": "source", "PathRow.pool": "pool",
    "StoreRow.store": "store", "LruRow.tier": "tier", "CostRow.component": "component",
}  # fmt: skip


def labels(instance: Instance) -> dict[str, list[str]]:
    """Every valid label of every kind."""
    machines = [b.cost for b in instance.builds]
    machines += [c for e in instance.enclosures for c in (e.enclosure_cost, e.module_cost, e.adapter_cost)]
    buckets, places = [b.id for b in instance.buckets], [x.id for x in instance.locations]
    found = {
        "build": [b.id for b in instance.builds],
        "sku": [s.id for s in instance.skus],
        "enclosure": [e.id for e in instance.enclosures],
        "model": list(instance.models),
        "option": [o.id for o in instance.options],
        "pool": [p.id for p in instance.pools],
        "bucket": buckets,
        "stream": [*buckets, *(c.id for c in instance.classes)],
        "case": [case.value for case in Case],
        "location": places,
        "source": ["", *places],
        "home": [h.home for h in instance.holdings],
        "store": [s.id for s in instance.stores],
        "tier": [tier.value for tier in Tier],
        "component": [
            "owned hardware",
            "replacement drives",
            *(line.component for c in machines for line in c),
        ],
    }
    return {kind: list(dict.fromkeys(names)) for kind, names in found.items()}


def every_label_swapped(
    layout: Layout, instance: Instance, each: int | None = None, at_most: int | None = None, seed: int = 0
) -> Iterator[Mutant]:
    """Every text field replaced by every other valid label of its kind, or by `each` of them drawn."""
    known, sites = labels(instance), []
    for number, (place, name, value) in enumerate(scalars(layout)):
        if isinstance(value, str):
            others = [label for label in known[KINDS[name]] if label != value]
            sites += [(place, value, label) for label in sampled(others, each, seed + number)]
    for place, old, new in sampled(sites, at_most, seed):
        yield f"{said(layout, place)}: {old!r} -> {new!r}", with_value(layout, place, new)

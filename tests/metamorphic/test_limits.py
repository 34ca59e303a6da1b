"""A limit at what the cheapest layout takes costs nothing; one just below is never cheaper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pytest

from optimizer.instance import Instance, Layout, Tier

from .changes import Change
from .solved import FAST, SLOW, Optimum, base, dearer, differs, optimum

HAIR = 1e-6
"""Relative: a limit this much below what is taken is missed, one this much above is not."""
Limiting = Callable[[Instance, Layout], Iterator[tuple[float, Callable[[float], Change]]]]
"""What the layout takes of each limited thing, and the change that limits it to so much."""


def _machines(instance: Instance, layout: Layout, worth: str, parts: str | None) -> float:
    """The sum of a worth over all machines, and over enclosures, modules and adapters."""
    builds, boxes = {b.id: b for b in instance.builds}, {e.id: e for e in instance.enclosures}
    taken = sum(row.count * getattr(builds[row.build], worth) for row in layout.servers)
    for row in layout.cxl:
        counts = (row.enclosures, row.modules, sum(h.adapters for h in row.hosts))
        values = (
            getattr(boxes[row.enclosure], parts) if parts else (boxes[row.enclosure].rack_units, 0.0, 0.0)
        )
        taken += sum(n * v for n, v in zip(counts, values, strict=True))
    return taken


def _facility(name: str, worth: str, parts: str | None) -> Limiting:
    def limiting(instance: Instance, layout: Layout) -> Iterator[tuple[float, Callable[[float], Change]]]:
        taken = _machines(instance, layout, worth, parts)
        if name == "budget_usd":
            saved = {s.id: s.owned_saving_usd for s in instance.skus}
            taken -= sum(row.used * saved[row.sku] for row in layout.owned)
        if taken:
            yield taken, lambda most: lambda x: replace(x, limits=replace(x.limits, **{name: most}))

    return limiting


def _sku_counts(instance: Instance, layout: Layout) -> dict[str, int]:
    sku = {b.id: b.sku for b in instance.builds}
    counts = {s.id: 0 for s in instance.skus}
    for row in layout.servers:
        if sku[row.build]:
            counts[sku[row.build]] += row.count
    return counts


def _per_sku(field: str, owned: bool) -> Limiting:
    """Whole servers: the limit is rounded down."""

    def limiting(instance: Instance, layout: Layout) -> Iterator[tuple[float, Callable[[float], Change]]]:
        for s in instance.skus:
            taken = _sku_counts(instance, layout)[s.id] - (s.owned if owned else 0)
            if taken > 0:
                yield (
                    float(taken),
                    lambda most, s=s: (
                        lambda x: replace(
                            x,
                            skus=tuple(
                                replace(k, **{field: math.floor(most)}) if k.id == s.id else k for k in x.skus
                            ),
                        )
                    ),
                )

    return limiting


def _enclosures(instance: Instance, layout: Layout) -> Iterator[tuple[float, Callable[[float], Change]]]:
    for row in layout.cxl:
        if row.enclosures:
            yield (
                float(row.enclosures),
                lambda most, row=row: (
                    lambda x: replace(
                        x,
                        enclosures=tuple(
                            replace(e, maximum=math.floor(most)) if e.id == row.enclosure else e
                            for e in x.enclosures
                        ),
                    )
                ),
            )


def _tiers(instance: Instance, layout: Layout) -> Iterator[tuple[float, Callable[[float], Change]]]:
    """Installed bytes: DRAM and NVMe of accelerator servers, CXL modules, nodes of the facility's tiers."""
    builds, boxes = {b.id: b for b in instance.builds}, {e.id: e for e in instance.enclosures}
    for tier in {s.tier for s in instance.stores if s.tier is not Tier.HBM and not instance.dram_pooled}:
        worth = "dram_bytes" if tier in (Tier.DRAM, Tier.DRAM_POOL) else "nvme_bytes"
        home = tier if tier in (Tier.DRAM_POOL, Tier.STORAGE) else None
        taken = sum(
            row.count * getattr(builds[row.build], worth)
            for row in layout.servers
            if builds[row.build].tier is home
        )
        if tier is Tier.CXL:
            taken = sum(row.modules * boxes[row.enclosure].module_bytes for row in layout.cxl)
        if taken:
            yield (
                taken,
                lambda most, tier=tier: (
                    lambda x: replace(
                        x, stores=tuple(replace(s, max_bytes=most) if s.tier is tier else s for s in x.stores)
                    )
                ),
            )


LIMITS: dict[str, Limiting] = {
    "power": _facility("power_w", "power_w", "power_w"),
    "rack space": _facility("rack_units", "rack_units", None),
    "budget": _facility("budget_usd", "capex_usd", "capex_usd"),
    "servers of a kind": _per_sku("maximum", owned=False),
    "supply": _per_sku("supply", owned=True),
    "enclosures": _enclosures,
    "bytes of a tier": _tiers,
}


def judge(name: str, before: Optimum) -> tuple[list[tuple[str, float, float]], int]:
    """What breaks the law on one problem, and how often a limit just below what was taken is felt."""
    broken, felt = [], 0
    for taken, limited in LIMITS[name](before.instance, before.layout):
        enough, short = (_limited(before, limited, taken * (1 + side * HAIR)) for side in (1, -1))
        if differs(enough.usd, before.usd):
            broken.append(("enough", before.usd, enough.usd))
        if dearer(before.usd, short.usd):
            broken.append(("short", before.usd, short.usd))
        felt += dearer(short.usd, before.usd)
    return broken, felt


def misjudged(name: str, seeds: Iterable[int]) -> tuple[dict[int, list[tuple[str, float, float]]], int]:
    """Seeds whose cost breaks the law, and how many limits were felt."""
    judged = {seed: judge(name, base(seed)) for seed in seeds if math.isfinite(base(seed).usd)}
    return {seed: broken for seed, (broken, _) in judged.items() if broken}, sum(
        f for _, f in judged.values()
    )


def _limited(before: Optimum, limited: Callable[[float], Change], most: float) -> Optimum:
    changed = limited(most)(before.instance)
    assert changed is not None
    return optimum(changed)


@pytest.mark.parametrize("name", LIMITS)
def test_tighter_limit_is_never_cheaper(name: str) -> None:
    assert misjudged(name, FAST[::2])[0] == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", LIMITS)
def test_tighter_limit_is_never_cheaper_on_more_seeds(name: str) -> None:
    """And the limit is felt: just below what the cheapest layout takes there is often none as cheap."""
    broken, felt = misjudged(name, SLOW[::2])
    assert broken == {}
    assert felt > 0

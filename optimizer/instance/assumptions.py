"""Every number in force that a reader may want to doubt: estimates of the cards, and defaults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import BaseModel

from optimizer.catalog import Basis, Catalog, Figure, ModelCard, Preset, Price, Sourced
from optimizer.instance.deployment import Deployment
from optimizer.instance.types import Assumption
from optimizer.workload import Workload


def estimates(label: str, node: object, preset: Preset) -> Iterator[Assumption]:
    """Walk a card; yield each estimated figure, price or block with its source and note."""
    if isinstance(node, Sourced):
        if node.basis is Basis.ESTIMATED:
            yield Assumption(label, _value(node, preset), _source(node), node.basis.value)
        if isinstance(node, (Figure, Price)):
            return
    if isinstance(node, BaseModel):
        for name in type(node).model_fields:
            yield from estimates(f"{label}.{name}", getattr(node, name), preset)
    elif isinstance(node, dict):
        for name, item in node.items():
            yield from estimates(f"{label}.{name}", item, preset)
    elif isinstance(node, (tuple, list)):
        for i, item in enumerate(node):
            word = getattr(item, "id", None) or getattr(item, "name", None) or getattr(item, "format", i)
            yield from estimates(f"{label}.{word}", item, preset)


def _value(node: Sourced, preset: Preset) -> str:
    if isinstance(node, Figure):
        return f"{node.value:g} {node.unit}".strip()
    if isinstance(node, Price):
        return f"{node.at(preset):g} {node.unit} ({node.low:g} to {node.high:g})"
    return node.note or "see the card"


def _source(node: Sourced) -> str:
    return f"{node.source} ({node.date})" + (f": {node.note}" if node.note else "")


def assumptions(
    workload: Workload, catalog: Catalog, cards: Iterable[ModelCard], deployed: Iterable[Deployment]
) -> tuple[Assumption, ...]:
    """The estimates behind one study: its models, accelerators, servers, facility; and how it was asked."""
    preset = Preset(workload.economics.prices)
    found: list[Assumption] = []
    for card in {c.id: c for c in cards}.values():
        found += estimates(card.id, card, preset)
    for accelerator in {d.accelerator.id: d.accelerator for d in deployed}.values():
        found += estimates(accelerator.id, accelerator, preset)
    for name in workload.hardware.servers:
        found += estimates(name, catalog.server(name), preset)
    found += estimates("facility", catalog.devices.facility, preset)
    found += [
        Assumption(f"classes.{name}", f"lengths and gaps of {c.reuse.trace}", c.source, "measured")
        for name, c in workload.classes.items() if c.reuse.trace
    ]  # fmt: skip
    asked = workload.economics
    found += [
        Assumption(
            "economics",
            f"{asked.ownership}, {asked.horizon / (365 * 86400):g} years, {preset.value} prices, "
            f"{asked.space}, {asked.network} network, {asked.terms} rates before tax",
            "workload file",
            "input",
        ),
        Assumption(
            "rates",
            "peak for ages up to 3,600 s and for throughput; mean beyond, and for wear and energy",
            "rule of the model",
            "input",
        ),
        Assumption("headroom", f"{workload.headroom:.0%} on every rate", "workload file", "input"),
    ]
    return tuple(found)

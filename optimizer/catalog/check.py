"""What no single card can know: names that point to other cards. One check a function, every fault reported.

The list of checks at the end is the documentation of what a catalog may not contain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from optimizer.catalog.devices import DeviceCatalog
from optimizer.catalog.llms import ModelCard
from optimizer.catalog.provenance import figures_in
from optimizer.errors import Problem
from optimizer.files import alike
from optimizer.units import Strict

ANY = "any"
Models = dict[str, ModelCard]


def problems(models: Models, devices: DeviceCatalog) -> list[Problem]:
    """Every fault that the checks find."""
    return [problem for check in CHECKS for problem in check(models, devices)]


def names_inside_a_card_are_unique(models: Models, devices: DeviceCatalog) -> Iterator[Problem]:
    """No two options, codecs, components or weight formats of one model share a name."""
    for card in models.values():
        named = {
            "options": [option.id for option in card.options],
            "codecs": [codec.id for codec in card.codecs],
            "components": [component.name for component in card.components],
            "weights": [weights.format for weights in card.weights],
        }
        for kind, names in named.items():
            for name, count in Counter(names).items():
                if count > 1:
                    yield Problem("", f"{card.id}.{kind}.{name}", f"stands {count} times",
                                  "give each its own name")


def sources_are_known(models: Models, devices: DeviceCatalog) -> Iterator[Problem]:
    """Every figure's source is a key of its card's `sources`, or an address."""
    yield from _unsourced("", devices, devices.sources)
    for name, card in models.items():
        yield from _unsourced(f"{name}.", card, card.sources)


def servers_name_known_parts(models: Models, devices: DeviceCatalog) -> Iterator[Problem]:
    """A server's accelerator and DIMMs are in the catalog; an accelerator server has accelerators."""
    accelerators = [part.id for part in devices.accelerators]
    dimms = [part.id for part in devices.dimms]
    for server in devices.servers:
        where = f"servers.{server.id}"
        if (server.kind == "accelerator") != (server.accelerator is not None and server.accelerators > 0):
            yield Problem("", where, f"is of kind {server.kind} with {server.accelerators} accelerators",
                          "an accelerator server, and only that, states accelerator and accelerators")
        if server.accelerator is not None:
            yield from _known(f"{where}.accelerator", "accelerator", [server.accelerator], accelerators)
        yield from _known(f"{where}.populations", "DIMM", [p.dimm for p in server.populations], dimms)
        if bool(server.populations) == (server.fixed_memory is not None):
            yield Problem("", where, "has neither or both of populations and fixed_memory", "state one")


def enclosures_name_known_parts(models: Models, devices: DeviceCatalog) -> Iterator[Problem]:
    """An enclosure's modules and adapter are in the catalog."""
    modules = [part.id for part in devices.cxl_modules]
    adapters = [part.id for part in devices.cxl_adapters]
    for enclosure in devices.cxl_enclosures:
        where = f"cxl_enclosures.{enclosure.id}"
        yield from _known(f"{where}.modules", "CXL module", enclosure.modules, modules)
        yield from _known(f"{where}.adapter", "CXL adapter", [enclosure.adapter], adapters)


def shapes_run_on_known_accelerators(models: Models, devices: DeviceCatalog) -> Iterator[Problem]:
    """A shape's accelerator is in the catalog and has a peak for every weight format of the model."""
    peaks = {part.id: part.peak for part in devices.accelerators}
    for card in models.values():
        for shape in card.shapes:
            yield from _known(f"{card.id}.shapes", "accelerator", [shape.accelerator], peaks)
            missing = {w.compute_dtype for w in card.weights} - set(peaks.get(shape.accelerator, ()))
            if shape.accelerator in peaks and missing:
                yield Problem("", f"{card.id}.shapes", f"{shape.accelerator} has no {min(missing)} peak",
                              f"add peak.{min(missing)} to the accelerator")


def options_name_known_accelerators(models: Models, devices: DeviceCatalog) -> Iterator[Problem]:
    """`accelerators` of options and codecs are families or ids of the catalog, or "any"."""
    known = {ANY, *(name for part in devices.accelerators for name in (part.family, part.id))}
    for card in models.values():
        named = [(option.id, option.accelerators) for option in card.options]
        for name, accelerators in [*named, *((codec.id, codec.accelerators) for codec in card.codecs)]:
            where = f"{card.id}.{name}.accelerators"
            yield from _known(where, "accelerator or family", accelerators, known)


def families_have_a_prefill_factor(models: Models, devices: DeviceCatalog) -> Iterator[Problem]:
    """A card's efficiency family other than `default` is one that some accelerator knows."""
    known = {"default", *(f for part in devices.accelerators for f in part.efficiency.prefill_by_family)}
    for card in models.values():
        where = f"{card.id}.efficiency_family"
        yield from _known(where, "efficiency family", [card.efficiency_family], known)


def states_have_snapshots(models: Models, devices: DeviceCatalog) -> Iterator[Problem]:
    """A model with states or windows cannot resume from KV alone: every option says when it snapshots."""
    for card in models.values():
        if any(part.kind != "linear" and part.in_snapshot and not part.draft for part in card.components):
            for option in card.options:
                if option.snapshot.policy == "none":
                    yield Problem("", f"{card.id}.{option.id}.snapshot", "is none in a model with states",
                                  "last_turn or every_tokens")


def codecs_name_known_profiles(models: Models, devices: DeviceCatalog) -> Iterator[Problem]:
    """A codec's ratios are for profiles that the components know."""
    for card in models.values():
        known = set.intersection(*(set(part.bytes) for part in card.components))
        for codec in card.codecs:
            yield from _known(f"{card.id}.{codec.id}.ratio", "profile", codec.ratio, known)


def _unsourced(prefix: str, card: Strict, sources: dict[str, str]) -> Iterator[Problem]:
    for where, block in figures_in(card):
        source = block.source
        if source not in sources and not any(mark in source for mark in ("/", ".")):
            yield Problem("", f"{prefix}{where}.source", f'no source "{source}" in sources',
                          alike(source, sources) or "add it, or give an address")


def _known(where: str, kind: str, names: Iterable[str], known: Iterable[str]) -> Iterator[Problem]:
    known = list(known)
    for name in names:
        if name not in known:
            yield Problem("", where, f'no {kind} "{name}"',
                          alike(name, known) or f"one of: {', '.join(sorted(known))}")


Check = Callable[[Models, DeviceCatalog], Iterator[Problem]]

CHECKS: tuple[Check, ...] = (
    names_inside_a_card_are_unique,
    sources_are_known,
    servers_name_known_parts,
    enclosures_name_known_parts,
    shapes_run_on_known_accelerators,
    options_name_known_accelerators,
    families_have_a_prefill_factor,
    states_have_snapshots,
    codecs_name_known_profiles,
)

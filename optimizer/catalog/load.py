"""From folders of YAML cards to one checked catalog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from optimizer.catalog import check
from optimizer.catalog.devices import (
    Accelerator,
    CxlAdapter,
    CxlEnclosure,
    CxlModule,
    DeviceCatalog,
    DeviceFile,
    Dimm,
    Drive,
    Server,
    TransferPath,
)
from optimizer.catalog.llms import ModelCard
from optimizer.catalog.provenance import complete
from optimizer.errors import InputError, Problem
from optimizer.files import Document, Keys, alike, data_path, read_yaml, validate

LLMS, DEVICES = "llms", "devices"
_SINGLE = ("network", "facility")
_LISTS = tuple(name for name in DeviceFile.model_fields if name not in (*_SINGLE, "sources"))


class _Named(Protocol):
    @property
    def id(self) -> str: ...


Part = TypeVar("Part", bound=_Named)
Read = TypeVar("Read", ModelCard, DeviceFile)


@dataclass(frozen=True)
class Catalog:
    """Every card: models by id, and everything that can be bought. An unknown id is an InputError."""

    models: dict[str, ModelCard]
    devices: DeviceCatalog

    def model(self, name: str) -> ModelCard:
        """The card of a model."""
        return _find("model", self.models.values(), name)

    def accelerator(self, name: str) -> Accelerator:
        """The card of an accelerator, enabled or not."""
        return _find("accelerator", self.devices.accelerators, name)

    def server(self, name: str) -> Server:
        """The card of a server, rack, DRAM node or storage node."""
        return _find("server", self.devices.servers, name)

    def dimm(self, name: str) -> Dimm:
        """The card of a memory module."""
        return _find("DIMM", self.devices.dimms, name)

    def drive(self, name: str) -> Drive:
        """The card of a data drive."""
        return _find("drive", self.devices.drives, name)

    def cxl_module(self, name: str) -> CxlModule:
        """The card of a CXL memory module."""
        return _find("CXL module", self.devices.cxl_modules, name)

    def cxl_enclosure(self, name: str) -> CxlEnclosure:
        """The card of a CXL pool."""
        return _find("CXL enclosure", self.devices.cxl_enclosures, name)

    def cxl_adapter(self, name: str) -> CxlAdapter:
        """The card of the host side of a CXL pool."""
        return _find("CXL adapter", self.devices.cxl_adapters, name)

    def path(self, tier: str) -> TransferPath:
        """How a tier reaches a GPU."""
        found = next((path for path in self.devices.paths if path.tier == tier), None)
        if found is None:
            raise InputError(_unknown("transfer path", tier, [path.tier for path in self.devices.paths]))
        return found


def load_catalog(extra: Path | None = None) -> Catalog:
    """The shipped cards, with those of `extra/llms/*.yaml` and `extra/devices/*.yaml` on top.

    A card of `extra` with the id of a shipped one replaces it whole; `network` and `facility` likewise.
    Raises InputError with every problem of the first stage that finds any: reading, then cross-references.
    """
    if extra is None:
        return _shipped()
    if not (extra / LLMS).is_dir() and not (extra / DEVICES).is_dir():
        raise InputError(Problem(str(extra), "", "holds no folder llms/ or devices/", "put cards in these"))
    return _load((data_path("models"), extra))


@lru_cache(maxsize=1)
def _shipped() -> Catalog:
    return _load((data_path("models"),))


def _load(folders: tuple[Path, ...]) -> Catalog:
    """The cards of all folders; what comes later replaces what has the same id."""
    problems: list[Problem] = []
    places: dict[str, str] = {}
    models: dict[str, ModelCard] = {}
    layers: list[list[DeviceFile]] = []
    for folder in folders:
        cards, files = _Folder(folder / LLMS, problems), _Folder(folder / DEVICES, problems)
        models |= {card.id: card for card in cards.models(places)}
        layers.append(files.devices(places))
    if problems:
        raise InputError(problems)
    devices = _merge(layers)
    if problems := check.problems(models, devices):
        raise InputError([_placed(problem, places) for problem in problems])
    return Catalog(models, devices)


class _Folder:
    """The card files of one folder, in order; what is wrong with them goes to `problems`."""

    def __init__(self, folder: Path, problems: list[Problem]):
        self.paths = sorted(folder.glob("*.yaml"))
        self.problems = problems
        self.seen: dict[str, str] = {}

    def models(self, places: dict[str, str]) -> list[ModelCard]:
        """One LLM card a file; `places` learns where each stands."""
        cards = []
        for document, card in self._read(ModelCard):
            self._once(card.id, document, (), places)
            cards.append(card)
        return cards

    def devices(self, places: dict[str, str]) -> list[DeviceFile]:
        """Device files; an id, a single block and a source key stand in one file of the folder."""
        files = []
        for document, file in self._read(DeviceFile):
            for name in _LISTS:
                for row, part in enumerate(getattr(file, name)):
                    self._once(f"{name}.{_key(part)}", document, (name, row), places)
            for name in _SINGLE:
                if getattr(file, name) is not None:
                    self._once(name, document, (name,), places)
            for key in file.sources:
                self._once(f"sources.{key}", document, ("sources", key), places)
            files.append(file)
        return files

    def _read(self, model: type[Read]) -> Iterator[tuple[Document, Read]]:
        for path in self.paths:
            try:
                document = complete(model, read_yaml(path))
                yield document, validate(model, document)
            except InputError as fault:
                self.problems += fault.problems

    def _once(self, name: str, document: Document, keys: Keys, places: dict[str, str]) -> None:
        where = document.where(keys)
        if name in self.seen:
            self.problems.append(Problem(where, name, "stands twice", f"already at {self.seen[name]}"))
        self.seen[name] = places[name] = where


def _placed(problem: Problem, places: dict[str, str]) -> Problem:
    """The problem with the place of the card that its path begins with."""
    found = [name for name in places if f"{problem.path}.".startswith(f"{name}.")]
    return replace(problem, where=places[max(found, key=len)]) if found else problem


def _merge(layers: list[list[DeviceFile]]) -> DeviceCatalog:
    merged: dict[str, Any] = {"sources": {}}
    for files in layers:
        for file in files:
            merged["sources"] |= file.sources
            merged |= {name: getattr(file, name) for name in _SINGLE if getattr(file, name) is not None}
        for name in _LISTS:
            parts = [part for file in files for part in getattr(file, name)]
            new = {_key(part) for part in parts}
            kept = [part for part in merged.get(name, ()) if _key(part) not in new]
            merged[name] = (*kept, *parts)
    absent = [name for name in _SINGLE if name not in merged]
    if absent:
        raise InputError([Problem("", name, "stands in no file of devices/", "add it") for name in absent])
    return DeviceCatalog(**merged)


def _key(part: Any) -> str:
    return str(part.tier if isinstance(part, TransferPath) else part.id)


def _find(kind: str, parts: Iterable[Part], name: str) -> Part:
    parts = tuple(parts)
    found = next((part for part in parts if part.id == name), None)
    if found is None:
        raise InputError(_unknown(kind, name, [part.id for part in parts]))
    return found


def _unknown(kind: str, name: str, known: list[str]) -> Problem:
    return Problem("", "", f'no {kind} "{name}" in the catalog',
                   alike(name, known) or f"one of: {', '.join(known) or 'none'}")

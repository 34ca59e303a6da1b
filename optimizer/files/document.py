"""A parsed file: plain data, and the place in the text of every key and list item."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from optimizer.errors import Problem

Keys = tuple[str | int, ...]
Place = tuple[int, int]


@dataclass(frozen=True)
class Document:
    """What a YAML file holds. `data` is dict, list, str, int, float, bool or None, all the way down.

    `overrides` maps keys whose values did not come from the file to what set them; those are then the
    place of anything said about these keys.
    """

    data: Any
    path: Path
    name: str
    places: Mapping[Keys, Place] = field(repr=False)
    overrides: Mapping[Keys, str] = field(default_factory=dict)

    def locate(self, keys: Keys) -> Place:
        """Line and column (from 1) of a key or list item; of its nearest known parent otherwise."""
        for length in range(len(keys), -1, -1):
            if keys[:length] in self.places:
                return self.places[keys[:length]]
        return 1, 1

    def where(self, keys: Keys) -> str:
        """The place of `keys` as `file:line:col`, or the override that set them or something in them."""
        for length in range(len(keys), 0, -1):
            if keys[:length] in self.overrides:
                return self.overrides[keys[:length]]
        inside = [text for path, text in self.overrides.items() if keys and path[: len(keys)] == keys]
        if inside:
            return inside[-1]
        line, column = self.locate(keys)
        return f"{self.name}:{line}:{column}"

    def problem(self, keys: Keys, message: str, remedy: str = "") -> Problem:
        """A Problem that stands at `keys`."""
        return Problem(self.where(keys), shortened(dotted(keys)), message, remedy, keys)

    def placed(self, problem: Problem) -> Problem:
        """A problem that was found without knowing the file, with the place of its keys."""
        if problem.where or not problem.keys:
            return problem
        return replace(problem, where=self.where(problem.keys))


def dotted(keys: Keys) -> str:
    """The dotted path of a key, list indices by number: `classes.chat.contexts.0.share`."""
    return ".".join(str(key) for key in keys)


def shortened(text: str, longest: int = 300) -> str:
    """The text, cut where it is too long to be read as part of a message."""
    return text if len(text) <= longest else f"{text[:longest]}..."


def alike(word: str, known: Iterable[str]) -> str:
    """`did you mean "x"?` for the known name nearest to `word`, or nothing."""
    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.6)
    return f'did you mean "{names[near[0]]}"?' if near else ""

"""`--set path=value`: changes to a workload made from outside its file.

A path is dotted, list indices by number: `classes.chat.contexts.0.share=0.5`. A value is YAML (a scalar,
`[...]` or `{...}`), or `x0.5`: the present value times 0.5, its unit kept. `null` unsets a value and takes
an entry out (`classes.chat=null`, `hardware.servers.HGX-B300-8=null`). Names that hold dots themselves
(`prices.parts.9550-15.36`) are found as they stand in the file or in the schema. `x3` on a price that
the file leaves to the catalogue scales the catalogue's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from optimizer.errors import InputError, Problem
from optimizer.files import Document, Keys, alike, dotted, read_text_yaml, schema, shortened
from optimizer.units import parse_number, split

_FACTOR = re.compile(r"x(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)")
_SHOWN = 100
_LONGEST_PATH = 500
_LARGEST_INDEX_DIGITS = 9
_SCALABLE = {("prices", name) for name in ("dram", "nvme", "electricity")}


class _Fault(Exception):
    """Why one override cannot be applied."""

    def __init__(self, message: str, remedy: str = ""):
        super().__init__(message)
        self.remedy = remedy


def apply(model: type[BaseModel], document: Document, overrides: Sequence[str]) -> Document:
    """The document with every override applied in order; the file's own data is left as it was.

    Raises InputError with one Problem, placed at `--set ...`, for every override that does not apply.
    """
    data, origins = _copy(document.data), dict(document.overrides)
    problems = []
    for text in overrides:
        label = f"--set {shortened(text, _SHOWN)}"
        try:
            keys = _set(model, data, text)
            origins[keys] = label
        except _Fault as fault:
            problems.append(Problem(label, "", str(fault), fault.remedy))
    if problems:
        raise InputError(problems)
    return replace(document, data=data, overrides=origins)


def _set(model: type[BaseModel], data: Any, text: str) -> Keys:
    """Apply one override in place; returns the keys it set."""
    path, equals, written = text.partition("=")
    if not equals or not path.strip():
        raise _Fault("is not path=value", "for example classes.chat.peak_rate=x2")
    if len(path) > _LONGEST_PATH:
        raise _Fault(f"is a path of {len(path):,} characters", f"at most {_LONGEST_PATH}")
    keys = resolve(model, data, path.strip())
    factor = _FACTOR.fullmatch(written.strip())
    if factor and keys in _SCALABLE and _get(data, keys) is None:
        keys = ("prices", "scale", keys[1])
        value = _scaled(_get(data, keys) or 1.0, float(factor[1]), keys)
    elif factor:
        value = _scaled(_get(data, keys), float(factor[1]), keys)
    else:
        value = _value(written)
    if value is None and schema.values(schema.at(model, keys[:-1])) is not None:
        _drop(data, keys)
    else:
        _put(data, keys, value)
    return keys


def resolve(model: type[BaseModel], data: Any, path: str) -> Keys:
    """The keys a dotted path means, given what the file holds and what the schema allows."""
    keys: Keys = ()
    annotation: Any = model
    parts = path.split(".")
    while parts:
        names = schema.fields(annotation)
        key: str | int
        if names is not None:
            key, used = _field(parts, names, keys)
        elif schema.values(annotation) is not None:
            key, used = _entry(parts, schema.values(annotation), _get(data, keys), keys)
        elif schema.items(annotation) is not None:
            key, used = _index(parts[0], _get(data, keys), keys)
        else:
            raise _Fault(f"{dotted(keys)} has nothing inside", f"set {dotted(keys)} itself")
        keys, parts = (*keys, key), parts[used:]
        annotation = schema.step(annotation, key)
    return keys


def _field(parts: list[str], names: dict[str, Any], keys: Keys) -> tuple[str, int]:
    if parts[0] in names:
        return parts[0], 1
    at = f"{dotted(keys)} has" if keys else "there is"
    remedy = alike(parts[0], names) or f"one of: {', '.join(names)}"
    raise _Fault(f'{at} no "{parts[0]}"', remedy)


def _entry(parts: list[str], inner: Any, present: Any, keys: Keys) -> tuple[str, int]:
    """An entry of an open mapping: the longest name the file has, else a new name that the schema allows."""
    known = present if isinstance(present, dict) else {}
    for used in range(len(parts), 0, -1):
        if ".".join(parts[:used]) in known:
            return ".".join(parts[:used]), used
    required = any(info.is_required() for info in (schema.fields(inner) or {}).values())
    for used in range(1, len(parts) + 1):
        rest = tuple(parts[used:])
        fits = not required and schema.at(inner, rest) is not None if rest else not required or used == 1
        if fits:
            return ".".join(parts[:used]), used
    raise _Fault(f'{dotted(keys)} has no "{parts[0]}"', alike(parts[0], known) or _listed(known))


def _index(part: str, present: Any, keys: Keys) -> tuple[int, int]:
    count = len(present) if isinstance(present, list) else 0
    known = part.isascii() and part.isdigit() and len(part) <= _LARGEST_INDEX_DIGITS
    if not known or int(part) >= count:
        span = f"its items are 0 to {count - 1}" if count else "it is empty: set the whole list"
        raise _Fault(f'{dotted(keys)} has no item "{part}"', span)
    return int(part), 1


def _value(written: str) -> Any:
    """The value as YAML reads it."""
    if not written.strip():
        raise _Fault("gives no value", "write null to unset")
    if written.strip() in ("null", "~"):
        return None
    try:
        return read_text_yaml(written, "value").data
    except InputError as fault:
        raise _Fault(f"the value cannot be read: {fault.problems[0].message}") from None


def _scaled(present: Any, factor: float, keys: Keys) -> Any:
    """A number or suffixed quantity times a factor, in its own unit."""
    if isinstance(present, str) and (parts := split(present)):
        number, suffix = _finite(parse_number(parts[0]) * factor, keys), parts[1]
        return f"${number!r}{suffix[1:]}" if suffix.startswith("$") else f"{number!r} {suffix}"
    if isinstance(present, (int, float)) and not isinstance(present, bool):
        scaled = _finite(present * factor, keys)
        return int(scaled) if isinstance(present, int) and scaled == int(scaled) else scaled
    if present is None:
        raise _Fault(f"{dotted(keys)} is not set, so there is nothing to scale", "give a value")
    raise _Fault(f"{dotted(keys)} is not a number", "x0.5 scales numbers and quantities only")


def _finite(number: float, keys: Keys) -> float:
    if not math.isfinite(number):
        raise _Fault(f"makes {dotted(keys)} larger than any number", "give a smaller factor")
    return number


def _get(data: Any, keys: Keys) -> Any:
    """What the data holds at keys; None where it holds nothing."""
    for key in keys:
        if isinstance(data, dict):
            data = data.get(key)
        elif isinstance(data, list) and isinstance(key, int) and key < len(data):
            data = data[key]
        else:
            return None
    return data


def _put(data: Any, keys: Keys, value: Any) -> None:
    """Set the value, making the mappings on the way that the file left out."""
    for position, key in enumerate(keys[:-1]):
        if isinstance(data, dict) and data.get(key) is None:
            data[key] = {}
        data = data[key]
        if not isinstance(data, (dict, list)):
            raise _Fault(f"{dotted(keys[: position + 1])} is not a mapping in the file")
    data[keys[-1]] = value


def _drop(data: Any, keys: Keys) -> None:
    """Take one entry out of an open mapping: a class, a server."""
    holder = _get(data, keys[:-1])
    if not isinstance(holder, dict) or keys[-1] not in holder:
        raise _Fault(f"{dotted(keys[:-1])} has no {keys[-1]} to take out", alike(str(keys[-1]), holder or ()))
    del holder[keys[-1]]


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _listed(known: Any) -> str:
    return f"one of: {', '.join(known)}" if known else ""

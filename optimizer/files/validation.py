"""A document against a pydantic schema: the validated model, or every fault in the planner's words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from optimizer.errors import InputError, Problem
from optimizer.files import schema
from optimizer.files.document import Document, Keys, alike, shortened

Model = TypeVar("Model", bound=BaseModel)

_REMEDY_INSIDE = re.compile(r"^(.*) \(((?:did you mean|one of) .*)\)$", re.DOTALL)
_SHOWN = 60
MOST_TOLD = 50
"""Faults of one file that are told."""


def validate(model: type[Model], document: Document) -> Model:
    """The document as a `model`, strictly: no text is taken for a number, no number for a flag.

    Raises InputError with a Problem for every fault: unknown keys with the name that was meant, missing
    keys, wrong kinds, and what the schema's own validators say.
    """
    try:
        return model.model_validate_json(json.dumps(document.data), strict=True)
    except ValidationError as fault:
        errors = [dict(error) for error in fault.errors(include_url=False)]
        raise InputError(_problems(model, document, errors)) from None


def _problems(model: type[BaseModel], document: Document, errors: list[dict[str, Any]]) -> list[Problem]:
    """One Problem for each error, in the order of the file."""
    placed = sorted(
        ((document.locate(keys), number, keys) for number, keys in enumerate(_keys(e["loc"]) for e in errors))
    )
    found: list[Problem] = []
    for told, (_, number, keys) in enumerate(placed):
        error = errors[number]
        if len(found) == MOST_TOLD:
            found.append(document.problem(keys, f"and {len(errors) - told:,} more faults, beginning here"))
            break
        if error["type"] == "too_short" and _emptied(keys, errors):
            continue  # the list is short only because its items failed
        message, remedy = _PHRASES.get(error["type"], _own_words)(error, keys, model)
        found.append(document.problem(keys, message, remedy))
    return found


def _keys(loc: tuple[Any, ...]) -> Keys:
    """The keys of an error in the file: pydantic marks a bad key by a last step `[key]`."""
    return tuple(loc[:-1]) if loc and loc[-1] == "[key]" else tuple(loc)


def _emptied(keys: Keys, errors: list[dict[str, Any]]) -> bool:
    return any(len(e["loc"]) > len(keys) and tuple(e["loc"][: len(keys)]) == keys for e in errors)


def _unknown(error: Mapping[str, Any], keys: Keys, model: Any) -> tuple[str, str]:
    known = schema.fields(schema.at(model, keys[:-1])) or {}
    return "unknown key", alike(str(keys[-1]), known) or f"one of: {', '.join(known)}"


def _missing(error: Mapping[str, Any], keys: Keys, model: Any) -> tuple[str, str]:
    info = (schema.fields(schema.at(model, keys[:-1])) or {}).get(str(keys[-1]))
    dimension = schema.dimension(info) if info else ""
    return "is missing", f"add it, in {dimension}" if dimension else "add it"


def _choice(error: Mapping[str, Any], keys: Keys, model: Any) -> tuple[str, str]:
    expected = str(error["ctx"]["expected"]).replace("'", "")
    names = re.split(r", | or ", expected)
    return f"{_shown(error['input'])} is not one of {expected}", alike(str(error["input"]), names)


def _bound(error: Mapping[str, Any], keys: Keys, model: Any) -> tuple[str, str]:
    return f"{_shown(error['input'])} {_lower(error['msg']).replace('input should', 'must')}", ""


def _kind(error: Mapping[str, Any], keys: Keys, model: Any) -> tuple[str, str]:
    wanted = _WANTED[error["type"]]
    value = error["input"]
    mend = ""
    if isinstance(value, str) and error["type"] in ("int_type", "float_type", "bool_type"):
        mend = f"write {value} without quotes" if re.fullmatch(r"[-+.\d]+|true|false", value) else ""
    elif isinstance(value, (int, float)) and error["type"] == "string_type":
        mend = f'write "{value}"'
    return f"expected {wanted}, found {_shown(value)}", mend


def _pattern(error: Mapping[str, Any], keys: Keys, model: Any) -> tuple[str, str]:
    return f"{_shown(error['input'])} does not match {error['ctx']['pattern']}", ""


def _length(error: Mapping[str, Any], keys: Keys, model: Any) -> tuple[str, str]:
    context = error["ctx"]
    wanted = context.get("min_length", context.get("max_length"))
    side = "at least" if "min_length" in context else "at most"
    return f"needs {side} {wanted} entries, found {context['actual_length']}", ""


def _own_words(error: Mapping[str, Any], keys: Keys, model: Any) -> tuple[str, str]:
    """What a validator of ours said, or pydantic's own message."""
    message = str(error["msg"]).removeprefix("Value error, ")
    inside = _REMEDY_INSIDE.match(message)
    return (inside[1], inside[2]) if inside else (message, "")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    return shortened(json.dumps(value, ensure_ascii=False), _SHOWN)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


_WANTED = {
    "int_type": "a whole number", "int_from_float": "a whole number", "float_type": "a number",
    "bool_type": "true or false", "string_type": "text", "dict_type": "a mapping", "model_type": "a mapping",
    "tuple_type": "a list", "list_type": "a list",
}
_PHRASES: dict[str, Callable[[Mapping[str, Any], Keys, Any], tuple[str, str]]] = {
    "extra_forbidden": _unknown,
    "missing": _missing,
    "literal_error": _choice,
    "enum": _choice,
    "string_pattern_mismatch": _pattern,
    "too_short": _length,
    "too_long": _length,
    **dict.fromkeys(("greater_than", "greater_than_equal", "less_than", "less_than_equal"), _bound),
    **dict.fromkeys(_WANTED, _kind),
}

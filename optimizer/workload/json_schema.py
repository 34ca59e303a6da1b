"""The JSON Schema (draft 2020-12) of a workload file, for editors that check and complete while one types.

It is made from the schema that the loader itself uses, so that neither can drift from the other. What JSON
Schema cannot say is left to `tierplan validate`: sums of shares, orders of numbers, sizes of quantities.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from optimizer.units import DIMENSIONS, example, pattern, suffixes
from optimizer.workload.schema import Workload
from optimizer.workload.traced import FORM, TOLD

DRAFT = "https://json-schema.org/draft/2020-12/schema"
IDENTIFIER = "urn:tierplan:workload:1"
EXAMPLES = 3
"""Examples shown of each dimension."""

_LIST, _MAPPING = "list", "mapping"
NAMES: Mapping[tuple[str, str], tuple[str, str]] = {
    ("TrafficClass", "model"): ("models", ""), ("Measured", "model"): ("models", ""),
    ("Measured", "accelerator"): ("accelerators", ""), ("Workload", "options"): ("models", _MAPPING),
    ("Hardware", "servers"): ("servers", _MAPPING), ("Hardware", "dimms"): ("dimms", _LIST),
    ("Hardware", "drives"): ("drives", _LIST), ("Hardware", "cxl_modules"): ("cxl_modules", _LIST),
    ("Hardware", "cxl_enclosures"): ("cxl_enclosures", _MAPPING),
}  # fmt: skip
"""Part and key of the file -> the kind of card that is named, and whether in a list or by keys."""


def json_schema(known: Mapping[str, Iterable[str]] | None = None) -> dict[str, Any]:
    """The schema. `known` gives the names of cards by kind (`models`, `servers`, ...): where it does, only
    these are allowed, and an editor can offer them."""
    made = Workload.model_json_schema(by_alias=True, mode="validation")
    parts = made.pop("$defs")
    for name, part in [*parts.items(), ("Workload", made)]:
        _name_cards(name, part, known or {})
    tidied = {name: _tidied(part) for name, part in parts.items()}
    for name, condition in CONDITIONS.items():
        tidied[name] |= condition
    for name, keys in (("TrafficClass", TOLD), ("Reuse", FORM)):  # asked for by their conditions
        tidied[name]["required"] = [key for key in tidied[name]["required"] if key not in keys]
    quantities: dict[str, Any] = {}
    body = _with_quantities({**_tidied(made), "$defs": tidied}, quantities)
    body["$defs"] |= dict(sorted(quantities.items()))
    return {"$schema": DRAFT, "$id": IDENTIFIER, "title": "tierplan workload", **body}


def text(known: Mapping[str, Iterable[str]] | None = None) -> str:
    """The schema as a file."""
    return json.dumps(json_schema(known), indent=2, ensure_ascii=False) + "\n"


def _tidied(node: Any) -> Any:
    """The schema without titles made of names, and without defaults in SI, which no file could hold."""
    if isinstance(node, list):
        return [_tidied(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("properties", "patternProperties"):
            kept[key] = {name: _tidied(inner) for name, inner in value.items()}
        elif key == "description":
            kept[key] = " ".join(str(value).split())
        elif key == "default" and (value is None or isinstance(value, dict) or _quantity(node)):
            continue
        elif not (key == "title" and isinstance(value, str)):
            kept[key] = _tidied(value)
    if "patternProperties" in kept:
        kept["additionalProperties"] = False
    return kept


def _quantity(node: Mapping[str, Any]) -> bool:
    return "dimension" in node or any("dimension" in form for form in node.get("anyOf", ()))


def _with_quantities(node: Any, made: dict[str, Any]) -> Any:
    """The schema with a reference in the place of every quantity; `made` collects their definitions."""
    if isinstance(node, list):
        return [_with_quantities(item, made) for item in node]
    if not isinstance(node, dict):
        return node
    dimension = node.get("dimension")
    if isinstance(dimension, str):
        bounds = {name: node[name] for name in ("ge", "gt", "le", "lt") if name in node}
        words = [dimension.replace("/", " per "), *(f"{key} {value}" for key, value in bounds.items())]
        name = "-".join(["quantity", *" ".join(words).split()])
        made[name] = _definition(dimension, bounds)
        return {"$ref": f"#/$defs/{name}"}
    if isinstance(switch := node.get("switch"), list):  # a line of costs
        forms = [_with_quantities({"dimension": name, "ge": 0}, made) for name in node["dimensions"]]
        return {"anyOf": [{"type": "boolean"}, {"enum": switch}, *forms]}
    return {key: _with_quantities(value, made) for key, value in node.items()}


def _definition(dimension: str, bounds: Mapping[str, float]) -> dict[str, Any]:
    """A suffixed quantity as text; a plain number too where the dimension has one without a suffix."""
    units = suffixes(dimension)
    words = f"a number and one of {', '.join(units)}" if units else "a number"
    usual = [example(1, dimension)] if units else ["1"]
    middle, last = (units[len(units) // 2], units[-1]) if units else ("", "")
    shown = [example(2.5, dimension, middle), example(40, dimension, last)] if units else []
    quantity = {
        "type": "string", "pattern": pattern(dimension, least=bounds.get("ge"), above=bounds.get("gt")),
        "patternErrorMessage": f"expected {words}, such as {usual[0]}; case matters",
    }  # fmt: skip
    said = {
        "description": f"{dimension}: {words}; case matters",
        "examples": list(dict.fromkeys([*usual, *shown]))[:EXAMPLES],
    }
    if "" not in DIMENSIONS[dimension]:
        return {**said, **quantity}
    keywords = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
    number = {"type": "number", **{keywords[key]: value for key, value in bounds.items()}}
    return {**said, "anyOf": [number, quantity]}


def _name_cards(name: str, part: dict[str, Any], known: Mapping[str, Iterable[str]]) -> None:
    """Allow only the names of cards where the catalogue tells them."""
    for (owner, key), (kind, where) in NAMES.items():
        if owner != name or kind not in known:
            continue
        names, node = sorted(known[kind]), part["properties"][key]
        if where == _MAPPING:
            node["properties"] = dict.fromkeys(names, node["additionalProperties"])
            node["additionalProperties"] = False
        elif where == _LIST:
            forms = [form for form in node.get("anyOf", [node]) if form.get("type") == "array"]
            forms[0]["items"]["enum"] = names
        else:
            node["enum"] = names


def _given(key: str) -> dict[str, Any]:
    """The key stands there, with something in it."""
    return {"required": [key], "properties": {key: {"not": {"type": "null"}}}}


CONDITIONS: Mapping[str, dict[str, Any]] = {
    "Gaps": {"oneOf": [_given(key) for key in ("lognormal", "exponential", "mixture", "table")]},
    "MixturePart": {"oneOf": [_given(key) for key in ("lognormal", "exponential")]},
    "UserLimit": {"anyOf": [_given(key) for key in ("min", "max")]},
    "TrafficClass": {
        "if": {"properties": {"reuse": _given("trace")}},
        "else": {"required": list(TOLD)},
    },
    "Reuse": {
        "if": _given("trace"),
        "then": {"properties": dict.fromkeys(FORM, False)},
        "else": {"required": list(FORM)},
    },
    "Measured": {
        "if": {"properties": {"phase": {"const": "decode"}}},
        "then": {"allOf": [_given(key) for key in ("sequences", "gpus")]},
    },
}
"""What parts of the file ask of several keys at once."""

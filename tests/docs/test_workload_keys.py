"""docs/writing-workloads.md names every key of the schema, with its unit and its default, and no other."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from optimizer.files import read_text_yaml, schema
from optimizer.units import DIMENSIONS, parse
from optimizer.workload import Workload

from .markdown import page, quoted, sections, table

EMPTY: tuple[object, ...] = ("", (), {})


def reachable(model: type[BaseModel]) -> set[type[BaseModel]]:
    """The model and every model inside it."""
    found, todo = {model}, [model]
    while todo:
        for info in (schema.fields(todo.pop()) or {}).values():
            for inner in models_in(info.annotation):
                if inner not in found:
                    found.add(inner)
                    todo.append(inner)
    return found


def models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [model for part in get_args(annotation) for model in models_in(part)]


def keys_of(path: str) -> tuple[str | int, ...]:
    """`a.<name>.b[]` as keys of the schema."""
    keys: list[str | int] = []
    for part in path.split("."):
        keys += [part.removesuffix("[]"), 0] if part.endswith("[]") else [part]
    return tuple(keys)


def documented() -> list[tuple[str, type[BaseModel], list[list[str]]]]:
    """(path, model, rows) of every section with a table of keys."""
    found = []
    for title, body in sections(page("writing-workloads.md")):
        if "| key |" in body:
            rows = table(body, "key |")
            for path in quoted(title) or [""]:
                at = schema.bare(schema.at(Workload, keys_of(path) if path else ()))
                assert isinstance(at, type), f"the schema has no {path}"
                found.append((path, at, rows))
    return found


SECTIONS = documented()
ROWS = [(path, model, row) for path, model, rows in SECTIONS for row in rows]


def info_of(model: type[BaseModel], row: list[str]) -> FieldInfo:
    (key,) = quoted(row[0])
    return schema.fields(model)[key]  # type: ignore[index]


def dimension(annotation: Any, info: FieldInfo | None = None) -> str:
    """The dimension of a quantity, wherever its annotation carries it."""
    if info is not None and (own := schema.dimension(info)):
        return own
    for part in get_args(annotation) if get_origin(annotation) is not dict else ():
        found = schema.dimension(part) if isinstance(part, FieldInfo) else dimension(part)
        if found:
            return found
    return ""


def choices(annotation: Any) -> set[str]:
    kind = schema.bare(annotation)
    if get_origin(kind) is Literal:
        return {str(choice) for choice in get_args(kind)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {str(choice.value) for choice in kind}
    return set()


def test_every_part_of_the_schema_has_a_section():
    assert {model for _, model, _ in SECTIONS} == reachable(Workload)


@pytest.mark.parametrize(("path", "model", "rows"), SECTIONS, ids=[path or "top" for path, *_ in SECTIONS])
def test_every_key_has_a_row(path, model, rows):
    assert [quoted(row[0]) for row in rows] == [[key] for key in schema.fields(model)]


@pytest.mark.parametrize(("path", "model", "row"), ROWS, ids=[f"{path}.{row[0]}" for path, _, row in ROWS])
def test_the_unit_is_one(path, model, row):
    info, stated = info_of(model, row), quoted(row[1])
    if what := dimension(info.annotation, info):
        assert stated
        assert set(stated) <= set(DIMENSIONS[what])
    elif allowed := choices(info.annotation):
        assert allowed <= set(stated) if path.startswith("tiers.") else set(stated) == allowed
    else:
        assert stated == []
        assert row[1] in {"text", "number", "whole number", "list", "mapping", "true or false"}


@pytest.mark.parametrize(("path", "model", "row"), ROWS, ids=[f"{path}.{row[0]}" for path, _, row in ROWS])
def test_the_default_is_the_schema_s(path, model, row):
    info, stated = info_of(model, row), row[2]
    if info.is_required():
        assert stated == "required"
        return
    default = info.get_default(call_default_factory=True)
    if default is None:
        assert stated == "none"
    elif isinstance(default, BaseModel):
        assert stated == "below"
    elif default in EMPTY:
        assert stated == "empty"
    else:
        assert any(means(text, default, dimension(info.annotation, info)) for text in quoted(stated))


def means(text: str, default: object, what: str) -> bool:
    """Whether a printed default is the schema's."""
    if what:
        return parse(text, what) == pytest.approx(default, rel=1e-12)
    read = read_text_yaml(text, "default").data
    return tuple(read) == default if isinstance(default, tuple) else read == default

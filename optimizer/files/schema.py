"""Walking a pydantic schema by keys: which names are valid where, and what stands there."""

from __future__ import annotations

import types
import typing
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from optimizer.files.document import Keys


def bare(annotation: Any) -> Any:
    """The annotation without Annotated and without None: `Annotated[X, ...] | None` is X."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif get_origin(annotation) in (typing.Union, types.UnionType):
            parts = [part for part in get_args(annotation) if part is not type(None)]
            if len(parts) != 1:
                return annotation
            annotation = parts[0]
        else:
            return annotation


def fields(annotation: Any) -> dict[str, FieldInfo] | None:
    """The fields of a model, by the names a file uses; None if it is not a model."""
    kind = bare(annotation)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {info.alias or name: info for name, info in kind.model_fields.items()}
    return None


def values(annotation: Any) -> Any | None:
    """The annotation of the values of an open mapping; None if it is not one."""
    kind = bare(annotation)
    return get_args(kind)[1] if get_origin(kind) is dict else None


def items(annotation: Any) -> Any | None:
    """The annotation of the items of a list; None if it is not one."""
    kind = bare(annotation)
    return get_args(kind)[0] if get_origin(kind) in (tuple, list) else None


def step(annotation: Any, key: str | int) -> Any | None:
    """What stands under one key; None where the schema has no such key."""
    named = fields(annotation)
    if named is not None:
        return named[key].annotation if isinstance(key, str) and key in named else None
    return values(annotation) if isinstance(key, str) else items(annotation)


def at(annotation: Any, keys: Keys) -> Any | None:
    """What stands at a path of keys; None where the schema has no such path."""
    for key in keys:
        if annotation is None:
            return None
        annotation = step(annotation, key)
    return annotation


def dimension(info: FieldInfo) -> str:
    """The dimension of a field that holds a suffixed quantity, or nothing."""
    extra = info.json_schema_extra
    return str(extra.get("dimension", "")) if isinstance(extra, dict) else ""

"""What a scalar of YAML means: the core schema of YAML 1.2, a little stricter.

`yes`, `012`-style octals, dates and `12:30` are not guessed at; quantities such as `141 GB` stay strings.
NaN, infinity and texts with control characters are refused.
"""

from __future__ import annotations

import math
import re
from typing import Any

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Characters that no text for people holds, written as such or as escapes."""
STR, SHORT = "tag:yaml.org,2002:str", "!"
_NAMES = ("str", "int", "float", "bool", "null", "map", "seq")
TAGS = {SHORT, *(f"tag:yaml.org,2002:{name}" for name in _NAMES)}
"""The tags that are read."""
LONGEST_INT = 40
"""Characters of the longest whole number."""

_KINDS = {"int": int, "float": float, "bool": bool, "null": type(None)}
_NULL = {"", "~", "null", "Null", "NULL"}
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NUMBER_START = frozenset("+-.0123456789")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class BadScalar(ValueError):
    """A scalar that is not read, and what would mend it."""

    def __init__(self, message: str, remedy: str):
        super().__init__(message)
        self.remedy = remedy


def plain(text: str) -> Any:
    """The value of a scalar without quotes."""
    if text in _NULL:
        return None
    first = text[0]
    if first in _NUMBER_START:
        return _number(text)
    return _BOOL.get(text, text) if first in "tTfF" else text


def quoted(text: str) -> str:
    """Text in quotes or in a block: what its escapes stand for must be text too."""
    if not text.isascii() and _SURROGATE.search(text):
        raise BadScalar("half of a surrogate pair", "write the character itself")
    if bad := CONTROL.search(text):
        raise BadScalar(f"control character 0x{ord(bad[0]):02x} inside a text", "leave it out")
    return text


def tagged(text: str, tag: str) -> Any:
    """The value of a scalar with one of `TAGS`, which must fit it."""
    if tag in (SHORT, STR):
        return quoted(text)
    value = plain(text)
    kind = _KINDS.get(tag.rsplit(":", 1)[-1])
    if kind is float and type(value) is int:
        return float(value)
    if kind is None or type(value) is not kind:
        raise BadScalar(f'"{text[:40]}" does not fit its tag {tag}', "remove the tag")
    return value


def _number(text: str) -> Any:
    """An int or a finite float when the text is one; the text itself otherwise."""
    if _NOT_FINITE.fullmatch(text):
        raise BadScalar(f"{text} is not a finite number", "write a number")
    if _INT.fullmatch(text):
        if len(text) > LONGEST_INT:
            raise BadScalar(f"a number of {len(text)} digits", "write fewer digits")
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if not math.isfinite(value):
            raise BadScalar(f"{text[:40]} is not a finite number", "write a number")
        return value
    return text

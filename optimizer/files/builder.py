"""From YAML text to plain data and places, in one pass over the parser's events.

Keys are strings and stand once. Aliases are copied, within a bound, so that the data is a tree. Merge keys
and foreign tags are refused.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from typing import Any

from optimizer.errors import InputError, Problem
from optimizer.files import scalars
from optimizer.files.document import Keys, Place, dotted, shortened
from optimizer.files.parsers import NotYaml, careful, fast, ordinary

DEEPEST = 50
"""Levels of nesting that are read."""
MOST_VALUES = 100_000
"""Keys and list items that are read from one file, those copied by aliases included."""
MOST_COPIED = 1_000_000
"""Characters of text that aliases may copy."""

_OTHER_VERSION = re.compile(r"(?:^|[\r\x85\u2028\u2029])%YAML(?!\s+1\.[12]\s*(?:#|$))", re.MULTILINE)
_REMEDIES = (
    ("'\\t'", "indent with spaces, not tabs"),
    ("mapping values are not allowed", "quote the text if it holds a colon, or check the indentation"),
    ("could not find expected ':'", "write `key: value`"),
    ("expected <block end>", "check the indentation"),
    ("found unexpected end of stream", "close the quote"),
)


class _Open:
    """A mapping or sequence whose end has not come yet."""

    __slots__ = ("anchor", "key", "keys", "value")

    def __init__(self, value: dict[str, Any] | list[Any], keys: Keys, anchor: str | None):
        self.value, self.keys, self.anchor = value, keys, anchor
        self.key: str | None = None


class _Builder:
    """Holds what one pass over the events accumulates."""

    def __init__(self, name: str):
        self.name = name
        self.root: Any = None
        self.rooted = False
        self.places: dict[Keys, Place] = {}
        self.stack: list[_Open] = []
        self.anchors: dict[str, Any] = {}
        self.copied = 0
        self.copied_text = 0

    def refuse(self, mark: Any, message: str, remedy: str = "", keys: Keys = ()) -> InputError:
        where = f"{self.name}:{mark.line + 1}:{mark.column + 1}"
        path = shortened(dotted(keys))
        return InputError(Problem(where, path, shortened(message), shortened(remedy), keys))

    def feed(self, event: Any) -> None:
        """Take one event of the parser."""
        kind = type(event).__name__  # the two parsers have the same events, in classes of their own
        if kind == "ScalarEvent":
            top = self.stack[-1] if self.stack else None
            if top is not None and top.key is None and type(top.value) is dict:
                self.open_key(top, event)
            else:
                self.put(event, self.scalar(event), event.anchor)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self.begin(event, {} if kind == "MappingStartEvent" else [])
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            done = self.stack.pop()
            if done.anchor:
                self.anchors[done.anchor] = done.value
        elif kind == "AliasEvent":
            self.alias(event)
        elif kind == "DocumentStartEvent" and self.rooted:
            raise self.refuse(event.start_mark, "a second document begins here", "one document per file")

    def begin(self, event: Any, value: dict[str, Any] | list[Any]) -> None:
        """A mapping or sequence starts."""
        self.check_tag(event)
        if len(self.stack) >= DEEPEST:
            raise self.refuse(event.start_mark, f"nested deeper than {DEEPEST} levels", "flatten it")
        keys = self.put(event, value, None)
        self.stack.append(_Open(value, keys, event.anchor))

    def open_key(self, top: _Open, event: Any) -> None:
        """A scalar that is a key: a string, new in its mapping."""
        key = self.scalar(event)
        if type(key) is not str:
            raise self.refuse(event.start_mark, f"key {event.value or 'null'} is not text",
                              f'write "{event.value}":' if event.value else "write a name before the colon")
        if key == "<<" and not event.style:
            raise self.refuse(event.start_mark, "merge keys are not read", "repeat the entries")
        keys = (*top.keys, key)
        if key in top.value:
            raise self.refuse(event.start_mark, f'duplicate key "{key}"',
                              f"it stands already on line {self.places[keys][0]}", keys)
        if event.anchor:
            self.anchors[event.anchor] = key
        self.places[keys] = (event.start_mark.line + 1, event.start_mark.column + 1)
        self.check_count(event.start_mark)
        top.key = key

    def put(self, event: Any, value: Any, anchor: str | None) -> Keys:
        """Place a value where the parse stands; returns its keys."""
        if anchor:
            self.anchors[anchor] = value
        if not self.stack:
            self.root, self.rooted = value, True
            self.places[()] = (event.start_mark.line + 1, event.start_mark.column + 1)
            return ()
        top = self.stack[-1]
        if isinstance(top.value, list):
            keys = (*top.keys, len(top.value))
            self.places[keys] = (event.start_mark.line + 1, event.start_mark.column + 1)
            self.check_count(event.start_mark)
            top.value.append(value)
            return keys
        if top.key is None:
            raise self.refuse(event.start_mark, "a key must be text, not a list or mapping", "quote it")
        keys = (*top.keys, top.key)
        top.value[top.key], top.key = value, None
        return keys

    def alias(self, event: Any) -> None:
        """`*name`: a copy of the anchored value, as long as the copies stay few."""
        if event.anchor not in self.anchors:
            raise self.refuse(event.start_mark, f"*{event.anchor} names no earlier anchor",
                              f"put &{event.anchor} on the value, before this line and outside it")
        top = self.stack[-1] if self.stack else None
        if top is not None and type(top.value) is dict and top.key is None:
            raise self.refuse(event.start_mark, "an alias cannot be a key", "write the key out")
        self.put(event, self.copy(self.anchors[event.anchor], event.start_mark, len(self.stack)), None)

    def copy(self, value: Any, mark: Any, depth: int) -> Any:
        self.copied += 1
        self.check_count(mark)
        if depth > DEEPEST:
            raise self.refuse(mark, f"nested deeper than {DEEPEST} levels", "flatten it")
        if type(value) is dict:
            for key in value:
                self.check_text(key, mark)
            return {key: self.copy(item, mark, depth + 1) for key, item in value.items()}
        if type(value) is list:
            return [self.copy(item, mark, depth + 1) for item in value]
        self.check_text(value, mark)
        return value

    def check_text(self, value: Any, mark: Any) -> None:
        """Aliases of one long text are as much of a bomb as aliases of aliases."""
        self.copied_text += len(value) if type(value) is str else 0
        if self.copied_text > MOST_COPIED:
            message = f"aliases copy more than {MOST_COPIED:,} characters up to here"
            raise self.refuse(mark, message, "use fewer aliases")

    def check_count(self, mark: Any) -> None:
        if len(self.places) + self.copied > MOST_VALUES:
            message = f"more than {MOST_VALUES:,} values up to here"
            raise self.refuse(mark, message, "split it, or use fewer aliases")

    def check_tag(self, event: Any) -> str | None:
        tag = str(event.tag) if event.tag else None
        if tag is not None and tag not in scalars.TAGS:
            raise self.refuse(event.start_mark, f"tag {tag} is not read", "remove the tag", self.here())
        return tag

    def here(self) -> Keys:
        """The keys of the value that comes next; those of the mapping where a key comes next."""
        if not self.stack:
            return ()
        top = self.stack[-1]
        if isinstance(top.value, list):
            return (*top.keys, len(top.value))
        return top.keys if top.key is None else (*top.keys, top.key)

    def scalar(self, event: Any) -> Any:
        """The value of a scalar."""
        try:
            if event.tag:
                return scalars.tagged(event.value, str(self.check_tag(event)))
            return scalars.quoted(event.value) if event.style else scalars.plain(event.value)
        except scalars.BadScalar as fault:
            raise self.refuse(event.start_mark, str(fault), fault.remedy, self.here()) from None


def build(text: str, name: str) -> tuple[Any, dict[Keys, Place]]:
    """Plain data of a YAML text, and the line and column (from 1) of every key and list item."""
    if other := _OTHER_VERSION.search(text):
        where = f"{name}:{text.count(chr(10), 0, other.start()) + 1}:1"
        raise InputError(Problem(where, "", "asks for another version of YAML", "remove the line"))
    parse = fast()
    if parse is not None and ordinary(text):
        with contextlib.suppress(InputError):  # what is wrong is for the careful parser to say
            return _built(parse(text), name)
    return _built(careful(text), name)


def _built(events: Iterable[Any], name: str) -> tuple[Any, dict[Keys, Place]]:
    """What the events of one parser amount to."""
    builder = _Builder(name)
    try:
        for event in events:
            builder.feed(event)
    except NotYaml as fault:
        problem = str(fault)
        if fault.mark is None:
            raise InputError(Problem(f"{name}:1:1", "", problem, "check the YAML")) from None
        remedy = next((mend for sign, mend in _REMEDIES if sign in problem), "check the YAML near here")
        raise builder.refuse(fault.mark, problem, remedy) from None
    if not builder.rooted or builder.root is None:
        raise InputError(Problem(f"{name}:1:1", "", "is empty", "write a YAML mapping"))
    return builder.root, builder.places

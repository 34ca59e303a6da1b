"""The events of a YAML text, from one of two parsers.

ruamel.yaml reads YAML 1.2 and says well what is wrong, at about two seconds a megabyte. libyaml, which comes
with PyYAML, is some twenty times as fast, and of YAML 1.1; below the values of scalars, which the builder
decides, that shows in a few corners only: tabs, exotic line breaks, odd block scalars, tags, directives, odd
names of anchors, ends of documents. A text with one of these is not `ordinary` and goes to ruamel.yaml, as
does every text that libyaml or the builder refuses. So libyaml only speeds up what is read without a word,
and never decides that something is wrong; tests/files/test_parsers.py compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

ODD = re.compile(
    "[\t\x85\u2028\u2029\ufeff\ud800-\udfff]"  # tabs, other line breaks, marks of byte order, no characters
    r"|\r(?!\n)"
    r"|(?:^|[\s\[{,:-])(?:[!%]|[&*](?![A-Za-z0-9_-]+(?:[\s,\]}]|$)))"  # tags, directives, odd anchors
    r"|(?:^|[\s\[{,:-])(?<![:-] )[|>]|[:-] [|>](?![+-]?\n +[^\s#])"  # block scalars but the usual ones
    r"|\n\.\.\."  # ends of documents
)
"""What the two parsers may read differently."""


_TUPLE = re.compile(r"\('(<[^']*>)',\)")


class NotYaml(Exception):
    """A text that is no YAML: what is wrong, and the mark where, if the parser knows it."""

    def __init__(self, message: str, mark: Any):
        super().__init__(message)
        self.mark = mark


def ordinary(text: str) -> bool:
    """Whether both parsers read the text alike, if they read it."""
    return ODD.search(text) is None


@cache
def fast() -> Callable[[str], Iterator[Any]] | None:
    """The events by libyaml; None where PyYAML was built without it. The iterator raises NotYaml."""
    try:
        from yaml.cyaml import CParser
        from yaml.error import YAMLError
    except ImportError:
        return None

    def events(text: str) -> Iterator[Any]:
        parser = CParser(text)
        try:
            while (event := parser.get_event()) is not None:
                yield event
        except YAMLError as fault:
            raise NotYaml(str(fault), None) from None
        finally:
            parser.dispose()

    return events


def careful(text: str) -> Iterator[Any]:
    """The events by ruamel.yaml, which raises NotYaml in its own good words."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as fault:
        message = _TUPLE.sub(r"\1", str(fault.problem or fault.context or "not YAML"))
        raise NotYaml(message, fault.problem_mark or fault.context_mark) from None
    except YAMLError as fault:
        raise NotYaml((str(fault).splitlines() or ["not YAML"])[0], None) from None

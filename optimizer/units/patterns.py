r"""What `parse` accepts as a regular expression, for tools that know nothing of units.

The expressions mean the same in Python and in ECMAScript with its flag `u` (the dialect of JSON Schema): no
lookbehind, no `\Z`, no escape that is not needed, no `\d`, which is more than ten digits in one of them. They
say nothing of how large a number is, but for its sign and whether it is nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from optimizer.units.quantities import DIMENSIONS, NUMBER

_NUMBER = f"{NUMBER}(?![0-9])"
_SOMETHING = "(?=[0.,_]*[1-9])"  # some digit before the exponent is no zero


def pattern(dimension: str, *, least: float | None = None, above: float | None = None) -> str:
    """The quantities of a dimension; `least` >= 0 forbids a minus, `above` >= 0 also a zero."""
    positive = above is not None and above >= 0
    unsigned = positive or (least is not None and least >= 0)
    sign, money_sign = (r"\+?", r"\$\+?") if unsigned else ("[+-]?", r"(?:-\$|\$[+-]?)")
    number = f"{_SOMETHING if positive else ''}{_NUMBER}"
    suffixes = list(DIMENSIONS[dimension])
    forms = [rf"{sign}{number}\s*{_any(suffixes)}"]
    if money := [suffix[1:] for suffix in suffixes if suffix.startswith("$")]:
        forms.append(rf"{money_sign}{number}\s*{_any(money)}")
    return rf"^\s*(?:{'|'.join(forms)})\s*$"


def _any(words: Iterable[str]) -> str:
    """One of the words, the longest first."""
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return f"(?:{'|'.join(longest_first)})".replace("$", r"\$")

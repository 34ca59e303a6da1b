"""Ways to break a good workload file so that it cannot be planned with, each with the place where it breaks.

A kind takes a file and chance, and gives a broken file: its bytes, and the line and column that must be
named, or None where a parser may first notice further on. None instead of a file: nothing to break here.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from typing import NamedTuple

from optimizer.units import DIMENSIONS
from tests.edges.entries import Base, Entry


class Broken(NamedTuple):
    """The bytes of a file, and the place that must be named."""

    data: bytes
    place: tuple[int, int] | None
    what: str


Kind = Callable[[Base, random.Random], Broken | None]
UNITS = {suffix for table in DIMENSIONS.values() for suffix in table if suffix}
COUNTED = ("quantity", "number", "whole")
NUMBER = re.compile(r"[0-9.,]+")


def _one(base: Base, rng: random.Random, fits: Callable[[Entry], object]) -> Entry | None:
    found = [entry for entry in base.entries if fits(entry)]
    return rng.choice(found) if found else None


def _valued(base: Base, entry: Entry | None, value: str) -> Broken | None:
    """Another value for an entry; the fault is told at its key."""
    if entry is None:
        return None
    what = f"{'.'.join(map(str, entry.keys))}: {value[:60]}"
    return Broken(base.with_value(entry, value).encode(), entry.place, what)


def _suffixed(entry: Entry) -> bool:
    return entry.kind == "quantity" and "" not in DIMENSIONS[entry.dimension]


def _parts(entry: Entry) -> tuple[str, str]:
    """Number and unit as they stand: `4`, ` req/s`."""
    match = NUMBER.search(entry.value)
    assert match
    return match[0], entry.value[: match.start()] + entry.value[match.end() :]


def key_deleted(base: Base, rng: random.Random) -> Broken | None:
    """A required key and its value are gone."""
    entry = _one(base, rng, lambda e: e.required)
    if entry is None:
        return None
    start, end = entry.at, entry.end
    rest = base.text[end:]
    if entry.own_line:
        start, end = start - (entry.place[1] - 1), end + rest.index("\n") + 1
    else:
        comma = re.match(r"\s*,\s*", rest)
        end += len(comma[0]) if comma else 0
        if not comma:
            start -= len(base.text[:start]) - len(base.text[:start].rstrip(", "))
    return Broken((base.text[:start] + base.text[end:]).encode(), None, f"no {entry.keys}")


def key_misspelt(base: Base, rng: random.Random) -> Broken | None:
    """A key of the schema with a letter twice, missing, or in the wrong case."""
    entry = _one(base, rng, lambda e: e.key in e.known)
    if entry is None:
        return None
    at = rng.randrange(len(entry.key))
    key = rng.choice((
        entry.key[:at] + entry.key[at] + entry.key[at:],
        entry.key[:at] + entry.key[at + 1 :] or "x",
        entry.key[:at] + entry.key[at:].swapcase(),
    ))  # fmt: skip
    if key in entry.known:
        return None
    text = base.text[: entry.at] + key + base.text[entry.at + len(entry.key) :]
    return Broken(text.encode(), entry.place, f"{entry.key} -> {key}")


def unit_dropped(base: Base, rng: random.Random) -> Broken | None:
    """A bare number where a unit is due."""
    entry = _one(base, rng, _suffixed)
    return entry and _valued(base, entry, _parts(entry)[0])


def unit_in_wrong_case(base: Base, rng: random.Random) -> Broken | None:
    """`Req/s`, `KTOK`, `mw`: no unit, though it reads like one."""
    entry = _one(base, rng, lambda e: _suffixed(e) and any(c.isalpha() for c in e.value))
    if entry is None:
        return None
    number, unit = _parts(entry)
    changed = rng.choice((unit.upper(), unit.lower(), unit.swapcase(), unit.title()))
    if changed.strip() in DIMENSIONS[entry.dimension] or changed == unit:
        return None
    return _valued(base, entry, f"{number}{changed}")


def unit_of_something_else(base: Base, rng: random.Random) -> Broken | None:
    """A unit of another dimension."""
    entry = _one(base, rng, lambda e: e.kind == "quantity")
    if entry is None:
        return None
    unit = rng.choice(sorted(UNITS - set(DIMENSIONS[entry.dimension])))
    return _valued(base, entry, f"{_parts(entry)[0]} {unit}")


def comma_for_a_point(base: Base, rng: random.Random) -> Broken | None:
    """`2,5 s`."""
    entry = _one(base, rng, _suffixed)
    if entry is None:
        return None
    number, unit = _parts(entry)
    return _valued(base, entry, f'"{number.replace(",", "").split(".")[0]},5{unit}"')


def negated(base: Base, rng: random.Random) -> Broken | None:
    """Less than nothing."""
    entry = _one(base, rng, lambda e: e.kind in COUNTED and re.search("[1-9]", e.value))
    return entry and _valued(base, entry, f"-{entry.value}")


def not_a_number(base: Base, rng: random.Random) -> Broken | None:
    """NaN, infinity, or too large for any number."""
    entry = _one(base, rng, lambda e: e.kind in COUNTED)
    if entry is None:
        return None
    unit = _parts(entry)[1] if re.search("[0-9]", entry.value) else ""
    value = rng.choice((".nan", ".inf", "-.Inf", f"nan{unit}", f"inf{unit}", f"1e999{unit}", "1e999"))
    place = None if value in (".nan", ".inf", "-.Inf", "1e999") else entry.place  # there YAML itself refuses
    return Broken(base.with_value(entry, value).encode(), place, f"{entry.key}: {value}")


def key_twice(base: Base, rng: random.Random) -> Broken | None:
    """The same key again, right behind itself."""
    entry = _one(base, rng, lambda e: True)
    if entry is None:
        return None
    line, column = entry.place
    again = f"{entry.key}: {entry.value}"
    if entry.own_line:
        end = entry.end + base.text[entry.end :].index("\n") + 1
        text = base.text[:end] + " " * (column - 1) + again + "\n" + base.text[end:]
        return Broken(text.encode(), (line + 1, column), f"{entry.key} twice")
    text = base.text[: entry.end] + ", " + again + base.text[entry.end :]
    place = (line, column + entry.end - entry.at + 2)
    return Broken(text.encode(), place, f"{entry.key} twice")


WRONG = {
    "quantity": ("[4]", "{a: 1}", "true", '""', "many", "~x"), "number": ('"2"', "[2]", "true", "lots"),
    "whole": ("2.5", '"2"', "[2]", "true", "some"), "text": ("[x]", "{x: 1}", "7", "true", "1.5"),
    "flag": ("1", "yes", '"true"', "[true]", "off"), "choice": ("[x]", "17", "whatever", "true", "{}"),
}  # fmt: skip


def wrong_kind_of_value(base: Base, rng: random.Random) -> Broken | None:
    """A list, a mapping, a flag, a text or a number where another is due."""
    entry = _one(base, rng, lambda e: e.kind in WRONG)
    return entry and _valued(base, entry, rng.choice(WRONG[entry.kind]))


def shares_do_not_sum(base: Base, rng: random.Random) -> Broken | None:
    """One share of the buckets, or one weight of a mixture, is another."""
    lists = {"share": "contexts", "weight": "mixture"}
    entry = _one(base, rng, lambda e: lists.get(e.key) in e.keys[-3:-1])
    if entry is None:
        return None
    at = base.text.rindex(f"{lists[entry.key]}:", 0, entry.at)  # the fault is told at the list
    place = (base.text.count("\n", 0, at) + 1, at - (base.text.rfind("\n", 0, at) + 1) + 1)
    value = float(entry.value)
    changed = f"{value - 0.07 if value > 0.5 else value + 0.07:.4f}"
    return Broken(base.with_value(entry, changed).encode(), place, f"{entry.key}: {changed}")


NAMES = ("model", "accelerator", "option")


def unknown_name(base: Base, rng: random.Random) -> Broken | None:
    """A model, server, DIMM, drive or option that no card has."""
    names = [entry for entry in base.entries if entry.key in NAMES]
    spots = [(entry.start, entry.end) for entry in names]
    for pattern in (r"(?<=dimms: \[)[^],]+", r"(?<=drives: \[)[^],]+", r"(?<=only: \[)[^],]+",
                    r"(?<=^    )[A-Z0-9][A-Za-z0-9-]+(?=: \{)"):  # fmt: skip
        spots += [match.span() for match in re.finditer(pattern, base.text, re.MULTILINE)]
    start, end = rng.choice(spots)
    name = base.text[start:end]
    at = rng.randrange(1, len(name))
    changed = rng.choice((name + "9x", name[:at] + "zz" + name[at:], name[1:] + "q", name.swapcase() + "q"))
    text = base.text[:start] + changed + base.text[end:]
    return Broken(text.encode(), None, f"{name} -> {changed}")


def cut_short(base: Base, rng: random.Random) -> Broken | None:
    """The file ends somewhere before what may be bought."""
    end = rng.randrange(1, base.text.index("\nhardware:") + 5)
    return Broken(base.text[:end].encode(), None, f"cut at {end}")


def bytes_of_no_text(base: Base, rng: random.Random) -> Broken | None:
    """Bytes that are no UTF-8, or characters that no text holds."""
    data = base.text.encode()
    at = rng.randrange(len(data))
    bad = rng.choice((b"\xff", b"\xfe\xff", b"\xc3(", b"\xe2\x82", b"\x80", b"\xed\xa0\x80", b"\0", b"\x1b"))
    line, column = data.count(b"\n", 0, at) + 1, at - (data.rfind(b"\n", 0, at) + 1) + 1
    good = data[:at].decode("utf-8", "ignore").encode() == data[:at]
    return Broken(data[:at] + bad + data[at:], (line, column) if good and data.isascii() else None, repr(bad))


def other_encoding(base: Base, rng: random.Random) -> Broken | None:
    """UTF-16, UTF-32, EBCDIC, compressed."""
    import zlib

    name = rng.choice(("utf-16", "utf-16-le", "utf-32", "cp037", "zlib"))
    data = zlib.compress(base.text.encode()) if name == "zlib" else base.text.encode(name, "replace")
    return Broken(data, None, name)


def indentation_broken(base: Base, rng: random.Random) -> Broken | None:
    """A key a space further in or out than its siblings."""
    lines = base.lines
    plain = re.compile(r"( *)[\w.-]+: [^\[{#>|]")
    spots = [
        i for i in range(1, len(lines))
        if (mine := plain.match(lines[i])) and (above := plain.match(lines[i - 1])) and mine[1] == above[1]
    ]  # fmt: skip
    if not spots:
        return None
    at = rng.choice(spots)
    inwards = rng.random() < 0.5 or not lines[at].startswith(" ")
    lines[at] = f" {lines[at]}" if inwards else lines[at][1:]
    return Broken("\n".join(lines).encode(), None, f"line {at + 1} {'in' if inwards else 'out'}")


def tab_for_spaces(base: Base, rng: random.Random) -> Broken | None:
    """A line indented with a tab."""
    lines = base.lines
    at = rng.choice([i for i, line in enumerate(lines) if re.match(r" +[\w-]+:", line)])
    lines[at] = "\t" + lines[at].lstrip()
    return Broken("\n".join(lines).encode(), None, f"line {at + 1}")


BEYOND = {
    "share": "150%", "attainment": "1.0", "return_probability": "101%", "first_share": "1.5", "spread": "3.5",
    "weight": "2", "ages": "21", "lanes": "3", "peak_to_mean": "0.99", "max": "123456789012", "ttft": "2 h",
    "tpot": "1 min", "affinity": "1.2", "mixed_share": "1", "peak_rate": "1e15 req/s", "tokens": "1e12 Mtok",
    "power": "1e12 MW", "horizon": "900 years", "quality_floor": "1e9 pt", "distinct": "0",
    "headroom": "100%", "output_tokens": "0 tok", "new_tokens": "0 tok", "median": "0 s", "mean": "0 s",
    "within": "0 s", "schema": "tierplan-workload/9", "name": "a name with spaces", "budget": "$0",
}  # fmt: skip
"""A value of each key that is too much, or too little."""


def out_of_range(base: Base, rng: random.Random) -> Broken | None:
    """A number beyond what its key, or any facility, can have."""
    entry = _one(base, rng, lambda e: e.key in BEYOND)
    return entry and _valued(base, entry, BEYOND[entry.key])


def second_document(base: Base, rng: random.Random) -> Broken | None:
    """Another document behind, or a part of the file as one."""
    if rng.random() < 0.5:
        line = base.text.count("\n") + 1
        text = base.text + rng.choice(("---\na: 1\n", "---\n", "---\n{}\n"))
        return Broken(text.encode(), (line, 1), "at the end")
    at = base.text.index("\nhardware:") + 1
    return Broken((base.text[:at] + "---\n" + base.text[at:]).encode(), None, "before hardware")


def nested_deeply(base: Base, rng: random.Random) -> Broken | None:
    """Lists or mappings in one another, from more than anybody needs to more than a stack holds."""
    depth = rng.choice((51, 60, 1_000, 50_000))
    shape = rng.choice(("[]", "{a: }"))
    deep = "[" * depth + "]" * depth if shape == "[]" else "{a: " * depth + "1" + "}" * depth
    entry = _one(base, rng, lambda e: True)
    return entry and Broken(base.with_value(entry, deep).encode(), None, f"{depth} of {shape}")


def bomb(base: Base, rng: random.Random) -> Broken | None:
    """Aliases of aliases, or of one long text."""
    if rng.random() < 0.5:
        rows = ["a: &a [x, x, x, x, x, x, x, x, x]"]
        rows += [f"{n}: &{n} [{', '.join([f'*{m}'] * 9)}]" for m, n in itertools.pairwise("abcdefghi")]
    else:
        rows = [f"a: &a {'x' * 50_000}", f"b: [{', '.join(['*a'] * 20_000)}]"]
    return Broken((base.text + "\n".join(rows) + "\n").encode(), None, rows[1][:20])


def tag_of_another_language(base: Base, rng: random.Random) -> Broken | None:
    """Objects that a careless loader would make."""
    entry = _one(base, rng, lambda e: True)
    tags = ("!!python/object/apply:os.system", "!!python/name:os.system", "!Ref", "!!binary", "!!set")
    tag = rng.choice((*tags, "!!timestamp", "!<tag:x>"))
    return entry and Broken(base.with_value(entry, f"{tag} x").encode(), None, f"{entry.key}: {tag}")


def merge_key(base: Base, rng: random.Random) -> Broken | None:
    """`<<`, which YAML 1.1 has."""
    line = rng.choice([i for i, text in enumerate(base.lines) if re.match(r"[a-z]+:", text)])
    lines = base.lines
    lines.insert(line, "<<: {headroom: 5%}")
    return Broken("\n".join(lines).encode(), (line + 1, 1), f"line {line + 1}")


def punctuation(base: Base, rng: random.Random) -> Broken | None:
    """A quote that is not closed, a bracket too many or too few, a colon inside a value."""
    entry = _one(base, rng, lambda e: True)
    if entry is None:
        return None
    forms = ('"{}', "'{}", "[{}", "{{{}", "{}]", "{}: x: y", "@{}", "%{}", "`{}", "*{}", "*x", "[{}}}")
    value = rng.choice(forms).format(entry.value)
    return Broken(base.with_value(entry, value).encode(), None, f"{entry.key}: {value}")


def version_of_yaml(base: Base, rng: random.Random) -> Broken | None:
    """A directive for a YAML that is not read."""
    return Broken(f"%YAML {rng.choice(('2.0', '1.3', '9', 'x'))}\n---\n{base.text}".encode(), (1, 1), "")


def not_a_workload(base: Base, rng: random.Random) -> Broken | None:
    """Something else altogether."""
    random_bytes = bytes(rng.randrange(256) for _ in range(300))
    return Broken(
        rng.choice((b"", b"\n", b"# only a comment\n", b"---\n", b"just words\n", b"[1, 2]\n", b"42\n",
                    b"{}\n", b"~\n", b"%PDF-1.7\n\xe2\xe3\n", b"\x7fELF\x02\x01\x01\x00", b"PK\x03\x04\x14",
                    b"\xff" + random_bytes, b"name: x\n", b'{"schema": 1}\n', b"- " * 3_000, b": : :\n")),
        None, "",
    )  # fmt: skip


KINDS: tuple[Kind, ...] = (
    key_deleted, key_misspelt, unit_dropped, unit_in_wrong_case, unit_of_something_else, comma_for_a_point,
    negated, not_a_number, key_twice, wrong_kind_of_value, shares_do_not_sum, unknown_name, cut_short,
    bytes_of_no_text, other_encoding, indentation_broken, tab_for_spaces, out_of_range, second_document,
    nested_deeply, bomb, tag_of_another_language, merge_key, punctuation, version_of_yaml, not_a_workload,
)  # fmt: skip

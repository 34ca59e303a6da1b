"""YAML text to plain data and places: what is read, what is refused and where."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.errors import InputError
from optimizer.files import read_text_yaml
from optimizer.files.builder import MOST_COPIED, MOST_VALUES


def test_scalars_follow_the_core_schema_of_yaml_1_2() -> None:
    text = "a: [1, 2.5, 1e3, 0x10, 0o17, .5, true, False, null, ~, '1', yes, 12:30, 2026-04-02, 141 GB, $4]"
    assert read_text_yaml(text, "x").data == {
        "a": [
            1,
            2.5,
            1000.0,
            16,
            15,
            0.5,
            True,
            False,
            None,
            None,
            "1",
            "yes",
            "12:30",
            "2026-04-02",
            "141 GB",
            "$4",
        ]
    }


def test_a_key_is_located_where_it_begins() -> None:
    document = read_text_yaml("a: 1\nb:\n  c:\n  - x\n  - {d: 2, e: 3}\n", "x.yaml")
    assert document.locate(("a",)) == (1, 1)
    assert document.locate(("b", "c")) == (3, 3)
    assert document.locate(("b", "c", 0)) == (4, 5)
    assert document.locate(("b", "c", 1, "e")) == (5, 12)
    assert document.where(("b", "c", 1, "e")) == "x.yaml:5:12"


def test_a_missing_key_is_located_at_its_nearest_parent() -> None:
    document = read_text_yaml("a:\n  b: 1\n", "x.yaml")
    assert document.locate(("a", "z", 3)) == document.locate(("a",)) == (1, 1)
    assert document.locate(("nowhere",)) == (1, 1)


def test_an_alias_is_a_copy() -> None:
    document = read_text_yaml("a: &x {n: [1]}\nb: *x\n", "x.yaml")
    document.data["b"]["n"].append(2)
    assert document.data == {"a": {"n": [1]}, "b": {"n": [1, 2]}}
    assert document.locate(("b", "n", 0)) == (2, 1)


BOMB = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 10)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
LONG = f"a: &a {'x' * 500}\nb: [{', '.join(['*a'] * 5_000)}]\n"
KEYS = f"a: &a {{{'k' * 500}: 1}}\nb: [{', '.join(['*a'] * 5_000)}]\n"
REFUSED = [
    ("a: 1\na: 2\n", '2:1 a: duplicate key "a" (it stands already on line 1)'),
    ("a: {b: 1, b: 2}\n", '1:11 a.b: duplicate key "b" (it stands already on line 1)'),
    ("a:\n\tb: 1\n", "2:1: found character '\\t' that cannot start any token (indent with spaces, not tabs)"),
    ("a: b: c\n", "1:5: mapping values are not allowed here (quote the text if it holds a colon"),
    ("a: 'x\n", "2:1: found unexpected end of stream (close the quote)"),
    ("a: [1, 2\n", "2:1: expected ',' or ']', but got '<stream end>'"),
    ("a: @x\n", "1:4: found character '@' that cannot start any token"),
    ("a: .nan\n", "1:4 a: .nan is not a finite number (write a number)"),
    ("a: [1, -.inf]\n", "1:8 a.1: -.inf is not a finite number (write a number)"),
    ("a: 1e999\n", "1:4 a: 1e999 is not a finite number (write a number)"),
    ("a: " + "9" * 3000, "1:4 a: a number of 3000 digits (write fewer digits)"),
    ("1: x\n", '1:1: key 1 is not text (write "1":)'),
    ("true: x\n", '1:1: key true is not text (write "true":)'),
    ("null: x\n", '1:1: key null is not text (write "null":)'),
    ("? [a]\n: x\n", "1:3: a key must be text, not a list or mapping (quote it)"),
    ("a: &x 1\n? *x\n: 2\n", "2:3: an alias cannot be a key (write the key out)"),
    ("a: *x\n", "1:4: *x names no earlier anchor (put &x on the value, before this line and outside it)"),
    ("a: &x [*x]\n", "1:8: *x names no earlier anchor"),
    ("<<: {a: 1}\n", "1:1: merge keys are not read (repeat the entries)"),
    ("a: !!python/object:os.system x\n", "1:4 a: tag tag:yaml.org,2002:python/object:os.system is not read"),
    ("a: !!int x\n", '1:4 a: "x" does not fit its tag tag:yaml.org,2002:int (remove the tag)'),
    ("a: 1\n---\nb: 2\n", "2:1: a second document begins here (one document per file)"),
    ("%YAML 1.3\n---\na: 1\n", "1:1: asks for another version of YAML (remove the line)"),
    ("", "1:1: is empty (write a YAML mapping)"),
    ("# only a comment\n", "1:1: is empty (write a YAML mapping)"),
    ("[" * 100 + "]" * 100, "1:51: nested deeper than 50 levels (flatten it)"),
    ("- " * 100, "1:101: nested deeper than 50 levels (flatten it)"),
    (BOMB, f"5:36: more than {MOST_VALUES:,} values up to here (split it, or use fewer aliases)"),
    (f"a: 1\nb: {'!' * 5_000}\n", "2:4: more than 4,000 characters in a word (break it up)"),
    ("%A\n" * 11, "11:1: more than 10 lines with % (remove them)"),
    ("&a &b x\n", "1:4: expected '<document start>', but found <anchor> (check the YAML near here)"),
    ("a: 1\nb: x\x07y\n", "2:5: control character 0x07: not a text file (save it as plain UTF-8)"),
    ("a: \x00\n", "1:4: control character 0x00: not a text file (save it as plain UTF-8)"),
    ('a: "\\ud800"\n', "1:4 a: half of a surrogate pair (write the character itself)"),
    ('a: "\\e[2J"\n', "1:4 a: control character 0x1b inside a text (leave it out)"),
    ('"\\0": 1\n', "1:1: control character 0x00 inside a text (leave it out)"),
    ('a: !!str "\\x07"\n', "1:4 a: control character 0x07 inside a text (leave it out)"),
    (LONG, f"2:8005: aliases copy more than {MOST_COPIED:,} characters up to here (use fewer aliases)"),
    (KEYS, f"2:8005: aliases copy more than {MOST_COPIED:,} characters up to here (use fewer aliases)"),
    (f"a: *{'x' * 900}\n", f"1:4: *{'x' * 299}... (put &"),
    (f"? {'k' * 3_000}\n: 1\n? {'k' * 3_000}\n: 2\n", f'3:3 {"k" * 300}...: duplicate key "{"k" * 285}...'),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refused_with_place_and_remedy(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_text_yaml(text, "w.yaml")
    assert len(caught.value.problems) == 1
    assert str(caught.value).startswith(f"w.yaml:{message}")


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(min_codepoint=32, exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=12),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("abcdefgh_-.", min_size=1, max_size=6), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(TREES.filter(lambda tree: tree is not None))
def test_json_is_read_as_json_reads_it(tree: object) -> None:
    assert read_text_yaml(json.dumps(tree, ensure_ascii=False), "x").data == tree


@given(TREES.filter(lambda tree: tree is not None))
def test_every_place_points_at_its_key(tree: object) -> None:
    text = json.dumps(tree, indent=1, ensure_ascii=False)
    document = read_text_yaml(text, "x")
    lines = text.split("\n")
    for keys, (line, column) in document.places.items():
        if keys and isinstance(keys[-1], str):
            assert lines[line - 1][column - 1 :].startswith(json.dumps(keys[-1], ensure_ascii=False))


@given(st.text(alphabet=st.sampled_from("ab:-[]{},\"'&*!|>#?%@` \n\t0.~<=\\"), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(InputError):
        read_text_yaml(text, "x")

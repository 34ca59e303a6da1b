"""The two parsers read alike what libyaml is let near; what they read differently goes to ruamel.yaml."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from optimizer.errors import InputError
from optimizer.files import builder, data_path, parsers, read_text_yaml
from optimizer.files.parsers import careful, fast, ordinary
from optimizer.files.scalars import CONTROL

ROOT = Path(__file__).parents[2]
FOLDERS = (data_path("models"), data_path("workloads"), ROOT / "tests")
SHIPPED = sorted(path for folder in FOLDERS for path in folder.rglob("*.yaml"))
TOKENS = (
    *("a", "b", "1", "0.5", "-", " - ", ": ", ":", "\n", "\n  ", "\n    ", " ", "[", "]", "{", "}", ", "),
    *('"', "'", "#", " #", "?", "? ", "&a ", "*a", "&a", "!", "!!str ", "|", ">", "|\n", ">-\n", "%", "@"),
    *("\t", "~", "\\", "null", "true", "\r\n", "\r", "<", "<<", "=", ".", "---", "...", "\n---\n", "é", "`"),
    *("141 GB", "$4/GB", "12:30", "\n\n", "key: ", "- x", "\\n", '""', "''", "😀", "0x1", "1_0", "\u2028"),
    *("yes", "010", "1e3", "&a-1 ", "*a-1", "\u00a0", "\n- ", "\na: ", "\n  b: ", "\x85", "\ufeff", ","),
    *("a: >-\n  b", "- |\n  b", "a: >\n    b", "\n  # b", "\n   b", "\n...", "k: |+\n  ", "- >-\n     b\n  "),
)  # fmt: skip
NOTHING = object()

pytestmark = pytest.mark.skipif(fast() is None, reason="PyYAML was built without libyaml")


def read(parse: Any, text: str) -> Any:
    """Data (with kinds: 1 is not 1.0) and places in order, or NOTHING where the text is refused."""
    try:
        data, places = builder._built(parse(text), "x")
    except InputError:
        return NOTHING
    return repr(data), list(places.items())


def disagree(text: str) -> bool:
    """Whether libyaml reads what ruamel.yaml refuses or reads as something else."""
    quick = read(fast(), text)
    return quick is not NOTHING and quick != read(careful, text)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_files_are_read_alike_and_fast(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = path.read_text(encoding="utf-8")
    slow = read(careful, text)
    monkeypatch.setattr(builder, "careful", None)
    data, places = builder.build(text, "x")
    assert (repr(data), list(places.items())) == slow


def drawn(rng: random.Random) -> str:
    """A short text of what YAML makes something of."""
    return "".join(rng.choice(TOKENS) for _ in range(rng.randint(1, 16)))


def edited(text: str, rng: random.Random) -> str:
    """A part of a real file with a few bits of it replaced."""
    lines = text.split("\n")
    start = rng.randrange(len(lines))
    part = "\n".join(lines[start : start + rng.randint(1, 25)])
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(part) + 1)
        part = part[:at] + rng.choice(TOKENS) + part[at + rng.choice((0, 0, 1, 5)) :]
    return part


def disagreements(seed: int, count: int) -> tuple[list[str], int]:
    """Ordinary texts on which the parsers disagree, and how many were read at all."""
    rng = random.Random(seed)
    sources = [path.read_text(encoding="utf-8") for path in SHIPPED]
    wrong, good = [], 0
    for i in range(count):
        text = drawn(rng) if i % 2 else edited(rng.choice(sources), rng)
        if ordinary(text) and CONTROL.search(text) is None:
            wrong += [text] if disagree(text) else []
            good += read(fast(), text) is not NOTHING
    return wrong, good


def test_ordinary_texts_are_read_alike() -> None:
    wrong, good = disagreements(seed=1, count=2_500)
    assert wrong == []
    assert good > 300


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 18))
def test_many_ordinary_texts_are_read_alike(seed: int) -> None:
    wrong, good = disagreements(seed, count=20_000)
    assert wrong == []
    assert good > 3_000


CORNERS = (
    "|\n#", ">#", "|\n...", "a\t", "a: b\tc\n\t", "\u2028a: 1", "\x85a: 1", "\n\n\ufeffa: 1", "&a:b 1",
    "&12:30", "!\n&a x", "a: >-#\n  b", "a\n...\n...",
)  # fmt: skip


@pytest.mark.parametrize("text", CORNERS)
def test_corners_where_the_parsers_part_are_not_ordinary(text: str) -> None:
    assert not ordinary(text)


def test_the_corners_are_real() -> None:
    """Were both parsers alike everywhere, libyaml could read everything."""
    assert sum(disagree(text) for text in CORNERS) >= 8


YAML_1_1 = "a: [yes, no, on, off, 010, 0o10, 12:30, 1:20:30, 1_000, 0b11, .5, +1, 2026-04-02, =, <, 0x1F, ~]"


def test_scalars_of_yaml_1_1_mean_what_they_mean_in_1_2() -> None:
    assert ordinary(YAML_1_1)
    assert read(fast(), YAML_1_1) == read(careful, YAML_1_1)
    assert read_text_yaml(YAML_1_1, "x").data["a"] == [
        "yes", "no", "on", "off", 10, 8, "12:30", "1:20:30", "1_000", "0b11", 0.5, 1, "2026-04-02", "=", "<",
        31, None,
    ]  # fmt: skip


def test_without_libyaml_everything_is_read_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "fast", lambda: None)
    text = SHIPPED[0].read_text(encoding="utf-8")
    assert builder.build(text, "x")[0] == read_text_yaml(text, "x").data


def test_what_libyaml_refuses_is_told_by_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(builder, "careful", lambda text: seen.append(text) or careful(text))
    with pytest.raises(InputError, match=r"x:1:4: found character '@' that cannot start any token"):
        builder.build("a: @x\n", "x")
    assert seen == ["a: @x\n"]
    assert parsers.ordinary(seen[0])

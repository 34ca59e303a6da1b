"""Files that mean harm, or are none: one message, exit code 3, soon and in little memory."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from optimizer.cli import ExitCode
from optimizer.files import data_path
from optimizer.files.reader import LARGEST
from tests.edges.malformed import judged
from tests.measured import run

TINY = (data_path("workloads") / "tiny.yaml").read_text(encoding="utf-8")
MEMORY = 500e6
"""Bytes that a command may take at its peak; Python and its libraries take a third of it."""
HANGS = 120
"""Seconds after which a command is taken to hang."""

TEXTS: dict[str, tuple[str, str]] = {
    "bomb": (
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{n}: &{n} [{', '.join([f'*{m}'] * 9)}]\n" for m, n in itertools.pairwise("abcdefghi")),
        "values up to here",
    ),
    "bomb of one text": (f"a: &a {'x y ' * 900}\nb: [{', '.join(['*a'] * 20_000)}]\n", "aliases copy"),
    "brackets": ("[" * 200_000, "nested deeper"),
    "dashes": ("- " * 100_000, "nested deeper"),
    "question marks": ("? " * 100_000, "a key must be text"),
    "indentation": ("".join(" " * i + "a:\n" for i in range(400)), "nested deeper"),
    "keys": ("".join(f"k{i}: 1\n" for i in range(80_000)), "unknown key"),
    "more values than are read": ("a: [" + "1, " * 110_000 + "1]\n", "values up to here"),
    "one word": ("a: " + "x" * 900_000, "characters in a word"),
    "tags": ("!" * 900_000, "characters in a word"),
    "directives": ("%A\n" * 100_000, "lines with %"),
    "tabs": ("\t" * 900_000, "cannot start any token"),
    "open quote": ('a: "' + "x " * 450_000, "close the quote"),
    "nothing but lines": ("\n" * 900_000, "is empty"),
    "anchors": ("&a " * 100_000, "expected"),
    "merge key": (f"<<: {{name: x}}\n{TINY}", "merge keys are not read"),
    "tag of Python": (TINY.replace("tiny", '!!python/object/apply:os.system ["true"]', 1), "is not read"),
    "whole number of 39 digits": (TINY.replace("max: 4", "max: " + "9" * 39), "is more than is planned with"),
    "whole number of 3,000 digits": (TINY.replace("max: 4", "max: " + "9" * 3_000), "digits"),
    "hexadecimal": (TINY.replace("max: 4", "max: 0x" + "f" * 36), "is more than is planned with"),
    "escape of a terminal": (TINY.replace("name: tiny", 'name: "\\e[2J"'), "control character 0x1b"),
}  # fmt: skip

LARGE = {"keys", "more values than are read", "open quote", "nothing but lines"}
"""Whose megabyte is read to its end: only in the slow tests."""


@pytest.mark.parametrize("name", [name for name in TEXTS if name not in LARGE])
def test_a_text_that_means_harm_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    text, words = TEXTS[name]
    path = tmp_path / "w.yaml"
    path.write_text(text, encoding="utf-8")
    assert path.stat().st_size <= LARGEST
    ending = judged(path)
    assert ending.code == ExitCode.BAD_INPUT
    assert words in ending.stderr
    assert f"{path}:" in ending.stderr
    assert len(ending.stderr) < 20_000
    assert "\x1b" not in ending.stderr


def test_nothing_of_the_file_is_executed(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "w.yaml").write_text(f'a: !!python/object/apply:os.system ["touch {mark}"]\n')
    assert judged(tmp_path / "w.yaml").code == ExitCode.BAD_INPUT
    assert not mark.exists()


def ordinary_pipe(path: Path) -> None:
    os.mkfifo(path)


def loop_of_links(path: Path) -> None:
    path.symlink_to(path.name + "2")
    path.with_name(path.name + "2").symlink_to(path.name)


def device_without_end(path: Path) -> None:
    path.symlink_to("/dev/zero")


def hundred_megabytes(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(100_000_000)


def noise(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 100)


NO_TEXTS: list[Callable[[Path], None]] = [
    ordinary_pipe, loop_of_links, device_without_end, hundred_megabytes, noise, Path.mkdir,
]  # fmt: skip


def command(*arguments: str, cwd: Path) -> tuple[int, str, str, float]:
    """A real command: its code, stdout, stderr, and bytes at its peak."""
    program = [str(Path(sys.executable).parent / "tierplan"), *arguments]
    ended = run(program, cwd, HANGS)
    return ended.code, ended.out, ended.err, ended.peak


@pytest.mark.parametrize("make", [ordinary_pipe, device_without_end], ids=lambda make: make.__name__)
def test_what_never_ends_is_no_result_either(make: Callable[[Path], None], tmp_path: Path) -> None:
    test_what_is_no_file_of_text_is_no_result_either(make, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("make", NO_TEXTS, ids=lambda make: make.__name__)
def test_what_is_no_file_of_text_is_no_result_either(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "thing")
    code, out, err, peak = command("explain", "thing", cwd=tmp_path)
    assert (code, out) == (ExitCode.BAD_INPUT, "")
    assert err.startswith("error: thing")
    assert err.count("\n") == 1
    assert peak < MEMORY


@pytest.mark.slow
@pytest.mark.parametrize("make", NO_TEXTS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("verb", ["solve", "validate"])
def test_what_is_no_file_of_text_is_no_workload(
    verb: str, make: Callable[[Path], None], tmp_path: Path
) -> None:
    make(tmp_path / "thing")
    code, out, err, peak = command(verb, "thing", cwd=tmp_path)
    assert (code, out) == (ExitCode.BAD_INPUT, "")
    assert err.startswith("error: thing")
    assert err.count("\n") == 1
    assert peak < MEMORY


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_means_harm_takes_little_memory(name: str, tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(TEXTS[name][0], encoding="utf-8")
    code, out, err, peak = command("validate", "w.yaml", cwd=tmp_path)
    assert (code, out) == (ExitCode.BAD_INPUT, "")
    assert err.startswith("error: w.yaml:")
    assert "Traceback" not in err
    assert peak < MEMORY


RESULTS = {
    "deep": "[" * 200_000, "digits": '{"a": ' + "9" * 10_000 + "}", "nan": '{"schema": NaN}',
    "long": json.dumps([1] * 300_000), "empty": "", "nothing": "{}",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("text", RESULTS.values(), ids=RESULTS)
def test_what_is_no_result(text: str, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(text)
    code, out, err, peak = command("explain", "r.json", cwd=tmp_path)
    assert (code, out) == (ExitCode.BAD_INPUT, "")
    assert err.startswith("error: r.json:")
    assert err.count("\n") == 1
    assert peak < MEMORY


STREAMS = {"full": (">/dev/full", 3), "closed": (">&-", 0), "no reader": ("| true", 0)}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has it")
@pytest.mark.parametrize("where", STREAMS)
def test_an_answer_that_nobody_takes(where: str, tmp_path: Path) -> None:
    redirection, code = STREAMS[where]
    program = Path(sys.executable).parent / "tierplan"
    line = f"{program} init --preset list {redirection}"
    shell = ["sh", "-c", line]
    done = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == code
    words = "error: the answer cannot be written: No space left on device\n"
    assert done.stderr == (words if where == "full" else "")

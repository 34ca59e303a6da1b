"""Files that are nearly workloads: refused with a place, or read with the same digest; never a traceback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.edges import breaking, keeping
from tests.edges.malformed import Ending, digest_of, faults, files, judged, malformed, run

FAST, ALL, SAMPLE = 200, 1_000, 30


def wrong(count: int, folder: Path) -> list[str]:
    """Every file that ended wrongly, with how."""
    return [f"{file.name}: {text}" for file, _, found in run(count, 1, folder) for text in found]


def test_two_hundred_files(tmp_path: Path) -> None:
    assert wrong(FAST, tmp_path) == []


@pytest.mark.slow
def test_a_thousand_files(tmp_path: Path) -> None:
    assert wrong(ALL, tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", range(0, ALL, ALL // SAMPLE + 2))
def test_through_the_real_command(number: int, tmp_path: Path) -> None:
    """A sample of the thousand, of every kind in turn: the step and the number of kinds share no factor."""
    file = malformed(number)
    path = tmp_path / file.name
    path.write_bytes(file.data)
    command = [Path(sys.executable).parent / "tierplan", "validate", path.name]
    wide = {**os.environ, "COLUMNS": "120"}  # so that a digest stands on one line
    done = subprocess.run(
        command, cwd=tmp_path, env=wide, capture_output=True, text=True, timeout=120, check=False
    )
    digest = "".join(re.findall(r"sha256 ([0-9a-f]{64})$", done.stdout, re.MULTILINE))
    if done.returncode == 0:  # a good file may be warned about
        done.stderr = ""
    assert faults(file, Ending(done.returncode, done.stderr, digest, 0.0), path) == []


def test_every_kind_has_its_turn() -> None:
    kinds = [kind.__name__ for kind in (*breaking.KINDS, *keeping.KINDS)]
    assert len(set(kinds)) == len(kinds) >= 30
    assert {file.kind for file in files(len(kinds))} == set(kinds)


def test_the_same_seed_makes_the_same_files() -> None:
    assert list(files(40, seed=7)) == list(files(40, seed=7))
    assert list(files(40, seed=7)) != list(files(40, seed=8))


def test_a_wrong_ending_would_be_noticed(tmp_path: Path) -> None:
    """A broken file that is read, a good one that is refused, a wrong digest, a place elsewhere or none."""
    broken = next(file for file in files(200) if not file.keeps and file.place)
    good = next(file for file in files(200) if file.keeps)
    path = tmp_path / "x.yaml"
    line, column = broken.place or (0, 0)
    assert faults(broken, Ending(3, f"error: x.yaml:{line}:{column} a: b\n", "", 0), path) == []
    assert faults(good, Ending(0, "", digest_of(good.base), 0), path) == []
    for file, ending in (
        (broken, Ending(0, "", "", 0)),
        (broken, Ending(1, "internal error: x", "", 0)),
        (broken, Ending(3, "error: x.yaml: a: b\n", "", 0)),
        (broken, Ending(3, f"error: x.yaml:{line}:{column + 1}: b\n", "", 0)),
        (broken, Ending(3, f"error: x.yaml:{line}:{column} a\nTraceback (most recent call last)", "", 0)),
        (broken, Ending(3, f"error: x.yaml:{line}:{column} a\nerror: b\n", "", 0)),
        (broken, Ending(3, f"error: x.yaml:{line + 9_999}:1 a\n", "", 0)),
        (good, Ending(3, "error: x.yaml:1:1 a\n", "", 0)),
        (good, Ending(0, "", "0" * 64, 0)),
    ):
        assert faults(file, ending, path)


def test_the_judge_is_the_guard_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("schema: tierplan-workload/1\n")
    ending = judged(tmp_path / "x.yaml")
    assert ending.code == 3
    assert ending.stderr.count("error: ") == 3

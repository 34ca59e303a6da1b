"""A thousand files that are nearly workloads, and how each ends.

    python -m tests.edges.malformed --count 1000 --seed 1

Each file is a good one broken in one known way (`breaking.py`), which must end in exit code 3 with a message
that names file, line and column, or written otherwise (`keeping.py`), which must load with the same digest.
Nothing else is right: no other code, no traceback, no broken file that is read.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import typer

from optimizer.catalog import load_catalog
from optimizer.cli import ExitCode
from optimizer.cli.guard import guarded, placed
from optimizer.instance.checks import names
from optimizer.workload import load_workload
from tests.edges import breaking, keeping
from tests.edges.entries import Base, bases

SEED = 1
PATIENCE = 5.0
"""Seconds that a file may take; the program reports what took longer, the tests do not measure time."""


@dataclass(frozen=True)
class Malformed:
    """One file: how it came about, its bytes, and how it must end."""

    number: int
    kind: str
    base: str
    data: bytes
    keeps: bool
    place: tuple[int, int] | None
    what: str

    @property
    def name(self) -> str:
        """A file name of its own."""
        return f"{self.number:04}-{self.kind}.yaml"


@dataclass(frozen=True)
class Ending:
    """How a file ended."""

    code: int
    stderr: str
    digest: str
    seconds: float


def files(count: int, seed: int = SEED) -> Iterator[Malformed]:
    """Files of every kind in turn; the same ones for the same seed."""
    return (malformed(number, seed) for number in range(count))


def malformed(number: int, seed: int = SEED) -> Malformed:
    """One of the files."""
    kinds = [*breaking.KINDS, *keeping.KINDS]
    kind = kinds[number % len(kinds)]
    rng = random.Random(f"{seed}:{number}")
    made = next(filter(None, (_made(number, kind, rng) for _ in range(100))), None)
    if made is None:
        raise AssertionError(f"{kind.__name__} has nothing to do in any file")
    return made


def _made(number: int, kind: breaking.Kind | keeping.Keeping, rng: random.Random) -> Malformed | None:
    base: Base = rng.choice(bases())
    made = kind(base, rng)
    if made is None:
        return None
    keeps = kind in keeping.KINDS
    data, place, what = (made, None, "") if isinstance(made, bytes) else made
    return Malformed(number, kind.__name__, base.name, data, keeps, place, what)


@cache
def digest_of(name: str) -> str:
    """The digest of a good file."""
    from optimizer.files import read_text_yaml
    from optimizer.workload import loaded

    (text,) = [base.text for base in bases() if base.name == name]
    return loaded(read_text_yaml(text, name)).digest


def judged(path: Path) -> Ending:
    """What every command does with a file before it builds a model, through the guard of the command line."""
    stderr, digest, code, began = io.StringIO(), "", 0, time.perf_counter()
    with contextlib.redirect_stderr(stderr):
        try:
            with guarded():
                loaded = load_workload(path)
                with placed(loaded):
                    names(loaded.workload, load_catalog())
                digest = loaded.digest
        except typer.Exit as ended:
            code = ended.exit_code
    return Ending(code, stderr.getvalue(), digest, time.perf_counter() - began)


def faults(file: Malformed, ending: Ending, path: Path) -> list[str]:
    """What is wrong with how a file ended."""
    if "Traceback" in ending.stderr:
        return ["a traceback"]
    if file.keeps:
        found = [] if ending.code == 0 else [f"exit {ending.code}: {ending.stderr.strip()[:200]}"]
        return found or ([] if ending.digest == digest_of(file.base) else ["another digest"])
    if ending.code != ExitCode.BAD_INPUT:
        same = " with the digest of the good file" if ending.digest == digest_of(file.base) else ""
        return [f"exit {ending.code}{same}: {ending.stderr.strip()[:200]}"]
    return _misplaced(file, ending.stderr, path)


def _misplaced(file: Malformed, stderr: str, path: Path) -> list[str]:
    """Every message begins with the file and a place in it, and one of them is where it broke."""
    messages = stderr.splitlines()
    place = re.compile(rf"error: (?:.*/)?{re.escape(path.name)}:(\d+):(\d+)[: ]")
    found = [(int(m[1]), int(m[2])) for line in messages if (m := place.match(line))]
    lines = file.data.count(b"\n") + 2
    if len(found) != len(messages) or not found:
        return [f"no place: {stderr[:200]}"]
    if any(line > lines or column < 1 or line < 1 for line, column in found):
        return [f"a place outside the file: {stderr[:200]}"]
    if file.place is not None and file.place not in found:
        return [f"not at {file.place[0]}:{file.place[1]}: {stderr[:200]}"]
    return []


def run(count: int, seed: int, folder: Path) -> Iterator[tuple[Malformed, Ending, list[str]]]:
    """Write, judge and forget every file; the ones that end wrongly stay in the folder."""
    for file in files(count, seed):
        path = folder / file.name
        path.write_bytes(file.data)
        ending = judged(path)
        wrong = faults(file, ending, path)
        if not wrong:
            path.unlink()
        yield file, ending, wrong


def main() -> int:
    """Print a table by kind, and every file that ended wrongly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    load_catalog()
    folder = Path(tempfile.mkdtemp(prefix="malformed-"))
    table: dict[str, list[float]] = {}
    wrong: list[str] = []
    for file, ending, found in run(options.count, options.seed, folder):
        row = table.setdefault(file.kind, [0, 0, 0, 0.0])
        row[0] += 1
        row[1 if file.keeps else 2] += not found
        row[3] = max(row[3], ending.seconds)
        late = [f"{ending.seconds:.1f} s"] if ending.seconds > PATIENCE else []
        wrong += [f"{folder / file.name} ({file.base}; {file.what}): {text}" for text in [*found, *late]]
    print(f"{'kind':<26}{'files':>7}{'refused':>9}{'same':>6}{'slowest':>10}")
    for kind, (number, same, refused, slowest) in table.items():
        print(f"{kind:<26}{number:>7}{refused:>9}{same:>6}{slowest:>8.2f} s")
    columns = list(zip(*table.values(), strict=True))
    slowest = max(columns[3])
    print(f"{'all':<26}{sum(columns[0]):>7}{sum(columns[2]):>9}{sum(columns[1]):>6}{slowest:>8.2f} s")
    print(*wrong, sep="\n")
    print(f"{len(wrong)} ended wrongly (seed {options.seed})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""A trace takes a fraction of its file: read in a process of its own, whose peak is measured."""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.measured import run

pytestmark = pytest.mark.slow

SIZE = 250_000_000
SCRIPT = """
import sys, time
sys.path.insert(0, sys.argv[2])
from optimizer.traces import read_trace
began = time.perf_counter()
trace = read_trace(sys.argv[1])
print(len(trace), trace.chains.accesses if trace.chains else 0, time.perf_counter() - began)
"""


def agentic(dice: random.Random, id_of: Callable[[int], int]) -> Iterator[str]:
    """Sessions of a coding agent, 500 at a time, each request with all blocks of the ones before it."""
    sessions: dict[int, list[int]] = {}
    fresh = 0
    for number in range(10**9):
        chain = sessions.setdefault(dice.randrange(500), [])
        if len(chain) > 400:
            chain.clear()
        new = dice.randint(2, 30)
        chain += map(id_of, range(fresh, fresh + new))
        fresh += new
        yield json.dumps({
            "timestamp": number * 40, "input_length": 512 * len(chain) - dice.randrange(512),
            "output_length": dice.randint(20, 900), "hash_ids": chain,
        }) + "\n"


def hashed(block: int) -> int:
    """Ids without any order: a multiplication by an odd number, of which no two are alike."""
    return block * 0x9E3779B97F4A7C15 % 2**62


def lengths(dice: random.Random) -> Iterator[str]:
    """Arrivals and lengths alone."""
    yield "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    for number in range(10**9):
        hour, minute, second = number // 7_200_000 % 24, number // 120_000 % 60, number // 2_000 % 60
        clock = f"2023-11-16 {hour:02d}:{minute:02d}:{second:02d}.{number % 2_000 * 5_000:07d}"
        yield f"{clock},{dice.randrange(9000)},{dice.randrange(900)}\n"


def written(path: Path, rows: Iterator[str]) -> Path:
    """The rows in a file, until it holds SIZE bytes unpacked."""
    size = 0
    with gzip.open(path, "wt", 1) if path.suffix == ".gz" else path.open("w") as stream:
        for row in rows:
            stream.write(row)
            size += len(row)
            if size > SIZE:
                return path
    raise AssertionError("too few rows")


@pytest.mark.parametrize(
    ("name", "rows", "share"),
    [
        ("ordered.jsonl", lambda dice: agentic(dice, int), 1 / 3),
        ("packed.jsonl.gz", lambda dice: agentic(dice, int), 1 / 3),
        ("hashed.jsonl", lambda dice: agentic(dice, hashed), 1 / 2),
        ("lengths.csv", lengths, 1.0),
    ],
    ids=["ordered", "packed", "hashed", "lengths"],
)
def test_what_a_trace_takes(name, rows, share, tmp_path, root):
    """Of the file as text, the interpreter and numpy included: some 40 MB that do not grow with it.

    Ids without order need a table of 16 bytes a block; lengths alone take 24 bytes for each line of 36.
    """
    file = written(tmp_path / name, rows(random.Random(1)))
    done = run([sys.executable, "-c", SCRIPT, str(file), str(root)], tmp_path, 600)
    file.unlink()
    assert done.code == 0, done.err
    requests, accesses, seconds = done.out.split()
    print(
        f"{name}: {SIZE / 1e6:.0f} MB, {int(requests):,} requests, {int(accesses):,} block accesses: "
        f"peak {done.peak / 1e6:.0f} MB = {done.peak / SIZE:.0%} of it, {float(seconds):.1f} s"
    )
    assert done.peak < share * SIZE

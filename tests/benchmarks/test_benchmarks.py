"""The benchmarks run, and what they compare does the same; how fast is not tested."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.cache_path import CAPACITIES, TRACES, as_recorded, compiled_hits, copied, naive_hits
from benchmarks.simulator import BEGIN, PAGE, write
from benchmarks.tables import END, Section
from optimizer.traces import read_trace
from optimizer.traces.curve import default_capacities
from optimizer.traces.stack import positions
from tests.conftest import ROOT


@pytest.mark.slow
def test_the_command_prints_a_line_of_json_a_run_and_its_tables():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.simulator", "--quick"],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=300,
    )  # fmt: skip
    lines, _, tables = done.stdout.partition("\n\n")
    runs = [json.loads(line) for line in lines.splitlines()]
    kinds = ["Cache path", "Cache path", "Cache beside libCacheSim", "Full path", "Memory"]
    assert [run["benchmark"] for run in runs] == kinds
    assert all(run["requests/s"] > run["naive requests/s"] for run in runs[:2])
    assert runs[3]["loop requests/s"] > runs[3]["plain requests/s"]
    assert tables.count("\n### ") == 4
    assert "| tiny " in tables


@pytest.mark.parametrize("name", [TRACES[2], TRACES[4]])
def test_the_cache_path_finds_what_the_curve_of_the_trace_says(name):
    trace = read_trace(f"{name}.jsonl.gz")
    capacities = np.array(default_capacities(trace.chains.unique))[list(CAPACITIES)]
    misses = positions(trace, reverse=True).prefix_misses(capacities)
    asked = as_recorded(trace)
    assert [asked.accesses - compiled_hits(asked, int(c)) for c in capacities] == misses.tolist()


def test_copies_share_no_block_and_domains_are_apart():
    trace = read_trace(f"{TRACES[3]}.jsonl.gz")
    one, three = copied(trace, 1, 1), copied(trace, 3, 4)
    assert three.accesses == 3 * one.accesses
    assert len(np.unique(three.node_id)) > 2.5 * len(np.unique(one.node_id))
    assert set(three.domain) == {0, 1, 2, 3}
    room = int(three.blocks.sum())
    assert compiled_hits(three, room) == naive_hits(three, room)
    assert compiled_hits(three, 40) == naive_hits(three, 40)


def test_a_table_is_aligned_and_rounds_to_three_digits():
    rows = ({"what": "a", "pace": 1234567.0}, {"what": "bcd", "pace": 0.012345})
    section = Section("Made", "Says.", rows)
    assert section.table().splitlines()[4:] == [
        "| what |      pace |",
        "| ---- | --------: |",
        "| a    | 1,230,000 |",
        "| bcd  |    0.0123 |",
    ]
    assert json.loads(section.lines()[0]) == {"benchmark": "Made", **rows[0]}


def test_the_page_keeps_what_stands_around_the_tables(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{BEGIN}\nold \\1\n{END}\n\nafter\n")
    write("new \\1", page)
    write("new \\1", page)
    assert page.read_text() == f"before\n\n{BEGIN}\n\nnew \\1\n\n{END}\n\nafter\n"
    assert BEGIN in PAGE.read_text()

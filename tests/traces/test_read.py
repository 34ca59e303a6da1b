"""What is written in a trace is what is read, in every format, however it is packed, ordered or numbered."""

from __future__ import annotations

import json
import math
import os
import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from optimizer.errors import InputError
from optimizer.traces import Format, columns, read_trace

from .writing import BLOCK, mooncake, project, requests, rows_of, run_lengths, write

PLAIN = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
NAMES = ("x.jsonl", "x.jsonl.gz")


def as_runs(row):
    return {**{key: value for key, value in row.items() if key != "h"}, "runs": list(run_lengths(row["h"]))}


@PLAIN
@given(rows=requests(), packed=st.sampled_from(NAMES), chunk=st.sampled_from((1, 3, 2**20)))
def test_what_is_written_is_read(rows, packed, chunk, tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "_CHUNK", chunk)
    trace = read_trace(write(tmp_path / packed, project(rows, name="mine")))
    assert rows_of(trace) == rows
    assert (trace.name, trace.block_tokens, trace.faulty) == (packed, BLOCK, 0)
    assert trace.header == {"name": "mine", "block_tokens": BLOCK}
    assert trace.chains.unique == len({block for row in rows for block in row["h"]})
    types = {
        name: str(getattr(trace, name).dtype)
        for name in ("time", "input", "output", "session", "sub", "api", "think")
    }
    assert types == {
        "time": "float64", "input": "int64", "output": "int64", "session": "int64", "sub": "bool",
        "api": "float64", "think": "float64",
    }


@PLAIN
@given(rows=requests())
def test_runs_and_ids_are_the_same_chains(rows, tmp_path):
    ids = read_trace(write(tmp_path / "ids.jsonl", project(rows)))
    mixed = [row if i % 2 else as_runs(row) for i, row in enumerate(rows)]
    runs = read_trace(write(tmp_path / "runs.jsonl", project(mixed)))
    assert rows_of(runs) == rows_of(ids) == rows
    for name in ("start", "first", "count"):
        assert np.array_equal(getattr(ids.chains, name), getattr(runs.chains, name))


@PLAIN
@given(rows=requests(blocks=False))
def test_lengths_alone(rows, tmp_path):
    trace = read_trace(write(tmp_path / "x.jsonl", project(rows, block_tokens=None)))
    assert trace.chains is trace.block_tokens is None
    assert rows_of(trace) == rows


@PLAIN
@given(rows=requests(), seed=st.integers(0, 99), chunk=st.sampled_from((1, 3, 2**20)))
def test_ids_are_numbered_anew_in_order_of_appearance(rows, seed, chunk, tmp_path, monkeypatch):
    """Hashes, sparse numbers, another order: what is read is as if the file had counted from 0."""
    monkeypatch.setattr(columns, "_CHUNK", chunk)
    dice = random.Random(seed)
    blocks = [block for row in rows for block in row["h"]]
    other = {block: dice.randrange(2**62) if dice.random() < 0.5 else 10 * block for block in blocks}
    renamed = [{**row, "h": [other[block] for block in row["h"]]} for row in rows]
    assert len(set(other.values())) == len(other)
    assert rows_of(read_trace(write(tmp_path / "x.jsonl", project(renamed)))) == rows


@PLAIN
@given(rows=requests(), seed=st.integers(0, 99))
def test_requests_are_sorted_by_time_and_it_is_said(rows, seed, tmp_path):
    shuffled = random.Random(seed).sample(rows, len(rows))
    trace = read_trace(write(tmp_path / "x.jsonl", project(shuffled)))
    expected = sorted(shuffled, key=lambda row: row["t"])
    found = rows_of(trace)
    assert [{**row, "h": 0} for row in found] == [{**row, "h": 0} for row in expected]
    ids = {}
    for row, was in zip(found, expected, strict=True):
        assert [ids.setdefault(old, new) for old, new in zip(was["h"], row["h"], strict=True)] == row["h"]
    late = sum(after["t"] < before["t"] for before, after in pairwise(shuffled))
    said = f"{late} request{'' if late == 1 else 's'} came before the line above: sorted by time"
    assert trace.header.get(columns.REMARKS, ()) == ((said,) if late else ())


@PLAIN
@given(rows=requests(), packed=st.sampled_from(NAMES), size=st.sampled_from((512, 16)))
def test_mooncake(rows, packed, size, tmp_path):
    """Blocks hold 512 tokens unless the user says otherwise; a partial last one has an id or none."""
    for row in rows:
        row["t"] = round(row["t"] % 1e6, 3)
        blocks, rest = len(row["h"]), row["in"] % size
        row["in"] = blocks * size + (rest if not blocks or row["in"] % 3 else -rest)
    rows = sorted(rows, key=lambda row: row["t"])
    kept = [{key: row[key] for key in ("t", "in", "out", "h")} for row in rows]
    first = {block: None for row in rows for block in row["h"]}
    number = {block: new for new, block in enumerate(first)}
    kept = [{**row, "h": [number[block] for block in row["h"]]} for row in kept]
    said = None if size == 512 else size
    trace = read_trace(write(tmp_path / packed, mooncake(kept)), block_tokens=said)
    assert rows_of(trace) == kept
    assert trace.block_tokens == size
    assert f"blocks are taken to hold {size} tokens" in trace.header[columns.REMARKS]


def test_a_block_size_that_does_not_fit_is_noticed(tmp_path):
    row = {"t": 1.0, "in": 521, "out": 1, "h": list(range(33))}
    file = write(tmp_path / "x", mooncake([row]))
    assert read_trace(file, block_tokens=16).block_tokens == 16
    with pytest.raises(InputError, match=r"33 hash_ids are not 521 tokens in blocks of 512 \(--block-tokens"):
        read_trace(file)


def test_a_block_size_is_stated_once(tmp_path):
    row = {"t": 1.0, "in": 521, "out": 1, "h": [0]}
    file = write(tmp_path / "x", project([row]))
    assert read_trace(file, block_tokens=BLOCK).block_tokens == BLOCK
    assert read_trace(write(tmp_path / "y", json.dumps(row)), block_tokens=64).block_tokens == 64
    with pytest.raises(InputError, match=f"header of the trace says {BLOCK}, not 64"):
        read_trace(file, block_tokens=64)
    with pytest.raises(InputError, match="no blocks, not 64"):
        read_trace("azure2023_conv", block_tokens=64)
    with pytest.raises(InputError, match="this format has no blocks"):
        read_trace(write(tmp_path / "z", "2023-11-16 18:17:03.9,1,1\n"), block_tokens=64)


STAMPS = st.tuples(st.integers(0, 10**7), st.integers(0, 9_999_999))


@PLAIN
@given(
    rows=st.lists(st.tuples(STAMPS, st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=8),
    end=st.sampled_from(("\n", "\r\n")), zone=st.sampled_from(("", "+00:00", "+05:30", "Z")),
)
def test_azure(rows, end, zone, tmp_path):
    day = datetime(2023, 11, 16, 18, 17, 3)
    lines = ["TIMESTAMP,ContextTokens,GeneratedTokens"]
    lines += [
        f"{day + timedelta(seconds=stamp[0]):%Y-%m-%d %H:%M:%S}.{stamp[1]:07d}{zone},{a},{b}"
        for stamp, a, b in rows
    ]
    trace = read_trace(write(tmp_path / "azure.csv", end.join(lines)))
    ordered = sorted(rows, key=lambda row: row[0])
    begin = ordered[0][0]
    seconds = [s - begin[0] + (ticks - begin[1]) / 1e7 for (s, ticks), _, _ in ordered]
    assert trace.time == pytest.approx(np.array(seconds), abs=2e-8)
    assert trace.input.tolist() == [a for _, a, _ in ordered]
    assert trace.output.tolist() == [b for _, _, b in ordered]
    assert trace.block_tokens is trace.chains is None


def test_a_zone_is_heeded(tmp_path):
    text = "2024-05-10 00:00:00.5+00:00,1,1\n2024-05-10 01:00:00+01:00,2,2\n2024-05-10 00:00:02Z,3,3\n"
    trace = read_trace(write(tmp_path / "a.csv", text))
    assert trace.time.tolist() == [0.0, 0.5, 2.0]
    assert trace.input.tolist() == [2, 1, 3]


def test_azure_s_seven_decimals_are_kept(tmp_path):
    """In seconds since 1970 a float has steps of 0.2 microseconds."""
    text = "2023-11-16 18:17:03.9799600,1,1\n2023-11-16 18:17:03.9799601,1,1\n"
    assert read_trace(write(tmp_path / "a.csv", text)).time[1] == pytest.approx(1e-7, rel=1e-9)


def test_marks_and_ends_of_other_systems(tmp_path):
    rows = [{"t": 0.0, "in": 1, "out": 2, "h": [0]}, {"t": 1.0, "in": 3, "out": 4, "h": [0, 1]}]
    text = "\ufeff" + project(rows).replace("\n", "\r\n\r\n")
    trace = read_trace(write(tmp_path / "x.jsonl", text.rstrip()))
    assert rows_of(trace) == rows
    assert trace.faulty == 0


def test_a_column_that_nobody_recorded_takes_no_memory(tmp_path):
    rows = [{"t": t, "in": 1, "out": 1, "h": []} for t in (0, 2, 1)]
    trace = read_trace(write(tmp_path / "x.jsonl", project(rows)))
    for column in (trace.session, trace.sub, trace.api, trace.think):
        assert column.strides == (0,)
        assert len(column) == 3


def test_values_that_say_nothing(tmp_path):
    row = {"t": 0, "in": 1, "out": 1, "h": [], "s": None, "api": None, "think": None, "sub": False}
    trace = read_trace(write(tmp_path / "x.jsonl", project([row, {**row, "sub": True, "s": 0}])))
    assert trace.session.tolist() == [-1, 0]
    assert trace.sub.tolist() == [False, True]
    assert math.isnan(trace.api[0])


def test_a_format_may_be_stated(tmp_path):
    row = {"timestamp": 5, "input_length": 1, "output_length": 1, "hash_ids": [7]}
    file = write(tmp_path / "x", f"junk\n{json.dumps(row)}\n")
    assert len(read_trace(file, format=Format.MOONCAKE, max_faulty=0.5)) == 1
    with pytest.raises(InputError, match="holds no request"):
        read_trace(file, format=Format.AZURE)


@pytest.mark.parametrize(
    "name",
    ["lmcache_miniswe_b64", "lmcache_miniswe_b64.jsonl.gz", "workloads/traces/lmcache_miniswe_b64.jsonl.gz"],
)
def test_a_shipped_trace_by_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(read_trace(name)) == 402


def test_a_file_wins_over_a_shipped_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "lmcache_miniswe_b64", project([{"t": 0, "in": 1, "out": 1, "h": []}]))
    assert len(read_trace("lmcache_miniswe_b64")) == 1


def test_a_name_that_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"did you mean .*lmcache_miniswe_b64"):
        read_trace("lmcache_miniswe_b65")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "is empty"), (b"\n\n", "is empty"), (b"\x1f\x8b", "gzip"), (b"hi\n", "known format"),
        ("a,b\n1,2\n".encode("utf-16"), "known format"), (b"PK\x03\x04\0\0", "NUL"),
        (b'{"t": 1}\n', "known format"), (b"[1]\n", "known format"),
        (b'{"_header": {"block_tokens": 16}}\n', "holds no request"),
        (b"TIMESTAMP,ContextTokens,GeneratedTokens\n", "holds no request"),
        (b"session,cache_read_tokens,input\n1,2,3\n", "ledger"), (b"t_s,requests_per_s\n0,1\n", "rates"),
        (b'{"chat_id": 1, "parent_chat_id": -1, "timestamp": 61.1, "input_length": 521, '
         b'"output_length": 132, "type": "text", "turn": 1, "hash_ids": [1]}\n', "unknown key 'chat_id'"),
    ],
)  # fmt: skip
def test_what_is_no_trace(text, words, tmp_path):
    (tmp_path / "x").write_bytes(text)
    with pytest.raises(InputError, match=words):
        read_trace(tmp_path / "x")


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    wrong = {
        tmp_path: "folder", tmp_path / "pipe": "regular", tmp_path / "no": "no such", "\0": "no file",
    }
    for path, words in wrong.items():
        with pytest.raises(InputError, match=words):
            read_trace(path)


@pytest.mark.parametrize(
    ("limit", "most", "words"),
    [
        ("MOST_REQUESTS", 3, "3 requests"), ("MOST_ACCESSES", 7, "7 block accesses"),
        ("MOST_BLOCKS", 3, "3 different blocks"),
        ("MOST_LOOKED_UP", 3, "3 different blocks with ids in no order"),
    ],
)
def test_a_trace_that_is_too_large(limit, most, words, tmp_path, monkeypatch):
    rows = [{"t": 0, "in": 1, "out": 1, "runs": [[first, 2]]} for first in (0, 0, 9, 0)]
    file = write(tmp_path / "x.jsonl", project(rows))
    monkeypatch.setattr(columns, limit, most + 1)
    assert len(read_trace(file)) == 4
    monkeypatch.setattr(columns, limit, most)
    with pytest.raises(InputError, match=f"has more than {words}"):
        read_trace(file)


def test_a_time_in_another_unit(tmp_path):
    now = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    rows = [{"t": t, "in": 1, "out": 1, "h": []} for t in (0, now)]
    with pytest.raises(InputError, match="spans 56 years"):
        read_trace(write(tmp_path / "x.jsonl", project(rows)))

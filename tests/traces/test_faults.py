"""Lines that are no requests: left out, counted and named, and refused where they are too many."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import numpy as np
import pytest

from optimizer.errors import InputError
from optimizer.traces import lines, read_trace
from optimizer.traces.faults import MOST_FAULTS
from optimizer.traces.ledger import read_ledger

from .writing import mooncake, project, write

GOOD = [
    {"t": float(i), "in": 1400 + i, "out": 9, "s": i % 3, "h": [0, 1, i + 2], "api": 0.5, "think": 1.5}
    for i in range(40)
]
ROW = GOOD[3]


def without(key):
    return json.dumps({name: value for name, value in ROW.items() if name != key})


def changed(key, value):
    return json.dumps({**ROW, key: value})


BAD_OF_PROJECT = {
    "no JSON": [b'{"t": 1, "in": 2', b"}{", b"hello", b"{'t': 1}", b"\x00", b'{"t": 1}\x00', b"[" * 100_000],
    "no JSON mapping": [b"[1, 2]", b"7", b"null", b'"t"'],
    "missing": [without("t"), without("in"), without("out"), without("h")],
    "twice": [b'{"t": 1, "t": 2, "in": 1, "out": 1, "h": []}'],
    "unknown key": [changed("cached", 3)],
    "negative": [
        changed("t", -1), changed("in", -5), changed("out", -1), changed("api", -0.5), changed("s", -1),
        changed("h", [0, -1]), changed("think", -1),
    ],
    "not finite": [
        b'{"t": NaN, "in": 1, "out": 1, "h": []}', b'{"t": 1e999, "in": 1, "out": 1, "h": []}',
        changed("t", float("inf")), changed("think", float("nan")),
    ],
    "no whole number": [
        changed("in", 4.5), changed("in", 4.0), changed("out", "9"), changed("in", True), changed("h", 7),
        changed("h", [0, 1.5]), changed("h", [0, "1"]), changed("h", [True]), changed("h", None),
        changed("h", {"0": 1}),
    ],
    "session": [changed("s", wrong) for wrong in ("a", 1.5, [1], False, 2**63)],
    "sub": [changed("sub", 2), changed("sub", "yes")],
    "runs": [changed("runs", [[0, 1]]), *(
        json.dumps({"t": 1, "in": 1, "out": 1, "runs": runs})
        for runs in (
            [[0]], [0, 1], [[0, 0]], [[0, -1]], [[-1, 1]], [[0, 1.5]], [[0, 1, 2]], 5, [[0, 10**9]],
            [[True, 1]],
        )
    )],
    "too large": [changed("in", 10**10), changed("t", 1.7e12), changed("h", [2**63]), changed("h", [2**64]),
                  b'{"t": 1, "in": ' + b"9" * 5000 + b', "out": 1, "h": []}'],
    "not UTF-8": [b'{"t": 1, "in": 1, "out": 1, "h": [], "s": "\xff"}', b"\xff\xfe"],
    "second header": [b'{"_header": {"block_tokens": 32}}'],
}  # fmt: skip
LINES = [
    (kind, line if isinstance(line, bytes) else line.encode())
    for kind, found in BAD_OF_PROJECT.items() for line in found
]


@pytest.mark.parametrize(("kind", "bad"), LINES, ids=[f"{kind}-{line[:40]!r}" for kind, line in LINES])
def test_a_bad_line_is_left_out_and_named(kind, bad, tmp_path):
    text = project(GOOD).encode().splitlines()
    text.insert(7, bad)
    trace = read_trace(write(tmp_path / "x.jsonl", b"\n".join(text)), max_faulty=0.05)
    assert [fault.line for fault in trace.faults] == [8]
    assert trace.faulty == 1
    assert len(trace) == len(GOOD)
    assert trace.faults[0].reason
    assert trace.faults[0].reason.isprintable()
    assert len(trace.faults[0].reason) < 200


BAD_OF_MOONCAKE = [
    '{"timestamp": -1, "input_length": 1, "output_length": 1, "hash_ids": [1]}',
    '{"timestamp": 1, "input_length": 1, "output_length": 1}',
    '{"timestamp": 1, "input_length": 1, "output_length": 1, "hash_ids": [1], "type": "text"}',
    '{"timestamp": "1", "input_length": 1, "output_length": 1, "hash_ids": [1]}',
    '{"timestamp": 1, "input_length": 1, "output_length": null, "hash_ids": [1]}',
    '{"timestamp": 1, "input_length": 521, "output_length": 1, "hash_ids": [1, 2, 3]}',
    '{"t": 1, "in": 1, "out": 1}',
]
BAD_OF_AZURE = [
    "2023-11-16 18:17:03.9,5", "2023-11-16 18:17:03.9,5,6,7", "2023-13-16 18:17:03.9,5,6", "2023-11-16,5,6",
    "2023-11-16 18:17:03.9,-5,6", "2023-11-16 18:17:03.9,5.5,6", "2023-11-16 18:17:03.9,,6", "0,5,6",
    "2023-11-16 18:17:03.9,٣,6", "2023-11-16 25:17:03.9,5,6", "2023-11-16 18:17:03.9,5,99999999999999",
    "٢٠٢٣-11-16 18:17:03.9,5,6", "2023-11-16 18:17:03+99:00,5,6", "0001-01-01 00:00:00+23:00,5,6",
]


@pytest.mark.parametrize("bad", BAD_OF_MOONCAKE)
def test_a_bad_line_of_mooncake_s(bad, tmp_path):
    text = mooncake(GOOD).splitlines()
    text.insert(5, bad)
    trace = read_trace(write(tmp_path / "x", "\n".join(text)), max_faulty=0.1)
    assert ([fault.line for fault in trace.faults], len(trace)) == ([6], len(GOOD))


@pytest.mark.parametrize("bad", BAD_OF_AZURE)
def test_a_bad_line_of_azure_s(bad, tmp_path):
    text = ["TIMESTAMP,ContextTokens,GeneratedTokens", *["2023-11-16 18:17:03.9799600,4808,10"] * 20]
    text.insert(5, bad)
    trace = read_trace(write(tmp_path / "x", "\n".join(text)), max_faulty=0.1)
    assert ([fault.line for fault in trace.faults], len(trace)) == ([6], 20)


def test_a_header_behind_requests_is_a_fault(tmp_path):
    rows = [json.dumps({"t": i, "in": 1, "out": 1}) for i in range(40)]
    rows[20:20] = ['{"_header": {"block_tokens": 16}}']
    trace = read_trace(write(tmp_path / "x", "\n".join(rows)), max_faulty=0.05)
    assert [(fault.line, fault.reason) for fault in trace.faults] == [(21, "a header behind requests")]
    assert trace.chains is None


def broken(count, total=100):
    """A file with so many lines, and so many of them bad, from the third on."""
    rows = [json.dumps({"t": 1, "in": 1, "out": 1, "h": []})] * total
    rows[1 : 1 + count] = ["{"] * count
    return project([]) + "\n".join(rows)


def test_the_share_that_is_allowed_is_allowed(tmp_path):
    trace = read_trace(write(tmp_path / "x", broken(1)))
    assert (trace.faulty, len(trace)) == (1, 99)
    with pytest.raises(InputError) as refused:
        read_trace(write(tmp_path / "y", broken(2)))
    said = str(refused.value)
    assert "2 of 100 lines (2.0%) cannot be read, more than the 1.0% allowed" in said
    assert f"{tmp_path / 'y'}:3: no JSON" in said
    assert f"{tmp_path / 'y'}:4: no JSON" in said
    assert len(read_trace(tmp_path / "y", max_faulty=0.02)) == 98
    with pytest.raises(InputError):
        read_trace(tmp_path / "x", max_faulty=0)


def test_all_faults_are_counted_and_the_first_are_kept(tmp_path):
    trace = read_trace(write(tmp_path / "x", broken(60)), max_faulty=0.9)
    assert trace.faulty == 60
    assert [fault.line for fault in trace.faults] == list(range(3, 3 + MOST_FAULTS))


def test_blocks_without_a_header_are_refused(tmp_path):
    with pytest.raises(InputError, match="h without block_tokens in a header line"):
        read_trace(write(tmp_path / "x", "\n".join(map(json.dumps, GOOD))))


@pytest.mark.parametrize("size", [0, -1, 1.5, "512", True, 10**9])
def test_a_header_with_a_wrong_block_size_is_refused(size, tmp_path):
    with pytest.raises(InputError, match="block_tokens"):
        read_trace(write(tmp_path / "x", project(GOOD, block_tokens=size)))


def test_an_overlong_line_is_a_fault_and_no_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 1000)
    text = project(GOOD).splitlines()
    text.insert(3, " " * 1_000_000 + "x")
    text.append("y" * 5000)
    for name in ("x", "x.gz"):
        trace = read_trace(write(tmp_path / name, "\n".join(text)), max_faulty=0.1)
        assert [(fault.line, fault.reason) for fault in trace.faults] == [
            (4, "more than 1,000 bytes in a line"), (43, "more than 1,000 bytes in a line")
        ]
        assert len(trace) == len(GOOD)


def test_a_line_of_just_the_bound_is_read(tmp_path, monkeypatch):
    text = project(GOOD).encode()
    monkeypatch.setattr(lines, "LONGEST_LINE", max(map(len, text.splitlines(keepends=True))))
    assert read_trace(write(tmp_path / "x", text)).faulty == 0
    monkeypatch.setattr(lines, "LONGEST_LINE", lines.LONGEST_LINE - 1)
    assert read_trace(write(tmp_path / "x", text), max_faulty=0.9).faulty > 0


def incompressible(count=3000):
    dice = random.Random(1)
    return project([
        {"t": i, "in": dice.randrange(10**9), "out": dice.randrange(10**9), "h": [dice.randrange(2**60)]}
        for i in range(count)
    ])


def test_a_gzip_that_ends_early(tmp_path):
    raw = gzip.compress(incompressible().encode())
    (tmp_path / "x.gz").write_bytes(raw[: len(raw) * 2 // 3])
    trace = read_trace(tmp_path / "x.gz")
    assert 1900 < len(trace) < 2100
    assert [(fault.line, fault.reason) for fault in trace.faults] == [
        (len(trace) + 2, "the gzip stream ends early: what followed is lost")
    ]


def damaged(where):
    """A gzip file of requests with some bytes in it changed."""
    raw = bytearray(gzip.compress(incompressible().encode()))
    raw[where] = bytes(byte ^ 0x55 for byte in raw[where])
    return bytes(raw)


@pytest.mark.parametrize(
    "where", [slice(20_000, 20_100), slice(-8, -7), slice(-4, -3)], ids=["data", "checksum", "length"]
)
def test_a_gzip_that_is_damaged_is_not_believed(where, tmp_path):
    """What a damaged stream unpacks to may parse, with numbers that nobody wrote."""
    (tmp_path / "x.gz").write_bytes(damaged(where))
    with pytest.raises(InputError, match="the gzip stream is damaged"):
        read_trace(tmp_path / "x.gz", max_faulty=0.99)


def test_two_gzips_in_one_file_are_one_text(tmp_path):
    text = project(GOOD).encode()
    (tmp_path / "x.gz").write_bytes(gzip.compress(text[:500]) + gzip.compress(text[500:]))
    assert len(read_trace(tmp_path / "x.gz")) == len(GOOD)


LEDGER = "day,cache_read,cache_write,input,output\n" + "".join(f"{i},{i * 7},{i},3,4\n" for i in range(1, 20))
AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
    f"2023-11-16 18:{i:02d}:03.9799600,{i + 90},10\r\n" for i in range(40)
)
VALID = {
    "project": (project(GOOD).encode(), read_trace),
    "mooncake": (mooncake(GOOD).encode(), read_trace),
    "azure": (AZURE.encode(), read_trace),
    "ledger": (LEDGER.encode(), read_ledger),
    "gzip": (gzip.compress(project(GOOD).encode()), read_trace),
}


WORDS = (
    b"\0", b"\n", b"\r", b"\xff", b"{", b"]", b'"', b"-", b"9" * 30, b"NaN", b"1e400", b"null", b",", b"true",
    b"\xef\xbb\xbf", b"[[[[", b"\\u0000", "\N{ARABIC-INDIC DIGIT THREE}".encode(),
)


def mutated(raw: bytes, dice: random.Random) -> bytes:
    """One to four random changes: bytes flipped, cut, doubled, moved, or words put in."""
    data = bytearray(raw)
    for _ in range(dice.randint(1, 4)):
        at, end = sorted(dice.randrange(len(data) + 1) for _ in range(2))
        match dice.randrange(7):
            case 0 if at < len(data):
                data[at] = dice.randrange(256)
            case 1:
                del data[at : min(end, at + 50)]
            case 2:
                data[at:at] = data[at : min(end, at + 300)]
            case 3:
                data[at:at] = dice.choice(WORDS)
            case 4:
                del data[end:]
            case 5:
                data[at:end] = bytes(reversed(data[at:end]))
            case _:
                rows = bytes(data).split(b"\n")
                dice.shuffle(rows)
                data = bytearray(b"\n".join(rows))
        if not data:
            break
    return bytes(data)


@pytest.mark.parametrize("kind", VALID)
def test_three_hundred_mutations_of_a_valid_file(kind, tmp_path):
    """Each is refused in words or read as a trace that keeps its own rules."""
    raw, read = VALID[kind]
    dice = random.Random(20_260_401)
    refused = 0
    for number in range(300):
        file: Path = tmp_path / "x"
        file.write_bytes(mutated(raw, dice))
        try:
            found = read(file, max_faulty=dice.choice((0.0, 0.05, 0.9)))
        except InputError:
            refused += 1
            continue
        assert found.faulty >= len(found.faults), number
        if read is read_trace:
            well_formed(found)
    assert 0 < refused < 300


def well_formed(trace):
    size = len(trace)
    assert size > 0
    for column in (trace.time, trace.input, trace.output, trace.session, trace.sub, trace.api, trace.think):
        assert len(column) == size
    assert np.all(np.diff(trace.time) >= 0)
    assert np.all(np.isfinite(trace.time))
    assert trace.time[0] >= 0
    assert min(trace.input.min(), trace.output.min()) >= 0
    assert trace.session.min() >= -1
    if trace.chains is not None:
        chains = trace.chains
        assert len(chains.start) == size + 1
        assert chains.start[0] == 0
        assert chains.start[-1] == len(chains.first) == len(chains.count)
        assert set(chains.flat()[1].tolist()) == set(range(chains.unique))

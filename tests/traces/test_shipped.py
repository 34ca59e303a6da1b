"""What ships in workloads/traces: every file noted with its licence, found by name, read without a fault."""

from __future__ import annotations

import functools
import gzip
import json
import re

import pytest

from optimizer.files import resolve_trace
from optimizer.traces import read_trace
from tests.docs.markdown import ROOT, quoted, section, table

FOLDER = ROOT / "workloads" / "traces"
FILES = sorted(path for path in FOLDER.iterdir() if path.suffix in (".gz", ".csv"))
NOTICE = table((FOLDER / "NOTICE.md").read_text(encoding="utf-8"), "file")
TRACES = [path for path in FILES if path.name.endswith(".jsonl.gz")]
read = functools.cache(read_trace)


def test_every_file_is_noted_with_its_licence():
    noted = [name for row in NOTICE for name in quoted(row[0])]
    assert sorted(noted) == [path.name for path in FILES]
    assert all(row[2] and row[3] for row in NOTICE)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_the_notice_says_what_the_header_says(path):
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        header = json.loads(stream.readline())["_header"]
    (row,) = [row for row in NOTICE if path.name in quoted(row[0])]
    licence = re.search(r"Apache-2\.0|CC-BY-4\.0", header["licence"])[0]
    assert licence in row[2]
    if commit := re.search(r"@ ?([0-9a-f]{40})", header["source"]):
        assert commit[1] in row[1] or row[1] == "the same"


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_every_trace_is_read_without_a_fault(path):
    trace = read(path)
    assert (trace.faulty, trace.name) == (0, path.name)
    assert resolve_trace(path.name.removesuffix(".jsonl.gz")) == path


def test_the_page_lists_what_is_shipped():
    page = section((ROOT / "docs" / "traces.md").read_text(encoding="utf-8"), "What is shipped")
    named = {resolve_trace(name).name for name in quoted(page) if re.fullmatch(r"\w+_\w+", name)}
    assert named == {path.name for path in FILES}
    for row in table(page, "name"):
        for name in quoted(row[0]):
            trace = read(resolve_trace(name))
            assert len(trace) == int(row[1].replace(",", ""))
            assert str(trace.block_tokens or "none") in row[2]

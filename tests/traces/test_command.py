"""`tierplan trace stats`: the page, the JSON, and what it refuses."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from optimizer.cli import ExitCode, main
from optimizer.traces import read_trace
from optimizer.traces.ledger import Denominator, read_ledger
from optimizer.traces.stats import stats_json, trace_stats

from .writing import project, write

WEKA, LEDGER = "weka_claude_code_60s_b512", "weka_ledger_60s"


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    """As wide as a page is where nobody says, whatever the terminal of the run."""
    monkeypatch.setenv("COLUMNS", "110")


def said(*words, code=ExitCode.OK):
    done = CliRunner().invoke(main, ["trace", "stats", *map(str, words)])
    assert done.exit_code == code, done.output
    return done.stdout if code is ExitCode.OK else done.stderr


def test_the_page_of_a_trace():
    page = said(WEKA)
    for line in (
        "weka_claude_code_60s_b512.jsonl.gz: 3,308 requests in 6.858 h",
        "  sessions  60",
        "  input     375,756,129 tok",
        "  input, tok           34,480  96,972  149,838  217,551  596,955  113,590  838,246",
        "  asked for            732,239",
        "  different ones       29,833",
        "  every block kept  1.199    1    4    5    8",
        "  none kept         2.654    2    7    9   14",
        "  -  no queueing; service_s = uncached_input/10000 + out/50",
    ):
        assert line in page.splitlines(), page
    assert "Remarks" not in page


def test_lengths_alone_have_no_blocks():
    page = said("azure2023_conv")
    assert "not recorded" in page
    assert "Blocks" not in page


def test_json_is_everything():
    found = json.loads(said(WEKA, "--json"))
    assert found == json.loads(json.dumps(stats_json(trace_stats(read_trace(WEKA), WEKA))))
    assert found["unique_blocks"] == 29_833


def test_what_was_left_out_is_on_the_page(tmp_path):
    row = {"t": 0, "in": 1, "out": 1, "h": []}
    rows = [json.dumps(row)] * 60
    rows[10:10] = ["{}", json.dumps({**row, "in": -3}), *["?"] * 5]
    file = write(tmp_path / "x", project([]) + "\n".join(rows))
    assert "7 of 67 lines (10.4%) cannot be read" in said(file, code=ExitCode.BAD_INPUT)
    page = " ".join(said(file, "--max-faulty", "20%").split())
    assert "7 lines left out: line 12: t is missing; line 13: in is not between 0 and" in page
    assert page.endswith("; ...")


def test_ids_that_are_no_chains_are_told(tmp_path):
    rows = [{"t": i, "in": 3, "out": 1, "h": ids} for i, ids in enumerate(([0, 1], [1, 0], [0, 0]))]
    page = " ".join(said(write(tmp_path / "x", project(rows))).split())
    assert "3 accesses behind another block than at first, 1 block twice in a request" in page


def test_a_ledger_needs_its_denominator_named():
    refused = said(LEDGER, code=ExitCode.BAD_INPUT)
    assert "--denominator: the hit ratio of a ledger means nothing until" in refused
    assert 'no denominator "all"' in said(LEDGER, "--denominator", "all", code=ExitCode.BAD_INPUT)


def test_the_page_of_a_ledger():
    page = said(LEDGER, "--denominator", "read+write+input+output")
    lines = page.splitlines()
    assert "weka_ledger_60s.csv: 60 rows" in lines
    assert "  read from cache   360,362,944 tok (column cache_read_tokens)" in lines
    first, *others = [line for line in lines if line.startswith("  read+")]
    assert " ".join(first.split()) == "read+write+input+output 377,156,014 95.55% 21.46 : 1 as asked"
    assert len(others) == 2
    assert not any("as asked" in other for other in others)
    assert "no column tells cache writes" in page


def test_a_ledger_as_json():
    ledger = read_ledger(LEDGER)
    for denominator in Denominator:
        found = json.loads(said(LEDGER, "--denominator", denominator.value, "--json"))
        assert found["denominator"] == denominator.value
        assert found["hit_ratio"] == ledger.hit_ratio(denominator)
        assert found["beside"].keys() == {each.value for each in Denominator} - {denominator.value}
        for name, beside in found["beside"].items():
            assert beside["storage_to_compute_token_ratio"] == ledger.storage_to_compute(Denominator(name))


def test_all_input_without_reads_and_writes(tmp_path):
    file = write(tmp_path / "x", "cached_tokens,input_tokens,output_tokens\n5,8,3\n")
    asked = (file, "--denominator", "read+input")
    assert "may count the cache reads or not" in said(*asked, code=ExitCode.BAD_INPUT)
    assert 'no meaning "some"' in said(*asked, "--input", "some", code=ExitCode.BAD_INPUT)
    assert "3 tok (column input_tokens, less reads and writes)" in said(*asked, "--input", "all")
    assert "62.50%" in said(*asked, "--input", "all")
    assert "38.46%" in said(*asked, "--input", "rest")


@pytest.mark.parametrize("option", [("--denominator", "read+input"), ("--input", "all")])
def test_options_of_ledgers_are_none_of_traces(option):
    assert f"{option[0]}: {WEKA} is no token ledger" in said(WEKA, *option, code=ExitCode.BAD_INPUT)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("no-such-trace",), ExitCode.BAD_INPUT), ((WEKA, "--max-faulty", "2"), ExitCode.USAGE),
        ((), ExitCode.USAGE),
    ],
)
def test_what_is_refused(words, code):
    assert said(*words, code=code)

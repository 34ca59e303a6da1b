"""`tierplan trace curve`: the page tells what the JSON tells, and what is typed wrong is told."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from optimizer.cli import ExitCode, main
from optimizer.traces.curve import curve
from tests.traces.oracles import as_trace
from tests.traces.test_curve import reference

SMALL = "lmcache_miniswe_b64"


def run(*arguments):
    """The command, as typed."""
    return CliRunner().invoke(main, ["trace", "curve", *arguments], env={"COLUMNS": "120"})


def words_of(text):
    """A page without its line breaks."""
    return " ".join(text.split())


def test_json_has_the_names_and_numbers_of_the_reference():
    found, truth = json.loads(run(SMALL, "--json").stdout), reference(SMALL)
    assert found["name"] == truth["name"]
    assert found["infinite_cache"] == truth["infinite_cache"]
    assert [point["prefix_rev_miss"] for point in found["mrc"]] == [
        point["prefix_rev_miss"] for point in truth["mrc"]
    ]


def test_the_page_tells_all_four_readings_and_what_is_missing():
    done = run(SMALL, "--capacity-blocks", "1056,100")
    assert done.exit_code == ExitCode.OK, done.stderr
    page = words_of(done.stdout)
    (point,) = (each for each in reference(SMALL)["mrc"] if each["capacity_blocks"] == 1056)
    readings = ("prefix_fwd", "plain_rev", "plain_fwd")
    shares = [f"{1 - point[f'{reading}_miss_ratio']:.1%}" for reading in readings]
    lru, tokens = f"{1 - point['prefix_rev_miss_ratio']:.1%}", f"{point['prefix_rev_token_hit_ratio']:.1%}"
    assert " ".join(["1,056 67.6 ktok", lru, tokens, *shares]) in page
    assert "100 blocks: memory is what is missing" in page
    assert "1,056 blocks: a better policy is what is missing" in page
    assert "13.52 remembered for each computed" in page


def test_from_end_tells_what_was_not_recorded():
    done = run("weka_claude_code_60s_b512", "--from-end", "--capacity-blocks", "1000")
    assert "438 of 3,308 requests have no recorded end" in words_of(done.stdout)
    assert "after the end of the request" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["azure2023_conv"], ExitCode.BAD_INPUT, "no block ids"),
        ([SMALL, "--from-end"], ExitCode.BAD_INPUT, "no request of this trace has a recorded `api`"),
        ([SMALL, "--capacity-blocks", "10,x"], 2, "no list of whole numbers"),
        ([SMALL, "--capacity-blocks", "0"], 2, "no list of whole numbers"),
        ([SMALL, "--capacity-blocks", ""], 2, "no list of whole numbers"),
        ([SMALL, "--capacity-blocks", "-5"], 2, "no list of whole numbers"),
    ],
)
def test_refusals(arguments, code, words):
    done = run(*arguments)
    assert done.exit_code == code
    assert words in words_of(done.stderr.replace("│", ""))
    assert not done.stdout


def test_what_is_no_tree_is_told(tmp_path):
    lines = [
        '{"_header": {"block_tokens": 10}}', '{"t": 0, "in": 20, "out": 1, "h": [1, 2]}',
        '{"t": 1, "in": 30, "out": 1, "h": [3, 2, 2]}',
    ]
    (tmp_path / "made.jsonl").write_text("\n".join(lines))
    page = words_of(run(str(tmp_path / "made.jsonl")).stdout)
    assert "2 accesses behind another block than at first" in page
    assert "1 access of a block that the request has touched before" in page


def test_nothing_is_asked_for_twice(tmp_path):
    (tmp_path / "once.jsonl").write_text(
        '{"_header": {"block_tokens": 10}}\n{"t": 0, "in": 20, "out": 1, "h": [1, 2]}'
    )
    assert "no block is touched twice" in run(str(tmp_path / "once.jsonl")).stdout
    assert curve(as_trace([[0, 1]])).infinite_cache.storage_to_compute_token_ratio == 0.0

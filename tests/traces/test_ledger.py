"""Token ledgers: published sums under each denominator, columns by name, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from optimizer.errors import InputError
from optimizer.traces.ledger import Denominator, denominator_named, is_ledger, read_ledger
from optimizer.traces.ledger_columns import KNOWN_NAMES, Column, Meaning

from .writing import write

REFERENCE = Path(__file__).parent / "reference" / "weka_claude_code_60s_b64.json"
FOUR = "cache_read,cache_write,input,output"
READ_INPUT, WITH_WRITES, WITH_OUTPUT = Denominator
SLOW_FOLDER = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
PUBLISHED = [  # read, write, input, output; what their owners say of them
    (
        (5059406625, 99890766, 36544950, 22200581),
        {WITH_WRITES: ("0.9737", "37.08"), WITH_OUTPUT: ("0.9696", "31.89")},
    ),
    (
        (12198713224, 597446099, 9965286, 13279048),
        {READ_INPUT: ("0.99918", None), WITH_WRITES: ("0.9526", "20.08")},
    ),
    ((8579120394, 111034321, 124899, 33139293), {WITH_WRITES: ("0.987", "77.18")}),
]


def sums(ledger):
    return ledger.read, ledger.write, ledger.input, ledger.output


@pytest.mark.parametrize(("tokens", "said"), PUBLISHED)
def test_published_ledgers(tokens, said, tmp_path):
    ledger = read_ledger(write(tmp_path / "x.csv", f"{FOUR}\n{','.join(map(str, tokens))}\n"))
    assert sums(ledger) == tokens
    for denominator, (hit_ratio, times) in said.items():
        assert printed(ledger.hit_ratio(denominator), hit_ratio) == hit_ratio
        if times is not None:
            assert printed(ledger.storage_to_compute(denominator), times) == times


def printed(value, example):
    """A number with as many decimals as another."""
    return f"{value:.{len(example.partition('.')[2])}f}"


def test_the_shipped_ledger_is_its_trace_in_an_infinite_cache():
    reference = json.loads(REFERENCE.read_text())
    ledger = read_ledger("weka_ledger_60s")
    found = reference["infinite_cache"]
    assert (ledger.rows, ledger.faulty) == (reference["sessions"], 0)
    assert ledger.read == found["prefix_token_hits"]
    assert ledger.read + ledger.input == reference["input_tokens"]
    assert ledger.output == reference["output_tokens"]
    assert round(ledger.hit_ratio(READ_INPUT), 8) == found["prefix_token_hit_ratio"]
    assert round(ledger.storage_to_compute(READ_INPUT), 4) == found["storage_to_compute_token_ratio"]
    assert ledger.used[Column.ALL_INPUT] == "input_tokens"
    assert "peak_context" in ledger.unused


TOKENS = st.integers(0, 10**12)


@SLOW_FOLDER
@given(rows=st.lists(st.tuples(TOKENS, TOKENS, TOKENS, TOKENS), min_size=1, max_size=2))
def test_ratio_and_times_of_one_denominator_belong_together(rows, tmp_path):
    text = "\n".join((FOUR, *(",".join(map(str, row)) for row in rows)))
    ledger = read_ledger(write(tmp_path / "x.csv", text))
    assert sums(ledger) == tuple(map(sum, zip(*rows, strict=True)))
    before = 1.0
    for denominator in Denominator:
        hit, times = ledger.hit_ratio(denominator), ledger.storage_to_compute(denominator)
        if hit is None:
            assert ledger.total(denominator) == 0
            continue
        assert 0 <= hit <= before  # each counts more than the one before it
        before = hit
        if times is None:
            assert hit == 1
        else:
            assert times / (1 + times) == pytest.approx(hit, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "meaning", "expected"),
    [
        ("cache_read,cache_write,input,output\n5,1,2,3", None, (5, 1, 2, 3)),
        ("Input_Tokens,CACHE_READ_INPUT_TOKENS,cache_creation_input_tokens,Output_Tokens\n2,5,1,3", None,
         (5, 1, 2, 3)),
        ("cached_tokens,prompt_tokens,completion_tokens\n5,8,3", None, (5, 0, 3, 3)),
        ("prompt_cache_hit_tokens,prompt_cache_miss_tokens,completion_tokens\n5,8,3", None, (5, 0, 8, 3)),
        ("cached_input_tokens,input_tokens,output_tokens\n5,8,3", Meaning.ALL, (5, 0, 3, 3)),
        ("cached_input_tokens,input_tokens,output_tokens\n5,8,3", Meaning.REST, (5, 0, 8, 3)),
        ("cache_read,cache_write,input,output\n5,1,8,3", Meaning.ALL, (5, 1, 2, 3)),
        ("input_tokens,cache_read_tokens,uncached_tokens,output\n8,5,3,1", None, (5, 0, 3, 1)),
        ('# of May\n\nday,cache_read,input,uncached,output\n# x\n"Friday, 1st",5,8,3,1', None, (5, 0, 3, 1)),
    ],
)  # fmt: skip
def test_columns_are_known_by_name(text, meaning, expected, tmp_path):
    file = write(tmp_path / "x.csv", text)
    assert is_ledger(file)
    assert sums(read_ledger(file, meaning=meaning)) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cached_tokens,input_tokens,output\n5,8,3", "may count the cache reads or not .*--input"),
        ("cached_tokens,cache_read,prompt_tokens,output\n5,5,8,3", "two columns tell the cache reads"),
        ("cache_read,cache_write,input,input_tokens,output\n5,5,8,8,3", "two columns tell the input"),
        ("cache_read,output\n5,8", "no column tells the input .*input_tokens"),
        ("cache_read,prompt_tokens\n5,8", "no column tells the output"),
        ("prompt_tokens,output\n5,8", "no column tells the cache reads"),
        ("", "is empty"), (FOUR, "holds no row"), (f"{FOUR}\n1,2,3", "3 columns, not 4"),
        (f"{FOUR}\n1,2,3,4\n5,6,7,8\n6,8,10,12", "last row is the total"),
        ("cache_read,\0\n", "column names cannot be read"),
        ('"cache_read,input\n', "column names cannot be read"),
        ("cache_read,uncached,input,output\n5,3,9,1", "all input is 9, but its parts are 5 . 0 . 3"),
        ("cached_tokens,prompt_tokens,output\n5,4,1", "all input is 4, but its parts"),
    ],
)  # fmt: skip
def test_what_is_refused(text, words, tmp_path):
    with pytest.raises(InputError, match=words):
        read_ledger(write(tmp_path / "x.csv", text))


@pytest.mark.parametrize(
    "bad",
    [
        "1,2,3", "1,2,3,4,5", "1,2,3,-4", "1,2,3,4.0", "1,2,,4", "1,2,3,1e3", "a,b,c,d", '"1,2,3,4',
        "1,2,3,\0", "1,2,3,99999999999999999", "1,2,3,٣", "nan,2,3,4", "1,2,3,\udcff",
    ],
)  # fmt: skip
def test_a_bad_row_is_left_out_and_named(bad, tmp_path):
    rows = ["5,1,2,3"] * 30
    rows.insert(10, bad)
    text = "\n".join((FOUR, *rows)).encode(errors="surrogateescape")
    ledger = read_ledger(write(tmp_path / "x.csv", text), max_faulty=0.05)
    assert sums(ledger) == (150, 30, 60, 90)
    assert (ledger.rows, ledger.faulty, [fault.line for fault in ledger.faults]) == (30, 1, [12])
    with pytest.raises(InputError, match=":12: "):
        read_ledger(tmp_path / "x.csv")


def test_a_denominator_must_be_named():
    assert [denominator_named(each.value) for each in Denominator] == list(Denominator)
    for name, words in ((None, "until its denominator is named"), ("output", 'no denominator "output"')):
        with pytest.raises(InputError, match=rf"{words} \(one of: read\+input, "):
            denominator_named(name)


def test_every_known_name_is_of_one_column():
    assert len(KNOWN_NAMES) == len(set(KNOWN_NAMES))


@pytest.mark.parametrize("name", ["azure2023_conv", "lmcache_miniswe_b64", "servegen_m_small_rate"])
def test_other_files_are_no_ledgers(name):
    assert not is_ledger(name)

"""docs/traces.md says what is so: its examples are read, its tables and limits are those of the code."""

from __future__ import annotations

import pytest

from optimizer.traces import columns, lines, read_trace
from optimizer.traces.ledger import Denominator, is_ledger, read_ledger
from optimizer.traces.ledger_columns import NAMES, Column
from tests.docs.markdown import ROOT, blocks, quoted, section, table

from .writing import write

PATH = ROOT / "docs" / "traces.md"
PAGE = PATH.read_text(encoding="utf-8")
END = PAGE[: PAGE.index("## What `stats` counts")].count("\n")  # the line where formats end
EXAMPLES = [block.text for block in blocks(PATH) if block.info == "text" and block.line < END]


def test_every_format_has_an_example(tmp_path):
    found = set()
    for number, text in enumerate(EXAMPLES):
        file = write(tmp_path / f"{number}", text)
        if is_ledger(file):
            assert read_ledger(file).faulty == 0
            found.add("ledger")
        else:
            trace = read_trace(file)
            assert trace.faulty == 0
            found.add((trace.block_tokens, "name" in trace.header))
    assert found == {"ledger", (512, True), (512, False), (None, False)}


def test_the_example_of_the_project_is_two_turns(tmp_path):
    trace = read_trace(write(tmp_path / "x", EXAMPLES[0]))
    assert trace.chains.flat()[1].tolist() == [0, 1, 0, 1, 2, 3]
    assert trace.think[1] == 2.3


def test_the_columns_of_a_ledger_are_the_ones_it_knows():
    ledger = section(PAGE, "Token ledgers")
    rows = {row[0]: tuple(quoted(row[1])) for row in table(ledger, "tokens")}
    order = (Column.READ, Column.WRITE, Column.INPUT, Column.ALL_INPUT, Column.OUTPUT)
    assert list(rows.values()) == [NAMES[column] for column in order]


def test_the_three_denominators_come_out_as_printed(tmp_path):
    rows = table(section(PAGE, "Token ledgers"), "`--denominator`")
    text = "cache_read,cache_write,input,output\n5059406625,99890766,36544950,22200581\n"
    ledger = read_ledger(write(tmp_path / "x", text))
    assert [quoted(row[0])[0] for row in rows] == [each.value for each in Denominator]
    for denominator, (_, hit, times) in zip(Denominator, rows, strict=True):
        assert f"{ledger.hit_ratio(denominator):.2%}" == hit
        assert f"{ledger.storage_to_compute(denominator):.4g}" == times


@pytest.mark.parametrize(
    "words",
    [
        f"{columns.MOST_REQUESTS // 10**6} million requests",
        f"{columns.MOST_ACCESSES // 10**9} billion block accesses",
        f"{columns.MOST_BLOCKS // 10**6} million different blocks",
        f"({columns.MOST_LOOKED_UP // 10**6} million in no order)",
        f"{columns.LONGEST_SPAN / (365 * 86400):.0f} years", f"{lines.LONGEST_LINE // 2**20} MiB",
    ],
)
def test_the_limits_are_the_ones_of_the_code(words):
    assert words in " ".join(PAGE.split())

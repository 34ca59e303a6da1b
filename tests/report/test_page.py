"""The page a planner reads: word for word at one width, and what it must say at any."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from optimizer.report.console import page, reasons, show
from tests.report.fixtures import bare, infeasible, layout, limit, made, rejected, without

HERE = Path(__file__).parent
GOLDEN = {
    "page.txt": (page, made), "infeasible.txt": (page, infeasible), "bare.txt": (page, bare),
    "reasons.txt": (reasons, made),
}


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def text_of(content, width=110):
    stream = io.StringIO()
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(width)
    try:
        show(content, stream)
    finally:
        os.environ.pop("COLUMNS") if before is None else os.environ.update(COLUMNS=before)
    return stream.getvalue()


@pytest.mark.parametrize("name", GOLDEN)
def test_word_for_word_at_110_columns(name):
    """GOLDEN=write renews the files: read what changed before keeping it."""
    render, result = GOLDEN[name]
    text = text_of(render(result()))
    if os.environ.get("GOLDEN") == "write":
        (HERE / "golden" / name).write_text(text, encoding="utf-8")
    assert text == (HERE / "golden" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [100, 110, 120])
@pytest.mark.parametrize("result", [made, bare, infeasible, rejected])
def test_no_line_is_wider_than_the_page_nor_ends_in_blanks(result, width):
    lines = text_of(page(result()), width).splitlines()
    assert max(map(len, lines)) <= width
    assert not [line for line in lines if line != line.rstrip()]


def test_tables_need_no_folding_at_100_columns():
    assert text_of(page(made()), 100).count("\n") <= text_of(page(made()), 120).count("\n") + 4


def test_the_page_itself_is_ascii():
    assert text_of(page(made())).isascii()


def test_a_stream_that_takes_ascii_alone_gets_a_page_all_the_same():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    show(page(made(name="größe")), stream)
    stream.flush()
    assert raw.getvalue().startswith(b"gr??e: 6 HGX-B300-8 = 48 GPUs")


def test_colours_are_for_terminals(monkeypatch):
    for name in ("NO_COLOR", "COLUMNS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    show(page(made()), stream)
    assert "\x1b[1m" in stream.getvalue()
    assert "\x1b[" not in text_of(page(made()))


def test_the_verdict_is_taken_apart():
    text = text_of(page(made()))
    assert "by-hand: 6 HGX-B300-8 = 48 GPUs, 1 STORAGE-NODE-24xE3S, 1 XC50256-POOL" in text
    assert "28 GPUs = 5 x 4 prefill + 1 x 8 decode; option fp8" in text
    assert "12 GPUs: spares, and what instances leave over" in text
    assert "no layout costs less than $4,850,000: gap 0.51% (asked: 1.00%)" in text


def test_a_rejected_layout_says_so_at_the_top():
    head = text_of(page(rejected())).splitlines()[:10]
    assert any("EXACT CHECK REJECTED THIS LAYOUT" in line for line in head)
    assert any("power[now]: 122.4 kW, limit 120 kW" in line for line in head)


def test_buying_no_memory_is_said():
    text = text_of(page(bare()))
    assert "no tier below HBM pays: keeping contexts in HBM or recomputing them is cheaper" in text
    assert "chat: nothing is kept; every return is computed again" in text
    assert "no memory below HBM is used" in text_of(page(made(layout=bare().layout.model_dump(), notes=[])))


def test_limits_are_ranked_by_the_money_that_hangs_on_them():
    text = text_of(page(made()))
    places = [text.index(row) for row in ("ttft_attainment[agents]", "power[now]", "tier_capacity[cxl")]
    assert places == sorted(places)
    assert "one more kW: saves $2,432; as bought $2,432; have 120, need 120 kW of IT load" in text
    assert "power[now] ($291,804 at stake)" in text
    assert "one more request per second within its TTFT: costs $15,000" in text


def test_the_smallest_limits_are_counted_and_explained_in_full():
    many = made(binding=[limit(f"power[{i}]", float(i), 1.0, "kW", "one more kW") for i in range(1, 21)])
    text = text_of(page(many))
    assert "power[20]" in text
    assert "power[8] " not in text
    assert "and 8 smaller limits: see tierplan explain" in text
    assert "power[1] " in text_of(reasons(many))


def test_doubt_falls_on_what_was_bought_and_on_the_widest_range():
    text = text_of(page(made()))
    shown = text[text.index("Assumptions:"):]
    assert "Assumptions: 9 numbers, 8 of them estimates; the 6 to doubt first" in shown
    assert shown.index("facility.electricity") < shown.index("HGX-B300-8.price")
    assert "HGX-H200-8" not in shown
    assert "$0.085/kWh ($0.050/kWh to $0.130/kWh)" in shown


def test_what_the_solver_left_behind_is_not_a_placement():
    assert "<0.1%" not in text_of(page(made()))


def test_ages_at_which_nothing_changes_share_a_column():
    text = text_of(page(made()))
    assert "until 30 s  2 min  5 min    1 h" in text


def test_many_ages_go_on_in_a_second_table():
    plain = layout()
    row = plain["placement"][0]
    plain["placement"] = [
        {**row, "age_from_s": 60.0 * i, "age_to_s": 60.0 * (i + 1), "share": 1 - i / 20} for i in range(12)
    ]
    text = text_of(page(made(layout=plain)), 100)
    assert text.count("served from  ") == 2
    assert "until 1 min  2 min  3 min  4 min  5 min  6 min" in text
    assert "until 7 min  8 min  9 min  10 min  11 min  12 min" in text


def test_what_was_bought_and_holds_nothing_is_named():
    assert "installed and holding nothing: NVMe" in text_of(page(made()))


def test_every_conflict_with_have_need_and_fix():
    text = text_of(page(infeasible()))
    assert "the demands cannot be met: 2 conflicts" in text
    assert "have  200 kW of IT load" in text
    assert "need  1,328 kW of IT load" in text
    assert "fix   raise facility.power by 1,128 kW" in text


def test_no_layout_in_time():
    text = text_of(page(without("limit", bound_usd=1e6)))
    assert "stopped at the limit after 12.3 s, before any layout was found" in text
    assert "none costs less than $1,000,000" in text

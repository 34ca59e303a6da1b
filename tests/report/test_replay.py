"""What a replay saw, as a planner reads it: on a solve's page, and by itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from optimizer.design.replay import ReplayOut, Simulated
from optimizer.report.console import page, reasons
from optimizer.report.simulated import simulated_page
from tests.report import seen
from tests.report.fixtures import bare, made, unverified
from tests.report.test_page import text_of

GOLDEN = Path(__file__).parent / "golden" / "simulated.txt"


def simulated(**changes) -> Simulated:
    return Simulated.model_validate(seen.simulated(**changes))


def head(result) -> str:
    """The page above what to buy, blanks as one."""
    return " ".join(text_of(page(result)).split("What to buy")[0].split())


def replaced(**changes):
    checks = {**made().checks.model_dump(), "replay": seen.replay(**changes)}
    return made(checks=checks)


def test_word_for_word():
    """GOLDEN=write renews the file: read what changed before keeping it."""
    text = text_of(simulated_page(simulated()))
    if os.environ.get("GOLDEN") == "write":
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [100, 110, 120])
def test_no_line_is_wider_than_the_page(width):
    for content in (simulated_page(simulated()), page(unverified()), reasons(unverified())):
        lines = text_of(content, width).splitlines()
        assert max(map(len, lines)) <= width
        assert all(line.isascii() for line in lines)


def test_a_layout_that_never_passed_is_not_verified_in_the_head():
    said = head(unverified())
    assert "NOT VERIFIED: 20,000 requests replayed, and a promise broke (attainment agents 93.1" in said
    assert "agents: 93.1% in time, 95% required" in said
    assert "and 1 more: tierplan explain shows them" in said
    assert "not solved again: solved again 5 times" in said
    assert "a fourth" not in said
    assert "a fourth" in text_of(reasons(unverified()))


def test_inconclusive_is_said_and_is_no_success():
    said = head(replaced(state="inconclusive", reasons=["queues still grow"]))
    assert "REPLAY INCONCLUSIVE: 20,000 requests, and no steady state" in said
    assert "queues still grow" in said
    assert "every promise held" not in said


def test_an_interrupted_replay_is_said():
    said = head(made(checks={"exact": made().checks.exact.model_dump(), "replay_ended": "interrupted"}))
    assert "replay not replayed: interrupted" in said


def test_without_a_replay_nothing_is_said():
    text = text_of(page(bare()))
    assert "replay" not in text
    assert "Replayed" not in text


def test_the_class_nearest_to_its_limit_is_the_one_named():
    classes = [seen.agents(), seen.chat(attainment=seen.span(0.901))]
    assert "(attainment chat 90.1 +- 0.2%, required 90.0%)" in head(replaced(classes=classes))
    unknown = [seen.agents(attainment=seen.span(None)), seen.chat(attainment=seen.span(None))]
    assert "no class had requests enough to judge" in head(replaced(classes=unknown))


def test_what_a_rejected_layout_was_and_what_came_of_it():
    text = " ".join(text_of(page(made())).split())
    assert "rejected $4,700,000: 5 HGX-B300-8 of 1.024 TB because dram@HGX-B300-8: 9.1%" in text
    assert "asked for 10% more of dram@HGX-B300-8 (bytes held); waits of flash:fp8@" in text
    assert "1.5 times the bound; shorter waits in 1 pool" in text


def test_bad_times_are_marked_where_they_get_worse():
    lines = [" ".join(line.split()) for line in text_of(page(made())).splitlines()]
    assert "throughput -50% agents 3.1 +- 0.6% * 95.0% 36.1% $21.50/Mtok" in lines
    assert "hits collapse for a day agents 0.0 +- 0.6% * 95.0% 7.0% -" in lines
    assert "demand +25% agents 90.1 +- 0.6% 95.0% 35.2% $1.0200/Mtok" in lines
    assert "one node down (HGX-B300-8) chat 61.2 +- 0.6% 90.0% 31.0% $1.8300/Mtok" in lines
    assert "- not replayed for want of time: hits -50%" in lines


@pytest.mark.parametrize(("state", "title"), [
    ("passed", "by-hand: every promise held"), ("failed", "by-hand: a promise broke"),
    ("inconclusive", "by-hand: inconclusive"),
])
def test_the_first_line_is_the_verdict(state, title):
    assert text_of(simulated_page(simulated(replay=seen.replay(state=state)))).startswith(f"{title}\n")


def test_what_was_never_seen_is_a_dash_and_no_zero():
    odd = seen.agents(ttft=seen.three(None, None, None), ttft_predicted_p95=None, attainment=seen.span(None))
    text = text_of(simulated_page(simulated(replay=seen.replay(classes=[odd], waits={}))))
    assert "Waits for prefill" not in text
    (line,) = [line for line in text.splitlines() if line.strip().startswith("agents") and "10 s" in line]
    assert line.split()[1:4] == ["-", "-", "-"]


def test_it_stands_in_result_json():
    again = type(made()).model_validate_json(made().model_dump_json(by_alias=True))
    assert again == made()
    assert again.checks.replay == ReplayOut.model_validate(seen.replay())
    assert Simulated.model_validate_json(simulated().model_dump_json(by_alias=True)) == simulated()

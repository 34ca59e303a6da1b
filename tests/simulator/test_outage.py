"""A server fails: with a spare the promises hold, with the same machines and no spare they do not."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from optimizer.errors import InputError
from optimizer.simulator.simulation import RESTART_SECONDS
from optimizer.simulator.types import Verdict
from tests.simulator.planting import Planned, sound

SPARE = "hardware.spares=1"
NODE = "HGX-B300-8"
AT = 1000  # seconds: early, so that most of the run comes after it


@cache
def spared() -> Planned:
    """A layout with a server more than it uses."""
    plan = sound("planted", SPARE)
    (row,) = plan.layout.servers
    assert row.spare == 1
    return plan


@cache
def unspared() -> Planned:
    """The same machines at work, and nothing in reserve."""
    plan = spared()
    (row,) = plan.layout.servers
    return replace(
        plan,
        instance=replace(plan.instance, limits=replace(plan.instance.limits, spares=0)),
        layout=replace(plan.layout, servers=(replace(row, count=row.count - 1, spare=0),)),
    )


@cache
def fails(plan: str, server: int) -> Verdict:
    """One server of a plan goes down."""
    made = spared() if plan == "spared" else unspared()
    return made.replayed(outage=f"{NODE}#{server}@{AT} s")


def decoding() -> int:
    """The number of the last server in use: decode instances stand at the far end."""
    (row,) = unspared().layout.servers
    return row.count


def test_without_an_outage_both_pass_alike() -> None:
    with_spare, without = spared().replayed(), unspared().replayed()
    assert with_spare.passed
    assert without.passed
    assert with_spare.classes == without.classes


@pytest.mark.parametrize("prefills", [True, False], ids=["prefill", "decode"])
def test_with_a_spare_every_promise_holds_through_the_outage(prefills: bool) -> None:
    verdict = fails("spared", 1 if prefills else decoding())
    assert verdict.passed, verdict.reasons
    (agents,) = verdict.classes
    assert agents.attainment.mean >= agents.required
    assert agents.tpot_attainment.mean >= agents.required


def test_without_one_they_do_not_and_the_verdict_says_why() -> None:
    verdict = fails("unspared", decoding())
    assert not verdict.passed
    first, *promises = verdict.reasons
    assert first == f"{NODE}#{decoding()}@{AT} s failed, and no spare is there to take its place"
    assert any("decode_time" in reason for reason in promises)
    (agents,) = verdict.classes
    assert agents.tpot_attainment.high < agents.required


def test_an_outage_is_measured_and_no_warm_up() -> None:
    """Running requests sink when a server fails; what follows must not be left out as not yet settled."""
    for plan in ("spared", "unspared"):
        assert fails(plan, decoding()).warmup_seconds <= AT


def test_what_a_server_held_is_lost_even_where_a_spare_comes() -> None:
    """Its part of the contexts, each once: those that would have come back within the run."""
    plain, failed = spared().replayed(), fails("spared", decoding())
    (whole,), (hurt,) = plain.classes, failed.classes
    lost = (hurt.simulated["miss"].mean - whole.simulated["miss"].mean) * hurt.requests
    (row,) = unspared().layout.servers
    idle = 0.95 * whole.rate * 50 * 60  # contexts that will come back: Little's law over their mean gap
    assert 0.2 * idle / row.count < lost < 1.2 * idle / row.count


@pytest.mark.parametrize("at", ["90000 s", "1 day"])
def test_an_outage_after_the_end_is_refused_and_not_passed_over(at: str) -> None:
    with pytest.raises(InputError, match="the replay ends before"):
        spared().replayed(outage=f"{NODE}@{at}")


def test_the_run_is_long_against_the_restart() -> None:
    """Otherwise the share in time would be that of the outage alone."""
    assert fails("spared", decoding()).measured_seconds > 20 * RESTART_SECONDS

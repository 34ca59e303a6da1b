"""The loop solve, replay, tighten, solve: with verdicts made by hand, what it does and what it says."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import pytest

from optimizer.design import verified as room
from optimizer.design.replay import replay_out, state_of
from optimizer.design.rounds import improve
from optimizer.design.search import Clock
from optimizer.design.tighten import Tightening, tightened
from optimizer.design.verified import ROUNDS, Verified, verified
from optimizer.instance import Instance
from optimizer.instance.build import build
from optimizer.simulator import simulate
from optimizer.simulator.types import Law
from optimizer.verify import check
from tests.design.beside import CATALOG, OPTIONS, asked, solved
from tests.design.replays import Says, broken, seen, verdict

STORE = "dram@HGX-B300-8"


@cache
def base() -> Instance:
    """The problem as built: no touching point has moved."""
    return build(asked("tiny").workload, CATALOG)


@cache
def decoding() -> str:
    """A decode pool of the layout."""
    return next(row.pool for row in solved("tiny").layout.pools if row.sequences)


def looped(*verdicts, seconds: float = 60.0, interrupt=None) -> tuple[Verified, Says]:
    says = Says(*verdicts)
    clock = Clock.start(seconds)
    return verified(base(), solved("tiny"), says, OPTIONS, clock, interrupt=interrupt), says


def test_a_layout_that_passes_is_returned_as_it_is():
    found, says = looped(verdict())
    assert found.judged.best is solved("tiny")
    assert (found.rejected, found.rounds, found.ended) == ((), (), "")
    assert len(says.layouts) == 1


def test_a_layout_that_fails_is_solved_again_with_more_of_what_failed():
    found, says = looped(verdict(broken(Law.DECODE_TIME, decoding(), 1.0, 1.5)), verdict())
    (rejected,) = found.rejected
    assert [(t.law, t.resource, t.factor) for t in rejected.tightened] == [("decode_time", decoding(), 1.25)]
    assert rejected.objective_usd == solved("tiny").layout.objective_usd
    assert rejected.reasons == (f"{decoding()} is short",)
    assert found.ended == ""
    assert found.judged.verdict.passed
    assert says.layouts == [solved("tiny").layout, found.judged.best.layout]
    (again,) = found.rounds
    assert again.what == "after replay 1"


def test_the_layout_found_next_keeps_every_law_at_the_harder_coefficients():
    found, _ = looped(verdict(broken(Law.DECODE_TIME, decoding(), 1.0, 2.0)), verdict())
    solved_for = found.judged.best.model.instance
    assert check(solved_for, found.judged.best.layout).passed
    slopes = {s.id: s.slope for s in solved_for.stores}, {p.id: p.slope for p in solved_for.pools}
    assert tightened(base(), found.judged.by).with_slopes(*slopes) == solved_for
    row = next(r for r in found.judged.best.layout.decodes if r.sequences)
    easy = {(d.bucket, d.pool): d.memory_seconds for d in base().decodes}
    hard = {(d.bucket, d.pool): d.memory_seconds for d in solved_for.decodes}
    assert any(hard[key] == pytest.approx(1.25 * easy[key]) for key in easy)
    assert (row.bucket, row.pool) in hard


def test_never_passing_ends_after_so_many_rounds_with_the_nearest_layout():
    shortfalls = [1.5, 1.4, 1.1, 1.3, 1.3, 1.3]
    found, says = looped(*(verdict(broken(Law.TIER_READ, STORE, 1.0, need)) for need in shortfalls))
    assert len(says.layouts) == ROUNDS + 1
    assert len(found.rejected) == ROUNDS
    assert f"solved again {ROUNDS} times" in found.ended
    assert found.judged.verdict.failing[0].need == 1.1
    assert found.judged.best.layout == says.layouts[2]
    assert state_of(found.judged.verdict) == "failed"


def test_what_fails_again_is_asked_for_more_again():
    again = verdict(broken(Law.TIER_READ, STORE, 1.0, 1.2))
    found, _ = looped(again, again, verdict())
    assert found.judged.by.factors[Law.TIER_READ, STORE] == pytest.approx(1.2 * 1.4)
    assert [r.tightened[0].factor for r in found.rejected] == [pytest.approx(1.2), pytest.approx(1.4)]


def test_time_ends_the_rounds_and_is_named():
    found, says = looped(verdict(broken(Law.TIER_READ, STORE)), seconds=0.0)
    assert len(says.layouts) == 1
    assert found.rejected == ()
    assert found.ended == f"the time limit came before round 1 of {ROUNDS}: raise --time-limit"


def test_a_replay_takes_nothing_of_the_time_for_search():
    says = Says(verdict(broken(Law.TIER_READ, STORE)), verdict())

    def slow(layout):
        clock.started -= 100.0
        return says(layout)

    clock = Clock.start(60.0)
    found = verified(base(), solved("tiny"), slow, OPTIONS, clock)
    assert found.ended == ""
    assert len(found.rounds) == 1


def test_an_interrupt_ends_the_rounds_and_is_named():
    found, _ = looped(verdict(broken(Law.TIER_READ, STORE)), interrupt=lambda: True)
    assert found.ended == "interrupted"


def test_inconclusive_is_not_a_pass_and_asks_for_nothing():
    found, says = looped(verdict(passed=False, conclusive=False, reasons=("no steady state",)))
    assert len(says.layouts) == 1
    assert found.rounds == ()
    assert replay_out(found.judged.verdict).state == "inconclusive"


def test_a_promise_that_breaks_is_a_failure_without_a_steady_state_too():
    torn = verdict(broken(Law.TIER_READ, STORE), conclusive=False)
    assert state_of(torn) == "failed"
    assert state_of(verdict(passed=True, conclusive=False)) == "inconclusive"


def test_what_nobody_can_be_asked_for_more_of_ends_the_rounds():
    found, _ = looped(verdict(broken(Law.TIER_READ, "nowhere"), waits={"some pool": 0.1}))
    assert found.ended == "nothing that failed can be asked for more of"


def test_what_cannot_be_met_ends_the_rounds_and_says_so(monkeypatch):
    tight = build(asked("tiny", "hardware.servers.HGX-B300-8.max=3").workload, CATALOG)
    best = solved("tiny", "hardware.servers.HGX-B300-8.max=3")
    monkeypatch.setattr("optimizer.design.tighten.MOST", 1e3)
    says = Says(verdict(broken(Law.DECODE_TIME, "HGX-B300-8", 1.0, 500.0)))
    found = verified(tight, best, says, OPTIONS, Clock.start(60.0))
    assert found.ended.startswith("what the replay asks for cannot be met")
    assert found.judged.best is best
    assert found.rounds[0].objective_usd is None


def test_a_layout_that_the_exact_check_rejects_is_never_returned(monkeypatch):
    def spoilt(*args, **kwargs):
        found = nearby(*args, **kwargs)
        broken_one = replace(found.candidate.certificate, passed=False)
        return replace(found, candidate=replace(found.candidate, certificate=broken_one))

    nearby = room.nearby
    monkeypatch.setattr(room, "nearby", spoilt)
    found, _ = looped(verdict(broken(Law.TIER_READ, STORE)))
    assert found.judged.best is solved("tiny")
    assert found.ended == "the exact check rejected the layout found next"


def test_waits_that_were_seen_are_fed_back():
    pool = next(row.pool for row in solved("tiny").layout.pools if row.prefill_busy)
    late = verdict(broken(Law.PREFILL_TIME, pool, 0.95, 1.0), waits={pool: 2.0, "other": 0.25})
    found, _ = looped(late, verdict())
    assert found.judged.by.waits == {pool: 2.0, "other": 0.5}
    assert found.rejected[0].waits == {pool: 2.0, "other": 0.5}
    after = found.judged.best.model.instance.paths
    pairs = [(p.attained, q.attained) for p, q in zip(base().paths, after, strict=True) if p.pool == pool]
    assert all(1 - q == pytest.approx(math.sqrt(1 - p)) for p, q in pairs if 0 < p < 1)
    assert any(q < p for p, q in pairs)


def test_what_json_has_no_word_for_is_null():
    odd = verdict(classes=(seen(ttft_predicted_p95=math.inf, attainment_predicted=math.nan),),
                  waits={"p": math.inf, "q": 0.5})
    out = replay_out(odd, {"chat": 0.7})
    assert (out.classes[0].ttft_predicted_p95, out.classes[0].attainment_predicted) == (None, None)
    assert out.classes[0].ttft_fed_back_p95 == 0.7
    assert out.waits == {"q": 0.5}
    assert type(out).model_validate_json(out.model_dump_json()) == out


# ---- with the real replay ---------------------------------------------------------------------------------

MANY = ("classes.k2-agentic.peak_rate=x4",)


def kinder(law: Law, resource: str):
    """A layout of a model that counts 30% of what it should: every law kept, and not enough bought."""
    question = asked("tiny", *MANY)
    instance = build(question.workload, CATALOG)
    best, _, _ = improve(tightened(instance, Tightening({(law, resource): 0.3})), OPTIONS, Clock.start(60.0))
    assert best is not None
    assert best.certificate.passed

    def replay(layout):
        return simulate(instance, layout, question.workload, CATALOG, requests=20_000)

    return instance, best, replay


@pytest.mark.parametrize(("law", "resource"), [
    (Law.TIER_CAPACITY, STORE), (Law.PREFILL_TIME, "HGX-B300-8"),
])
def test_a_layout_that_keeps_every_law_and_fails_its_replay_is_repaired(law, resource):
    instance, best, replay = kinder(law, resource)
    found = verified(instance, best, replay, OPTIONS, Clock.start(60.0))
    assert found.rejected
    assert found.rejected[0].failing
    assert found.ended == ""
    assert found.judged.verdict.passed
    assert found.judged.best.certificate.passed
    assert replay(found.judged.best.layout).passed
    assert not replay(best.layout).passed

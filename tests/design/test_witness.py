"""What a solve does with its replays: what stands in the result, and that all of it can be built again."""

from __future__ import annotations

import pytest

from optimizer import simulator
from optimizer.design import planning
from optimizer.design.comparisons import compare
from optimizer.design.planning import plan
from optimizer.design.rebuild import rebuilt
from optimizer.design.result import Result
from optimizer.instance.build import build
from optimizer.simulator.types import Law
from tests.design.beside import CATALOG, OPTIONS, asked, solved
from tests.design.replays import Says, broken, verdict
from tests.design.test_stress import both

SERVER = "HGX-B300-8"
SLOW, FAST = 0.7, 1.3  # the speeds that the other questions ask about
SHORT = broken(Law.DECODE_TIME, SERVER, 1.0, 1.5)


class Simulator:
    """Stands for the simulator: verdicts in turn for layouts as planned, one verdict for bad times."""

    def __init__(self, *verdicts):
        self.says, self.bad, self.calls = Says(*verdicts), both(0.5, 0.6), []

    def simulate(self, instance, layout, workload, catalog, **options):
        self.calls.append((instance, layout, options))
        return self.bad if "disturbance" in options else self.says(layout)


def planned(*verdicts, compare: bool = False) -> tuple[Result, Simulator]:
    """A solve whose replays say these verdicts in turn."""
    stub = Simulator(*verdicts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulator, "simulate", stub.simulate)
        return plan(asked("tiny"), CATALOG, OPTIONS, simulate=True, compare=compare), stub


def test_a_solve_that_is_not_to_replay_does_not():
    result = plan(asked("tiny"), CATALOG, OPTIONS)
    assert result.checks.replay is None
    assert (result.rejected, result.stress, result.checks.replay_ended) == ((), None, "")


def test_a_verdict_and_bad_times_stand_in_the_result():
    result, stub = planned(both(0.97, 0.98))
    assert result.checks.replay.state == "passed"
    assert [c.attainment.mean for c in result.checks.replay.classes] == [0.97, 0.98]
    assert result.rejected == ()
    assert result.basis.tightened == ()
    assert len(result.stress.cases) == 12
    assert {c.attainment.mean for c in result.stress.cases} == {0.5}
    assert [options.get("seed") for _, _, options in stub.calls] == [OPTIONS.seed] * 13


def test_layouts_are_replayed_at_the_coefficients_of_the_cards():
    result, stub = planned(verdict(SHORT), both(0.97, 0.98))
    cards = build(asked("tiny").workload, CATALOG)
    assert all(instance == cards for instance, _, _ in stub.calls)
    assert result.basis.tightened[0].factor == 1.25


def test_the_layout_in_the_result_is_the_one_that_passed_and_its_problem_can_be_built_again():
    result, stub = planned(verdict(SHORT), both(0.97, 0.98))
    (rejected,) = result.rejected
    assert rejected.objective_usd == solved("tiny").layout.objective_usd
    assert rejected.failing[0].law == "decode_time"
    assert stub.calls[1][1] == result.basis.layout
    again = rebuilt(Result.model_validate_json(result.model_dump_json(by_alias=True)), CATALOG, "tiny")
    assert again.remarks == ()
    assert again.solved.digest() == result.instance_sha256
    assert again.solved != again.instance
    assert result.rounds[-1].what == "after replay 1"


def test_never_passing_is_told_and_the_best_layout_returned():
    result, _ = planned(verdict(broken(Law.TIER_READ, f"dram@{SERVER}", 1.0, 1.03)))
    assert result.checks.replay.state == "failed"
    assert "solved again 5 times" in result.checks.replay_ended
    assert result.checks.exact.passed
    assert result.layout is not None
    assert len(result.rejected) == 5


def test_the_seconds_of_the_proof_are_those_of_search(monkeypatch):
    slow = Simulator(both(0.97, 0.98))

    def late(*args, **options):
        import time

        time.sleep(0.2)
        return slow.simulate(*args, **options)

    monkeypatch.setattr(simulator, "simulate", late)
    result = plan(asked("tiny"), CATALOG, OPTIONS, simulate=True)
    assert result.stress.seconds > 12 * 0.2
    assert result.seconds < 2.0


def test_other_questions_are_asked_at_the_same_coefficients(monkeypatch):
    searched = []

    def nearby(instance, *others, **options):
        searched.append(instance)
        return known_nearby(instance, *others, **options)

    known_nearby = compare.nearby
    monkeypatch.setattr(compare, "nearby", nearby)
    planned(verdict(SHORT), both(0.97, 0.98), compare=True)
    assert searched
    for instance in searched:  # whose speeds may be other ones by the question, in all pools alike
        cards = build(asked("tiny").workload, CATALOG)
        known = {(d.bucket, d.pool): d.flops_seconds for d in cards.decodes}
        ratios = {
            round(d.flops_seconds / known[d.bucket, d.pool], 6) for d in instance.decodes
            if (d.bucket, d.pool) in known
        }
        assert ratios <= {1.25, round(1.25 / SLOW, 6), round(1.25 / FAST, 6)}
        assert ratios


def test_an_interrupt_leaves_the_replay_out(monkeypatch):
    """One that comes when the search is over: an earlier one may leave no layout to replay."""
    monkeypatch.setattr(simulator, "simulate", None)
    over: list[bool] = []
    search = planning.search

    def searched(*args, **options):
        found = search(*args, **options)
        over.append(True)
        return found

    monkeypatch.setattr(planning, "search", searched)
    result = plan(asked("tiny"), CATALOG, OPTIONS, simulate=True, interrupt=lambda: bool(over))
    assert result.layout is not None
    assert result.checks.replay is None
    assert result.checks.replay_ended == "interrupted"


@pytest.mark.parametrize("at", [0, 1, 5])
def test_a_second_interrupt_ends_the_replays_and_keeps_the_layout(monkeypatch, at):
    stub = Simulator(both(0.97, 0.98))

    def torn(*args, **options):
        if len(stub.calls) == at:
            raise KeyboardInterrupt
        return stub.simulate(*args, **options)

    monkeypatch.setattr(simulator, "simulate", torn)
    result = plan(asked("tiny"), CATALOG, OPTIONS, simulate=True)
    assert result.layout is not None
    assert result.stress is None
    assert (result.checks.replay is None) == (at == 0)
    assert result.checks.replay_ended == ("interrupted" if at == 0 else "")

"""`tierplan simulate`: what reaches the replay, what the shell is told, what is refused."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from optimizer.cli import ExitCode, main
from optimizer.cli.values import of_class
from optimizer.design import simulate as room
from optimizer.design.replay import Simulated
from optimizer.report.files import write_result
from tests.report import seen
from tests.report.fixtures import made


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a command; returns what CliRunner saw. A result without a basis lies in `out`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    write_result(made(), tmp_path / "out")
    return lambda *arguments: CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def answer(monkeypatch):
    """Let the replay say something; returns what it was asked."""

    def let(**changes):
        asked = {}

        def simulated(result, catalog, name, **options):
            asked.update(result=result, name=name, **options)
            return Simulated.model_validate(seen.simulated(replay=seen.replay(**changes)))

        monkeypatch.setattr(room, "simulated", simulated)
        return asked

    return let


@pytest.mark.parametrize(("state", "code"), [
    ("passed", ExitCode.OK), ("failed", ExitCode.REJECTED), ("inconclusive", ExitCode.LIMIT),
])
def test_the_exit_code_is_the_verdict(run, answer, state, code):
    answer(state=state)
    done = run("simulate", "out")
    assert done.exit_code == code
    assert done.stdout.startswith("by-hand: ")
    assert done.stderr == ""


def test_options_reach_the_replay(run, answer):
    asked = answer()
    run("simulate", "out/result.json", "--requests", "5000", "--seed", "3", "--fail", "HGX-B300-8@600 s",
        "--trace", "agents=a.jsonl", "--trace", "b.jsonl")
    assert asked["result"] == made()
    assert asked["name"] == "out/result.json"
    assert (asked["requests"], asked["seed"], asked["outage"]) == (5000, 3, "HGX-B300-8@600 s")
    assert [(t.cls, t.file) for t in asked["traces"]] == [("agents", "a.jsonl"), ("", "b.jsonl")]


def test_json_is_all_that_stdout_carries(run, answer):
    answer()
    done = run("simulate", "out", "--json")
    assert json.loads(done.stdout)["replay"]["state"] == "passed"
    assert json.loads(done.stdout)["schema"] == "tierplan-replay/1"


@pytest.mark.parametrize(("text", "told"), [
    ("agents=a.gz", ("agents", "a.gz")), ("a.gz", ("", "a.gz")), ("dir/x=1/a.gz", ("", "dir/x=1/a.gz")),
    ("agents=dir/x=1/a.gz", ("agents", "dir/x=1/a.gz")),
])
def test_a_trace_may_name_its_class(text, told):
    assert of_class(text) == told


def test_an_earlier_result_is_told_to_solve_again(run):
    done = run("simulate", "out")
    assert done.exit_code == ExitCode.BAD_INPUT
    assert done.stderr == (
        "error: out: is of an earlier version, which kept too little to build its layout again "
        "(solve again, and simulate that result)\n"
    )


def test_what_is_no_result_is_refused(run):
    assert run("simulate", "nowhere").exit_code == ExitCode.BAD_INPUT
    assert run("simulate", "out", "--requests", "5").exit_code == ExitCode.USAGE


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Tiny, solved, not replayed."""
    folder = tmp_path_factory.mktemp("tiny")
    done = CliRunner().invoke(
        main, ["solve", "tiny", "--no-simulate", "--no-compare", "--out", str(folder), "--json"]
    )
    assert done.exit_code == ExitCode.OK
    assert json.loads(done.stdout)["checks"]["replay"] is None
    assert json.loads(done.stdout)["stress"] is None
    return folder


def test_a_result_is_replayed_from_its_file_alone(tiny):
    done = CliRunner().invoke(main, ["simulate", str(tiny), "--requests", "3000", "--json"])
    replay = json.loads(done.stdout)["replay"]
    assert replay["arrived"] == replay["served"] + replay["rejected"] + replay["in_flight"]
    assert {c["cls"] for c in replay["classes"]} == {"flash-chat", "k2-agentic"}
    assert all(c["ttft_fed_back_p95"] <= c["ttft_predicted_p95"] for c in replay["classes"])
    codes = {"passed": ExitCode.OK, "failed": ExitCode.REJECTED, "inconclusive": ExitCode.LIMIT}
    assert done.exit_code == codes[replay["state"]]


def test_the_same_seed_is_the_same_replay(tiny):
    def replay(seed):
        done = CliRunner().invoke(
            main, ["simulate", str(tiny), "--requests", "2000", "--seed", str(seed), "--json"]
        )
        return {**json.loads(done.stdout)["replay"], "seconds": 0}

    assert replay(1) == replay(1)
    assert replay(1) != replay(2)


@pytest.mark.parametrize(("option", "value", "said"), [
    ("--fail", "HGX-9@600 s", "names no server of the layout"),
    ("--fail", "HGX-B300-8@600", 'did you mean "600 s"?'),
    ("--fail", "HGX-B300-8#99@600 s", "the layout has 3 of HGX-B300-8 in use"),
    ("--trace", "nobody=weka_claude_code_60s_b512", "there is no class nobody"),
    ("--trace", "weka_claude_code_60s_b512", "the workload has several classes"),
    ("--trace", "k2-agentic=no-such-trace", "no-such-trace"),
])
def test_names_that_are_not_there_are_refused(tiny, option, value, said):
    done = CliRunner().invoke(main, ["simulate", str(tiny), "--requests", "2000", option, value])
    assert done.exit_code == ExitCode.BAD_INPUT
    assert said in done.stderr

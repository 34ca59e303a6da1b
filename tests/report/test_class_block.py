"""The class block of a trace: what is printed loads, builds, and is the class that names the trace."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest
from typer.testing import CliRunner

from optimizer.catalog import load_catalog
from optimizer.cli import ExitCode, main
from optimizer.files import read_text_yaml
from optimizer.instance import Instance
from optimizer.instance.build import build
from optimizer.report.class_block import ages, class_block, class_json, class_name
from optimizer.report.words import span
from optimizer.traces import read_trace
from optimizer.traces.classes import TIMES, Derived, derive
from optimizer.traces.stats import sha256
from optimizer.units import parse
from optimizer.workload import Loaded, loaded

HEAD = "schema: tierplan-workload/1\nname: pasted\nclasses:\n"
TAIL = "hardware:\n  servers:\n    HGX-B300-8: {}\n"
SHA256 = "ab" * 32
WITH_REUSE = (
    "weka_claude_code_60s_b512", "weka_claude_code_60s_b64", "lmcache_miniswe_b64",
    "synthetic_agentic_aiperf_60s_b512", "mooncake_conversation_0_20min",
)  # fmt: skip


def pasted(derived: Derived, rate: float = 5.0) -> Loaded:
    block = class_block(derived, SHA256, "agents", "kimi-k3", rate)
    return loaded(read_text_yaml(HEAD + block + TAIL, "pasted.yaml"))


@pytest.fixture(scope="module")
def weka() -> Derived:
    return derive(read_trace(WITH_REUSE[0]))


@pytest.fixture(scope="module")
def instance(weka: Derived) -> Instance:
    return build(pasted(weka).workload, load_catalog())


@pytest.mark.parametrize("name", WITH_REUSE)
def test_what_is_printed_loads_and_builds(name: str) -> None:
    derived = derive(read_trace(name))
    text = HEAD + class_block(derived, SHA256, class_name(derived)) + TAIL
    workload = loaded(read_text_yaml(text, "pasted.yaml")).workload
    made = workload.classes[class_name(derived)]
    assert build(workload, load_catalog()).pools
    assert made.peak_rate == pytest.approx(derived.peak_rate, rel=1e-5)
    assert made.source == f"{derived.name}, sha256 {SHA256}"
    assert (made.shared_prefix is None) is (derived.shared_prefix == 0)
    assert max(len(line) for line in text.splitlines() if "sha256" not in line) <= 125


def test_pasted_or_named_it_is_the_same_problem(instance: Instance) -> None:
    """Within what is rounded away: a tenth of a token, 1e-5 of a share or probability."""
    line = f"  agents:\n    model: kimi-k3\n    peak_rate: 5 req/s\n    reuse: {{trace: {WITH_REUSE[0]}}}\n"
    slo = "    slo: {ttft: 10 s, tpot: 50 ms, attainment: 0.95}\n"
    named = build(loaded(read_text_yaml(HEAD + line + slo + TAIL, "named.yaml")).workload, load_catalog())
    assert len(named.buckets) == len(instance.buckets) == 3
    for one, two in zip(named.classes, instance.classes, strict=True):
        assert numbers(one) == pytest.approx(numbers(two), rel=1e-4, abs=1e-3)
    for a, b in zip(named.buckets, instance.buckets, strict=True):
        assert [s.end for s in a.slots] == [s.end for s in b.slots]
        assert numbers(a) == pytest.approx(numbers(b), rel=1e-4)
        for x, y in zip(a.slots, b.slots, strict=True):
            assert numbers(x) == pytest.approx(numbers(y), rel=1e-3, abs=3e-5)


def numbers(record: object) -> list[float]:
    values = dataclasses.astuple(record)  # type: ignore[call-overload]
    return [value for value in values if isinstance(value, float)]


def test_the_ages_told_are_those_of_the_plan(weka: Derived, instance: Instance) -> None:
    assert [slot.end for slot in instance.buckets[0].slots] == list(ages(weka))[1:]
    text = class_block(weka, SHA256, "agents")
    assert f"cut its ages at {', '.join(span(age) for age in ages(weka)[1:])}" in unwrapped(text)


def told(*words: str) -> str:
    """What the command prints."""
    done = CliRunner().invoke(main, ["trace", "classes", *words])
    assert done.exit_code == ExitCode.OK, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_command_prints_the_block(weka: Derived) -> None:
    printed = told(WITH_REUSE[0], "--model", "glm-5.2", "--name", "agents", "--rate", "1,200 req/min")
    content = sha256(WITH_REUSE[0])
    assert printed == class_block(weka, content, "agents", "glm-5.2", 20.0)
    (agents,) = loaded(read_text_yaml(HEAD + printed + TAIL, "w.yaml")).workload.classes.values()
    assert (agents.model, agents.peak_rate) == ("glm-5.2", 20.0)
    data = json.loads(told(WITH_REUSE[0], "--buckets", "2", "--json"))
    assert len(data["buckets"]) == 2
    assert data["file_sha256"] == content


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--model", "kimi-k33"], ExitCode.BAD_INPUT, 'no model "kimi-k33"'),
        (["--name", "my agents"], ExitCode.USAGE, "is no name of a class"),
        (["--rate", "20"], ExitCode.USAGE, 'did you mean "20 req/s"?'),
        (["--rate", "0 req/s"], ExitCode.USAGE, "is not a rate"),
        (["--buckets", "13"], ExitCode.USAGE, "less than or equal to 12"),
    ],
)
def test_what_is_typed_wrong_is_told(words: list[str], code: ExitCode, said: str) -> None:
    done = CliRunner().invoke(main, ["trace", "classes", WITH_REUSE[0], *words])
    assert done.exit_code == code
    assert said in " ".join(done.stderr.split())
    assert done.stdout == ""


def test_a_trace_that_tells_too_little_is_refused() -> None:
    done = CliRunner().invoke(main, ["trace", "classes", "azure2023_conv"])
    assert done.exit_code == ExitCode.BAD_INPUT
    assert "records neither sessions nor blocks" in done.stderr


def unwrapped(text: str) -> str:
    return re.sub(r"\n# ", " ", text)


def test_every_time_of_a_table_is_printed_exactly() -> None:
    assert [parse(span(time), "seconds") for time in TIMES] == pytest.approx(list(TIMES), rel=1e-12)


def test_what_is_estimated_is_said(weka: Derived) -> None:
    said = unwrapped(class_block(weka, SHA256, "agents"))
    assert "recorded for 86.5% of the returns, else estimated: input that is not found at 10,000" in said
    assert "0.3% came before that end: their gap is 0." in said
    assert "too slow" not in said
    other = unwrapped(class_block(derive(read_trace("lmcache_miniswe_b64")), SHA256, "agents"))
    assert "the estimate is too slow for this trace" in other


def test_what_only_the_planner_knows_is_left_to_the_planner(weka: Derived) -> None:
    lines = class_block(weka, SHA256, "agents").splitlines()
    asked = [line.split(":")[0].strip() for line in lines if "# set th" in line]
    assert asked == ["model", "peak_rate", "peak_to_mean", "slo"]
    stated = class_block(weka, SHA256, "agents", "glm-5.2", 20.0).splitlines()
    assert [line.split(":")[0].strip() for line in stated if "# set th" in line] == ["peak_to_mean", "slo"]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("my trace (2).jsonl.gz", "my-trace-2"), ("a_b-c.csv", "a_b-c"), ("___.jsonl", "traced"),
        ("x" * 99, "x" * 60),
    ],
)
def test_a_class_is_named_after_its_file(weka: Derived, file: str, name: str) -> None:
    assert class_name(dataclasses.replace(weka, name=file)) == name


def test_sub_agents_are_told(weka: Derived) -> None:
    block = class_block(dataclasses.replace(weka, sub_calls=12), SHA256, "agents")
    assert "12 calls of sub-agents have contexts of their own" in unwrapped(block)


def test_as_data_it_is_everything(weka: Derived) -> None:
    data = class_json(weka, SHA256)
    assert data["file_sha256"] == SHA256
    assert data["buckets"][2]["gaps"]["return_probability"] == pytest.approx(0.9072, abs=1e-4)
    assert data["ages"][0] == 0.0

"""`reuse: {trace: ...}`: one line stands for what a trace tells, and scales with the declared rate."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from optimizer.catalog import load_catalog
from optimizer.errors import InputError
from optimizer.files import data_path, read_text_yaml
from optimizer.instance import Bucket, Instance
from optimizer.instance.build import build
from optimizer.traces import read_trace
from optimizer.traces.classes import Derived, derive
from optimizer.workload import Loaded, bucket_survival, load_workload, loaded
from optimizer.workload.knees import HUMAN_AGES

NAME = "weka_claude_code_60s_b512"
SHIPPED = data_path("workloads") / "traces" / f"{NAME}.jsonl.gz"
TEXT = f"""\
schema: tierplan-workload/1
name: traced
classes:
  agents:
    model: kimi-k3
    peak_rate: 5 req/s
    peak_to_mean: 2
    reuse: {{trace: {NAME}}}
    slo: {{ttft: 10 s, tpot: 70 ms}}
hardware:
  servers:
    HGX-B300-8: {{}}
"""


def load(text: str = TEXT, *overrides: str) -> Loaded:
    return loaded(read_text_yaml(text, "w.yaml"), overrides)


def refusal(*overrides: str, text: str = TEXT) -> str:
    with pytest.raises(InputError) as caught:
        load(text, *overrides)
    return str(caught.value)


@pytest.fixture(scope="module")
def derived() -> Derived:
    return derive(read_trace(NAME))


@pytest.fixture(scope="module")
def instance() -> Instance:
    return build(load().workload, load_catalog())


def test_one_line_is_a_class(derived: Derived) -> None:
    agents = load().workload.classes["agents"]
    assert (agents.first_prompt, agents.new_tokens) == (derived.first_prompt, derived.new_tokens)
    assert agents.output_tokens == derived.output_tokens
    assert agents.shared_prefix is None
    assert agents.peak_rate == 5.0
    assert [(c.tokens, c.share) for c in agents.contexts] == [(b.tokens, b.share) for b in derived.buckets]
    assert [c.spread for c in agents.contexts] == pytest.approx([b.spread for b in derived.buckets], abs=5e-4)
    assert agents.source.startswith(f"{NAME}.jsonl.gz, sha256 fdc0092d")


def test_s_is_the_trace_s_at_every_age_that_a_plan_may_choose(derived: Derived) -> None:
    agents = load().workload.classes["agents"]
    for context, bucket in zip(agents.contexts, derived.buckets, strict=True):
        curve, table = bucket_survival(agents, context), dict(bucket.gaps.table)
        assert curve.return_probability == bucket.gaps.return_probability
        for age in HUMAN_AGES:
            within = table.get(age, 1.0)
            assert curve.at(age) == pytest.approx(1 - bucket.gaps.return_probability * within, abs=1e-12)


def test_it_builds(instance: Instance) -> None:
    (agents,) = instance.classes
    assert len(instance.buckets) == 3
    returns = sum(b.returns for b in instance.buckets)
    assert returns + agents.first_rate == pytest.approx(agents.rate)
    assert 0.94 < returns / agents.rate < 0.97


def slots(bucket: Bucket) -> list[tuple[float, ...]]:
    return [(s.start, s.end, s.drop, s.integral) for s in bucket.slots]


def test_twice_the_rate_is_twice_every_slot_and_the_same_curve(instance: Instance) -> None:
    double = build(load(TEXT, "classes.agents.peak_rate=x2").workload, load_catalog())
    for once, twice in zip(instance.buckets, double.buckets, strict=True):
        assert slots(once) == slots(twice)
        assert [s.rate for s in twice.slots] == pytest.approx([2 * s.rate for s in once.slots])
        assert (twice.rate, twice.returns) == pytest.approx((2 * once.rate, 2 * once.returns))


def test_what_the_class_says_itself_stands() -> None:
    own = load(TEXT, "classes.agents.new_tokens=2 ktok", "classes.agents.source=mine")
    agents = own.workload.classes["agents"]
    assert agents.new_tokens == 2000.0
    assert agents.source.startswith("mine; weka")


def test_a_declared_context_has_the_reuse_of_the_nearest_length(derived: Derived) -> None:
    """Nearest by ratio: 90 ktok is nearer to 69 than to 124."""
    contexts = "[{tokens: 90 ktok, share: 0.7}, {tokens: 400 ktok, share: 0.3, return_probability: 0.5}]"
    agents = load(TEXT, f"classes.agents.contexts={contexts}").workload.classes["agents"]
    first, last = agents.contexts
    assert first.return_probability == derived.buckets[0].gaps.return_probability
    assert last.return_probability == 0.5  # its own
    assert last.gaps is not None
    assert last.gaps.table is not None
    assert [(p.within, p.share) for p in last.gaps.table] == list(derived.buckets[2].gaps.table)


def test_a_shared_prefix_is_taken_over_unless_there_is_said_to_be_none() -> None:
    made = TEXT.replace(NAME, "synthetic_agentic_aiperf_60s_b512")
    prefix = load(made).workload.classes["agents"].shared_prefix
    assert prefix is not None
    assert prefix.tokens == 63 * 512
    assert load(made, "classes.agents.shared_prefix=null").workload.classes["agents"].shared_prefix is None


def test_the_file_beside_the_workload_comes_first(tmp_path: Path) -> None:
    """Not the shipped one of the same name; and by a path, too."""
    (tmp_path / "w.yaml").write_text(TEXT)
    shipped = load_workload(tmp_path / "w.yaml").workload.classes["agents"]
    shutil.copy(SHIPPED.with_name("lmcache_miniswe_b64.jsonl.gz"), tmp_path / NAME)
    (tmp_path / "inside").mkdir()
    shutil.copy(SHIPPED, tmp_path / "inside" / "t.gz")
    assert load_workload(tmp_path / "w.yaml").workload.classes["agents"].first_prompt == 1778.25
    (tmp_path / "w.yaml").write_text(TEXT.replace(NAME, "inside/t.gz"))
    assert load_workload(tmp_path / "w.yaml").workload.classes["agents"].contexts == shipped.contexts


def test_the_digest_is_of_the_content_of_the_trace(tmp_path: Path) -> None:
    """One token more in one request is another question; another folder is not."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "w.yaml").write_text(TEXT.replace(NAME, "t.jsonl"))
        (tmp_path / folder / "t.jsonl").write_bytes(gzip.decompress(SHIPPED.read_bytes()))
    one, two = (load_workload(tmp_path / folder / "w.yaml").digest for folder in ("one", "two"))
    assert one == two
    lines = (tmp_path / "two" / "t.jsonl").read_text().splitlines()
    last = json.loads(lines[-1])
    lines[-1] = json.dumps(last | {"api": last.get("api", 1.0) + 1.0})  # of a request that nothing follows
    (tmp_path / "two" / "t.jsonl").write_text("\n".join(lines) + "\n")
    changed = load_workload(tmp_path / "two" / "w.yaml")
    assert changed.digest != one


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (NAME, "weka_60", 'w.yaml:8:13 classes.agents.reuse.trace: no file and no shipped trace "weka_60"'),
        (NAME, "gone/trace.gz", "w.yaml:8:13 classes.agents.reuse.trace: gone/trace.gz: there is no"),
        (NAME, "/", "w.yaml:8:13 classes.agents.reuse.trace: /: is a folder, not a file"),
        (
            NAME, "azure2023_conv",
            "w.yaml:8:13 classes.agents.reuse.trace: azure2023_conv.jsonl.gz: records neither",
        ),
        (f"trace: {NAME}", f"trace: {NAME}, return_probability: 0.9",
         "w.yaml:8:5 classes.agents.reuse: gives a trace and return_probability: give one or the other"),
        (f"trace: {NAME}", "trace: 7",
         'w.yaml:8:13 classes.agents.reuse.trace: expected text, found 7 (write "7")'),
        (f"{{trace: {NAME}}}", "{}", "w.yaml:4:3 classes.agents.contexts: is missing (add it)"),
        ("peak_to_mean: 2", "first_prompt: 900 ktok",
         "w.yaml:7:5 classes.agents.first_prompt: with its answer 900423 tok, longer than"),
    ],
)  # fmt: skip
def test_refused_at_its_place(old: str, new: str, message: str) -> None:
    assert TEXT.count(old) == 1
    assert message in refusal(text=TEXT.replace(old, new))


def test_too_short_a_trace_is_refused(tmp_path: Path) -> None:
    rows = [{"t": k, "in": 100 + k, "out": 1, "s": 1} for k in range(20)]
    (tmp_path / "short.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = refusal(f"classes.agents.reuse.trace={tmp_path / 'short.jsonl'}")
    assert "19 of its 20 requests return to a context: too few" in told


def test_every_trace_that_is_wrong_is_told() -> None:
    again = TEXT.replace("hardware:", "  more:\n    reuse: {trace: b}\nhardware:").replace(NAME, "a")
    told = refusal(text=again).splitlines()
    assert [line.split(":")[1] for line in told] == ["8", "11"]


def test_a_workload_without_a_trace_loads_none_of_this() -> None:
    script = (
        "import sys; from optimizer.workload import load_workload; load_workload('small');"
        "print(*{'numba', 'optimizer.traces', 'optimizer.compiled'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_trace_is_among_the_assumptions(instance: Instance) -> None:
    (told,) = (a for a in instance.assumptions if a.basis == "measured")
    assert (told.name, told.value) == ("classes.agents", f"lengths and gaps of {NAME}.jsonl.gz")
    assert "sha256 fdc0092d" in told.source

"""Loading a workload: schema faults with places, the digest, the shipped files."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimizer.errors import InputError, Problem
from optimizer.files import data_path
from optimizer.workload import load_workload

from .base import TEXT, changed, load, refusals

GOLDEN = [
    (("peak_rate: 20 req/s", "peak_rate: 20"), '6:5 classes.chat.peak_rate: "20" has no unit '),
    (
        ("peak_rate: 20 req/s", "peek_rate: 20 req/s"),
        "4:3 classes.chat.peak_rate: is missing (add it, in 1/s)",
    ),
    (("ttft: 2 s", "ttft: 2 S"), '20:11 classes.chat.slo.ttft: "S" is not a unit here: case matters'),
    (
        ("4 ktok, share: 0.6", "4 GB, share: 0.6"),
        '11:8 classes.chat.contexts.0.tokens: "GB" is not a unit of tokens',
    ),
    (
        ("share: 0.6", "share: 1.6"),
        "11:24 classes.chat.contexts.0.share: 1.6 must be less than or equal to 1",
    ),
    (("name: base", "name: my plan"), '2:1 name: "my plan" does not match'),
    (("workload/1", "workload/2"), '1:1 schema: "tierplan-workload/2" is not one of tierplan-workload/1'),
    (
        ("lognormal: {median: 60 s, p90: 600 s}", "lognormal: {median: 60 s, p90: 6 s}"),
        "18:9 classes.chat.reuse.gaps.lognormal: p90 must be longer than the median",
    ),
    (
        ("lognormal: {median: 60 s, p90: 600 s}", "exponential: {mean: 1 s}\n        table: []"),
        "19:9 classes.chat.reuse.gaps.table: needs at least 2 entries, found 0",
    ),
    (
        (
            "lognormal: {median: 60 s, p90: 600 s}",
            "lognormal: {median: 6 s, p90: 9 s}\n        exponential: {mean: 1 s}",
        ),
        "17:7 classes.chat.reuse.gaps: give exactly one of lognormal, exponential, mixture, table "
        "(found lognormal, exponential)",
    ),
    (("hbm: {enabled: true}", "hbm: {scope: pooled}"), '25:9 tiers.hbm.scope: "pooled" is not one of local'),
    (("cxl: {}", "nvme: {scope: pooled}"), '27:10 tiers.nvme.scope: "pooled" is not one of local'),
    (("cxl: {}", "cxl: {scope: local}"), '27:9 tiers.cxl.scope: "local" is not one of pooled'),
    (("min: 1, max: 64", ""), "31:3 limits.gpus: a limit needs min or max"),
]


@pytest.mark.parametrize(("change", "message"), GOLDEN, ids=[message for _, message in GOLDEN])
def test_schema_faults(change: tuple[str, str], message: str) -> None:
    assert refusals(changed(change))[0].startswith(f"w.yaml:{message}")


def test_an_unknown_key_names_the_one_that_was_meant() -> None:
    found = refusals(changed(("peak_rate: 20 req/s", "peek_rate: 20 req/s")))
    assert found[1] == 'w.yaml:6:5 classes.chat.peek_rate: unknown key (did you mean "peak_rate"?)'


def test_schema_faults_come_all_at_once() -> None:
    text = changed(("ttft: 2 s", "ttft: 2"), ("share: 0.6", "share: x"), ("options:", "optoins:"))
    assert len(refusals(text)) == 3


def test_a_measured_decode_rate_states_its_batch() -> None:
    row = "measured: [{model: kimi-k2, accelerator: B300-SXM, phase: decode, context: 8 ktok, source: me, "
    row += "tokens_per_second_per_gpu: 9 tok/s"
    found = refusals(TEXT + row + "}]\n")
    assert found == [
        "w.yaml:32:12 measured.0: a measured decode rate states its sequences and gpus per instance"
    ]
    assert load(TEXT + row + ", sequences: 4, gpus: 8}]\n").workload.measured[0].gpus == 8


@pytest.mark.parametrize("text", ["just text\n", "- 1\n", "3\n"])
def test_a_document_that_is_no_mapping(text: str) -> None:
    assert refusals(text) == ["w.yaml:1:1: is not a mapping (begin with schema: and name:)"]


def test_quantities_are_si_inside() -> None:
    chat = load().workload.classes["chat"]
    assert (chat.peak_rate, chat.contexts[1].tokens, chat.slo.tpot) == (20.0, 16e3, 0.05)


def test_an_omitted_part_of_a_tier_keeps_its_own_default() -> None:
    """`cxl: {enabled: false}` must not turn the pool into a local tier."""
    tiers = load(changed(("cxl: {}", "cxl: {enabled: false}"))).workload.tiers
    assert (tiers.cxl.scope, tiers.dram.scope, tiers.storage.scope) == ("pooled", "local", "pooled")


def test_the_digest_is_of_what_is_said_not_how() -> None:
    digest = load().digest
    assert digest == load("# a comment\n" + changed(("ttft: 2 s", "ttft: 2000 ms"))).digest
    assert (
        digest
        == load(changed(("peak_rate: 20 req/s", "peak_rate: 10 req/s")), "classes.chat.peak_rate=x2").digest
    )
    assert digest != load(changed(("ttft: 2 s", "ttft: 3 s"))).digest
    assert digest != load(TEXT, "headroom=0.1").digest


def test_the_document_stays_at_hand() -> None:
    loaded = load(TEXT, "headroom=0.1")
    assert loaded.document.where(("classes", "chat", "model")) == "w.yaml:5:5"
    assert loaded.document.where(("headroom",)) == "--set headroom=0.1"


def test_a_later_room_s_problem_is_given_its_place() -> None:
    """A room that knows keys but no file says so; the document adds where they stand."""
    document = load(TEXT, "headroom=0.1").document
    found = Problem("", "classes.chat.model", "no such model", keys=("classes", "chat", "model"))
    assert str(document.placed(found)) == "w.yaml:5:5 classes.chat.model: no such model"
    assert document.placed(Problem("", "headroom", "x", keys=("headroom",))).where == "--set headroom=0.1"
    assert document.placed(Problem("here", "a", "x", keys=("headroom",))).where == "here"
    assert document.placed(Problem("", "a", "x")).where == ""


SHIPPED = sorted(path.stem for path in data_path("workloads").glob("*.yaml"))


def test_the_reference_workloads_ship() -> None:
    assert {"two-directions", "deepseek-only", "kimi-only", "tiny"} <= set(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_workload_loads(name: str) -> None:
    assert load_workload(name).workload.name == name


def test_the_halves_are_the_halves() -> None:
    """deepseek-only and kimi-only are two-directions with the other model's classes taken out."""
    whole = load_workload("two-directions").workload
    for name, prefix in (("deepseek-only", "deepseek-"), ("kimi-only", "kimi-")):
        half = load_workload(name).workload
        kept = {key: traffic for key, traffic in whole.classes.items() if key.startswith(prefix)}
        assert half == whole.model_copy(
            update={"name": name, "description": half.description, "classes": kept}
        )


def test_every_number_of_traffic_says_where_it_comes_from() -> None:
    """Lines of the shipped classes that hold a number carry a comment, or lie in a block that does."""
    text = (data_path("workloads") / "two-directions.yaml").read_text()
    for line in text.split("classes:\n")[1].split("\nhardware:")[0].split("\n"):
        stated = line.strip().split(":")[0] in {
            "peak_rate",
            "peak_to_mean",
            "first_prompt",
            "new_tokens",
            "output_tokens",
            "return_probability",
            "ttft",
            "tpot",
            "quality_floor",
            "tokens",
            "distinct",
        }
        assert not stated or "#" in line, line


def test_a_workload_is_found_by_path_too(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(TEXT)
    assert load_workload(tmp_path / "mine.yaml").digest == load().digest
    with pytest.raises(InputError, match="there is no such file"):
        load_workload(tmp_path / "other.yaml")

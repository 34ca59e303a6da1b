"""`tierplan schema`: what loads validates, what the loader refuses for keys, kinds or units does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from optimizer.catalog import load_catalog
from optimizer.cli import main
from optimizer.errors import InputError
from optimizer.files import data_path, read_text_yaml, read_yaml
from optimizer.instance.checks import names
from optimizer.units import DIMENSIONS, parse
from optimizer.workload import loaded
from optimizer.workload.json_schema import CONDITIONS, DRAFT, NAMES, json_schema
from tests.docs.markdown import PAGES, blocks

ROOT = Path(__file__).parents[2]
TESTED = (ROOT / "tests" / "metamorphic" / "workloads", ROOT / "tests" / "cases" / "workloads")
PATHS = [path for folder in (data_path("workloads"), *TESTED) for path in sorted(folder.glob("*.yaml"))]
GOOD = {path.name: path.read_text(encoding="utf-8") for path in PATHS}
GOOD |= {str(b): b.text for b in blocks(*PAGES) if b.info == "yaml workload"}
TEXT = next(text for name, text in GOOD.items() if name.startswith("writing-workloads.md"))
"""The example of the docs: it uses nearly every key."""


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """What the command prints."""
    done = CliRunner().invoke(main, ["schema"])
    assert done.exit_code == 0
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def faults(schema: dict[str, Any]) -> Any:
    """Paths of what is wrong with a text, by the schema."""
    validator = jsonschema.Draft202012Validator(schema)

    def found(text: str) -> list[str]:
        errors = validator.iter_errors(read_text_yaml(text, "w").data)
        return [".".join(map(str, error.path)) for error in errors]

    return found


def test_it_is_a_schema_of_its_draft(schema: dict[str, Any]) -> None:
    assert schema["$schema"] == DRAFT
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", GOOD)
def test_every_workload_validates(name: str, faults: Any) -> None:
    assert faults(GOOD[name]) == []


def change(old: str, new: str) -> str:
    """The example with one place changed."""
    assert TEXT.count(old) == 1, old
    return TEXT.replace(old, new)


DECLARED = """\
    reuse:
      return_probability: 0.6
      first_share: 0.4
      gaps:
        lognormal: {median: 2 min, p90: 9 min}
"""
TRACED = "    reuse: {trace: weka_claude_code_60s_b512}\n"
LENGTHS = """\
    first_prompt: 5 ktok
    new_tokens: 1 ktok
    output_tokens: 343 tok
    contexts:
      - {tokens: 12 ktok, share: 1.0}
"""

REFUSED = [
    ("description: Coding", "descripton: Coding"),
    ("name: coding-desk\n", ""),
    ("schema: tierplan-workload/1", "schema: tierplan-workload/2"),
    ("name: coding-desk", "name: coding desk"),
    ("name: coding-desk", "name: 7"),
    ("classes:\n  agents:", "classes:\n  my agents:"),
    ("peak_rate: 6 req/s", "peak_rate: 6"),
    ("peak_rate: 6 req/s", "peak_rate: -6 req/s"),
    ("peak_rate: 6 req/s", "peak_rate: 0.0 req/s"),
    ("peak_rate: 6 req/s", "peak_rate: 6 Req/s"),
    ("peak_rate: 6 req/s", "peak_rate: 6 GB"),
    ("peak_rate: 6 req/s", "peak_rate: 1,5 req/s"),
    ("peak_rate: 6 req/s", "peak_rate: [6 req/s]"),
    ("peak_rate: 6 req/s", "peak_rat: 6 req/s"),
    (LENGTHS, ""),
    (DECLARED, "    reuse: {}\n"),
    (DECLARED, "    reuse: {trace: null}\n"),
    (DECLARED, "    reuse: {trace: 7}\n"),
    (DECLARED, "    reuse: {trace: weka_claude_code_60s_b512, return_probability: 0.6}\n"),
    (DECLARED, "    reuse: {first_share: 0.4}\n"),
    ("peak_to_mean: 2.5", "peak_to_mean: 0.5"),
    ("peak_to_mean: 2.5", 'peak_to_mean: "2.5"'),
    ("share: 0.6, spread: 0.4", "share: 1.6, spread: 0.4"),
    ("share: 0.6, spread: 0.4", "share: 0.6, spread: 4"),
    ("share: 0.6, spread: 0.4", "share: sixty, spread: 0.4"),
    ("distinct: 3", "distinct: 3.5"),
    ("distinct: 3", "distinct: 0"),
    ("held_in: dram", "held_in: ram"),
    ("ttft: 12 s, ", ""),
    ("agents:\n    model: kimi-k2\n", "agents:\n    model: kimi-k22\n"),
    ("lognormal: {median: 2 min, p90: 9 min}", "{}"),
    ("lognormal: {median: 2 min, p90: 9 min}", "{lognormal: {median: 2 s, p90: 9 s}, table: []}"),
    ("lognormal: {median: 2 min, p90: 9 min}", "table: [{within: 3 s, share: 1}]"),
    ("- {weight: 0.8, exponential: {mean: 12 s}}", "- {weight: 0.8}"),
    ("HGX-B300-8: {max: 12, owned: 1}", "HGX-B300-9: {max: 12, owned: 1}"),
    ("HGX-B300-8: {max: 12, owned: 1}", "HGX-B300-8: {max: twelve, owned: 1}"),
    ("HGX-B300-8: {max: 12, owned: 1}", "HGX-B300-8: {max: 12, owned: -1}"),
    ("dimms: [RDIMM-64]", "dimms: [RDIMM-65]"),
    ("dimms: [RDIMM-64]", "dimms: RDIMM-64"),
    ("drive_counts: [4]", "drive_counts: [0]"),
    ("cxl_modules: [CMM-D-256]", "cxl_modules: [CMM-D-257]"),
    ("policy: write-through", "policy: write-back"),
    ("dram_pool: {enabled: false}", "dram_pool: {enabled: no}"),
    ("dram_pool: {enabled: false}", "dram_pool: {scope: local}"),
    ("max_bytes: 30 TB", "max_bytes: 30 tb"),
    ("max_bytes: 30 TB", "max_bytes: 30"),
    ("kimi-k2: {exclude", "kimi-k3x: {exclude"),
    ("    accelerator: B300-SXM", "    accelerator: B300"),
    ("    sequences: 256\n", ""),
    ("phase: decode", "phase: both"),
    ("    min: 0\n", ""),
    ("power: 250 kW", "power: 250"),
    ("power: 250 kW", "power: 250 kw"),
    ("budget: $12M", "budget: 12M"),
    ("horizon: 5 years", "horizon: 5 yrs"),
    ("prices: base", "prices: basis"),
    ("electricity: $0.10/kWh", "electricity: $0.10"),
    ("parts: {CMM-D-256: $6500}", "parts: {CMM-D-256: 6500}"),
    ("grid: {ages: 6}", "grid: {ages: 60}"),
    ("grid: {ages: 6}", "grid: {ages: 6, lanes: 3}"),
    ("headroom: 10%", "headroom: 10 percent"),
    ("headroom: 10%", "headroom: 1.0"),
    ("  prices: base", "  prices: base\n  lines: {spares: maybe}"),
    ("  prices: base", "  prices: base\n  lines: {spares: 3 GB}"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), REFUSED, ids=[new or f"no {old.strip()}" for old, new in REFUSED])
def test_what_the_loader_refuses_the_schema_refuses(old: str, new: str, faults: Any) -> None:
    text = change(old, new)
    with pytest.raises(InputError):
        names(loaded(read_text_yaml(text, "w.yaml")).workload, load_catalog())
    assert faults(text)


ACCEPTED = [
    ("contexts:\n      - {tokens: 12 ktok, share: 1.0}\n" + DECLARED, TRACED.lstrip()),
    (LENGTHS + DECLARED, TRACED),
    ("peak_rate: 6 req/s", "peak_rate: 1,000req/h"),
    ("share: 0.6, spread: 0.4", "share: 60%, spread: 0.4"),
    ("budget: $12M", "budget: 12 $M"),
    ("dram: $22/GB", "dram: 22 $/GB"),
    ("dram: $22/GB", "dram: null"),
    ("grid: {ages: 6}", "grid: {ages: 6, mixed_share: null}"),
    ("  prices: base", "  prices: base\n  lines: {spares: off, insurance: true, support: 3%}"),
    ("  prices: base", "  prices: base\n  discount: 8%"),
]


@pytest.mark.parametrize(("old", "new"), ACCEPTED, ids=[new for _, new in ACCEPTED])
def test_other_ways_to_write_the_same_are_accepted_by_both(old: str, new: str, faults: Any) -> None:
    text = change(old, new)
    loaded(read_text_yaml(text, "w.yaml"))
    assert faults(text) == []


def test_every_quantity_shows_examples_that_are_read(schema: dict[str, Any]) -> None:
    quantities = {name: part for name, part in schema["$defs"].items() if name.startswith("quantity-")}
    assert len(quantities) >= 12
    for part in quantities.values():
        dimension, _, _ = part["description"].partition(":")
        assert dimension in DIMENSIONS
        validator = jsonschema.Draft202012Validator(part)
        for example in part["examples"]:
            assert parse(example, dimension) > 0
            assert validator.is_valid(example)


def test_nothing_is_open_but_what_is_named_freely(schema: dict[str, Any]) -> None:
    """Every mapping says which keys it has, or what stands under names of the planner's."""
    for name, part in [("top", schema), *schema["$defs"].items()]:
        if part.get("type") == "object":
            assert part["additionalProperties"] is False, name


def test_conditions_and_names_are_about_parts_that_there_are() -> None:
    parts = json_schema()["$defs"]
    assert set(CONDITIONS) <= set(parts)
    assert {owner for owner, _ in NAMES} - {"Workload"} <= set(parts)


def test_without_a_catalogue_any_name_goes() -> None:
    validator = jsonschema.Draft202012Validator(json_schema())
    assert validator.is_valid(read_text_yaml(TEXT.replace("RDIMM-64", "MY-DIMM"), "w").data)


def test_a_file_of_another_kind_is_refused(faults: Any) -> None:
    card = read_yaml(data_path("models") / "llms" / "kimi-k2.yaml").data
    assert faults(json.dumps(card))

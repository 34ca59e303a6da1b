"""The digest of a problem: the same on every run, another whenever a number that is stated changes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from optimizer.catalog import load_catalog
from optimizer.errors import InputError
from optimizer.instance import Assumption, Instance
from optimizer.instance.build import build
from tests.instance.shipped import CATALOG, built, workload

SAY = """
import sys
from optimizer.catalog import load_catalog
from optimizer.instance.build import build
from optimizer.workload import load_workload
print(build(load_workload(sys.argv[1], sys.argv[2:]).workload, load_catalog()).digest())
"""
RICH = (
    "tiny",
    "tiers={hbm: {affinity: 0.9}, dram: {affinity: 0.9, min_bytes: 1 TB, max_bytes: 90 TB}, "
    "cxl: {max_bytes: 9 TB}, nvme: {affinity: 0.8}}",
    "hardware.servers={HGX-B300-8: {min: 1, max: 4, owned: 1, supply: 3}, DRAM-NODE: {max: 3}}",
    "hardware.cxl_enclosures={XC50256-POOL: {max: 2}}",
    "hardware.dimms=[RDIMM-64]",
    "hardware.drives=[9550-3.84, 9550-7.68]",
    "hardware.spares=1",
    "facility={power: 150 kW, rack_units: 80 U, budget: $9M}",
    "economics={horizon: 5 years, discount: 0.08}",
    "prices={dram: $20/GB, nvme: $0.4/GB, electricity: $0.09/kWh, servers: {DRAM-NODE: $17k}, "
    "parts: {9550-3.84: $1700}}",
    "measured=[{model: kimi-k2, accelerator: B300-SXM, phase: decode, tokens_per_second_per_gpu: 200 tok/s, "
    "context: 8 ktok, sequences: 64, gpus: 8, source: us}]",
    "limits={fleet: {terms: {servers.HGX-B300-8: 1.5, dram: 0.001}, min: 1, max: 1000000000000000}}",
    "classes.flash-chat.shared_prefix={tokens: 1 ktok, distinct: 2, held_in: dram}",
    "classes.flash-chat.quality_floor=1 pt",
    "classes.flash-chat.reuse.discarded=100 tok",
    "classes.flash-chat.contexts=[{tokens: 9 ktok, share: 0.5, spread: 0.2}, "
    "{tokens: 15 ktok, share: 0.5, return_probability: 0.7, gaps: {exponential: {mean: 90 s}}}]",
    "options={deepseek-v4-flash: {only: [fp8-fp8idx]}, kimi-k2: {only: [int4-bf16]}}",
    "occupancy_dispersion=1.5",
    "headroom=0.1",
)
"""The tiny workload with most of what a workload can state, so that every number stands in it."""
SUMS = {
    "classes.flash-chat.contexts.{}.share": (0.6, 0.4),
    "classes.k2-agentic.reuse.gaps.mixture.{}.weight": (0.7, 0.3),
}
"""Shares of a whole, which can only change together."""
COUNTS = {"measured.0.gpus": 4}
"""Counts of which one more is none that there is."""


def digest(*overrides: str) -> str:
    """The digest of the rich workload with further overrides."""
    return build(workload(*RICH, *overrides), CATALOG).digest()


def numbers(data: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a validated workload, by its dotted path."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, item in items:
        yield from numbers(item, f"{path}.{key}" if path else str(key))
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        yield path, data


STATED = dict(numbers(workload(*RICH).model_dump(mode="json", exclude_unset=True)))
FREE = sorted(
    path for path in STATED if path != "classes.k2-agentic.contexts.0.share"
    and not any(path in (form.format(0), form.format(1)) for form in SUMS)
)  # fmt: skip


def moved(path: str, by: float) -> str:
    """An override that multiplies a number, or counts one more (or so many) of what is counted."""
    stated = STATED[path]
    return f"{path}=x{by}" if isinstance(stated, float) else f"{path}={COUNTS.get(path, stated + 1)}"


@pytest.mark.parametrize("path", FREE)
def test_every_number_that_is_stated_matters(path: str) -> None:
    assert digest(moved(path, 1.03)) != built(*RICH).digest()


@given(path=st.sampled_from(FREE), by=st.floats(0.5, 2.0).filter(lambda x: abs(x - 1) > 1e-6))
@example(path="classes.flash-chat.peak_rate", by=1.000001)
@settings(max_examples=20, deadline=None)
def test_any_other_number_is_another_problem(path: str, by: float) -> None:
    try:
        other = digest(moved(path, by))
    except InputError:  # another number may be none that can be planned with
        return
    assert other != built(*RICH).digest()


@pytest.mark.parametrize("form", SUMS)
def test_every_share_of_a_whole_matters(form: str) -> None:
    shares = [f"{form.format(n)}={share}" for n, share in enumerate(SUMS[form])]
    assert digest(*shares) != built(*RICH).digest()


def test_most_of_a_workload_is_stated() -> None:
    """So that the tests above mean something."""
    assert len(FREE) > 60


def test_same_in_another_process() -> None:
    """Whatever order Python's sets come in there."""
    done = subprocess.run(
        [sys.executable, "-c", SAY, *RICH],
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == built(*RICH).digest()


def test_same_by_another_way_to_say_it() -> None:
    same = (
        "classes.flash-chat.peak_rate=240 req/min",
        "facility.power=0.15 MW",
        "tiers.cxl.max_bytes=9000 GB",
    )
    assert digest(*same) == built(*RICH).digest()


def test_order_in_the_file_does_not_matter_to_what_is_stated_once() -> None:
    other = digest("facility={budget: $9M, rack_units: 80 U, power: 150 kW}")
    assert other == built(*RICH).digest()


@pytest.mark.parametrize(
    "remark",
    [{"assumptions": (Assumption("a", "1", "us", "estimated"),)}, {"warnings": ("careful",)}],
    ids=str,
)
def test_remarks_do_not_matter(remark: dict[str, Any]) -> None:
    instance: Instance = built(*RICH)
    assert replace(instance, **remark).digest() == instance.digest()


def test_a_card_that_is_used_matters() -> None:
    server = CATALOG.server("HGX-B300-8")
    dearer = server.price.model_copy(update={"base": server.price.base * 1.01})
    servers = tuple(
        s.model_copy(update={"price": dearer}) if s.id == server.id else s for s in CATALOG.devices.servers
    )
    changed = replace(CATALOG, devices=CATALOG.devices.model_copy(update={"servers": servers}))
    assert build(workload(*RICH), changed).digest() != built(*RICH).digest()
    assert build(workload(*RICH), load_catalog()).digest() == built(*RICH).digest()

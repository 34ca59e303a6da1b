"""What is said of tiers that cannot help."""

from __future__ import annotations

import pytest

from optimizer.design import plan
from optimizer.design.warnings import warnings
from optimizer.instance.build import build
from optimizer.workload import load_workload

from .given import CATALOG, OPTIONS

SMALL = ("tiers.dram.min_bytes=2 TB", "tiers.nvme.max_bytes=1 TB")


def said(*overrides: str) -> tuple[str, ...]:
    """The warnings of the tiny workload with overrides that are about a tier's size."""
    loaded = load_workload("tiny", overrides)
    return tuple(text for text in warnings(loaded, build(loaded.workload, CATALOG)) if "never helps" in text)


def test_c6_a_tier_smaller_than_the_one_above_is_warned_of() -> None:
    """C6 (LMCache 1109, dynamo 6506): under write-through a lower tier that is smaller than the tier above it
    never helps: the planner is told, with the key that caps it, and still gets a layout."""
    result = plan(load_workload("tiny", SMALL), CATALOG, OPTIONS)
    (text,) = [text for text in result.warnings if "never helps" in text]
    assert text.startswith("--set tiers.nvme.max_bytes=1 TB tiers.nvme.max_bytes: ")
    assert "nvme may have 1.00 TB" in text
    assert "dram has 2.00 TB" in text
    assert result.layout is not None


@pytest.mark.parametrize(
    "overrides",
    [
        ("tiers.dram.min_bytes=2 TB", "tiers.nvme.max_bytes=2 TB"),
        (*SMALL, "tiers.policy=exclusive"),
        (*SMALL, "tiers.nvme.enabled=false"),
        ("tiers.dram.min_bytes=4 TB", "tiers.nvme.max_bytes=0 TB"),
        ("tiers.dram.min_bytes=4 TB",),
    ],
    ids=["as large", "exclusive", "switched off", "nothing of it", "not capped"],
)
def test_nothing_is_said_where_it_may_help(overrides: tuple[str, ...]) -> None:
    assert said(*overrides) == ()


def test_a_cap_below_the_memory_that_every_server_has_is_warned_of() -> None:
    """The smallest population of a B300 server is 512 GB; three servers have three times that."""
    assert len(said("tiers.nvme.max_bytes=400 GB")) == 1
    assert said("tiers.nvme.max_bytes=1 TB") == ()
    (text,) = said("tiers.nvme.max_bytes=1 TB", "hardware.servers.HGX-B300-8.min=3")
    assert "dram has 1.54 TB" in text


def test_a_row_of_ones_own_forces_and_caps_too() -> None:
    """4 TB of DRAM are asked for by a row of the planner's own; flash counts half a byte in another."""
    (text,) = said(
        "limits={memory: {terms: {dram: 2}, min: 8.0e+12}, flash: {terms: {nvme: 0.5}, max: 1.0e+12}}"
    )
    assert text.startswith("--set limits={memory")
    assert "limits.flash.max: nvme may have 2.00 TB (1.82 TiB), dram has 4.00 TB" in text

"""C6: a tier below that is smaller than the tier above it."""

from __future__ import annotations

import pytest

from .given import built, planned

LARGE_DRAM, SMALL_FLASH = "tiers.dram.min_bytes=2 TB", "tiers.nvme.max_bytes=1 TB"


def warned(*sets: str) -> list[str]:
    """What the problem warns of: tiers too small to help."""
    return [str(text) for text in built(*sets).warnings if "never helps" in str(text)]


def test_c6_a_lower_tier_smaller_than_the_one_above_is_warned_about() -> None:
    """C6 (LMCache 1109, dynamo 6506): 1 TB of flash below 2 TB of DRAM, write-through: it never helps."""
    (text,) = warned(LARGE_DRAM, SMALL_FLASH)
    for words in ("nvme", "1.00 TB", "dram", "2.00 TB"):
        assert words in text


def test_c6_the_result_carries_the_warning() -> None:
    """C6 (LMCache 1109, dynamo 6506): it reaches the planner, and the plan does without such flash."""
    found = planned(LARGE_DRAM, SMALL_FLASH)
    assert any("never helps" in str(text) for text in found.warnings)
    assert found.layout is not None
    assert found.layout.tiers["nvme"].installed_bytes == 0


@pytest.mark.parametrize(
    "sets",
    [
        (),
        (LARGE_DRAM, "tiers.nvme.max_bytes=40 TB"),
        (LARGE_DRAM, SMALL_FLASH, "tiers.policy=exclusive"),
        (LARGE_DRAM, SMALL_FLASH, "tiers.nvme.enabled=false"),
    ],
)
def test_c6_nothing_is_said_of_tiers_that_may_help(sets: tuple[str, ...]) -> None:
    """C6 (LMCache 1109, dynamo 6506): larger than the one above, or in an exclusive chain, it helps."""
    assert warned(*sets) == []

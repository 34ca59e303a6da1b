"""The LP of one small facility, family by family, as text: whatever changes a row shows up in a diff.

`UPDATE_GOLDEN=1 pytest tests/formulation/test_golden.py` writes the files anew; read the diff against
docs/formulation.md before keeping it. `test_by_hand.py` works out one row of every family independently.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from optimizer.formulation import LAWS, Law
from optimizer.instance import Instance
from tests.formulation.lp_text import Text
from tests.formulation.small import EXCLUSIVE, POOLED, WRITE_THROUGH

FOLDER = Path(__file__).parent / "golden"
UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))
VARIANTS: dict[str, tuple[Instance, set[str]]] = {
    "write-through": (WRITE_THROUGH, {law.row for law in LAWS} - {"context_entry"}),
    "exclusive": (
        EXCLUSIVE,
        {
            "route_hits", "contexts_only_sink", "contexts_split", "context_entry", "tier_capacity",
            "tier_write", "nvme_endurance",
        },
    ),
    "DRAM pooled": (POOLED, {"tier_capacity", "tier_read"}),
}  # fmt: skip
"""What is solved, and the families that read differently there."""


@cache
def text(variant: str) -> Text:
    """The compiled rows of one variant."""
    return Text(VARIANTS[variant][0])


def page(law: Law) -> str:
    """The rows of a law under every variant that has its own."""
    size = "" if law.size == 1 else f" (of {law.size:g})"
    parts = [f"{law.row}, rows in {law.unit}{size}"]
    for variant, (_, families) in VARIANTS.items():
        if law.row in families:
            parts += [f"-- {variant}", text(variant).family(law)]
    return "\n".join(parts) + "\n"


def compare(name: str, now: str) -> None:
    """The golden of this name says the same; with UPDATE_GOLDEN it is made to."""
    file = FOLDER / f"{name}.txt"
    if UPDATE:
        file.write_text(now, encoding="utf-8")
    assert now == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.row)
def test_rows(law: Law) -> None:
    compare(law.row, page(law))


def test_objective() -> None:
    compare("least_total_cost", text("write-through").objective() + "\n")


def test_columns() -> None:
    parts = [f"-- {variant}\n{text(variant).domains()}\n" for variant in ("write-through", "exclusive")]
    compare("columns", "".join(parts))


def test_no_golden_is_left_over() -> None:
    assert {file.stem for file in FOLDER.glob("*")} == {law.row for law in LAWS} | {
        "columns",
        "least_total_cost",
    }


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_family_has_rows_and_few(variant: str) -> None:
    found = text(variant)
    for family in VARIANTS[variant][1]:
        assert 1 <= len(list(found.rows(family))) <= 12, family

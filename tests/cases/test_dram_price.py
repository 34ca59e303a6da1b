"""D1: what dearer DRAM does to a purchase: real solves, half a second each."""

from __future__ import annotations

import io
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from optimizer.catalog import load_catalog
from optimizer.design import Result, plan
from optimizer.report.console import page, show
from optimizer.solver import SolveOptions
from optimizer.workload import load_workload

WORKLOAD = Path(__file__).parent / "workloads" / "dram-price.yaml"
FACTORS = ("x1", "x3.5", "x5")
DRIVES, NO_DRIVES = "prices.scale.nvme=3", "prices.scale.nvme=10"
"""Drives at three and at ten times their price."""
PROVEN = SolveOptions(gap=1e-4, time_limit=120.0)


@cache
def answer(factor: str, drives: str) -> Result:
    """The proven answer at a DRAM price."""
    result = plan(load_workload(WORKLOAD, (f"prices.dram={factor}", drives)), load_catalog(), PROVEN)
    assert result.status in ("optimal", "within_gap")
    assert result.checks.exact is not None
    assert result.checks.exact.passed
    return result


def amount(result: Result, tier: str, what: str = "used_bytes") -> float:
    """Bytes of a tier."""
    assert result.layout is not None
    return getattr(result.layout.tiers[tier], what)


def printed(result: Result) -> str:
    """The page a planner reads."""
    stream = io.StringIO()
    show(page(result), stream)
    return stream.getvalue()


def hits(result: Result, tier: str) -> float:
    """Requests per second that a tier answers."""
    assert result.layout is not None
    return sum(f.rate for f in result.layout.flows if f.case == "hit" and f.tier == tier)


@pytest.mark.slow
@pytest.mark.parametrize("drives", [DRIVES, NO_DRIVES])
def test_d1_dearer_dram_is_never_bought_more(drives: str) -> None:
    """D1 (docs/physics.md, price bands): x1, x3.5, x5: DRAM bought never rises, the total never falls."""
    answers = [answer(factor, drives) for factor in FACTORS]
    bought = [amount(r, "dram", "installed_bytes") for r in answers]
    assert all(later <= earlier for earlier, later in pairwise(bought))
    assert bought[-1] < bought[0]
    for earlier, later in pairwise(answers):
        assert earlier.bound_usd is not None
        assert later.objective_usd is not None
        assert later.objective_usd >= earlier.bound_usd
    assert (answers[-1].bound_usd or 0) > (answers[0].objective_usd or 0)


@pytest.mark.slow
def test_d1_the_report_names_the_tier_that_took_the_load() -> None:
    """D1 (docs/physics.md, price bands): drives take it, and the page says so."""
    cheap, dear = answer("x1", DRIVES), answer("x5", DRIVES)
    assert amount(dear, "nvme") > amount(cheap, "nvme") + 0.5 * (amount(cheap, "dram") - amount(dear, "dram"))
    assert hits(dear, "nvme") > hits(cheap, "nvme")
    text = printed(dear)
    assert "hit NVMe" in text
    (left,) = re.findall(r"tiers that do not pay here:([^.]*?)\n", text)
    assert "dram beyond the smallest population" in left
    assert "nvme" not in left


@pytest.mark.slow
def test_d1_accelerators_take_the_load_where_drives_are_dear_too() -> None:
    """D1 (docs/physics.md, price bands): HBM and recomputation take it: one server more, and a note."""
    cheap, dear = answer("x1", NO_DRIVES), answer("x5", NO_DRIVES)
    assert amount(dear, "hbm") > amount(cheap, "hbm")
    assert hits(dear, "hbm") > hits(cheap, "hbm")
    assert "no tier below HBM pays" in printed(dear)

"""What prices do: a dearer input is bought less, costs never fall, another tier takes the load; and where no
tier pays the answer is to buy none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from optimizer.catalog import load_catalog
from optimizer.design import Result, plan
from optimizer.design.rounds import improve
from optimizer.design.search import Clock
from optimizer.instance import Instance, Layout
from optimizer.instance.build import build
from optimizer.solver import SolveOptions
from optimizer.workload import load_workload

WORKLOAD = Path(__file__).parent / "workloads" / "tier-prices.yaml"
OPTIONS = SolveOptions(gap=1e-4, time_limit=120.0)
ROUNDING = 1e-9
"""Relative: what sums of floats may differ by."""
Prices = tuple[float, float]
DRAM, NVME = (4.0, 20.0, 37.0), (100.0, 400.0, 600.0)
"""$/GB of the 64 GB DIMM and $/TB of TLC drives: before the surge, contract, spot."""


@dataclass(frozen=True)
class Answer:
    """The layout at some prices, and what is proven about it. `incumbent` is what the layout costs."""

    instance: Instance
    layout: Layout
    bound: float
    incumbent: float

    @property
    def gap(self) -> float:
        """USD between the layout and what is proven."""
        return max(0.0, self.incumbent - self.bound)


def priced(prices: Prices) -> tuple[str, str]:
    dram, nvme = prices
    return f"prices.dram=${dram}/GB", f"prices.nvme=${nvme}/TB"


@cache
def answer(prices: Prices, *sets: str) -> Answer:
    """Solve at $/GB of DRAM and $/TB of NVMe."""
    instance = build(load_workload(WORKLOAD, (*priced(prices), *sets)).workload, load_catalog())
    best, _, _ = improve(instance, OPTIONS, Clock.start(OPTIONS.time_limit))
    assert best is not None
    assert best.certificate.passed
    assert all(s.slope == 0 for s in best.model.instance.stores), "one set of layouts for all prices"
    return Answer(instance, best.layout, best.outcome.bound, best.layout.objective_usd)


def bill(instance: Instance, layout: Layout) -> float:
    """What a layout costs at the prices of an instance."""
    builds, boxes = {b.id: b for b in instance.builds}, {e.id: e for e in instance.enclosures}
    total = sum(
        row.count * builds[row.build].usd + row.replaced * builds[row.build].replacement_usd
        for row in layout.servers
    )
    for row in layout.cxl:
        box = boxes[row.enclosure]
        counts = (row.enclosures, row.modules, sum(h.adapters for h in row.hosts))
        costs = (box.enclosure_cost, box.module_cost, box.adapter_cost)
        total += sum(n * sum(line.usd for line in lines) for n, lines in zip(counts, costs, strict=True))
    return total


def check_prices(grid: list[Prices], *sets: str) -> None:
    """Every pair of a grid: no layout undercuts a bound at other prices; along one price, less is bought and
    the cost does not fall. Somewhere less is bought indeed."""
    answers = {prices: answer(prices, *sets) for prices in grid}
    felt = False
    for one, other in product(grid, grid):
        a, b = answers[one], answers[other]
        assert bill(b.instance, a.layout) >= b.bound * (1 - ROUNDING), (one, other)
        dearer = [n for n in (0, 1) if one[n] < other[n]]
        if len(dearer) == 1 and one[1 - dearer[0]] == other[1 - dearer[0]]:
            rise = other[dearer[0]] - one[dearer[0]]
            bought = [(bill(b.instance, x.layout) - bill(a.instance, x.layout)) / rise for x in (a, b)]
            noise = ROUNDING * b.incumbent
            assert rise * (bought[1] - bought[0]) <= a.gap + b.gap + noise, (one, other)
            assert b.incumbent >= a.bound * (1 - ROUNDING), (one, other)
            felt = felt or rise * (bought[0] - bought[1]) > a.gap + b.gap + noise
    assert felt


def test_bill_is_the_objective() -> None:
    """The yardstick itself."""
    at = answer((20.0, 400.0))
    assert bill(at.instance, at.layout) == pytest.approx(at.incumbent, rel=ROUNDING)


def test_dearer_dram_is_bought_less() -> None:
    check_prices([(dram, 400.0) for dram in DRAM])


def test_dearer_flash_is_bought_less() -> None:
    check_prices([(8.0, nvme) for nvme in NVME])


@pytest.mark.slow
@pytest.mark.parametrize("rate", [12, 40])
def test_every_pair_of_prices(rate: int) -> None:
    """Nine pairs of prices, for two and for four servers."""
    check_prices(
        list(product(DRAM, NVME)), f"classes.chat.peak_rate={rate} req/s", "hardware.drive_counts=[4, 8]"
    )


# ---- which tier took the load ---------------------------------------------------------------------------


@cache
def planned(*sets: str) -> Result:
    """A proven and exactly checked answer."""
    result = plan(load_workload(WORKLOAD, sets), load_catalog(), OPTIONS)
    assert result.status in ("optimal", "within_gap")
    assert result.checks.exact is not None
    assert result.checks.exact.passed
    return result


def used(result: Result, tier: str) -> float:
    """Bytes that live in a tier."""
    assert result.layout is not None
    return result.layout.tiers[tier].used_bytes


def installed(result: Result, tier: str) -> float:
    """Bytes bought of a tier."""
    assert result.layout is not None
    return result.layout.tiers[tier].installed_bytes


def test_flash_takes_the_load_of_dear_dram() -> None:
    cheap, dear = (planned(*priced((dram, 400.0))) for dram in (DRAM[0], DRAM[-1]))
    assert installed(dear, "dram") < installed(cheap, "dram")
    assert used(dear, "dram") < used(cheap, "dram")
    assert used(dear, "nvme") > used(cheap, "nvme")
    assert any("nvme" in note for note in cheap.notes)
    assert not any("nvme" in note for note in dear.notes)


@pytest.mark.slow
def test_dram_takes_the_load_of_dear_flash() -> None:
    cheap, dear = (planned(*priced((8.0, nvme))) for nvme in (NVME[0], NVME[-1]))
    assert installed(dear, "nvme") < installed(cheap, "nvme")
    assert used(dear, "nvme") < used(cheap, "nvme")
    assert used(dear, "dram") > used(cheap, "dram")


# ---- buying no tier -------------------------------------------------------------------------------------

IDLE = "classes.chat.peak_rate=1 req/s"
"""Two servers are needed for any traffic at all; at this one they can recompute what HBM does not hold."""
FORCED = {
    "nvme": "tiers.nvme.min_bytes=1 GB",
    "cxl": "tiers.cxl.min_bytes=1 GB",
    "storage": "tiers.storage.min_bytes=1 GB",
    "dram_pool": "tiers.dram_pool.min_bytes=1 GB",
    "dram": "tiers.dram.min_bytes=1.1 TB",
}
"""The smallest piece of each tier; DRAM beyond the smallest population of two servers."""
NONE = (
    "tiers.nvme.enabled=false",
    "tiers.cxl.enabled=false",
    "tiers.storage.enabled=false",
    "tiers.dram_pool.enabled=false",
    "hardware.dimms=[RDIMM-32]",
)


def test_no_tier_is_bought_where_none_pays() -> None:
    """All are on offer and returns are many; the answer is that none pays. Without them it costs the same."""
    idle = planned(IDLE)
    assert idle.layout is not None
    assert any(note.startswith("no tier below HBM pays") for note in idle.notes)
    assert not idle.layout.cxl
    assert all(s.accelerators and s.dimms == "16 x RDIMM-32" and not s.drives for s in idle.layout.servers)
    bare = planned(IDLE, *NONE)
    assert bare.objective_usd == pytest.approx(idle.objective_usd, rel=OPTIONS.gap)


@pytest.mark.parametrize(
    "tier", [t if t == "nvme" else pytest.param(t, marks=pytest.mark.slow) for t in FORCED]
)
def test_forcing_a_tier_in_costs(tier: str) -> None:
    """What is proven with the smallest piece of it lies above the whole cost without."""
    idle, forced = planned(IDLE), planned(IDLE, FORCED[tier])
    assert forced.bound_usd is not None
    assert idle.objective_usd is not None
    assert forced.bound_usd > idle.objective_usd
    assert installed(forced, tier) > installed(idle, tier)

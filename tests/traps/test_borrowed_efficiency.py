"""Trap 5: NVIDIA's efficiency on AMD's accelerators.

MI355X has B300's bandwidth, a little more of everything else, and a server at 60% of the price. What decides
is what software reaches of it: decode was measured at 0.15 of the bandwidth against 0.38, prefill was not
measured and is scaled likewise (docs/physics.md section 1). With borrowed factors every plan buys AMD.
"""

from __future__ import annotations

from functools import cache

import pytest

from optimizer.catalog import Accelerator, Catalog
from optimizer.design import Result, plan
from optimizer.solver import SolveOptions
from optimizer.workload import load_workload

from .market import BUYS, SHIPPED, cheaper, dollars, planned, servers, with_accelerators

AMD = {"MI300X-8", "MI355X-8"}
NAMES = {"MI300X", "MI355X"}
FACTORS = ("hbm", "prefill", "prefill_by_family", "decode_flops")
MARKET = "hardware.servers={HGX-H200-8: {}, HGX-B200-8: {}, HGX-B300-8: {}, MI355X-8: {}, MI300X-8: {}}"
TWO = "hardware.servers={HGX-B300-8: {}, MI355X-8: {}}"


@cache
def trapped() -> Catalog:
    """Trap on: B300's factors."""
    theirs = SHIPPED.accelerator("B300-SXM").efficiency

    def borrow(part: Accelerator) -> Accelerator:
        factors = {name: getattr(theirs, name) for name in FACTORS}
        return part.model_copy(update={"efficiency": part.efficiency.model_copy(update=factors)})

    return with_accelerators(SHIPPED, NAMES, borrow)


def asking(model: str, rate: str, market: str) -> tuple[str, ...]:
    """Agents of a model; whatever its card ships by default."""
    return (
        f"classes.agents.model={model}",
        "options={}",
        f"classes.agents.peak_rate={rate}",
        "classes.agents.slo={ttft: 20 s, tpot: 50 ms, attainment: 0.9}",
        market,
    )


def amd(result: Result) -> int:
    """AMD servers ordered."""
    return sum(count for name, count in servers(result).items() if name in AMD)


K3 = asking("kimi-k3", "16 req/s", TWO)


def test_trap_on_amd_is_bought_for_everything() -> None:
    wrong, right = planned(*K3, catalog=trapped()), planned(*K3)
    assert servers(wrong).keys() == {"MI355X-8"}
    assert cheaper(wrong, right)


def test_shipped_factors_do_not_buy_amd() -> None:
    assert servers(planned(*K3)).keys() == {"HGX-B300-8"}


def test_where_amd_is_bought_no_factor_is_the_reason() -> None:
    """A trickle of K3 takes two servers of any kind that it starts on: the cheaper ones, factors or not."""
    trickle = asking("kimi-k3", "0.5 req/s", TWO)
    honest = planned(*trickle)
    assert servers(honest) == {"MI355X-8": 2}
    assert dollars(honest) == pytest.approx(dollars(planned(*trickle, catalog=trapped())), rel=1e-9)


@pytest.mark.parametrize("field", FACTORS[:2] + FACTORS[3:])
def test_shipped_factors_are_amds_own(field: str) -> None:
    """Well below every one of NVIDIA's."""
    theirs = {
        getattr(a.efficiency, field).value for a in SHIPPED.devices.accelerators if a.vendor == "NVIDIA"
    }
    for name in NAMES:
        assert getattr(SHIPPED.accelerator(name).efficiency, field).value <= min(theirs) / 1.4


# ---- the traffic of the shipped workloads -----------------------------------------------------------------

WIDE = SolveOptions(gap=0.03, time_limit=240.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["deepseek-only", "kimi-only"])
def test_shipped_workloads(name: str) -> None:
    """Trap on: AMD in the order; with the shipped factors none, although it is on offer."""
    loaded = load_workload(name)
    assert "MI355X-8" in loaded.workload.hardware.servers
    wrong, right = plan(loaded, trapped(), WIDE), plan(loaded, SHIPPED, WIDE)
    assert wrong.status in BUYS
    assert right.status in BUYS
    assert amd(wrong) > 0
    assert amd(right) == 0
    assert cheaper(wrong, right)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["deepseek-v4-pro", "deepseek-v3.2", "kimi-k2"])
def test_every_model_of_a_wider_market(model: str) -> None:
    """Every plan buys AMD when the trap is on; at this rate none does with the shipped factors."""
    sets = asking(model, "32 req/s", MARKET)
    wrong, right = planned(*sets, catalog=trapped()), planned(*sets)
    assert amd(wrong) > 0
    assert amd(right) == 0
    assert cheaper(wrong, right)

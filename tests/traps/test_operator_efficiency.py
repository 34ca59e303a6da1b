"""Trap 7: 0.8 of HBM bandwidth, right for one operator, taken for serving.

Fitted to serving it is 0.38 on B300 (docs/physics.md section 1): twice too fast is half the decode servers.
"""

from __future__ import annotations

import pytest

from optimizer.catalog import Accelerator, Catalog

from .market import SHIPPED, accelerators, cheaper, figures, planned, with_accelerators

OPERATOR = 0.8
RATE = "classes.agents.peak_rate=8 req/s"


def trapped() -> Catalog:
    """Trap on: an operator's share of the bandwidth."""

    def fast(part: Accelerator) -> Accelerator:
        return part.model_copy(update={"efficiency": figures(part.efficiency, hbm=OPERATOR)})

    return with_accelerators(SHIPPED, {"B300-SXM"}, fast)


def test_trap_on_half_the_servers_are_bought() -> None:
    wrong, right = planned(RATE, catalog=trapped()), planned(RATE)
    assert accelerators(wrong) <= accelerators(right) / 2
    assert cheaper(wrong, right)


@pytest.mark.parametrize("name", [a.id for a in SHIPPED.devices.accelerators])
def test_shipped_factors_are_of_serving(name: str) -> None:
    """0.8 would be at least twice too fast on every card."""
    assert SHIPPED.accelerator(name).efficiency.hbm.value <= OPERATOR / 2


def test_shipped_iteration_is_that_of_serving() -> None:
    """The decode pool that the plan buys runs no faster than its HBM was seen to be read."""
    result = planned(RATE)
    assert result.layout is not None
    part, card = SHIPPED.accelerator("B300-SXM"), SHIPPED.model("kimi-k2")
    bandwidth = part.hbm_bandwidth.value * part.efficiency.hbm.value
    for pool in result.layout.pools:
        if pool.role == "decode":
            per_gpu = pool.sequences / pool.instances / pool.gpus_per_instance
            kv = per_gpu * (60_000 - 423 / 2) * 70_272
            weights = card.weight("int4")
            read = kv + weights.routed_bytes.value / pool.gpus_per_instance + weights.other_bytes.value
            assert read / bandwidth <= pool.iteration_ms / 1e3 < read / bandwidth * OPERATOR / 0.38

"""Trap 4: weights divided by the number of GPUs.

V4-Pro is 848 GB, a hundred on each of eight GPUs, which H200 seems to have room for beside the KV of every
rank. But 26 GB of it lie on each attention-DP rank: nothing is left, and 16 GPUs are needed (docs/physics.md
section 3).
"""

from __future__ import annotations

from optimizer.catalog import Catalog, ModelCard, Shape
from optimizer.physics.roofline import weight_bytes_per_rank

from .market import (
    SHIPPED,
    accelerators,
    built,
    cheaper,
    figures,
    planned,
    shapes,
    with_model,
    with_shape,
)

V4 = (
    "classes.agents.model=deepseek-v4-pro",
    "options={deepseek-v4-pro: {only: [fp8-fp8idx]}}",
    "classes.agents.peak_rate=4 req/s",
    "classes.agents.slo={ttft: 60 s, tpot: 50 ms, attainment: 0.9}",
    "hardware.servers={HGX-H200-8: {max: 30}}",
)
DP8 = Shape(accelerator="H200-SXM", gpus=8, tensor_parallel=1, data_parallel=8)
OFFERED = with_shape(SHIPPED, "deepseek-v4-pro", DP8)
"""The shipped card with the shape it leaves out."""


def trapped() -> Catalog:
    """Trap on: all weights spread over the GPUs of an instance."""

    def spread(card: ModelCard) -> ModelCard:
        (weights,) = card.weights
        over_all = figures(weights, other_bytes=weights.other_bytes.value / 8)
        return card.model_copy(update={"weights": (over_all,)})

    return with_model(OFFERED, "deepseek-v4-pro", spread)


def test_trap_on_eight_gpus_do_for_sixteen() -> None:
    """Attention-DP8 on one server, where two are needed."""
    wrong, right = planned(*V4, catalog=trapped()), planned(*V4)
    assert "dp8" in shapes(wrong)
    assert (accelerators(wrong), accelerators(right)) == (16, 24)
    assert cheaper(wrong, right)


def test_shipped_weights_are_counted_on_every_rank() -> None:
    """128.75 GB a rank leave less than nothing of H200's 0.9 x 150.8 GB less 8: offered, it is no pool."""
    weights = SHIPPED.model("deepseek-v4-pro").weight("fp4-fp8")
    assert sum(weight_bytes_per_rank(weights, DP8)) == 822e9 / 8 + 26e9
    assert not any(pool.shape.endswith("/dp8") for pool in built(*V4, catalog=OFFERED).pools)
    offered = planned(*V4, catalog=OFFERED)
    assert accelerators(offered) == 24
    assert "dp8" not in shapes(offered)

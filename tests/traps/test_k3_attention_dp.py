"""Trap 1: K3 under attention-DP8 on eight B300.

Everything but the routed experts lies on every attention-DP rank: 114.5 GB of K3, so that a rank needs 295 GB
and none has it. Counted once per instance it seems to fit, to hold eight times the KV of TP8, and to need
fewer servers (docs/physics.md section 3).
"""

from __future__ import annotations

from optimizer.catalog import Catalog, ModelCard, Shape
from optimizer.physics.roofline import weight_bytes_per_rank

from .market import SHIPPED, built, cheaper, figures, planned, servers, shapes, with_model, with_shape

K3 = (
    "classes.agents.model=kimi-k3",
    "options={kimi-k3: {only: [bf16]}}",
    "classes.agents.peak_rate=4 req/s",
    "classes.agents.slo={ttft: 60 s, tpot: 50 ms, attainment: 0.9}",
)
DP8 = Shape(accelerator="B300-SXM", gpus=8, tensor_parallel=1, data_parallel=8)
OFFERED = with_shape(SHIPPED, "kimi-k3", DP8)
"""The shipped card with the shape it leaves out."""


def trapped() -> Catalog:
    """Trap on: an eighth of the other bytes on each of eight ranks."""

    def once_per_instance(card: ModelCard) -> ModelCard:
        (weights,) = card.weights
        eighth = figures(weights, other_bytes=weights.other_bytes.value / 8)
        return card.model_copy(update={"weights": (eighth,)})

    return with_model(OFFERED, "kimi-k3", once_per_instance)


def test_trap_on_k3_is_bought_under_attention_dp8() -> None:
    """Two servers where three are needed."""
    wrong, right = planned(*K3, catalog=trapped()), planned(*K3)
    assert "dp8" in shapes(wrong)
    assert servers(wrong) == {"HGX-B300-8": 2}
    assert servers(right) == {"HGX-B300-8": 3}
    assert cheaper(wrong, right)


def test_shipped_weights_lie_on_every_rank() -> None:
    """295 GB a GPU: the shape becomes no pool although it is offered, and changes no order."""
    weights = SHIPPED.model("kimi-k3").weight("mxfp4")
    assert 294e9 < sum(weight_bytes_per_rank(weights, DP8)) < 296e9
    assert not any(pool.shape.endswith("/dp8") for pool in built(*K3, catalog=OFFERED).pools)
    offered, shipped = planned(*K3, catalog=OFFERED), planned(*K3)
    assert "dp8" not in shapes(offered)
    assert servers(offered) == servers(shipped) == {"HGX-B300-8": 3}


def test_shipped_card_does_not_list_the_shape() -> None:
    listed = {
        (s.gpus, s.data_parallel) for s in SHIPPED.model("kimi-k3").shapes if s.accelerator == "B300-SXM"
    }
    assert (8, 8) not in listed
    assert (8, 1) in listed

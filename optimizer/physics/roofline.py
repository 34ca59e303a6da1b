"""What one accelerator can do: HBM room, rates, and the time of a decode step (docs/physics.md 1, 3, 4, 6).

step = overhead + max(bytes / (eta_hbm*BW), FLOPs / (eta*peak), expert-parallel bytes / NIC).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from optimizer.catalog.costs import Facility
from optimizer.catalog.devices import Accelerator
from optimizer.catalog.llms import Experts, ModelCard, Shape, Weights
from optimizer.physics.flops import decode_flops
from optimizer.physics.memory import Footprint

ACTIVATION_BYTES = 2.0  # a bf16 activation; docs/physics.md section 1, tensor parallelism beyond the domain
EXCHANGE_BYTES = 3.0  # dispatch in fp8 (1 B) and combine in bf16 (2 B); docs/physics.md section 6
REDUCTIONS_PER_LAYER = 2.0  # one all-reduce after attention, one after the MLP; docs/physics.md section 1


@dataclass(frozen=True)
class StepTime:
    """Seconds of one decode step: a fixed overhead and three things that run side by side."""

    overhead: float
    hbm: float
    flops: float
    network: float

    @property
    def total(self) -> float:
        """Seconds of the step: overhead + max(hbm, flops, network)."""
        return self.overhead + max(self.hbm, self.flops, self.network)


def routed_fraction_touched(experts: Experts | None, tokens: float) -> float:
    """Expected share of the routed experts that a step of `tokens` tokens touches: 1 - (1 - k/E)^tokens.

    A model without experts touches all its weights.
    """
    if experts is None:
        return 1.0
    return 1.0 - math.pow(1.0 - experts.active / experts.routed, tokens)


def weight_bytes_per_rank(weights: Weights, shape: Shape) -> tuple[float, float]:
    """(routed, other) bytes on one GPU: routed*redundancy/gpus once per expert-parallel group, other/TP.

    Everything that is not a routed expert lies on every attention-DP rank (docs/physics.md section 3).
    """
    routed = float(weights.routed_bytes) * shape.redundancy / shape.gpus
    return routed, float(weights.other_bytes) / shape.tensor_parallel


def rank_room(
    accelerator: Accelerator,
    weights: Weights,
    shape: Shape,
    facility: Facility,
    *,
    sequences: float,
    max_context: float,
    batched_tokens: float,
    indexed: bool,
) -> float:
    """HBM bytes of one GPU left for KV; negative when the model does not start.

    visible*utilisation - weights - runtime - graphs*sequences - [indexed] batched_tokens*max_context*2 B,
    with the sequences that one attention-DP rank runs at once (docs/physics.md section 4).
    """
    room = float(accelerator.visible_bytes) * float(facility.hbm_utilisation)
    room -= sum(weight_bytes_per_rank(weights, shape)) + float(facility.runtime_bytes)
    room -= float(facility.graph_bytes_per_sequence) * sequences
    logits = batched_tokens * max_context * float(facility.index_logit_bytes) if indexed else 0.0
    return room - logits


def prefill_flops_per_second(accelerator: Accelerator, weights: Weights, family: str) -> float:
    """FLOP/s of one GPU in prefill: eta_prefill(family) * peak(compute_dtype)."""
    efficiency = accelerator.efficiency
    eta = efficiency.prefill_by_family.get(family, efficiency.prefill)
    return float(eta) * peak_flops(accelerator, weights)


def decode_flops_per_second(accelerator: Accelerator, weights: Weights) -> float:
    """FLOP/s of one GPU in decode: eta_decode * peak(compute_dtype)."""
    return float(accelerator.efficiency.decode_flops) * peak_flops(accelerator, weights)


def peak_flops(accelerator: Accelerator, weights: Weights) -> float:
    """Dense peak FLOP/s at the dtype these weights compute in (FP4 weights with FP8 activations: FP8)."""
    if weights.compute_dtype not in accelerator.peak:
        raise ValueError(f"{accelerator.id} has no {weights.compute_dtype} peak for {weights.format} weights")
    return float(accelerator.peak[weights.compute_dtype])


def hbm_bytes_per_second(accelerator: Accelerator) -> float:
    """Bytes/s one GPU reads from HBM while serving: eta_hbm * bandwidth."""
    return float(accelerator.efficiency.hbm) * float(accelerator.hbm_bandwidth)


def step_overhead(accelerator: Accelerator, layers: float) -> float:
    """Fixed seconds of a step, which scale with the layers: overhead * layers / reference_layers."""
    return float(accelerator.efficiency.step_overhead) * layers / accelerator.efficiency.reference_layers


def cross_domain_step_seconds(
    accelerator: Accelerator, card: ModelCard, shape: Shape, tokens: float, facility: Facility
) -> float:
    """Seconds a step loses to tensor parallelism that leaves the scale-up domain, else 0.

    2*layers*tokens*d*2 B*2(n-1)/n / NIC + 2*layers*hop, n = TP ranks, tokens of one tensor-parallel group in
    the step (docs/physics.md section 1). The all-reduces are on the critical path: they add to the overhead.
    """
    ranks = shape.tensor_parallel
    if ranks <= accelerator.scale_up.domain:
        return 0.0
    reductions = REDUCTIONS_PER_LAYER * card.layers
    moved = reductions * tokens * card.hidden * ACTIVATION_BYTES * 2 * (ranks - 1) / ranks
    return moved / float(accelerator.nic) + reductions * float(facility.tp_hop)


def expert_exchange_bytes(card: ModelCard, shape: Shape, accelerator: Accelerator, tokens: float) -> float:
    """Expert-parallel bytes each GPU sends through its NIC for `tokens` tokens of the whole instance.

    tokens/gpus * MoE layers * copies * d * 3 B * (1 - domain/gpus): experts lie evenly over the GPUs, so that
    share of the copies leaves the sender's domain. copies = k, or the nodes a token may reach if routing is
    limited. 0 without experts or inside one domain (docs/physics.md section 6: 10 MB a token for V3).
    """
    experts, domain = card.experts, accelerator.scale_up.domain
    if experts is None or shape.gpus <= domain:
        return 0.0
    copies: float = experts.active
    if experts.node_limit is not None:
        copies = min(copies, experts.node_limit, shape.gpus / domain)
    leaving = 1.0 - domain / shape.gpus
    return tokens / shape.gpus * experts.layers * copies * card.hidden * EXCHANGE_BYTES * leaving


def decode_step(
    accelerator: Accelerator,
    card: ModelCard,
    weights: Weights,
    shape: Shape,
    facility: Facility,
    *,
    sequences: float,
    kv_read: Footprint,
    context: float,
    tokens_per_step: float = 1,
    index_reuse: float = 1,
    flops_factor: float = 1.0,
) -> StepTime:
    """Time of one decode step of a whole instance that runs `sequences` sequences of `context` tokens.

    Per GPU: bytes = routed*touched + other + sequences/DP * kv_read on a rank (replicated parts are read by
    every tensor-parallel rank); FLOPs = sequences*tokens_per_step*decode_flops/gpus. `tokens_per_step` is
    1 + draft tokens: verification pays their FLOPs and touches their experts, and reads the KV once.
    """
    tokens = sequences * tokens_per_step
    routed, other = weight_bytes_per_rank(weights, shape)
    moved = routed * routed_fraction_touched(card.experts, tokens) + other
    moved += sequences / shape.data_parallel * kv_read.per_rank(shape.tensor_parallel)
    work = tokens * decode_flops(card, context, index_reuse=index_reuse) * flops_factor / shape.gpus
    group_tokens = tokens / shape.data_parallel
    return StepTime(
        overhead=step_overhead(accelerator, card.layers)
        + cross_domain_step_seconds(accelerator, card, shape, group_tokens, facility),
        hbm=moved / hbm_bytes_per_second(accelerator),
        flops=work / decode_flops_per_second(accelerator, weights),
        network=expert_exchange_bytes(card, shape, accelerator, tokens) / float(accelerator.nic),
    )

"""Time to bring a context from a tier to a GPU, and the bandwidth from which that pays.

docs/physics.md section 6.
"""

from __future__ import annotations

import math


def load_seconds(
    latency: float,
    per_block: float,
    block_bytes: float,
    bytes: float,
    bandwidth: float,
    utilisation: float = 0.0,
) -> float:
    """Seconds to load `bytes` bytes from a tier whose bandwidth is already used to `utilisation`.

    latency + ceil(bytes/block)*t0 + bytes / (bandwidth*(1 - utilisation)); nothing to load takes no time.
    Source: docs/physics.md section 6.
    """
    if not 0 <= utilisation < 1:
        raise ValueError(f"utilisation must lie in [0, 1), not {utilisation}")
    if bytes <= 0:
        return 0.0
    return latency + math.ceil(bytes / block_bytes) * per_block + bytes / (bandwidth * (1 - utilisation))


def first_layer_seconds(load: float, layers: float) -> float:
    """Seconds before the first layer of a load is there, from which prefill overlaps: load / layers."""
    return load / layers


def exposed_seconds(load: float, compute: float, layers: float) -> float:
    """Seconds a hit waits for its load and its prefill, overlapped layer by layer.

    max(load, compute) + first layer's load (docs/physics.md section 6).
    """
    return max(load, compute) + first_layer_seconds(load, layers)


def break_even_bandwidth(
    flops_per_second: float,
    prefix_tokens: float,
    hidden: float,
    bytes_per_value: float,
    gqa_ratio: float,
    attention_flops: float,
    linear_flops: float,
) -> float:
    """Bytes/s above which loading a prefix beats computing it, for a GQA transformer.

    B = G * 2*d*s / (gqa*(a*p*d + b*d^2)): K and V of d/gqa values of s bytes against a*p*d + b*d^2 FLOPs, per
    token and layer. Source: Mooncake FAST'25, Eq. 2 (a=4, b=22 for LLaMA3-70B).
    """
    stored = 2 * hidden * bytes_per_value
    computed = gqa_ratio * (attention_flops * prefix_tokens * hidden + linear_flops * hidden**2)
    return flops_per_second * stored / computed

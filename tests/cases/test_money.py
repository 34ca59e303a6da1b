"""Section C: break-even bandwidth, nodes, dollars."""

from __future__ import annotations

import pytest

from optimizer.catalog import Preset
from optimizer.physics.money import dollars_per_million_tokens, fleet_dollars_per_day, nodes_for
from optimizer.physics.transfer import break_even_bandwidth

from .given import CATALOG, card


@pytest.mark.parametrize(("peak", "gigabytes"), [(312e12, 5.9), (989e12, 18.6)])
def test_m2_break_even_bandwidth(peak: float, gigabytes: float) -> None:
    """M2 (Mooncake FAST'25 Eq. 2): LLaMA3-70B, p = 8,192, eight GPUs of 312 or 989 TF: 5.9, 18.6 GB/s."""
    llama = card("llama-3.1-70b")
    (heads,) = llama.attention
    (kv,) = llama.components
    ratio = 2 * heads.heads * (heads.k_dim or 0) * 2 / kv.bytes["bf16"]
    assert (llama.layers, llama.hidden, ratio) == (80, 8192, 8)
    found = break_even_bandwidth(8 * peak, 8_192, llama.hidden, 2, ratio, attention_flops=4, linear_flops=22)
    assert found / 1e9 == pytest.approx(gigabytes, abs=0.05)


@pytest.mark.parametrize(("usd", "rate", "price"), [(1.95, 1_110, 0.488), (2.21, 3_988, 0.154)])
def test_m6_dollars_per_million_tokens(usd: float, rate: float, price: float) -> None:
    """M6 (InferenceX): R1 8k1k at 120 tok/s/user: B200 1,110 tok/s at $1.95/h, GB200 3,988 at $2.21."""
    assert dollars_per_million_tokens(usd, rate) == pytest.approx(price, abs=1e-3)


def test_m6_prices_are_those_of_the_cards() -> None:
    """M6 (InferenceX): the hourly prices are the ownership figures that the accelerators' cards state."""
    for gpu, usd in (("B200-SXM", 1.95), ("GB200-NVL72", 2.21)):
        price = CATALOG.accelerator(gpu).tco["hyperscaler_4yr"].at(Preset.BASE)
        assert price * 3600 == pytest.approx(usd, rel=1e-12)


def test_m7_fleet_of_day_6() -> None:
    """M7 (open-infra-index day 6): 608e9 in at 73.7k, 168e9 out at 14.8k: 95.5 + 131.4 = 226.9 nodes.

    Published 226.75; at that, 8 GPUs and $2 a GPU-hour: $87,072 a day.
    """
    prefill, decode = nodes_for(608e9, 73_700), nodes_for(168e9, 14_800)
    assert prefill == pytest.approx(95.5, abs=0.05)
    assert decode == pytest.approx(131.4, abs=0.05)
    assert prefill + decode == pytest.approx(226.75, rel=0.001)
    assert fleet_dollars_per_day(226.75, 8, 2.0) == pytest.approx(87_072)

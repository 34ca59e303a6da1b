"""Loads, break-evens, present values and prices with published answers (cases C1, M2, M6, M7)."""

from __future__ import annotations

import pytest

from optimizer.physics.money import (
    annuity,
    capital_recovery,
    discount,
    dollars_per_million_tokens,
    financing,
    fleet_dollars_per_day,
    nodes_for,
    renewed,
    residual,
)
from optimizer.physics.transfer import (
    break_even_bandwidth,
    exposed_seconds,
    first_layer_seconds,
    load_seconds,
)


@pytest.mark.parametrize(("peak", "gigabytes"), [(312e12, 5.9), (989e12, 18.6)])
def test_m2_break_even_bandwidth(peak, gigabytes):
    """M2: LLaMA3-70B (d 8192, GQA 8, 2 B, a=4, b=22), p=8,192, eight GPUs (Mooncake FAST'25 Eq. 2)."""
    found = break_even_bandwidth(
        8 * peak,
        prefix_tokens=8_192,
        hidden=8_192,
        bytes_per_value=2,
        gqa_ratio=8,
        attention_flops=4,
        linear_flops=22,
    )
    assert found / 1e9 == pytest.approx(gigabytes, abs=0.05)


def test_c1_a_prompt_that_falls_to_nvme():
    """C1: 50k tokens of 32 KiB: NVMe at 1.25 GB/s costs 0.8 s more than DRAM at 3.36, recompute about 7 s."""
    size = 50_000 * 32 * 1_024
    dram, nvme = (load_seconds(0.0, 0.0, 1e6, size, bandwidth) for bandwidth in (3.36e9, 1.25e9))
    assert nvme - dram == pytest.approx(0.8, rel=0.05)
    recompute = 50_000 / 7_170
    assert recompute == pytest.approx(7, rel=0.05)


def test_load_time_has_three_parts():
    """latency + blocks*t0 + bytes/(bandwidth*(1 - utilisation)); the last block may be partial."""
    assert load_seconds(1.0, 0.5, 100, 250, 1_000, 0.75) == pytest.approx(1.0 + 3 * 0.5 + 1.0)
    assert load_seconds(1.0, 0.5, 100, 0, 1_000, 0.5) == 0.0
    with pytest.raises(ValueError, match="utilisation"):
        load_seconds(0.0, 0.0, 1.0, 1.0, 1.0, 1.0)


def test_a_load_hides_behind_prefill_but_for_its_first_layer():
    assert first_layer_seconds(6.1, 61) == pytest.approx(0.1)
    assert exposed_seconds(6.1, 10.0, 61) == pytest.approx(10.1)
    assert exposed_seconds(6.1, 0.0, 61) == pytest.approx(6.2)


@pytest.mark.parametrize(("usd", "rate", "price"), [(1.95, 1_110, 0.488), (2.21, 3_988, 0.154)])
def test_m6_dollars_per_million_tokens(usd, rate, price):
    """M6: R1 8k1k at 120 tok/s per user, B200 and GB200 (InferenceX)."""
    assert dollars_per_million_tokens(usd, rate) == pytest.approx(price, abs=1e-3)


def test_m7_deepseek_day_6_fleet():
    """M7: 95.5 + 131.4 = 226.9 nodes (published 226.75); $87,072 a day at 226.75 nodes and $2 a GPU-hour."""
    prefill, decode = nodes_for(608e9, 73_700), nodes_for(168e9, 14_800)
    assert prefill == pytest.approx(95.5, abs=0.05)
    assert decode == pytest.approx(131.4, abs=0.05)
    assert prefill + decode == pytest.approx(226.9, abs=0.05)
    assert fleet_dollars_per_day(226.75, 8, 2.0) == pytest.approx(87_072)


def test_present_values():
    """An annuity sums its discounted payments; capital recovery undoes it; no interest, no discount."""
    assert annuity(0.08, 5) == pytest.approx(sum(discount(0.08, year) for year in range(1, 6)))
    assert annuity(0.08, 5) * capital_recovery(0.08, 5) == pytest.approx(1.0)
    assert (annuity(0.0, 5), discount(0.0, 5)) == (5.0, 1.0)


def test_residual_is_a_curve():
    """30% at 36 months is not 30% at 60 (docs/physics.md section 8)."""
    assert residual(0.30, 36) == pytest.approx(0.30)
    assert residual(0.30, 60) == pytest.approx(0.134, abs=5e-4)
    assert residual(0.30, 0) == 1.0


def test_a_renewed_contract_is_its_terms_one_after_the_other():
    """Five years of three-year terms: three years now, and two years three years later, each 25% upfront."""
    one = [25.0 * n + 75.0 * sum(1.09**-year for year in range(1, n + 1)) for n in (3, 2)]
    assert renewed(100.0, 0.09, 5.0, 3.0, 0.25) == pytest.approx(one[0] + 1.09**-3 * one[1])
    assert renewed(100.0, 0.09, 3.0, 3.0, 0.25) == pytest.approx(one[0])


def test_a_contract_without_interest_costs_its_price():
    for years, term, upfront in ((5.0, 3.0, 0.25), (1.0, 3.0, 0.25), (5.0, 1.0, 0.0), (2.5, 1.0, 1.0)):
        assert renewed(100.0, 0.0, years, term, upfront) == pytest.approx(100.0 * years)


def test_a_contract_paid_by_the_year_is_an_annuity():
    """Nothing upfront: how long the terms are makes no difference. Something upfront is dearer."""
    for term in (1.0, 3.0, 5.0, 7.0):
        assert renewed(100.0, 0.09, 5.0, term, 0.0) == pytest.approx(100.0 * annuity(0.09, 5.0))
    shares = [renewed(100.0, 0.09, 5.0, 3.0, share) for share in (0.0, 0.25, 1.0)]
    assert shares == sorted(shares)
    assert shares[0] < shares[2]


def test_money_paid_early_costs_its_return():
    assert financing(0.09, 1.0) == pytest.approx(0.09)
    assert financing(0.09, 0.5) == pytest.approx(1.09**0.5 - 1)
    assert (financing(0.09, 0.0), financing(0.0, 3.0)) == (0.0, 0.0)

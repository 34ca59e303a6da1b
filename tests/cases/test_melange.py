"""M4: two kinds of GPU and four kinds of request, on the product's own formulation.

The published table has a rate for every pair of GPU and request, which no card or measurement says (a
measurement is one point a model and accelerator): the problem is written as an `Instance`. A request costs
1/rate of a mixed instance's time, at design load 1 and without headroom; decoding is free.
"""

from __future__ import annotations

from itertools import product
from math import ceil

import pytest

from optimizer.design.rounds import Candidate, improve
from optimizer.design.search import Clock
from optimizer.instance import (
    Bucket,
    Build,
    Case,
    CostLine,
    Decode,
    Instance,
    Limits,
    Option,
    Path,
    Period,
    Policy,
    Pool,
    Role,
    Sku,
    TrafficClass,
)
from optimizer.solver import SolveOptions

EXACT = SolveOptions(gap=0.0, time_limit=60.0)
PRICES = {"A10G": 1.01, "A100": 3.67}
"""USD an hour."""
RATES = {"A10G": ((2.0, 1.0), (5.0, 2.0)), "A100": ((20.0, 20.0), (40.0, 20.0))}
"""Requests/s of one GPU, by size of the prompt and of the answer."""
MIX, TOTAL = ((0.2, 0.1), (0.5, 0.2)), 30.0
SIZES = tuple(product((0, 1), repeat=2))
HALF = 0.5  # of an iteration, for prefill: a mixed pool decodes what it prefilled


def demand(traffic: float = 1.0) -> dict[str, float]:
    """Requests/s by kind."""
    return {f"{i}{j}": MIX[i][j] * TOTAL * traffic for i, j in SIZES}


def busy(gpu: str, kind: str) -> float:
    """GPU-seconds of one request."""
    return 1.0 / RATES[gpu][int(kind[0])][int(kind[1])]


def melange(traffic: float = 1.0) -> Instance:
    """The published problem, an hour long."""
    rates = demand(traffic)
    pools = {gpu: _pool(gpu) for gpu in PRICES}
    return Instance(
        name="melange",
        policy=Policy.WRITE_THROUGH,
        periods=(Period("now", 3600.0),),
        models=("m",),
        options=(Option("o", "m", "o", 1.0),),
        classes=tuple(
            TrafficClass(k, "m", r, r, r, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0) for k, r in rates.items()
        ),
        buckets=tuple(Bucket(f"b{k}", k, "m", 1.0, 1.0, r, r, 0.0, 0.0, 1.0, ()) for k, r in rates.items()),
        skus=tuple(Sku(gpu, gpu, 1, 0, 50, None, 0, 0.0, 1, 1e9, 0) for gpu in PRICES),
        builds=tuple(_build(gpu, usd) for gpu, usd in PRICES.items()),
        enclosures=(),
        stores=(),
        locations=(),
        stored=(),
        holdings=(),
        pools=tuple(pools.values()),
        decodes=tuple(
            Decode(f"b{k}", pool.id, r, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
            for k, r in rates.items()
            for pool in pools.values()
        ),
        paths=tuple(
            Path(k, k, "o", Case.FIRST, None, pool.id, HALF * busy(gpu, k), 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
            for k in rates
            for gpu, pool in pools.items()
        ),
        shared_prefixes=(),
        user_rows=(),
        limits=Limits(None, None, None, 1, 0),
        dram_pooled=False,
        quantile=0.0,
        dispersion=0.0,
        write_amplification=1.0,
        network_utilisation=1.0,
        link_utilisation=1.0,
    )


def _pool(gpu: str) -> Pool:
    return Pool(
        id=f"o@{gpu}/mixed", option="o", model="m", sku=gpu, shape=f"o@{gpu}", role=Role.MIXED, lane="all",
        gpus=1, gpus_charged=1.0, nodes=1.0, iteration=1.0, prefill_share=HALF, design_load=1.0,
        longest_job=1.0, weights_seconds=0.0, overhead=0.0, room=1.0, host_bytes=0.0, link_read=1e9,
        link_write=1e9, link_both=1e9,
    )  # fmt: skip


def _build(gpu: str, usd: float) -> Build:
    return Build(
        id=gpu, sku=gpu, server=gpu, tier=None, dimms="none", dram_bytes=0.0, dram_usable=0.0,
        dram_bytes_s=1e9, drive="", drives=0, nvme_bytes=0.0, nvme_usable=0.0, nvme_read=0.0, nvme_write=0.0,
        nvme_endurance=0.0, replacement_usd=0.0, network_bytes_s=1e9, power_w=1.0, rack_units=1.0,
        capex_usd=usd, minimum=0, maximum=50, cost=(CostLine("server", usd),),
    )  # fmt: skip


def solved(traffic: float = 1.0) -> Candidate:
    """The cheapest fleet, proven and checked exactly."""
    best, _, _ = improve(melange(traffic), EXACT, Clock.start(60.0))
    assert best is not None
    assert best.certificate.passed
    return best


def fleet(best: Candidate) -> dict[str, int]:
    """GPUs bought by kind."""
    return {row.build: row.count for row in best.layout.servers if row.count}


def whole_buckets() -> float:
    """The cheapest fleet in which each kind of request goes to one kind of GPU."""
    rates, costs = demand(), []
    for choice in product(PRICES, repeat=len(rates)):
        loads = dict.fromkeys(PRICES, 0.0)
        for (kind, rate), gpu in zip(rates.items(), choice, strict=True):
            loads[gpu] += rate * busy(gpu, kind)
        costs.append(sum(PRICES[gpu] * ceil(load - 1e-12) for gpu, load in loads.items()))
    return min(costs)


def test_m4_kinds_of_request_may_be_split() -> None:
    """M4 (Mélange example): splittable: 1 + 1 GPUs for $4.68 an hour; in whole buckets 3 + 1 for $6.70."""
    best = solved()
    assert fleet(best) == {"A10G": 1, "A100": 1}
    assert best.layout.objective_usd == pytest.approx(4.68, abs=1e-6)
    assert whole_buckets() == pytest.approx(3 * 1.01 + 3.67)


def test_m4_is_exactly_tight() -> None:
    """M4 (Mélange example): both GPUs are full: a little more traffic buys another."""
    full = {row.pool: row.prefill_busy for row in solved().layout.pools}
    assert full == pytest.approx({"o@A10G/mixed": HALF, "o@A100/mixed": HALF}, rel=1e-9)
    more, less = solved(1 + 1e-4), solved(1 - 1e-4)
    assert fleet(less) == {"A10G": 1, "A100": 1}
    assert more.layout.objective_usd > 4.68 + 1.0

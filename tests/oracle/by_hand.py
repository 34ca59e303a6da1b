"""One instance small enough to solve on paper, and ways to change it.

Two requests a second: one begins a session, one returns within the only age slot. Server and instance are
one accelerator at 10 USD, half of whose time goes to prefill at a design load of a half: 0.25 busy seconds
a second. A first request takes 0.5 s, a miss 1 s, a hit 0.1 s. A context weighs one byte; keeping all of
them takes 2 x 100 (idle) + 2 x 10 (running) = 220 bytes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from optimizer.instance.types import (
    Bucket,
    Build,
    Case,
    CostLine,
    Decode,
    Holding,
    Instance,
    Limits,
    Location,
    Option,
    Path,
    Period,
    Policy,
    Pool,
    Role,
    Sku,
    Slot,
    Store,
    Stored,
    Tier,
    TrafficClass,
)


def server(name: str = "s/a", usd: float = 10.0, **changed: Any) -> Build:
    """A server with 100 bytes of DRAM and nothing else."""
    plain = Build(
        id=name, sku="s", server="s", tier=None, dimms="", dram_bytes=100.0, dram_usable=100.0,
        dram_bytes_s=1e6, drive="", drives=0, nvme_bytes=0.0, nvme_usable=0.0, nvme_read=0.0, nvme_write=0.0,
        nvme_endurance=0.0, replacement_usd=0.0, network_bytes_s=1e6, power_w=1.0, rack_units=1.0,
        capex_usd=usd, minimum=0, maximum=8, cost=(CostLine("purchase", usd),),
    )
    return replace(plain, **changed)


def path(stream: str, case: Case, busy: float, location: str | None = None) -> Path:
    """A path on the one pool; hits load one byte."""
    load = 1.0 if case is Case.HIT else 0.0
    return Path(
        stream=stream, cls="c", option="o", case=case, location=location, pool="p", busy=busy, attained=1.0,
        load=load, link=load, network=0.0, sent=0.0, held=0.0,
    )


def instance(tier: Tier = Tier.DRAM, **changed: Any) -> Instance:
    """The instance, its contexts kept in one local tier."""
    place = f"{tier}@s"
    dram = Store(
        id="dram@s", tier=Tier.DRAM, scope="s", utilisation=1.0, shared_bandwidth=True, lru=False,
        min_bytes=0.0, max_bytes=None,
    )
    here = Store(
        id=place, tier=tier, scope="s", utilisation=1.0, shared_bandwidth=True, lru=False, min_bytes=0.0,
        max_bytes=None,
    )
    plain = Instance(
        name="by hand",
        policy=Policy.WRITE_THROUGH,
        periods=(Period("t1", 1000.0),),
        models=("m",),
        options=(Option("o", "m", "o", 1.0),),
        classes=(TrafficClass(
            id="c", model="m", rate=2.0, mean_rate=2.0, first_rate=1.0, attainment=0.0, ttft=1.0, tpot=1.0,
            output_tokens=1.0, new_tokens=1.0, first_prompt=1.0, quality_floor=0.0,
        ),),
        buckets=(Bucket(
            id="w", cls="c", model="m", tokens=1.0, reusable=1.0, rate=2.0, mean_rate=2.0, returns=1.0,
            mean_returns=1.0, run_seconds=10.0,
            slots=(Slot(start=0.0, end=100.0, rate=2.0, drop=0.5, integral=100.0,),),
        ),),
        skus=(Sku(
            id="s", accelerator="gpu", gpus=1, minimum=0, maximum=8, supply=None, owned=0,
            owned_saving_usd=0.0, minimum_order=1, nic_bytes_s=1e6, free_x16_slots=4,
        ),),
        builds=(server(),),
        enclosures=(),
        stores=(dram,) if tier is Tier.DRAM else (dram, here),
        locations=(Location(id="place", store=place, tier=tier, codec="plain", order=10,),),
        stored=(Stored(
            option="o", bucket="w", location="place", bytes=1.0, square=1.0, new=0.2, first=0.5, prefix=0.8,
        ),),
        holdings=(Holding(
            id="h", option="o", bucket="w", serve="place", home="place", found=1.0, found_home=0.0,
        ),),
        pools=(
            Pool(
                id="p", option="o", model="m", sku="s", shape="shape", role=Role.MIXED, lane="all", gpus=1,
                gpus_charged=1.0, nodes=1.0, iteration=1.0, prefill_share=0.5, design_load=0.5,
                longest_job=1.0, weights_seconds=0.0, overhead=0.0, room=100.0, host_bytes=0.0,
                link_read=1e6, link_write=1e6, link_both=1e6,
            ),
        ),
        decodes=(Decode(
            bucket="w", pool="p", rate=2.0, sequences=1.0, memory_seconds=0.1, flops_seconds=0.1,
            network_seconds=0.0, hbm=1.0, square=1.0, dram=0.0, transfer=0.0, exchange_bytes=0.0,
        ),),
        paths=(
            path("c", Case.FIRST, 0.5), path("w", Case.MISS, 1.0), path("w", Case.HIT, 0.1, "place"),
        ),
        shared_prefixes=(),
        user_rows=(),
        limits=Limits(power_w=None, rack_units=None, budget_usd=None, max_builds=1, spares=0,),
        dram_pooled=False,
        quantile=2.0,
        dispersion=1.0,
        write_amplification=2.0,
        network_utilisation=1.0,
        link_utilisation=1.0,
    )
    return replace(plain, **changed)

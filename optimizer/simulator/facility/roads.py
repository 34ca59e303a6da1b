"""How a hit reaches the ranks of each pool: fixed times, bytes per second, bytes over the links."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from optimizer.instance import Location, Pool, Tier
from optimizer.instance.deployment import Deployment
from optimizer.instance.paths import Roads as Figures
from optimizer.instance.stores import codec_ratio
from optimizer.simulator.facility.arrays import flags, floats
from optimizer.simulator.facility.bought import Bought
from optimizer.simulator.types import Roads

OVER_THE_NIC = (Tier.DRAM_POOL, Tier.STORAGE)


def roads(bought: Bought) -> Roads:
    """HBM is where the ranks are: nothing moves. What a pool cannot read has no rate."""
    shape = len(bought.pools), len(bought.locations)
    rate, link, unpack = np.zeros(shape), np.ones(shape), np.zeros(shape)
    for p, (pool, d) in enumerate(zip(bought.pools, bought.deployments, strict=True)):
        for k, location in enumerate(bought.locations):
            if not bought.reads(pool, location):
                continue
            if location.tier is Tier.HBM:
                rate[p, k] = inf
                continue
            link[p, k], unpack[p, k] = per_byte(bought, d, location)
            links = d.accelerator.host_link.read.value * d.tp / link[p, k]
            rate[p, k] = min(_device(bought, pool, d, location), links)
    below = [None if loc.tier is Tier.HBM else bought.offer.roads.path(loc.tier) for loc in bought.locations]
    return Roads(
        latency=floats([path.latency.value if path else 0.0 for path in below]),
        per_block=floats([path.per_block.value if path else 0.0 for path in below]),
        block=floats([path.block_bytes.value if path else 1.0 for path in below]),
        rate=floats(rate),
        link=floats(link),
        remote=flags([loc.tier in OVER_THE_NIC for loc in bought.locations]),
        unpack=floats(unpack),
    )


def per_byte(bought: Bought, d: Deployment, location: Location) -> tuple[float, float]:
    """Bytes over the host links, and seconds of unpacking, per byte of a context loaded: the mean over the
    model's returns, since states and per-token entries mix otherwise at every length."""
    codec = next((c for c in d.card.codecs if c.id == location.codec), None)
    ratio = codec_ratio(d.card, location.codec, d.option.profile)
    moved = linked = unpacked = 0.0
    for bucket in bought.buckets_of(d.card.id):
        there = bought.offer.shared[bucket.cls]
        load = d.loaded(bucket.reusable, ratio, there)
        moved += bucket.rate * load.one_copy
        linked += bucket.rate * load.across(d.tp)
        unpacked += bucket.rate * d.entries(bucket.reusable, there).per_rank(d.tp)
    return linked / moved, unpacked / codec.rate.value / moved if codec else 0.0


def _device(bought: Bought, pool: Pool, d: Deployment, location: Location) -> float:
    """Bytes/s of the tier's own devices that one load can draw; of drives, those of the servers bought."""
    figures: Figures = bought.offer.roads
    drives = [m.build.nvme_read for m in bought.machines if m.build.sku == pool.sku and m.build.drives]
    if drives:
        figures = replace(figures, drives=1, drive_read=min(drives))
    return figures.device_bandwidth(d, location.tier, figures.places.scopes[location.id])

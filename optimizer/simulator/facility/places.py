"""Stores, locations and domains as arrays, and what a context weighs in each."""

from __future__ import annotations

import numpy as np

from optimizer.instance import Location, Role, Store, Stored, Tier
from optimizer.instance.deployment import Deployment
from optimizer.instance.stores import RANK, WIDTH, codec_ratio
from optimizer.physics.memory import growth_bytes_per_token
from optimizer.simulator.facility.arrays import flags, floats, ints, starts
from optimizer.simulator.facility.bought import Bought
from optimizer.simulator.facility.domains import Domain, domains
from optimizer.simulator.facility.packing import Packing
from optimizer.simulator.types import Floats, Ints, Places


def places(bought: Bought, packing: Packing) -> tuple[Places, dict[int, int]]:
    """The arrays, and the HBM domain of each instance that keeps idle contexts."""
    found = [domains(bought, packing, store) for store in bought.stores]
    start = starts(len(mine) for mine in found)
    every = [(s, domain) for s, mine in enumerate(found) for domain in mine]
    weights = _weights(bought)
    return Places(
        location_store=ints([bought.store_index[loc.store] for loc in bought.locations]),
        location_tier=ints([RANK[loc.tier] for loc in bought.locations]),
        location_width=ints([WIDTH[loc.tier] for loc in bought.locations]),
        stored=weights[0],
        slope=weights[1],
        new=weights[2],
        first=weights[3],
        prefix=weights[4],
        store_lru=flags([store.lru for store in bought.stores]),
        store_shared=flags([store.shared_bandwidth for store in bought.stores]),
        domain_store=ints([s for s, _ in every]),
        domain_bytes=floats([domain.bytes for _, domain in every]),
        domain_read=floats([domain.read for _, domain in every]),
        domain_write=floats([domain.write for _, domain in every]),
        domain_drives=floats([domain.drives for _, domain in every]),
        server_domain=_reached(bought, [domain for _, domain in every], start),
        store_domain=start,
    ), _hbm(bought, start)


def _reached(bought: Bought, every: list[Domain], start: Ints) -> Ints:
    """The domain of each store that each server reaches without its NIC."""
    reach = np.full((len(bought.machines), len(bought.stores)), -1)
    for s in range(len(bought.stores)):
        for d in range(start[s], start[s + 1]):
            reach[list(every[d].servers), s] = d
    return ints(reach)


def _hbm(bought: Bought, start: Ints) -> dict[int, int]:
    """HBM domains are numbered by the instances of their shape."""
    found: dict[int, int] = {}
    for s, store in enumerate(bought.stores):
        if store.tier is Tier.HBM:
            pools = [p.shape == store.scope and p.role is not Role.DECODE for p in bought.pools]
            mine = [i for i, p in enumerate(bought.pool_of_instance) if pools[p]]
            found |= {i: int(start[s]) + n for n, i in enumerate(mine)}
    return found


def _weights(bought: Bought) -> Floats:
    """stored, slope, new, first and prefix of every bucket at every location; 0 where none may be kept."""
    rows: dict[tuple[str, str, str], Stored] = {
        (row.option, row.bucket, row.location): row for row in bought.instance.stored
    }
    found = np.zeros((5, len(bought.instance.buckets), len(bought.locations)))
    for b, bucket in enumerate(bought.instance.buckets):
        option = bought.option_of[bucket.model]
        for k, location in enumerate(bought.locations):
            row = rows.get((option, bucket.id, location.id))
            if row is not None:
                slope = growth_at(_deployment(bought, option, location), location)
                found[:, b, k] = row.bytes, slope, row.new, row.first, row.prefix
    return floats(found)


def _deployment(bought: Bought, option: str, location: Location) -> Deployment:
    """A deployment of the option; in HBM that of the shape."""
    store: Store = bought.stores[bought.store_index[location.store]]
    if location.tier is Tier.HBM:
        return bought.offer.deployed[store.scope]
    return next(d for d in bought.offer.deployments if d.option_id == option)


def growth_at(d: Deployment, location: Location) -> float:
    """Bytes that one more token adds to a context at a location."""
    if location.tier is Tier.HBM:
        return d.growth()
    profile = d.option.profile
    return growth_bytes_per_token(d.card.components, profile) / codec_ratio(d.card, location.codec, profile)

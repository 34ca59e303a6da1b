"""How long the requests of a replay waited, for ranks and for loads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from optimizer.simulator.engine.state import MISS
from optimizer.simulator.types import Floats, Waited
from optimizer.simulator.verdict.observed import Observed

SHARES = (np.arange(200) + 0.5) / 200
"""Of the requests of a kind, whose waits are kept: the last is 99.75%."""
FEWEST = 100
"""Requests of a kind below which its waits are not kept: they are taken from all of the pool."""
ANY = "any"


def waited(seen: Observed) -> Waited:
    """The waits of the steady part, by pool and the store the context was in."""
    q = seen.requests
    rows = q[(q["arrival"] >= seen.start) & np.isfinite(q["first_token"])]
    stores = np.array([*seen.names.stores, ""], dtype=object)
    store_of = seen.facility.places.location_store
    found = np.where(rows["found"] > MISS, store_of[rows["found"]], len(stores) - 1)
    queued = rows["load"] - alone(seen, rows)
    ranks: dict[tuple[str, str], tuple[float, ...]] = {}
    loads: dict[tuple[str, str], tuple[float, ...]] = {}
    for p, pool in enumerate(seen.names.pools):
        mine = rows["prefill_pool"] == p
        if mine.any():
            ranks[pool, ANY] = _at_shares(rows["wait"][mine])
        for s, store in enumerate(stores):
            here = mine & (found == s)
            if here.sum() >= FEWEST:
                ranks[pool, store] = _at_shares(rows["wait"][here])
                loads[pool, store] = _at_shares(np.maximum(queued[here], 0.0))
    return Waited(ranks, loads)


def alone(seen: Observed, rows: NDArray[Any]) -> Floats:
    """Seconds that each request's load would have taken without any other; 0 where nothing was loaded."""
    places, roads, machines = seen.facility.places, seen.facility.roads, seen.facility.machines
    work, classes = seen.facility.work, seen.facility.classes
    b, p, at = rows["bucket"], rows["prefill_pool"], np.maximum(rows["found"], 0)
    brought = rows["cached"] + work.replay[p]
    size = np.maximum(0.0, places.stored[b, at] + places.slope[b, at] * (brought - classes.tokens[b]))
    first = places.store_domain[places.location_store[at]]
    instance = machines.pool_instance[p]
    slowest = np.minimum.reduce(
        [
            places.domain_read[np.minimum(first, len(places.domain_read) - 1)],
            machines.instance_link[instance] / roads.link[p, at],
            np.where(roads.remote[at], machines.server_nic[machines.instance_server[instance]], np.inf),
            roads.rate[p, at],
        ]
    )
    blocks = np.ceil(size / np.maximum(roads.block[at], 1.0)) * roads.per_block[at]
    below = (rows["found"] > MISS) & (places.location_tier[at] > 0) & (size > 0) & (slowest > 0)
    moving = np.divide(size, slowest, out=np.zeros(len(rows)), where=below)
    return np.where(below, moving + size * roads.unpack[p, at] + roads.latency[at] + blocks, 0.0)


def _at_shares(seconds: Floats) -> tuple[float, ...]:
    return tuple(float(one) for one in np.quantile(seconds, SHARES))

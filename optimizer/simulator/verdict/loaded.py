"""Which part of their way made loads late: a tier's own devices, host links, or NICs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from optimizer.simulator.engine.finding import HBM
from optimizer.simulator.types import Floats, Law
from optimizer.simulator.verdict.observed import Observed


class Part(NamedTuple):
    """One part of the way of a load: seconds per byte loaded, and the share of time that it is busy. Work is
    booked when it comes, so a part of which more is asked than it can do is busy more than all the time."""

    law: Law
    resource: str
    seconds: float
    busy: float

    @property
    def stay(self) -> tuple[float, float]:
        """Seconds per byte with the wait, s / (1 - busy) as in M/M/1; where that has no end, how busy."""
        return (self.seconds / (1 - self.busy) if self.busy < 1 else math.inf), self.busy


def longest(parts: Iterator[Part]) -> tuple[Law, str]:
    """The part that loads stay in longest. All their bytes pass all parts, side by side, so that the longest
    one is the time of the load."""
    found = max(parts, key=lambda part: part.stay)
    return found.law, found.resource


def way(seen: Observed, pool: int, location: int) -> Iterator[Part]:
    """The parts that a pool's loads from a location pass. What lies in the HBM of another lane is handed over
    by NICs alone."""
    places, machines, roads = seen.facility.places, seen.facility.machines, seen.facility.roads
    store, below = places.location_store[location], places.location_tier[location] > HBM
    mine = slice(machines.pool_instance[pool], machines.pool_instance[pool + 1])
    if below:
        here = places.domain_store == store
        device = seen.samples.device[:, here]
        busy = seen.grown(device, "read_busy") + places.store_shared[store] * seen.grown(device, "write_busy")
        yield _busiest(Law.TIER_READ, seen.names.stores[store], 1 / places.domain_read[here], busy)
        links = roads.link[pool, location] / machines.instance_link[mine]
        busy = seen.grown(seen.samples.instance[:, mine], "link_busy")
        yield _busiest(Law.HOST_LINK, seen.names.pools[pool], links, busy)
    if roads.remote[location] or not below:
        servers = machines.instance_server[mine]
        busy = seen.grown(seen.samples.server[:, servers], "in_busy")
        sku = seen.names.skus[machines.server_sku[servers[0]]]
        yield _busiest(Law.NETWORK, sku, 1 / machines.server_nic[servers], busy)


def _busiest(law: Law, resource: str, seconds: Floats, busy: Floats) -> Part:
    """Of several alike the busiest: what is late is late there."""
    at = int(np.argmax(busy))
    return Part(law, resource, float(seconds[at]), float(busy[at]))

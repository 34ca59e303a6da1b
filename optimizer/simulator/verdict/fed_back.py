"""The p95 TTFT that the physics gives once waits are those that a replay saw.

The plan's own p95 is a bound: waits as long as its lane's load and longest job allow, every device at its
design utilisation, every context of its nominal length. Here waits for ranks and for loads are distributed
as they were seen, those of none included, and lengths vary as the workload says. What is left between this
and the p95 that was seen is the physics of one request (load, prefill, hand-over), the layout's shares, and
that waits are taken as independent of what waits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaincinv

from optimizer.catalog import Catalog
from optimizer.instance import Bucket, Case, Instance, Layout, Pool, Tier
from optimizer.instance.deployment import Deployment
from optimizer.instance.offer import Offer, offer
from optimizer.instance.paths import Roads, alone
from optimizer.simulator.types import Floats, Verdict, Waited
from optimizer.simulator.verdict.predicted import QUANTILE, case_jobs, key_of
from optimizer.simulator.verdict.waited import ANY, SHARES
from optimizer.workload import Workload

LENGTHS = 20
"""Lengths that stand for those of a bucket, each for as many of its contexts."""
IDLE = dict.fromkeys(Tier, (0.0, 0.0))
"""Nobody else uses a device or a link: that others do is in the waits."""

Key = tuple[str, Case, str]


@dataclass(frozen=True)
class Alone:
    """One path of the layout with contexts of one length: requests per second, and the seconds of their load,
    their prefill and their hand-over where nobody else is there."""

    rate: float
    pool: str
    store: str
    layers: float
    load: float
    wall: float
    sent: float


def ttft_fed_back(
    instance: Instance, layout: Layout, workload: Workload, catalog: Catalog, verdict: Verdict
) -> dict[str, float]:
    """Seconds that 95% of each class's should meet, by the waits of a verdict; inf where none come."""
    found: dict[str, list[Alone]] = defaultdict(list)
    for cls, path in paths_alone(instance, layout, offer(workload, catalog)):
        found[cls].append(path)
    return {cls.id: quantile(found[cls.id], verdict.waited, QUANTILE) for cls in instance.classes}


def paths_alone(instance: Instance, layout: Layout, offered: Offer) -> Iterator[tuple[str, Alone]]:
    """Every path of the layout at every length of its contexts, with its class."""
    pools = {pool.id: pool for pool in instance.pools}
    classes = {bucket.id: bucket.cls for bucket in instance.buckets}
    stores = {location.id: location.store for location in instance.locations}
    roads = replace(offered.roads, busy=IDLE)
    for name in {row.pool for row in layout.paths if row.rate > 0}:
        pool = pools[name]
        d = offered.deployed[pool.shape]
        mine = [row for row in layout.paths if row.pool == name and row.rate > 0]
        met = {row.stream for row in mine}
        seconds = lengthwise(instance, offered, d, pool, roads, [b for b in instance.buckets if b.id in met])
        for row in mine:
            each = seconds[key_of(row)]
            for load, wall, sent in each:
                yield classes.get(row.stream, row.stream), Alone(
                    row.rate / len(each), name, stores.get(row.location, ""), d.card.layers, load, wall, sent
                )


def lengthwise(
    instance: Instance, offered: Offer, d: Deployment, pool: Pool, roads: Roads, buckets: list[Bucket]
) -> dict[Key, list[tuple[float, float, float]]]:
    """Of every job of a pool, load, prefill and hand-over at each length of its contexts."""
    found: dict[Key, list[tuple[float, float, float]]] = defaultdict(list)
    varied = [b for b in buckets if offered.spreads[b.id] > 0]
    for k in range(LENGTHS if varied else 0):
        longer = list(of_length(varied, offered, k))
        for key, job in case_jobs(instance, offered, d, longer).items():
            if key[1] is not Case.FIRST:
                found[key].append(alone(d, pool, job, roads))
    for key, job in case_jobs(instance, offered, d, buckets).items():
        if key not in found:
            found[key] = [alone(d, pool, job, roads)]
    return found


def of_length(buckets: Iterable[Bucket], offered: Offer, k: int) -> Iterator[Bucket]:
    """The buckets at the k-th of LENGTHS lengths; what a return does not send again stays as it is."""
    for bucket in buckets:
        more = bucket.tokens * (scales(offered.spreads[bucket.id])[k] - 1)
        reusable = max(offered.shared[bucket.cls], bucket.reusable + more)
        yield replace(bucket, tokens=bucket.tokens + more, reusable=reusable)


def scales(spread: float) -> Floats:
    """Lengths over the nominal: gamma of mean 1 and this coefficient of variation, at the middle of every
    LENGTHS-th of its contexts."""
    middle = (np.arange(LENGTHS) + 0.5) / LENGTHS
    raw = gammaincinv(spread**-2, middle) * spread**2
    return np.asarray(raw / raw.mean())


def quantile(paths: list[Alone], waited: Waited, share: float) -> float:
    """The least time that this share of the requests meets."""
    if not paths:
        return float("inf")
    seconds = np.array([first_tokens(path, waited) for path in paths]).ravel()
    weight = np.repeat([path.rate for path in paths], len(SHARES))
    order = np.argsort(seconds)
    reached = np.cumsum(weight[order])
    at = np.searchsorted(reached, share * reached[-1] * (1 - 1e-9))
    return float(seconds[order][min(len(order) - 1, at)])


def first_tokens(path: Alone, waited: Waited) -> Floats:
    """Seconds to the first token of a path, at as many equal shares as waits are kept at: a wait for its load
    and one for its rank, each of its own distribution."""
    load = np.full(len(SHARES), path.load)
    if path.load > 0:
        load += _shuffled(np.array(waited.loads.get((path.pool, path.store), (0.0,))))
    waits = waited.ranks.get((path.pool, path.store)) or waited.ranks.get((path.pool, ANY), (0.0,))
    return np.maximum(load, path.wall) + load / path.layers + path.sent + np.array(waits)


def _shuffled(seconds: Floats) -> Floats:
    """In an order that has nothing to do with their size."""
    return np.random.default_rng(0).permutation(seconds)

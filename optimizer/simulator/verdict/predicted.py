"""What the layout itself says a replay should see: hits, attainment, first tokens, use of resources."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from optimizer.catalog import Catalog
from optimizer.instance import Bucket, Case, Instance, Layout, Path, PathRow, Pool, PoolRow, StoreRow
from optimizer.instance.deployment import Deployment
from optimizer.instance.offer import Offer, offer
from optimizer.instance.paths import Job, first_token_seconds, jobs, readable_from
from optimizer.physics.queueing import attained
from optimizer.workload import Workload

QUANTILE = 0.95
PRECISION = 1e-9  # relative: where the bisection for a quantile stops


@dataclass(frozen=True)
class ClassPrediction:
    """Shares of a class's requests by tier name, `miss` (returns computed again) or `first`; the share that
    is sure to be in time; and a TTFT (seconds) that 95% are sure to meet, inf where nothing is planned."""

    shares: dict[str, float]
    attainment: float
    ttft_p95: float


@dataclass(frozen=True)
class Prediction:
    """A layout's word on every class, and its accounts of stores and pools by name."""

    classes: dict[str, ClassPrediction]
    stores: dict[str, StoreRow]
    pools: dict[str, PoolRow]


@dataclass(frozen=True)
class Planned:
    """One path of the layout: requests per second, those sure to be in time, and the first token's time."""

    share: str
    rate: float
    in_time: float
    pool: Pool
    seconds: float

    def within(self, seconds: float) -> float:
        """Requests per second that are sure to have their first token by then (docs/physics.md section 9)."""
        slack = seconds - self.seconds
        return self.rate * attained(slack, self.pool.longest_job, self.pool.design_load)


def predicted(instance: Instance, layout: Layout, workload: Workload, catalog: Catalog) -> Prediction:
    """The layout's predictions. `instance` was built of this workload and these cards."""
    found: dict[str, list[Planned]] = defaultdict(list)
    for cls, path in planned(instance, layout, offer(workload, catalog)):
        found[cls].append(path)
    return Prediction(
        classes={cls.id: _of_class(found[cls.id]) for cls in instance.classes},
        stores={row.store: row for row in layout.stores},
        pools={row.pool: row for row in layout.pools},
    )


def _of_class(paths: list[Planned]) -> ClassPrediction:
    total = sum(path.rate for path in paths)
    if not total:
        return ClassPrediction({}, 0.0, inf)
    shares: dict[str, float] = defaultdict(float)
    for path in paths:
        shares[path.share] += path.rate / total
    in_time = sum(path.in_time for path in paths) / total
    return ClassPrediction(dict(shares), in_time, quantile(paths, QUANTILE))


def quantile(paths: list[Planned], share: float) -> float:
    """The least TTFT (seconds) that this share of the requests is sure to meet: sum path P(TTFT <= t) = share
    of sum path, with P the bound of the lane's load and longest job."""
    goal = share * sum(path.rate for path in paths)

    def met(seconds: float) -> bool:
        return sum(path.within(seconds) for path in paths) >= goal

    low, high = 0.0, max(path.seconds for path in paths)
    while not met(high):
        low, high = high, 2 * high + PRECISION
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (low, middle) if met(middle) else (middle, high)
    return high


def planned(instance: Instance, layout: Layout, offered: Offer) -> list[tuple[str, Planned]]:
    """Every path of the layout with its class."""
    pools = {pool.id: pool for pool in instance.pools}
    paths = {(path.stream, path.case, path.location or "", path.pool): path for path in instance.paths}
    tiers = {location.id: location.tier.value for location in instance.locations}
    work = {
        shape: case_jobs(instance, offered, offered.deployed[shape], instance.buckets)
        for shape in _shapes(layout, pools)
    }
    found = []
    for row in layout.paths:
        if row.rate > 0:
            pool = pools[row.pool]
            path: Path = paths[row.stream, Case(row.case), row.location, row.pool]
            seconds = first_token_seconds(
                offered.deployed[pool.shape], pool, work[pool.shape][key_of(row)], offered.roads
            )
            share = tiers[row.location] if path.case is Case.HIT else path.case.value
            found.append((path.cls, Planned(share, row.rate, row.attained, pool, seconds)))
    return found


def key_of(row: PathRow) -> tuple[str, Case, str]:
    """The job of a path: stream, case, location."""
    return row.stream, Case(row.case), row.location


def _shapes(layout: Layout, pools: dict[str, Pool]) -> set[str]:
    return {pools[row.pool].shape for row in layout.paths}


def case_jobs(
    instance: Instance, offered: Offer, d: Deployment, buckets: Iterable[Bucket]
) -> dict[tuple[str, Case, str], Job]:
    """Every job of these buckets, and of first requests, that a deployment can be given, by stream, case and
    location."""
    attachable = bool(offered.enclosures) and d.sku.free_x16_slots > 0
    found = jobs(
        d,
        [cls for cls in instance.classes if cls.model == d.card.id],
        [bucket for bucket in buckets if bucket.model == d.card.id],
        offered.shared,
        readable_from(d, offered.places, attachable),
    )
    return {(job.stream, job.case, job.location.id if job.location else ""): job for job in found}

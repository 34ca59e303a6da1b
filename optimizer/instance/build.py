"""Cards and workload -> Instance: the one place where physics becomes coefficients."""

from __future__ import annotations

from dataclasses import replace

from optimizer.catalog import Catalog
from optimizer.growing import growing
from optimizer.instance import checks, needs, small_tiers
from optimizer.instance.assumptions import assumptions
from optimizer.instance.deployment import Deployment
from optimizer.instance.money import remarks
from optimizer.instance.offer import Offer, offer
from optimizer.instance.paths import Job, fits, jobs, paths, readable_from
from optimizer.instance.pools import decodes, pools, with_margins
from optimizer.instance.stores import Places, holdings, weigh
from optimizer.instance.types import (
    Bucket,
    Case,
    Decode,
    Instance,
    Limits,
    Option,
    Path,
    Period,
    Policy,
    Pool,
    SharedPrefix,
    Stored,
    Tier,
    UserRow,
)
from optimizer.physics.queueing import mean_wait_bound
from optimizer.workload import Workload


@growing
def build(workload: Workload, catalog: Catalog) -> Instance:
    """Assemble the problem. Raises InputError for names the catalogue lacks and for demands no allowed
    hardware can meet (with names and numbers)."""
    checks.names(workload, catalog)
    offered = offer(workload, catalog)
    where = offered.places
    checks.prefix_tiers(workload, {loc.tier for loc in where.locations})
    laid = _Laid(workload, offered)
    for d in offered.deployments:
        laid.deploy(d)
    instance = Instance(
        name=workload.name,
        policy=Policy(workload.tiers.policy),
        periods=(Period("now", workload.economics.horizon),),
        models=offered.models,
        options=tuple(
            Option(c.id, c.card.id, c.option.id, c.card.speculation.accepted_per_step)
            for c in offered.choices
        ),
        classes=offered.classes,
        buckets=tuple(laid.timed(b) for b in offered.buckets),
        skus=offered.skus,
        builds=offered.builds,
        enclosures=offered.enclosures,
        stores=where.stores,
        locations=where.locations,
        stored=tuple(laid.stored.values()),
        holdings=tuple(holdings(workload, where, laid.usable)),
        pools=tuple(laid.pools),
        decodes=tuple(laid.decodes),
        paths=tuple(laid.paths),
        shared_prefixes=tuple(_shared_prefixes(workload, offered.deployments, where)),
        user_rows=tuple(
            UserRow(name, tuple(row.terms.items()), row.min, row.max) for name, row in workload.limits.items()
        ),
        limits=Limits(
            workload.facility.power,
            workload.facility.rack_units,
            workload.facility.budget,
            workload.hardware.max_builds,
            workload.hardware.spares,
        ),
        dram_pooled=workload.tiers.dram.scope == "pooled",
        quantile=catalog.devices.facility.safety_quantile.value,
        dispersion=workload.occupancy_dispersion,
        write_amplification=catalog.devices.facility.write_amplification.value,
        network_utilisation=catalog.devices.facility.design_utilisation.value,
        link_utilisation=catalog.devices.facility.design_utilisation.value,
        assumptions=(
            *assumptions(workload, catalog, [c.card for c in offered.choices], offered.deployments),
            *remarks.assumptions(workload, catalog),
        ),
        warnings=(
            *remarks.warnings(workload, catalog),
            *needs.warnings(workload, catalog),
            *small_tiers.warnings(workload, offered.skus, offered.builds),
        ),
    )
    checks.feasible(instance, workload, offered.deployments)
    return instance


class _Laid:
    """Collects pools, decodes, paths and weights deployment by deployment."""

    def __init__(self, workload: Workload, offered: Offer):
        self.workload, self.where, self.roads = workload, offered.places, offered.roads
        self.classes = {c.id: c for c in offered.classes}
        self.buckets = list(offered.buckets)
        self.spreads, self.shared, self.cxl = offered.spreads, offered.shared, bool(offered.enclosures)
        self.pools: list[Pool] = []
        self.decodes: list[Decode] = []
        self.paths: list[Path] = []
        self.stored: dict[tuple[str, str, str], Stored] = {}
        self.usable: dict[tuple[str, str], set[str]] = {}
        self.slowest: dict[str, float] = {}  # bucket -> seconds of a hit's prefill on the slowest shape

    def deploy(self, d: Deployment) -> None:
        """Add everything one deployment can do."""
        mine = [c for c in self.classes.values() if c.model == d.card.id]
        buckets = [b for b in self.buckets if b.model == d.card.id]
        readable = readable_from(d, self.where, self.cxl and d.sku.free_x16_slots > 0)
        self._time(d, buckets)
        work = list(jobs(d, mine, buckets, self.shared, readable))
        found = list(pools(d, mine, buckets, self.workload.grid))
        for pool in found:
            filled, routes = paths(d, pool, work, self.roads)
            decoded = list(decodes(d, filled, self.classes, buckets, self.spreads))
            psi = self.workload.occupancy_dispersion
            filled, decoded = with_margins(d, filled, decoded, buckets, self.spreads, psi)
            if routes or decoded:
                self.pools.append(filled)
                self.paths += routes
                self.decodes += decoded
                self._weigh(d, [job for job in work if fits(d, pool, job)] if routes else [])

    def _time(self, d: Deployment, buckets: list[Bucket]) -> None:
        usual = replace(d, option=next(o for o in d.card.options if o.default))
        for b in buckets:
            new = self.classes[b.cls].new_tokens
            wall = usual.wall(usual.extend(b.reusable, b.reusable + new), new, 1.0)
            self.slowest[b.id] = max(wall, self.slowest.get(b.id, 0.0))

    def timed(self, bucket: Bucket) -> Bucket:
        """The bucket with the time its requests run: prefill and its mean wait besides decoding.

        On the slowest shape, by the card's default option: which options are admissible changes nothing.
        """
        job = self.slowest.get(bucket.id, 0.0)
        wait = mean_wait_bound(job, self.workload.grid.design_load)
        return replace(bucket, run_seconds=bucket.run_seconds + job + wait)

    def _weigh(self, d: Deployment, work: list[Job]) -> None:
        by_name = {b.id: b for b in self.buckets}
        for job in work:
            if job.case is not Case.HIT or job.location is None:
                continue
            key = (d.option_id, job.stream, job.location.id)
            self.usable.setdefault(key[:2], set()).add(job.location.id)
            if key not in self.stored:
                self.stored[key] = weigh(
                    d,
                    job.location,
                    by_name[job.stream],
                    job.cls,
                    self.shared[job.cls.id],
                    self.spreads[job.stream],
                )


def _shared_prefixes(workload: Workload, deployed: list[Deployment], where: Places) -> list[SharedPrefix]:
    """What the shared prefixes of each class take, per domain of the tier that holds them."""
    found: dict[tuple[str, str, str], SharedPrefix] = {}
    for name, declared in workload.classes.items():
        prefix = declared.shared_prefix
        if prefix is None:
            continue
        tier = Tier(prefix.held_in)
        for d in (d for d in deployed if d.card.id == declared.model):
            per, scope = {
                Tier.HBM: ("instances", d.id),
                Tier.DRAM: ("nodes", d.sku.id),
                Tier.NVME: ("nodes", d.sku.id),
            }.get(tier, ("once", ""))
            for store in where.stores:
                if store.tier is tier and scope in (store.scope, ""):
                    size = (d.idle if tier is Tier.HBM else d.stored)(prefix.tokens) * prefix.distinct
                    key = (name, d.option_id, store.id)
                    read = 0.0 if tier is Tier.HBM else d.stored(prefix.tokens)
                    found.setdefault(key, SharedPrefix(name, d.option_id, store.id, size, per, read))
    return list(found.values())

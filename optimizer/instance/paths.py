"""Prefill paths: what each case of each stream costs on each pool, and how surely it meets its TTFT."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from optimizer.catalog import Catalog, TransferPath
from optimizer.instance.deployment import Deployment
from optimizer.instance.pools import handed_over
from optimizer.instance.stores import WIDTH, Places, codec_ratio
from optimizer.instance.types import Bucket, Case, Enclosure, Location, Path, Pool, Role, Tier, TrafficClass
from optimizer.physics.memory import tier_bytes
from optimizer.physics.queueing import attained
from optimizer.physics.transfer import exposed_seconds, load_seconds

@dataclass(frozen=True)
class Job:
    """One prefill job: a case of a stream, its rate, its new and total tokens, and where it loads from."""

    stream: str
    rate: float
    cls: TrafficClass
    case: Case
    location: Location | None
    loaded: float  # tokens
    cached: float
    total: float
    flops: float

    @property
    def new(self) -> float:
        """Tokens to compute."""
        return self.total - self.cached


@dataclass(frozen=True)
class Roads:
    """How tiers reach accelerators."""

    catalog: Catalog
    places: Places
    enclosures: dict[str, Enclosure]
    drives: int  # fewest drives of a server that has any
    drive_read: float

    def path(self, tier: Tier) -> TransferPath:
        """The transfer figures of a tier."""
        return next(p for p in self.catalog.devices.paths if p.tier == tier.value)

    def device_bandwidth(self, d: Deployment, place: Location) -> float:
        """Bytes/s one load may draw from the tier's own devices, before others use their share."""
        stated = self.path(place.tier).bandwidth
        nic = d.accelerator.nic.value * d.tp
        limits = {
            Tier.CXL: lambda: self.enclosures[self.places.scopes[place.id]].adapter_read,
            Tier.DRAM_POOL: lambda: nic, Tier.STORAGE: lambda: nic,
            Tier.NVME: lambda: self.drives * self.drive_read,
            Tier.DRAM: lambda: d.accelerator.host_link.read.value * d.tp,
        }
        return min(limits[place.tier](), stated.value) if stated else limits[place.tier]()

    def load(self, d: Deployment, place: Location, job: Job) -> tuple[float, float, float]:
        """(bytes from the store, bytes over the host links, seconds) of one load."""
        if place.tier is Tier.HBM:
            return 0.0, 0.0, 0.0
        ratio = codec_ratio(d.card, place.codec, d.option.profile)
        snapshot = d.option.snapshot
        moved = tier_bytes(d.card.components, d.option.profile, job.loaded, snapshot, ratio)
        if snapshot.policy == "every_tokens":  # one snapshot is loaded, however many are kept
            lone = snapshot.model_copy(update={"policy": "last_turn", "every": None})
            moved = tier_bytes(d.card.components, d.option.profile, job.loaded, lone, ratio)
        linked = moved * d.replication(job.loaded)
        busy = self.catalog.devices.facility.design_utilisation.value
        road = self.path(place.tier)
        fixed = (road.latency.value, road.per_block.value, road.block_bytes.value)
        seconds = max(
            load_seconds(*fixed, moved, self.device_bandwidth(d, place), busy),
            load_seconds(*fixed, linked / d.tp, d.accelerator.host_link.read.value, busy),
        )
        codec = next((c for c in d.card.codecs if c.id == place.codec), None)
        if codec is not None:
            seconds += moved * ratio / (codec.rate.value * d.tp)
        return moved, linked, seconds


def jobs(
    d: Deployment, classes: list[TrafficClass], buckets: list[Bucket], shared: dict[str, float],
    readable: list[Location],
) -> Iterator[Job]:
    """Every case of every stream of the model: first requests, misses, hits at each readable location."""
    for cls in classes:
        if cls.first_rate > 0:
            start = shared[cls.id]
            flops = d.extend(start, cls.first_prompt)
            yield Job(cls.id, cls.first_rate, cls, Case.FIRST, None, 0.0, start, cls.first_prompt, flops)
    by_name = {c.id: c for c in classes}
    for b in buckets:
        cls = by_name[b.cls]
        start, total = shared[cls.id], b.reusable + cls.new_tokens
        miss = d.extend(start, total)
        yield Job(b.id, b.returns, cls, Case.MISS, None, 0.0, start, total, miss)
        kept = max(b.reusable - d.option.snapshot.replay, 0.0)
        hit = d.extend(kept, total)
        if hit < miss:
            for place in readable:
                yield Job(b.id, b.returns, cls, Case.HIT, place, b.reusable, kept, total, hit)


def readable_from(d: Deployment, places: Places, attachable: bool) -> list[Location]:
    """The locations a deployment's instances can load from: a byte has an address."""
    found = []
    for loc in places.locations:
        if loc.option is not None and loc.option != d.option_id:
            continue
        if loc.tier is Tier.HBM:
            here = loc.store == f"{Tier.HBM.value}@{d.id}"
        elif loc.tier is Tier.CXL:
            here = attachable
        else:
            here = WIDTH[loc.tier] > 0 or places.scopes[loc.id] == d.sku.id
        if here:
            found.append(loc)
    return found


def lane_cut(walls: dict[Job, float], load: float) -> float:
    """The longest job (seconds on one rank) that the short lane takes: the cut that gets most in time.

    Every job is tried. A request is in time in the better of the two lanes; hits are judged on their
    compute alone, and misses do not count: they are what a cache is bought to avoid.
    """
    routine = {(j.stream, j.case): j for j in walls if j.case is not Case.MISS}.values()
    longest = max(walls.values())
    goals = {job.cls.id: job.cls.attainment * job.cls.rate for job in routine}

    def in_time(cut: float) -> tuple[float, float]:
        met = dict.fromkeys(goals, 0.0)
        for job in routine:
            lanes = [cut, longest] if walls[job] <= cut else [longest]
            met[job.cls.id] += job.rate * max(attained(job.cls.ttft - walls[job], b, load) for b in lanes)
        return sum(min(met[c], goals[c]) for c in goals), sum(met.values())

    return max(sorted(set(walls.values())), key=in_time)


def paths(d: Deployment, pool: Pool, work: list[Job], roads: Roads) -> tuple[Pool, list[Path]]:
    """The paths of one pool, and the pool with its longest job (seconds on one rank)."""
    if pool.role is Role.DECODE:
        return pool, []
    walls = {job: d.wall(job.flops, job.new, pool.prefill_share) for job in work}
    if pool.lane == "short":
        cut = lane_cut(walls, pool.design_load)
        if cut == max(walls.values()):
            return pool, []
        walls = {job: wall for job, wall in walls.items() if wall <= cut}
    pool = replace(pool, longest_job=max(walls.values()))
    return pool, [_path(d, pool, job, wall, roads) for job, wall in walls.items()]


def _path(d: Deployment, pool: Pool, job: Job, wall: float, roads: Roads) -> Path:
    moved, linked, load = roads.load(d, job.location, job) if job.location else (0.0, 0.0, 0.0)
    sent = handed_over(d, job.total) if pool.role is Role.PREFILL else 0.0
    transfer = sent / (d.accelerator.nic.value * d.tp)
    slack = job.cls.ttft - exposed_seconds(load, wall, d.card.layers) - transfer
    remote = moved if job.location and job.location.tier in (Tier.DRAM_POOL, Tier.STORAGE) else 0.0
    return Path(
        stream=job.stream, cls=job.cls.id, option=d.option_id, case=job.case,
        location=job.location.id if job.location else None, pool=pool.id,
        busy=d.busy(job.flops, job.new),
        attained=attained(slack, pool.longest_job, pool.design_load), load=moved, link=linked,
        network=remote + d.exchange(job.new), sent=sent,
        held=d.idle(job.total) * max(load, wall),
        fresh=d.busy(d.extend(0.0, job.new), job.new), cached=job.cached, computed=job.new,
    )

"""Prefill paths: what each case of each stream costs on each pool, and how surely it meets its TTFT."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from optimizer.catalog import Catalog, TransferPath
from optimizer.instance.deployment import Deployment
from optimizer.instance.pools import handed_over
from optimizer.instance.stores import WIDTH, Places, codec_ratio
from optimizer.instance.types import Bucket, Case, Enclosure, Location, Path, Pool, Role, Tier, TrafficClass
from optimizer.physics.memory import Footprint
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
class Load:
    """Bytes from the store hit, over the host links, from remote stores; seconds until all is there."""

    store: float = 0.0
    link: float = 0.0
    remote: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True)
class Roads:
    """How tiers reach accelerators. `busy`: the shares of a tier's devices and of the host links that others
    use, where they are known; else both are at their design utilisation."""

    catalog: Catalog
    places: Places
    prefixes: dict[str, tuple[Tier, float]]  # class -> where its shared prefix is held, and its tokens
    enclosures: dict[str, Enclosure]
    drives: int  # fewest drives of a server that has any
    drive_read: float
    busy: Mapping[Tier, tuple[float, float]] = field(default_factory=dict)

    def path(self, tier: Tier) -> TransferPath:
        """The transfer figures of a tier."""
        return next(p for p in self.catalog.devices.paths if p.tier == tier.value)

    def device_bandwidth(self, d: Deployment, tier: Tier, scope: str) -> float:
        """Bytes/s one load may draw from the tier's own devices, before others use their share."""
        stated = self.path(tier).bandwidth
        nic = d.accelerator.nic.value * d.tp
        match tier:
            case Tier.CXL:
                own = self.enclosures[scope].adapter_read
            case Tier.NVME:
                own = self.drives * self.drive_read
            case Tier.DRAM:
                own = d.accelerator.host_link.read.value * d.tp
            case _:
                own = nic
        return min(own, stated.value) if stated else own

    def load(self, d: Deployment, job: Job) -> Load:
        """What one job loads: its context from where it hits, its shared prefix from where that is held."""
        shared_tier, shared_tokens = self.prefixes.get(job.cls.id, (Tier.HBM, 0.0))
        prefix = Load()
        if shared_tier is not Tier.HBM:
            prefix = self._leg(d, shared_tier, "", d.loaded(shared_tokens))
        place = job.location
        if place is None or place.tier is Tier.HBM:
            return Load(0.0, prefix.link, prefix.remote, prefix.seconds)
        ratio = codec_ratio(d.card, place.codec, d.option.profile)
        moved = d.loaded(job.loaded, ratio, shared_tokens)
        own = self._leg(d, place.tier, self.places.scopes[place.id], moved)
        codec = next((c for c in d.card.codecs if c.id == place.codec), None)
        unpacked = d.entries(job.loaded, shared_tokens).per_rank(d.tp)  # each rank its own, as it came
        unpacking = unpacked / codec.rate.value if codec is not None else 0.0
        return Load(
            own.store,
            own.link + prefix.link,
            own.remote + prefix.remote,
            own.seconds + prefix.seconds + unpacking,
        )

    def _leg(self, d: Deployment, tier: Tier, scope: str, load: Footprint) -> Load:
        """One transfer: the slower of the tier's own devices and the host links of the request's ranks.

        A tier gives one copy; each rank's link carries what lies on that rank.
        """
        moved, linked = load.one_copy, load.across(d.tp)
        design = self.catalog.devices.facility.design_utilisation.value
        device, link = self.busy.get(tier, (design, design))
        road = self.path(tier)
        fixed = (road.latency.value, road.per_block.value, road.block_bytes.value)
        seconds = max(
            load_seconds(*fixed, moved, self.device_bandwidth(d, tier, scope), device),
            load_seconds(*fixed, linked / d.tp, d.accelerator.host_link.read.value, link),
        )
        return Load(moved, linked, moved if tier in (Tier.DRAM_POOL, Tier.STORAGE) else 0.0, seconds)


def jobs(
    d: Deployment,
    classes: list[TrafficClass],
    buckets: list[Bucket],
    shared: dict[str, float],
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


def fits(d: Deployment, pool: Pool, job: Job) -> bool:
    """Whether the context that a job leaves lies on the ranks of one request."""
    return d.idle(job.total) <= pool.room * d.one_rank


def paths(d: Deployment, pool: Pool, work: list[Job], roads: Roads) -> tuple[Pool, list[Path]]:
    """The paths of one pool, and the pool with its longest job (seconds on one rank)."""
    if pool.role is Role.DECODE:
        return pool, []
    walls = {job: d.wall(job.flops, job.new, pool.prefill_share) for job in work if fits(d, pool, job)}
    if not walls:
        return pool, []
    if pool.lane == "short":
        cut = lane_cut(walls, pool.design_load)
        if cut == max(walls.values()):
            return pool, []
        walls = {job: wall for job, wall in walls.items() if wall <= cut}
    pool = replace(pool, longest_job=max(walls.values()))
    return pool, [_path(d, pool, job, wall, roads) for job, wall in walls.items()]


def first_token_seconds(d: Deployment, pool: Pool, job: Job, roads: Roads) -> float:
    """Seconds from arrival to the first token where a job waits for nobody."""
    wall = d.wall(job.flops, job.new, pool.prefill_share)
    return sum(unqueued(d, roads.load(d, job), wall, _sent(d, pool, job)))


def alone(d: Deployment, pool: Pool, job: Job, roads: Roads) -> tuple[float, float, float]:
    """Seconds of a job's load, prefill and hand-over, each by itself."""
    wall = d.wall(job.flops, job.new, pool.prefill_share)
    return roads.load(d, job).seconds, wall, _sent(d, pool, job) / (d.accelerator.nic.value * d.tp)


def unqueued(d: Deployment, load: Load, wall: float, sent: float) -> tuple[float, float]:
    """Seconds of a job on its own: load and prefill, overlapped, and the hand-over of `sent` bytes."""
    return exposed_seconds(load.seconds, wall, d.card.layers), sent / (d.accelerator.nic.value * d.tp)


def _sent(d: Deployment, pool: Pool, job: Job) -> float:
    return handed_over(d, job.total) if pool.role is Role.PREFILL else 0.0


def _path(d: Deployment, pool: Pool, job: Job, wall: float, roads: Roads) -> Path:
    load, sent = roads.load(d, job), _sent(d, pool, job)
    exposed, transfer = unqueued(d, load, wall, sent)
    slack = job.cls.ttft - exposed - transfer
    return Path(
        stream=job.stream,
        cls=job.cls.id,
        option=d.option_id,
        case=job.case,
        location=job.location.id if job.location else None,
        pool=pool.id,
        busy=d.busy(job.flops, job.new),
        attained=attained(slack, pool.longest_job, pool.design_load),
        load=load.store,
        link=load.link,
        network=load.remote + d.exchange(job.new),
        sent=sent,
        held=d.idle(job.total) * max(load.seconds, wall),
        fresh=d.busy(d.extend(0.0, job.new), job.new),
        cached=job.cached,
        computed=job.new,
    )

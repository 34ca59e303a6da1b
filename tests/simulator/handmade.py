"""Facilities made by hand, in the replay's own arrays: any shape, no cards, no layout.

Costs are affine: `wall` seconds per new token, bytes per token, bytes per sequence. So what a test expects is
computed on paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.instance import Role, Tier
from optimizer.instance.stores import RANK, WIDTH
from optimizer.simulator.engine.state import Samples, State
from optimizer.simulator.facility.arrays import flags, floats, ints, starts
from optimizer.simulator.facility.plans import Life, packed
from optimizer.simulator.facility.routes import cumulative
from optimizer.simulator.simulation import replayed_through
from optimizer.simulator.traffic.replay import nothing
from optimizer.simulator.traffic.under_way import Busy
from optimizer.simulator.types import (
    Classes,
    Demand,
    Facility,
    Floats,
    Machines,
    Outage,
    Places,
    Replay,
    Roads,
    Routes,
    Work,
)

TOKENS = floats([0.0, 16.0, 1e6])  # the axis of every table: costs are affine
NOBODY = Busy(np.empty(0, np.int64), np.empty(0))
NO_OUTAGE = Outage(-1, math.inf, math.inf)
ALIKE = (0.0, 0.0)
"""(per sequence, per token)"""


@dataclass(frozen=True)
class Pool:
    """Instances of one kind. Pairs are (per sequence, per token); `servers`: where each instance stands."""

    role: Role = Role.MIXED
    servers: tuple[int, ...] = (0,)
    ranks: int = 1
    wall: float = 1.0
    wall_context: float = 0.0  # seconds per new token and cached token
    share: float = 0.5  # of an iteration, where prefill and decode share one
    fixed: float = 0.0
    overhead: float = 1e-6
    limit: float = math.inf
    accepted: float = 1.0
    room: float = math.inf
    layers: float = 1.0
    link: float = math.inf
    idle: tuple[float, float] = ALIKE
    running: tuple[float, float] = ALIKE
    memory: tuple[float, float] = ALIKE
    flops: tuple[float, float] = ALIKE
    network: float = 0.0
    handed: float = 0.0  # bytes per token
    handed_rate: float = math.inf
    replay: float = 0.0
    rate: float = math.inf  # bytes/s of one load
    unpack: float = 0.0


@dataclass(frozen=True)
class Store:
    """A tier: bytes of each domain, and the servers that reach it without a NIC."""

    tier: Tier = Tier.DRAM_POOL
    sizes: tuple[float, ...] = (math.inf,)
    reached: tuple[tuple[int, ...], ...] = ((),)
    read: float = math.inf
    write: float = math.inf
    shared: bool = False
    lru: bool = False
    affinity: float = 1.0
    latency: float = 0.0
    remote: bool = False


@dataclass(frozen=True)
class Bucket:
    """Contexts of one nominal length, their lives, and bytes per token (state: bytes besides)."""

    tokens: float = 1000.0
    unused: float = 0.0
    lives: tuple[Life, ...] = ()
    per_token: float = 1.0
    state: float = 0.0


@dataclass(frozen=True)
class Cls:
    """A class of traffic."""

    buckets: tuple[Bucket, ...] = (Bucket(),)
    new: float = 100.0
    output: float = 1.0
    first_prompt: float = 900.0
    shared: float = 0.0
    ttft: float = 1.0
    tpot: float = 1.0


@dataclass(frozen=True)
class Scene:
    """A facility in words."""

    pools: tuple[Pool, ...] = (Pool(),)
    stores: tuple[Store, ...] = ()
    classes: tuple[Cls, ...] = (Cls(),)
    servers: int = 1
    nic: float = math.inf
    exclusive: bool = False
    again: float = 0.0  # share of hits that are computed again

    def built(self) -> Facility:
        """The arrays."""
        return Facility(
            machines(self), work(self), places(self), roads(self), routes(self),
            packed([list(b.lives) for c in self.classes for b in c.buckets]), classes(self), self.exclusive,
        )  # fmt: skip


def machines(scene: Scene) -> Machines:
    """HBM domains belong to the instances that prefill, in their order."""
    pools = scene.pools
    mine = [(p, server) for p, pool in enumerate(pools) for server in pool.servers]
    kept = any(store.tier is Tier.HBM for store in scene.stores)
    order = iter(range(len(mine)))
    first = _first_domains(scene)[next((s for s, x in enumerate(scene.stores) if x.tier is Tier.HBM), 0)]
    return Machines(
        pool_instance=starts(len(pool.servers) for pool in pools),
        pool_prefills=flags([pool.role is not Role.DECODE for pool in pools]),
        pool_decodes=flags([pool.role is not Role.PREFILL for pool in pools]),
        pool_share=floats([_share(pool) for pool in pools]),
        pool_step_fixed=floats([pool.fixed for pool in pools]),
        pool_overhead=floats([pool.overhead for pool in pools]),
        pool_step_limit=floats([pool.limit for pool in pools]),
        pool_accepted=floats([pool.accepted for pool in pools]),
        pool_room=floats([pool.room for pool in pools]),
        pool_layers=floats([pool.layers for pool in pools]),
        instance_pool=ints([p for p, _ in mine]),
        instance_rank=starts(pools[p].ranks for p, _ in mine),
        instance_server=ints([server for _, server in mine]),
        instance_span=ints([1 for _ in mine]),
        instance_domain=ints(
            [first + next(order) if kept and pools[p].role is not Role.DECODE else -1 for p, _ in mine]
        ),
        instance_link=floats([pools[p].link for p, _ in mine]),
        server_sku=ints(np.zeros(scene.servers)),
        server_nic=floats(np.full(scene.servers, scene.nic)),
        server_spare=flags(np.zeros(scene.servers)),
    )


def work(scene: Scene) -> Work:
    """Affine tables."""
    pools = scene.pools

    def table(pairs: Sequence[tuple[float, float]]) -> Floats:
        return floats([one + each * TOKENS for one, each in pairs])

    return Work(
        context=TOKENS,
        fresh=TOKENS,
        wall=floats([np.outer(p.wall + p.wall_context * TOKENS, TOKENS) for p in pools]),
        idle=table([p.idle for p in pools]),
        running=table([p.running for p in pools]),
        memory=table([p.memory for p in pools]),
        flops=table([p.flops for p in pools]),
        network=floats([p.network for p in pools]),
        handed=table([(0.0, p.handed) for p in pools]),
        handed_rate=floats([p.handed_rate for p in pools]),
        exchange=floats([0.0 for _ in pools]),
        replay=floats([p.replay for p in pools]),
    )


def places(scene: Scene) -> Places:
    """One location a store."""
    stores, buckets = scene.stores, [(c, b) for c in scene.classes for b in c.buckets]
    first = _first_domains(scene)
    reach = np.full((scene.servers, len(stores)), -1)
    for s, store in enumerate(stores):
        for d, servers in enumerate(store.reached):
            reach[list(servers), s] = first[s] + d

    def of_buckets(size) -> Floats:
        return floats([[size(c, b) for _ in stores] for c, b in buckets]).reshape(len(buckets), len(stores))

    def of_domains(value) -> Floats:
        return floats([value(store) for store in stores for _ in store.sizes])

    return Places(
        location_store=ints(range(len(stores))),
        location_tier=ints([RANK[store.tier] for store in stores]),
        location_width=ints([WIDTH[store.tier] for store in stores]),
        stored=of_buckets(lambda c, b: b.state + b.per_token * b.tokens),
        slope=of_buckets(lambda c, b: b.per_token),
        new=of_buckets(lambda c, b: b.state + b.per_token * (c.new + c.output)),
        first=of_buckets(lambda c, b: b.state + b.per_token * (c.first_prompt + c.output)),
        prefix=of_buckets(lambda c, b: b.per_token * (b.tokens - c.new - c.output)),
        store_lru=flags([store.lru for store in stores]),
        store_shared=flags([store.shared for store in stores]),
        domain_store=ints([s for s, store in enumerate(stores) for _ in store.sizes]),
        domain_bytes=floats([size for store in stores for size in store.sizes]),
        domain_read=of_domains(lambda store: store.read),
        domain_write=of_domains(lambda store: store.write),
        domain_drives=of_domains(lambda store: 0.0),
        server_domain=ints(reach),
        store_domain=ints(first),
    )


def roads(scene: Scene) -> Roads:
    """HBM is at once; the rest at the pools' rate."""
    shape = len(scene.pools), len(scene.stores)
    return Roads(
        latency=floats([store.latency for store in scene.stores]),
        per_block=floats(np.zeros(shape[1])),
        block=floats(np.ones(shape[1])),
        rate=floats(np.array([[pool.rate] * shape[1] for pool in scene.pools]).reshape(shape)),
        link=floats(np.ones(shape)),
        remote=flags([store.remote for store in scene.stores]),
        unpack=floats(np.array([[pool.unpack] * shape[1] for pool in scene.pools]).reshape(shape)),
    )


def routes(scene: Scene) -> Routes:
    """Every outcome to the pools that prefill, in equal parts; decoding to those that only decode, if any."""
    able = {p: 1.0 for p, pool in enumerate(scene.pools) if pool.role is not Role.DECODE}
    hits = {p: (1 - scene.again) / len(able) for p in able} | ({-1: scene.again} if scene.again else {})
    apart = {p: 1.0 for p, pool in enumerate(scene.pools) if pool.role is Role.DECODE}
    decode = cumulative(apart or able)
    buckets, locations = sum(len(c.buckets) for c in scene.classes), len(scene.stores)
    rows = [*([able, *[hits] * locations] * buckets), *([able, *[{}] * locations] * len(scene.classes))]
    return Routes(
        route=starts(len(row) for row in rows),
        pool=ints([p for row in rows for p in row]),
        cum=floats([share for row in rows for share in cumulative(row)]),
        decode=starts([len(decode)] * buckets),
        decode_pool=ints(list(apart or able) * buckets),
        decode_cum=floats(decode * buckets),
    )


def classes(scene: Scene) -> Classes:
    """Nominal traffic."""
    buckets = [(c, b) for c, cls in enumerate(scene.classes) for b in cls.buckets]

    def of_classes(name: str) -> Floats:
        return floats([getattr(cls, name) for cls in scene.classes])

    return Classes(
        bucket_class=ints([c for c, _ in buckets]),
        tokens=floats([b.tokens for _, b in buckets]),
        unused=floats([b.unused for _, b in buckets]),
        new=of_classes("new"),
        output=of_classes("output"),
        first_prompt=of_classes("first_prompt"),
        shared=of_classes("shared"),
        shared_bytes=floats([0.0 for _ in scene.classes]),
        affinity=floats([store.affinity for store in scene.stores]),
        ttft=of_classes("ttft"),
        tpot=of_classes("tpot"),
    )


def _first_domains(scene: Scene) -> list[int]:
    return [0, *np.cumsum([len(store.sizes) for store in scene.stores], dtype=int).tolist()]


def _share(pool: Pool) -> float:
    return {Role.PREFILL: 1.0, Role.DECODE: 0.0}.get(pool.role, pool.share)


# ---- traffic ----------------------------------------------------------------------------------------------


def demand(
    horizon: float,
    first_time: Sequence[float] | Floats = (),
    *,
    buckets: int = 1,
    first_bucket: Sequence[int] | None = None,
    gaps: Sequence[Sequence[float]] | None = None,
    scales: Sequence[Sequence[float]] | None = None,
    dice: Sequence[float] | Floats = (0.5,),
    idle: Sequence[tuple[int, float, float]] = (),
) -> Demand:
    """Sessions that begin at given times. Without gaps they never return; `idle`: bucket, age, return."""
    gaps = gaps if gaps is not None else [[math.inf]] * buckets
    scales = scales if scales is not None else [[1.0]] * buckets
    flat = floats([gap for mine in gaps for gap in mine])
    return Demand(
        horizon=horizon,
        first_time=floats(first_time),
        first_bucket=ints(first_bucket if first_bucket is not None else np.zeros(len(first_time))),
        gap=starts(len(mine) for mine in gaps),
        gap_seconds=flat,
        dice=floats(dice),
        scale=starts(len(mine) for mine in scales),
        scale_factor=floats([scale for mine in scales for scale in mine]),
        idle_bucket=ints([bucket for bucket, _, _ in idle]),
        idle_age=floats([age for _, age, _ in idle]),
        idle_return=floats([comes for _, _, comes in idle]),
        gap_kept=floats(np.full(len(flat), np.inf)),
        idle_kept=floats(np.full(len(idle), np.inf)),
    )


def requests(time: Floats, tokens: Floats, output: float = 1.0) -> Replay:
    """Recorded first requests without chains."""
    count = len(time)
    return Replay(
        time=floats(time), bucket=ints(np.zeros(count)), input=floats(tokens),
        output=floats(np.full(count, output)), after=ints(np.full(count, -1)),
        think=floats(np.full(count, np.nan)), first=flags(np.ones(count)), node=ints(np.zeros(count + 1)),
        node_id=ints([]), node_count=ints([]), node_tokens=floats([]),
    )  # fmt: skip


@dataclass(frozen=True)
class Run:
    """What a run was given, and what it left."""

    facility: Facility
    demand: Demand
    replay: Replay
    state: State
    samples: Samples
    outage: Outage
    hits: float


def run(
    scene: Scene | Facility,
    traffic: Demand,
    recorded: Replay | None = None,
    *,
    outage: Outage = NO_OUTAGE,
    hits: float = 1.0,
    block: float = 0.0,
    busy: Busy = NOBODY,
    count: int = 1000,
) -> Run:
    """Play traffic through a facility."""
    built = scene.built() if isinstance(scene, Scene) else scene
    recorded = recorded if recorded is not None else nothing()
    now, seen = replayed_through(built, traffic, recorded, outage, hits, block, busy, count)
    return Run(built, traffic, recorded, now, seen, outage, hits)

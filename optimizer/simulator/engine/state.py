"""Everything the event loop reads and changes, as tables: one structured array per kind of thing.

`Fixed` is what does not change during a replay, `State` what does. Times are seconds from the start.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optimizer.simulator.engine import cache, heap
from optimizer.simulator.traffic.stretches import threads
from optimizer.simulator.types import Demand, Facility, Floats, Ints, Outage, Replay

f8, i8, i4, b1 = np.float64, np.int64, np.int32, np.bool_
NONE = np.int64(-1)
Rows = NDArray[Any]
"""A table of one of the row types below."""


def table(**fields: type) -> np.dtype[np.void]:
    """The type of a row with these fields."""
    return np.dtype(list(fields.items()), align=True)


POOL = table(
    first=i8, last=i8, prefills=b1, decodes=b1, share=f8, fixed=f8,
    overhead=f8, limit=f8, accepted=f8, room=f8, layers=f8, network=f8,
    handed_rate=f8, replay=f8,
    head=i8, tail=i8, waiting=i8,  # requests that wait to be decoded, in their order
    short_kv=f8, short_time=f8,  # requests that had to wait, by what was short
)
INSTANCE = table(
    pool=i8, rank_first=i8, rank_last=i8, server=i8, span=i8, domain=i8, link=f8,
    up=b1, epoch=i8, link_free=f8, link_busy=f8, prefill_busy=f8,
    sequences=i8, kv=f8, memory=f8, flops=f8,  # of the sequences being decoded
    steps=f8, since=f8, step=f8, version=i8,  # iterations by `since`, their pace
    heap_first=i8, heap_room=i8,
    kv_area=f8, step_area=f8, sequence_area=f8, kv_peak=f8, step_peak=f8,
)
SERVER = table(
    nic=f8, in_free=f8, out_free=f8, in_busy=f8, out_busy=f8, spare=b1,
)
DEVICE = table(
    read=f8, write=f8, shared=b1, read_free=f8, write_free=f8,
    read_busy=f8, write_busy=f8, written=f8, late=f8,
)
LOCATION = table(
    store=i8, tier=i8, width=i8, first=i8, last=i8, lru=b1, affinity=f8,
    latency=f8, per_block=f8, block=f8, remote=b1,
)
BUCKET = table(
    cls=i8, tokens=f8, unused=f8, gap_first=i8, gaps=i8, gap=i8,
    scale_first=i8, scales=i8, scale=i8, luck=f8,
    plan_first=i8, plan_last=i8, decode_first=i8, decode_last=i8,
)
CLASS = table(
    new=f8, output=f8, first_prompt=f8, shared=f8,
)
SESSION = table(
    bucket=i8, plan=i8, turns=i8, where=f8, luck=f8, tokens=f8, ended=f8, kept=f8,
)
REQUEST = table(
    session=i8, bucket=i8, recorded=i8,
    arrival=f8, first_token=f8, done=f8, load=f8, wait=f8, wall=f8,
    found=i8, cached=f8, total=f8, tokens=f8, output=f8,
    pool=i8, instance=i8, held=f8,
    kv=f8, memory=f8, flops=f8,
    cls=i4, prefill_pool=i4, epoch=i4, next=i4, state=i4,
    due=i4,  # the location that should have served it by its plan, -1: none
    had=i4,  # bit mask: 1 the stage's copy was there when it came, 2 the home's
)
FIRST, MISS = -2, -1  # REQUEST.found: a location, or one of these
BYTES, SLOPE, NEW, OPENING, PREFIX = range(5)  # of Fixed.stored
RATE, LINK, UNPACK = range(3)  # of Fixed.road
RETURN, RECORD, READY, START, PREFILLED, DECODE, STEP, EXPIRE, FAIL, RESTART = np.arange(10)  # of events
# (numpy's integers: a kernel is compiled anew for every Python constant that it is called with)
IN_FLIGHT, SERVED, REJECTED = 0, 1, 2  # REQUEST.state
SEQUENCE = table(steps=f8, request=i8)


class Fixed(NamedTuple):
    """What a replay reads."""

    location: Rows
    cls: Rows
    context: Floats
    fresh: Floats
    wall: Floats
    idle: Floats
    running: Floats
    memory: Floats
    flops: Floats
    handed: Floats
    stored: Floats  # [5, B, L]: bytes, slope per token, new, first, prefix
    road: Floats  # [3, P, L]: rate, link factor, unpack seconds per byte
    server_domain: Ints
    domain_instance: Ints
    domain_store: Ints
    route: Ints
    route_pool: Ints
    route_cum: Floats
    decode_pool: Ints
    decode_cum: Floats
    plan_cum: Floats
    plan_home: Ints
    plan_home_until: Floats
    plan_stage: Ints
    stage_location: Ints
    stage_until: Floats
    gap: Floats
    gap_kept: Floats
    scale: Floats
    dice: Floats
    first_time: Floats
    first_bucket: Ints
    recorded: Rows
    node: Ints
    node_id: Ints
    node_count: Ints
    rules: Floats  # see the indices below


HORIZON, HITS, EXCLUSIVE, BLOCK, OUTAGE_SERVER, OUTAGE_TIME, OUTAGE_RESTART = range(7)  # of Fixed.rules
RECORDED = table(
    time=f8, bucket=i8, input=f8, output=f8, next=i8, think=f8,
    after=i8, session=i8, first=b1,
)


class State(NamedTuple):
    """What a replay changes."""

    cache: cache.Cache
    heap: heap.Heap
    pool: Rows
    instance: Rows
    rank: Floats  # the time each rank is free
    server: Rows
    device: Rows
    bucket: Rows
    session: Rows
    request: Rows
    sequence: Rows
    tokens: Floats  # [C, 2 + L]: prompt tokens by what was found: first, missing, at each location
    counts: Ints  # see the indices below
    area: Floats  # [2] integral of requests in the system, and since when


ARRIVED, ENDED, REFUSED, DICE, SESSIONS, INSIDE = range(6)  # of State.counts


class Samples(NamedTuple):
    """The state at equally spaced times: one row a time."""

    time: Floats
    domain: Rows
    instance: Rows
    server: Rows
    device: Rows
    pool: Rows
    tokens: Floats


def fixed(
    facility: Facility, demand: Demand, replay: Replay, outage: Outage, hits: float, block: float
) -> Fixed:
    """Pack what does not change."""
    m, w, p, r = facility.machines, facility.work, facility.places, facility.roads
    routes, plans, c = facility.routes, facility.plans, facility.classes
    location = np.zeros(len(p.location_store), LOCATION)
    location["store"], location["tier"] = p.location_store, p.location_tier
    location["width"] = p.location_width
    location["first"] = p.store_domain[p.location_store]
    location["last"] = p.store_domain[p.location_store + 1]
    location["lru"], location["affinity"] = p.store_lru[p.location_store], c.affinity
    location["latency"], location["per_block"], location["block"] = r.latency, r.per_block, r.block
    location["remote"] = r.remote
    cls = np.zeros(len(c.new), CLASS)
    for name in ("new", "output", "first_prompt", "shared"):
        cls[name] = getattr(c, name)
    domain_instance = np.full(len(p.domain_store), NONE, i8)
    for i, d in enumerate(m.instance_domain):
        if d >= 0:
            domain_instance[d] = i
    recorded = np.zeros(len(replay.time), RECORDED)
    for name in ("time", "bucket", "input", "output", "think", "after", "first"):
        recorded[name] = getattr(replay, name)
    recorded["next"] = NONE
    for i, before in enumerate(replay.after):
        recorded["session"][i] = i if before < 0 else recorded["session"][before]
        if before >= 0:
            recorded["next"][before] = i
    recorded["session"] = np.unique(recorded["session"], return_inverse=True)[1]
    rules = np.array(
        [demand.horizon, hits, float(facility.exclusive), block, outage.server, outage.time, outage.restart]
    )
    return Fixed(
        location, cls, w.context, w.fresh, w.wall, w.idle, w.running, w.memory, w.flops, w.handed,
        np.stack([p.stored, p.slope, p.new, p.first, p.prefix]), np.stack([r.rate, r.link, r.unpack]),
        p.server_domain, domain_instance, p.domain_store,
        routes.route, routes.pool, routes.cum, routes.decode_pool, routes.decode_cum,
        plans.cum, plans.home, plans.home_until, plans.stage, plans.stage_location, plans.stage_until,
        demand.gap_seconds, demand.gap_kept, demand.scale_factor, demand.dice,
        demand.first_time, demand.first_bucket,
        recorded, replay.node, replay.node_id, replay.node_count, rules,
    )


def state(facility: Facility, demand: Demand, replay: Replay, busy: int, most_requests: int) -> State:
    """Everything idle and empty, at time 0; `busy` requests will be being decoded then."""
    m, w, p = facility.machines, facility.work, facility.places
    routes, plans, c = facility.routes, facility.plans, facility.classes
    pool = np.zeros(len(m.pool_prefills), POOL)
    pool["first"], pool["last"] = m.pool_instance[:-1], m.pool_instance[1:]
    for name, values in {
        "prefills": m.pool_prefills, "decodes": m.pool_decodes, "share": m.pool_share, "room": m.pool_room,
        "fixed": m.pool_step_fixed, "overhead": m.pool_overhead, "limit": m.pool_step_limit,
        "accepted": m.pool_accepted, "layers": m.pool_layers, "network": w.network,
        "handed_rate": w.handed_rate, "replay": w.replay,
    }.items():  # fmt: skip
        pool[name] = values
    pool["head"] = pool["tail"] = NONE
    instance = np.zeros(len(m.instance_pool), INSTANCE)
    instance["pool"], instance["server"] = m.instance_pool, m.instance_server
    instance["span"], instance["link"] = m.instance_span, m.instance_link
    instance["rank_first"], instance["rank_last"] = m.instance_rank[:-1], m.instance_rank[1:]
    instance["domain"], instance["up"] = m.instance_domain, True
    rooms = _sequences(facility)[m.instance_pool]
    instance["heap_first"], instance["heap_room"] = np.concatenate(([0], np.cumsum(rooms)[:-1])), rooms
    server = np.zeros(len(m.server_nic), SERVER)
    server["nic"], server["spare"] = m.server_nic, m.server_spare
    device = np.zeros(len(p.domain_store), DEVICE)
    device["read"], device["write"] = p.domain_read, p.domain_write
    device["shared"] = p.store_shared[p.domain_store]
    bucket = np.zeros(len(c.bucket_class), BUCKET)
    bucket["cls"], bucket["tokens"], bucket["unused"] = c.bucket_class, c.tokens, c.unused
    for name, ends in (("gap", demand.gap), ("scale", demand.scale)):
        bucket[f"{name}_first"], bucket[f"{name}s"] = ends[:-1], np.diff(ends)
    bucket["plan_first"], bucket["plan_last"] = plans.row[:-1], plans.row[1:]
    bucket["decode_first"], bucket["decode_last"] = routes.decode[:-1], routes.decode[1:]
    drawn = len(demand.idle_bucket) + len(demand.first_time) + busy
    played = int((replay.after == NONE).sum())  # recorded sessions: the first rows
    sessions = played + drawn
    below = np.full(len(p.domain_store), NONE, i8)
    copies = 3 * drawn + _copies(replay, len(p.domain_store)) + 16
    counts = np.zeros(6, i8)
    counts[SESSIONS] = played
    events = 4 * sessions + copies + 4 * most_requests + len(instance) * 4 + 64
    return State(
        cache.empty(p.domain_bytes, copies, below, replay.node_tokens), heap.empty(events), pool, instance,
        np.zeros(int(m.instance_rank[-1])), server, device, bucket, np.zeros(sessions, SESSION),
        np.zeros(most_requests, REQUEST), np.zeros(int(rooms.sum()), SEQUENCE),
        np.zeros((len(c.new), 2 + len(p.location_store))), counts, np.zeros(2),
    )


PLACES = 4
"""Copies of a context at most: at its stage and at its home, and where a plan had it when it was shorter."""


def _copies(replay: Replay, domains: int) -> int:
    """The most copies of recorded stretches: each in places of every session that asks for it."""
    thread = np.repeat(threads(replay.after), np.diff(replay.node))
    pairs = np.unique(replay.node_id * len(replay.time) + thread)
    _, sessions = np.unique(pairs // max(1, len(replay.time)), return_counts=True)
    return int(np.maximum(PLACES, np.minimum(PLACES * sessions, domains)).sum())


def _sequences(facility: Facility) -> Ints:
    """The most sequences an instance of each pool can ever run at once: by HBM and by the pace."""
    m, w = facility.machines, facility.work
    least_kv = np.maximum(w.running[:, 1:].min(axis=1, initial=np.inf), 1.0)
    least = np.maximum(w.memory[:, 1:].min(axis=1, initial=np.inf), 1e-12)
    by_time = np.maximum(m.pool_step_limit - m.pool_step_fixed - m.pool_overhead, 0.0) / least
    most = np.floor(np.minimum(m.pool_room / least_kv, by_time)) + 2
    return np.where(m.pool_decodes, np.clip(most, 2, 65536), 0).astype(i8)


def samples(facility: Facility, now: State, count: int, horizon: float) -> Samples:
    """Room for `count` samples, the last at the horizon."""
    return Samples(
        np.linspace(0.0, horizon, count + 1)[1:],
        np.zeros((count, len(now.cache.domain)), cache.DOMAIN),
        np.zeros((count, len(now.instance)), INSTANCE),
        np.zeros((count, len(now.server)), SERVER),
        np.zeros((count, len(now.device)), DEVICE),
        np.zeros((count, len(now.pool)), POOL),
        np.zeros((count, *now.tokens.shape)),
    )

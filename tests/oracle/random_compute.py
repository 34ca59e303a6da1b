"""Random pools, what decoding takes of them, and the paths of requests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

from optimizer.instance.types import Bucket, Case, Decode, Option, Path, Pool, Role, TrafficClass

from .dice import Dice, short
from .plans import CXL, DRAM_POOL, HBM, STORAGE
from .random_places import Places, demand
from .random_traffic import Traffic, hits

THETA, RHO = 0.05, 0.7
IDLE, SWING = 0.0005, 0.0625  # of an iteration: seconds that stay free, and a part of each sequence


@dataclass(frozen=True)
class Work:
    """Instance-seconds of the three cases, and how many bytes of a context a hit loads."""

    first: float
    miss: float
    hit: float
    loaded: float


def frames(dice: Dice, traffic: Traffic, skus: list[str], gpus: int) -> list[Pool]:
    """Pools with their shape and role; times and bytes come later."""
    taken = {2: (1, 2), 4: (1, 2, 4), 8: (2, 4, 8)}[gpus]
    found = []
    for o in traffic.options:
        size = gpus if dice.plan.whole else dice.rng.choice(taken)
        if not dice.plan.whole and dice.rng.random() < 0.1:
            size = 2 * gpus
        for role, lane, sku in _roles(dice.plan.style, skus):
            share = {Role.PREFILL: 1.0, Role.DECODE: 0.0, Role.MIXED: 0.5}[role]
            nodes = size / gpus
            found.append(
                Pool(
                    id=f"{o.id}@{sku}/tp{size}/{role}{lane}", option=o.id, model=o.model, sku=sku,
                    shape=f"{o.id}@{sku}/tp{size}", role=role, lane=lane, gpus=size,
                    gpus_charged=float(size), nodes=nodes, iteration=THETA, prefill_share=share,
                    design_load=RHO, longest_job=1.0, weights_seconds=0.0, overhead=0.0, room=0.0,
                    host_bytes=0.0, link_read=0.0, link_write=0.0, link_both=0.0,
                )
            )
    return found


def _roles(style: str, skus: list[str]) -> list[tuple[Role, str, str]]:
    if style == "mixed":
        return [(Role.MIXED, "", sku) for sku in skus]
    lanes = ("short", "long") if style == "lanes" else ("",)
    found = [(Role.PREFILL, lane, skus[0]) for lane in lanes] + [(Role.DECODE, "", skus[-1])]
    if style == "split" and len(skus) > 1:
        found.append((Role.MIXED, "", skus[-1]))
    return found


def work(dice: Dice, traffic: Traffic, option: Option) -> Work:
    """Times such that full caching keeps the planned number of instances busy with prefill."""
    miss, first = 1.0, 0.8
    hit = dice.rng.uniform(0.5, 0.8) if dice.plan.heavy_hits else dice.rng.uniform(0.1, 0.3)
    mine = traffic.buckets_of(option)
    firsts = sum(b.firsts for b in mine)
    caught = sum(hits(b) for b in mine)
    lost = sum(b.returns for b in mine) - caught
    busy = firsts * first + caught * hit + lost * miss
    share = 0.5 if dice.plan.style == "mixed" else 1.0
    unit = RHO * share * dice.need("prefill", 1.5, 5.0) / busy
    return Work(first * unit, miss * unit, hit * unit, dice.rng.choice((1.0, 0.8)))


def decodes(dice: Dice, traffic: Traffic, pools: list[Pool]) -> list[Decode]:
    """Decoding of every bucket on every pool that decodes its option."""
    found = []
    options = {o.id: o for o in traffic.options}
    for o in traffic.options:
        mine = [p for p in pools if p.option == o.id and p.role is not Role.PREFILL]
        buckets = traffic.buckets_of(o)
        output = next(c.output_tokens for c in traffic.classes if c.model == o.model)
        live = {b.id: short(b.rate * output * THETA / options[o.id].accepted_per_step) for b in buckets}
        offloaded = dice.rng.uniform(1.0, 3.0) if dice.plan.offload else 0.0
        hbm = dice.rng.uniform(0.2, 0.5) if dice.plan.offload else 1.0
        for p in mine:
            window = THETA * (0.5 if p.role is Role.MIXED else 1.0) - 0.008
            running = sum(live.values())
            read, compute = (window - IDLE) / (1 + SWING), (window + 0.006 - IDLE) / (1 + SWING)
            memory = read * dice.need("decode_time", 1.5, 5.0) / running
            flops = compute * dice.need("decode_flops", 1.5, 5.0) / running
            network = compute * dice.need("decode_exchange", 1.5, 5.0) / running * dice.plan.exchange
            for b in buckets:
                size = traffic.size[o.id, b.id]
                found.append(
                    Decode(
                        bucket=b.id, pool=p.id, rate=b.rate, sequences=live[b.id], memory_seconds=memory,
                        flops_seconds=flops, network_seconds=network, hbm=short(size * hbm),
                        square=short((size * hbm) ** 2), dram=short(size * offloaded),
                        transfer=short(size * dice.plan.remote) if p.role is Role.DECODE else 0.0,
                        exchange_bytes=short(b.rate * size * 0.3) if dice.plan.exchange else 0.0,
                        memory_swing=SWING * memory, flops_swing=SWING * flops, network_swing=SWING * network,
                    )
                )
    return found


def finished(
    dice: Dice, traffic: Traffic, found: Places, pools: list[Pool], running: list[Decode]
) -> list[Pool]:
    """Pools with times, HBM room and links sized."""
    host = dice.rng.choice((0.0, 2e10)) if "own" not in dice.plan.tight else 2e10
    idle = demand(traffic, found, HBM, dice.plan.exclusive).bytes
    down = [demand(traffic, found, t, dice.plan.exclusive) for t in dice.plan.tiers if t is not HBM]
    reads, writes = sum(d.reads for d in down), sum(d.writes for d in down)
    sized = []
    for p in pools:
        mine = [d for d in running if d.pool == p.id]
        live = sum(d.sequences * d.hbm for d in mine)
        variance = sum(d.sequences * d.square for d in mine)
        largest = max((d.hbm for d in mine), default=max(traffic.size.values()))
        mixed = p.role is Role.MIXED
        rooms = [2.0 * largest]
        if mine:
            rooms.append(live / dice.need("running", 1.5, 4.5))
        if p.role is not Role.DECODE and idle:
            rooms.append((idle + live * mixed) / dice.need("hbm", 1.5, 4.5))
        room = max(rooms)
        slope = short(1.0 / sqrt(variance)) if dice.plan.margin and mine else 0.0
        decodes_here = p.role is not Role.PREFILL
        sized.append(
            replace(
                p,
                longest_job=1.0,
                weights_seconds=0.006 if decodes_here else 0.0,
                overhead=0.002 if decodes_here else 0.0,
                memory_idle=IDLE if decodes_here else 0.0,
                flops_idle=IDLE if decodes_here else 0.0,
                network_idle=IDLE if decodes_here else 0.0,
                room=room,
                host_bytes=host,
                link_read=_sized_link(dice, reads, "link_read"),
                link_write=_sized_link(dice, writes, "link_write"),
                link_both=_sized_link(dice, reads + writes, "link_both"),
                slope=slope,
            )
        )
    return sized


def _sized_link(dice: Dice, demand_: float, name: str) -> float:
    return dice.sized(demand_, name, 1.5, 4.5) if demand_ else 1e11


def paths(
    dice: Dice, traffic: Traffic, found: Places, pools: list[Pool], works: dict[str, Work]
) -> list[Path]:
    """First requests, misses and hits, wherever they may be prefilled."""
    result: list[Path] = []
    late = 0.0 if dice.plan.needed else dice.rng.choice((0.6, 0.9))
    for o in traffic.options:
        cls = next(c for c in traffic.classes if c.model == o.model)
        for p in (p for p in pools if p.option == o.id and p.role is not Role.DECODE):
            if p.lane != "short":
                size = max(traffic.size[o.id, b.id] for b in traffic.buckets_of(o))
                result.append(_path(cls.id, cls, o, Case.FIRST, p, works[o.id].first, 0.95, size))
            for b in traffic.buckets_of(o):
                size = traffic.size[o.id, b.id]
                if p.lane != "short":
                    result.append(_path(b.id, cls, o, Case.MISS, p, works[o.id].miss, late, size))
                result += _hit_paths(dice, found, p, works[o.id], cls, o, b)
    return result


def _path(
    stream: str, cls: TrafficClass, o: Option, case: Case, p: Pool, busy: float, attained: float, size: float
) -> Path:
    sent = short(size) if p.role is Role.PREFILL else 0.0
    return Path(
        stream=stream, cls=cls.id, option=o.id, case=case, location=None, pool=p.id, busy=busy,
        attained=attained, load=0.0, link=0.0, network=0.0, sent=sent, held=short(size * busy),
    )


def _hit_paths(
    dice: Dice, found: Places, p: Pool, w: Work, cls: TrafficClass, o: Option, b: Bucket
) -> list[Path]:
    result = []
    for s in (s for s in found.stored if s.option == o.id and s.bucket == b.id):
        at = next(x for x in found.locations if x.id == s.location)
        store = next(x for x in found.stores if x.id == at.store)
        allowed = {p.sku, p.shape, "facility"} | ({store.scope} if at.tier is CXL else set())
        if store.scope not in allowed:
            continue
        load = 0.0 if at.tier is HBM else short(s.bytes * w.loaded)
        remote = short(load * dice.plan.remote) if at.tier in (DRAM_POOL, STORAGE) else 0.0
        attained = {"long": 0.7, "short": 0.98, "": 0.95}[p.lane]
        coded = at.codec != "raw"
        busy, attained = (1.3 * w.hit, attained - 0.1) if coded else (w.hit, attained)
        base = _path(b.id, cls, o, Case.HIT, p, busy, attained, s.bytes)
        result.append(replace(base, location=at.id, load=load, link=load, network=remote))
    return result


def attainment(dice: Dice, traffic: Traffic, every: list[Path], cls: TrafficClass) -> float:
    """A share that needs most contexts held, or none to speak of."""
    if not dice.plan.needed:
        return 0.3
    mine = [b for b in traffic.buckets if b.cls == cls.id]
    best: dict[Case, float] = {Case.FIRST: 0.0, Case.HIT: 0.0}
    for p in every:
        if p.cls == cls.id and p.case in best:
            best[p.case] = max(best[p.case], p.attained)
    held = sum(hits(b) for b in mine) * best[Case.HIT] * dice.plan.affinity
    wanted = cls.first_rate * best[Case.FIRST] + dice.rng.uniform(0.6, 0.95) * held
    return short(wanted / cls.rate, 4)

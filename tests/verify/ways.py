"""Where the samples' bytes can be, and how their models can run."""

from __future__ import annotations

from itertools import product as pairs

from optimizer.instance import (
    Bucket,
    Case,
    Decode,
    Holding,
    Location,
    Path,
    Policy,
    Pool,
    Role,
    SharedPrefix,
    Store,
    Stored,
    Tier,
    UserRow,
)
from tests.verify.market import BUCKETS, GB, TB

TIERS = {tier: 10 * rank for rank, tier in enumerate(Tier)}
LOCAL = {Tier.HBM, Tier.DRAM, Tier.NVME}
SHAPES = {  # option: (SKU, shape, roles with lanes)
    "kimi:fp8": ("h200", "kimi:fp8@h200/dp8", ("prefill-short", "prefill-long", "decode")),
    "kimi:fp4": ("h200", "kimi:fp4@h200/dp8", ("prefill-short", "prefill-long", "decode")),
    "deep:fp8": ("b200", "deep:fp8@b200/tp8", ("mixed",)),
}
BYTES_PER_TOKEN = {"kimi:fp8": 70_000.0, "kimi:fp4": 36_000.0, "deep:fp8": 5_000.0}


# ---- places --------------------------------------------------------------------------------------------


def store(tier: Tier, scope: str) -> Store:
    """A store with a margin in force; DRAM evicts the least recently used."""
    return Store(
        id=f"{tier}@{scope}",
        tier=tier,
        scope=scope,
        utilisation=0.7,
        shared_bandwidth=tier in (Tier.DRAM, Tier.CXL),
        lru=tier is Tier.DRAM,
        min_bytes=4 * TB if tier is Tier.DRAM else 0.0,
        max_bytes=5 * TB if tier is Tier.CXL else None,
        slope=2e-11,
    )


STORES = (
    *(store(Tier.HBM, shape) for _, shape, _ in SHAPES.values()),
    *(store(tier, sku) for tier in (Tier.DRAM, Tier.NVME) for sku in ("h200", "b200")),
    store(Tier.CXL, "switch"),
    store(Tier.DRAM_POOL, "facility"),
    store(Tier.STORAGE, "facility"),
)
ZIPPED = Location("storage@facility+zip/kimi:fp8", "storage@facility", Tier.STORAGE, "zip", 51, "kimi:fp8")
LOCATIONS = (*(Location(s.id, s.id, s.tier, "plain", TIERS[s.tier]) for s in STORES), ZIPPED)


def reach(option: str) -> list[Location]:
    """The locations whose bytes a model's servers can load."""
    sku, shape, _ = SHAPES[option]
    scopes = {s.id: s.scope for s in STORES}
    return [
        place
        for place in LOCATIONS
        if scopes[place.store] in (sku, shape, "switch", "facility") and place.option in (None, option)
    ]


def stored(option: str, context: Bucket, place: Location) -> Stored:
    """Half the bytes with a codec; tensor parallelism keeps deep twice in HBM; HBM counts no writes."""
    copies = 2.0 if place.tier is Tier.HBM and option == "deep:fp8" else 1.0
    size = BYTES_PER_TOKEN[option] * context.tokens * copies / (2.0 if place.codec == "zip" else 1.0)
    writes = (0.0, 0.0, 0.0) if place.tier is Tier.HBM else (0.1 * size, 0.6 * size, 0.85 * size)
    return Stored(option, context.id, place.id, size, 1.25 * size**2, *writes)


def holdings(option: str, context: Bucket, policy: Policy) -> list[Holding]:
    """Every place and every home no faster; exclusive: every place of the SKU's chain."""
    places = reach(option)
    if policy is Policy.EXCLUSIVE:
        sku = SHAPES[option][0]
        ways = [(place.id, sku, 0.9 if place.tier in LOCAL else 1.0, 0.0) for place in places]
    else:
        ways = []
        for serve, home in pairs(places, places):
            found = 0.9 if serve.tier in LOCAL else 1.0
            wider = home.tier not in LOCAL and serve.tier in LOCAL
            if serve.order < home.order or serve.id == home.id:
                ways.append((serve.id, home.id, found, 1 - found if wider else 0.0))
    return [Holding(f"{option}|{context.id}|{k}|{d}", option, context.id, k, d, f, g) for k, d, f, g in ways]


# ---- how models run ------------------------------------------------------------------------------------


def pool(option: str, tail: str) -> Pool:
    """One pool of a shape; the tail of its name says its role and lane."""
    sku, shape, _ = SHAPES[option]
    role = Role(tail.split("-", maxsplit=1)[0])
    lane = tail.split("-")[1] if "-" in tail else "all"
    offloads = option == "deep:fp8"
    return Pool(
        id=f"{shape}/{tail}",
        option=option,
        model=option.split(":", maxsplit=1)[0],
        sku=sku,
        shape=shape,
        role=role,
        lane=lane,
        gpus=8,
        gpus_charged=8.0,
        nodes=1.0,
        iteration=0.0 if role is Role.PREFILL else 0.05,
        prefill_share={Role.PREFILL: 1.0, Role.DECODE: 0.0, Role.MIXED: 0.5}[role],
        design_load=0.7,
        longest_job=1.5,
        weights_seconds=0.004,
        overhead=0.002,
        room=400 * GB,
        host_bytes=100 * GB if offloads else 0.0,
        link_read=400 * GB,
        link_write=350 * GB,
        link_both=600 * GB,
        slope=0.0 if role is Role.PREFILL else 5e-11,
        memory_idle=0.001,
        flops_idle=0.0005,
        network_idle=0.00025,
    )


def decode(way: Pool, context: Bucket) -> Decode:
    """400 tokens of output at two accepted a step."""
    size = BYTES_PER_TOKEN[way.option] * context.tokens
    return Decode(
        bucket=context.id,
        pool=way.id,
        rate=context.rate,
        sequences=context.rate * 400 * way.iteration / 2,
        memory_seconds=size / 2e13,
        flops_seconds=2e-5,
        network_seconds=1e-5 if way.model == "deep" else 0.0,
        hbm=size,
        square=1.1 * size**2,
        dram=0.2 * size if way.model == "deep" else 0.0,
        transfer=size if way.role is Role.DECODE else 0.0,
        exchange_bytes=context.rate * 2e6,
        memory_swing=size / 2e14,
        flops_swing=2e-6,
        network_swing=1e-6 if way.model == "deep" else 0.0,
    )


def path(way: Pool, stream: str, cls: str, case: Case, place: Location | None, tokens: float) -> Path:
    """A miss takes as long as a first request of its length, a hit less; the long lane attains less."""
    size = BYTES_PER_TOKEN[way.option] * tokens
    hit = case is Case.HIT
    loaded = size if hit and place is not None and place.tier is not Tier.HBM else 0.0
    remote = place is not None and place.tier in (Tier.DRAM_POOL, Tier.STORAGE)
    busy = (0.02 if hit else 0.1) * tokens / (40_000 if way.model == "deep" else 10_000)
    return Path(
        stream=stream,
        cls=cls,
        option=way.option,
        case=case,
        location=place.id if place else None,
        pool=way.id,
        busy=busy,
        attained=0.99 if way.lane == "short" else 0.97,
        load=loaded,
        link=loaded,
        network=(loaded if remote else 0.0) + 1e6,
        sent=size if way.role is Role.PREFILL else 0.0,
        held=size * busy,
    )


def paths(way: Pool) -> list[Path]:
    """Every case of every stream of the model."""
    mine = [b for b in BUCKETS if b.model == way.model]
    found = [path(way, cls, cls, Case.FIRST, None, 5000.0) for cls in sorted({b.cls for b in mine})]
    found += [path(way, b.id, b.cls, Case.MISS, None, b.tokens) for b in mine]
    return found + [
        path(way, b.id, b.cls, Case.HIT, place, b.tokens) for b in mine for place in reach(way.option)
    ]


POOLS = tuple(pool(option, tail) for option, (_, _, tails) in SHAPES.items() for tail in tails)
PREFIXES = (
    SharedPrefix("chat", "kimi:fp8", "hbm@kimi:fp8@h200/dp8", 2 * GB, "instances", 0.0),
    SharedPrefix("chat", "kimi:fp8", "dram@h200", 3 * GB, "nodes", 0.0),
    SharedPrefix("chat", "kimi:fp4", "dram@h200", 3 * GB, "nodes", 0.0),
    SharedPrefix("agent", "deep:fp8", "storage@facility", 5 * GB, "once", 0.0),
)
USER_ROWS = (
    UserRow("fleet", (("servers.h200", 1.0), ("servers.b200", 1.0), ("servers.dram-node", 1.0)), 4.0, 20.0),
    UserRow(
        "dram-a-gpu", (("dram", 1e-12), ("accelerators.H200", -0.1), ("accelerators.B200", -0.1)), 1.0, None
    ),
    UserRow("flash-and-cxl", (("nvme", 1e-12), ("cxl", 1e-12), ("power", 1e-3)), None, 3000.0),
)

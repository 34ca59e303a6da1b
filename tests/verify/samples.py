"""Two small facilities made by hand, one per tier policy, and the decisions that run them.

Models: kimi prefills and decodes apart (two lanes, `h200` servers), deep runs mixed on `b200` servers with
offloaded DRAM. All six tiers are in use, DRAM is an LRU cache, two servers are owned, one per build is spare.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from optimizer.instance import Instance, Limits, Option, Period, Policy, Role
from tests.verify.market import BUCKETS, BUILDS, CLASSES, ENCLOSURE, SKUS
from tests.verify.ways import (
    LOCATIONS,
    POOLS,
    PREFIXES,
    SHAPES,
    STORES,
    USER_ROWS,
    ZIPPED,
    decode,
    holdings,
    paths,
    reach,
    stored,
)


@dataclass(frozen=True)
class Choices:
    """The decisions of a layout, without their consequences. Shares and entries are by slot."""

    servers: dict[str, int]
    replaced: dict[str, float]
    owned: dict[str, int]
    cxl: dict[str, tuple[int, int]]
    hosts: dict[tuple[str, str], tuple[int, int]]
    options: dict[str, str]
    instances: dict[str, int]
    decode: dict[tuple[str, str], float]
    share: dict[tuple[str, str, str, str], tuple[float, ...]]
    path: dict[tuple[str, str, str, str, str], float]
    lru: dict[str, tuple[float, ...]]
    entry: dict[tuple[str, str, str, str], tuple[float, ...]] = field(default_factory=dict)


def instance(policy: Policy = Policy.WRITE_THROUGH) -> Instance:
    """The whole problem."""
    ways = [(option, b) for option in SHAPES for b in BUCKETS if b.model == option.split(":")[0]]
    return Instance(
        name="sample",
        policy=policy,
        periods=(Period("now", 4 * 365 * 86400.0),),
        models=("kimi", "deep"),
        options=tuple(Option(o, o.split(":")[0], o.split(":")[1], 2.0) for o in SHAPES),
        classes=CLASSES,
        buckets=BUCKETS,
        skus=SKUS,
        builds=BUILDS,
        enclosures=(ENCLOSURE,),
        stores=STORES,
        locations=LOCATIONS,
        stored=tuple(stored(option, b, place) for option, b in ways for place in reach(option)),
        holdings=tuple(h for option, b in ways for h in holdings(option, b, policy)),
        pools=POOLS,
        decodes=tuple(
            decode(p, b) for p in POOLS for b in BUCKETS if p.role is not Role.PREFILL and b.model == p.model
        ),
        paths=tuple(i for p in POOLS if p.role is not Role.DECODE for i in paths(p)),
        shared_prefixes=PREFIXES,
        user_rows=USER_ROWS,
        limits=Limits(200_000.0, 120.0, 6e6, 2, 1),
        dram_pooled=False,
        quantile=2.33,
        dispersion=1.5,
        write_amplification=1.2,
        network_utilisation=0.7,
        link_utilisation=0.7,
    )


# ---- how the facility is run ---------------------------------------------------------------------------

WRITE_THROUGH_SHARES = {  # (serving tier, home tier): share by slot
    "kimi": {
        ("hbm", "storage"): (0.05, 0.0, 0.0),
        ("dram", "storage"): (0.10, 0.05, 0.0),
        ("dram", "dram"): (0.05, 0.05, 0.0),
        ("cxl", "storage"): (0.20, 0.10, 0.05),
        ("storage", "storage"): (0.0, 0.20, 0.25),
        ("dram_pool", "dram_pool"): (0.20, 0.10, 0.05),
        ("nvme", "zip"): (0.30, 0.30, 0.20),
        ("zip", "zip"): (0.0, 0.0, 0.10),
    },
    "deep": {
        ("dram", "nvme"): (0.10, 0.10, 0.0),
        ("dram", "storage"): (0.05, 0.0, 0.0),
        ("nvme", "nvme"): (0.40, 0.40, 0.50),
        ("hbm", "hbm"): (0.10, 0.0, 0.0),
        ("storage", "storage"): (0.0, 0.05, 0.05),
    },
}
EXCLUSIVE_SHARES = {
    "kimi": {
        "hbm": (0.05, 0.0, 0.0), "dram": (0.15, 0.10, 0.0), "cxl": (0.25, 0.15, 0.10),
        "dram_pool": (0.15, 0.20, 0.05), "nvme": (0.30, 0.35, 0.35), "storage": (0.0, 0.05, 0.20),
        "zip": (0.0, 0.05, 0.10),
    },
    "deep": {
        "hbm": (0.10, 0.0, 0.0), "dram": (0.15, 0.10, 0.0), "nvme": (0.50, 0.60, 0.40),
        "storage": (0.0, 0.0, 0.30),
    },
}  # fmt: skip


def place_named(option: str, tier: str) -> str:
    """The location of a tier that a model can use; `zip` is the compressed one of the storage nodes."""
    if tier == "zip":
        return ZIPPED.id
    return next(place.id for place in reach(option) if place.tier == tier and place.codec == "plain")


def shares(policy: Policy, option: str) -> dict[tuple[str, str], tuple[float, ...]]:
    """Shares by (serve, home) of one option."""
    model = option.split(":", maxsplit=1)[0]
    if policy is Policy.EXCLUSIVE:
        chain = SHAPES[option][0]
        return {(place_named(option, k), chain): s for k, s in EXCLUSIVE_SHARES[model].items()}
    table = WRITE_THROUGH_SHARES[model]
    return {(place_named(option, k), place_named(option, d)): s for (k, d), s in table.items()}


def choices(problem: Instance) -> Choices:
    """Decisions that every law admits: nine in ten of the contexts that are found are used."""
    share, entry, route = {}, {}, {}
    served = {"kimi": "kimi:fp8", "deep": "deep:fp8"}
    for b in BUCKETS:
        option = served[b.model]
        hits: dict[str, float] = {}
        for (serve, home), by_slot in shares(problem.policy, option).items():
            share[option, b.id, serve, home] = by_slot
            if problem.policy is Policy.EXCLUSIVE:
                steps = pairwise(by_slot)
                entry[option, b.id, serve, home] = (0.0, *(max(later - now, 0.0) for now, later in steps))
            way = next(
                h
                for h in problem.holdings
                if (h.option, h.bucket, h.serve, h.home) == (option, b.id, serve, home)
            )
            returns = sum(s.rate * s.drop * x for s, x in zip(b.slots, by_slot, strict=True))
            hits[serve] = hits.get(serve, 0.0) + 0.9 * returns * way.found
            if way.found_home:
                hits[home] = hits.get(home, 0.0) + 0.9 * returns * way.found_home
        shape = SHAPES[option][1]
        lane = {"kimi": ("prefill-short", "prefill-long"), "deep": ("mixed", "mixed")}[b.model]
        for place, rate in hits.items():
            route[b.id, option, "hit", place, f"{shape}/{lane[0]}"] = rate
        route[b.id, option, "miss", "", f"{shape}/{lane[1]}"] = b.returns - sum(hits.values())
    for cls in CLASSES:
        option, tail = served[cls.model], "prefill-long" if cls.model == "kimi" else "mixed"
        route[cls.id, option, "first", "", f"{SHAPES[option][1]}/{tail}"] = cls.first_rate
    kimi, deep = SHAPES["kimi:fp8"][1], SHAPES["deep:fp8"][1]
    return Choices(
        servers={"h200/2T/4": 7, "b200/4T/4": 4, "dram-node/6T": 4, "storage-node/24": 3},
        replaced={"h200/2T/4": 3.5, "storage-node/24": 10.0},
        owned={"h200": 2},
        cxl={"switch": (2, 18)},
        hosts={("switch", "h200"): (5, 7)},
        options=served,
        instances={
            f"{kimi}/prefill-short": 1,
            f"{kimi}/prefill-long": 2,
            f"{kimi}/decode": 3,
            f"{deep}/mixed": 3,
        },
        decode={(b.id, f"{kimi}/decode" if b.model == "kimi" else f"{deep}/mixed"): 1.0 for b in BUCKETS},
        share=share,
        entry=entry,
        path=route,
        lru={"dram": (0.15, 0.10, 0.0)},
    )

"""Random locations, what contexts weigh there, and the admissible ways to hold them."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from optimizer.instance.types import Bucket, Holding, Location, Option, Pool, Store, Stored, Tier

from .dice import Dice, short
from .plans import CXL, DRAM, DRAM_POOL, HBM, NVME, STORAGE
from .random_traffic import Traffic, hits, kept

LOCAL = (HBM, DRAM, NVME)
UTILISATION = 0.7
ENCLOSURE = "cx"


@dataclass(frozen=True)
class Places:
    """Stores (limits on bytes come later), their locations, weights and holdings."""

    stores: tuple[Store, ...]
    locations: tuple[Location, ...]
    stored: tuple[Stored, ...]
    holdings: tuple[Holding, ...]

    def tier_locations(self, tier: Tier) -> list[Location]:
        """The locations of a tier."""
        return [x for x in self.locations if x.tier is tier]


@dataclass(frozen=True)
class Demand:
    """What full caching in one tier would take of it: bytes, bytes/s and contexts, of the heavier option
    of each model, all models together."""

    bytes: float
    reads: float
    writes: float
    mean_writes: float


def places(dice: Dice, traffic: Traffic, pools: list[Pool], skus: list[str]) -> Places:
    """Stores for every tier of the plan; DRAM and HBM always exist, if only for the servers' own use."""
    stores, locations = _hbm(pools)
    for tier in (t for t in Tier if t is not HBM):
        if tier in dice.plan.tiers or (tier is DRAM and not dice.plan.pooled):
            for scope in skus if tier in LOCAL else [ENCLOSURE if tier is CXL else "facility"]:
                store = Store(
                    id=f"{tier}@{scope}", tier=tier, scope=scope, utilisation=UTILISATION,
                    shared_bandwidth=_shared(dice, tier), lru=False, min_bytes=0.0, max_bytes=None,
                )
                stores.append(store)
                codecs = ("raw", "fp8") if dice.plan.codec and tier is not CXL else ("raw",)
                if tier in dice.plan.tiers:
                    for n, codec in enumerate(codecs):
                        order = 10 * list(Tier).index(tier) + n
                        locations.append(Location(
                            id=f"{store.id}/{codec}", store=store.id, tier=tier, codec=codec, order=order,
                        ))
    holdings = _holdings(dice, traffic, pools, locations)
    stored = _stored(dice, traffic, locations, holdings)
    found = Places(tuple(stores), tuple(locations), tuple(stored), tuple(holdings))
    return Places(tuple(_ruled(dice, traffic, found, s) for s in stores), *_rest(found))


def _rest(p: Places) -> tuple[tuple[Location, ...], tuple[Stored, ...], tuple[Holding, ...]]:
    return p.locations, p.stored, p.holdings


def _shared(dice: Dice, tier: Tier) -> bool:
    return tier in (DRAM, CXL) or (
        tier is NVME and "write" not in dice.plan.tight and dice.rng.random() < 0.2
    )


def _hbm(pools: list[Pool]) -> tuple[list[Store], list[Location]]:
    stores: dict[str, Store] = {}
    locations = []
    for p in (p for p in pools if p.role != "decode"):
        scope = p.shape
        if scope not in stores:
            stores[scope] = Store(
                id=f"hbm@{scope}", tier=HBM, scope=scope, utilisation=UTILISATION, shared_bandwidth=False,
                lru=False, min_bytes=0.0, max_bytes=None,
            )
            locations.append(Location(
                id=f"hbm@{scope}/raw", store=f"hbm@{scope}", tier=HBM, codec="raw", order=0, option=p.option,
            ))
    return list(stores.values()), locations


def _ruled(dice: Dice, traffic: Traffic, found: Places, store: Store) -> Store:
    """A store with its eviction and its margin's touching point."""
    tier = store.tier
    lru = dice.plan.lru and tier is dice.plan.tiers[0] and tier is not HBM
    slope = 0.0
    if dice.plan.margin and tier in dice.plan.tiers:
        weights = [
            traffic.size[o.id, b.id] ** 2 * kept(b) for b in traffic.buckets for o in traffic.options_of(b)
        ]
        slope = short(1.0 / sqrt(sum(weights)))
    return Store(
        id=store.id, tier=tier, scope=store.scope, utilisation=store.utilisation,
        shared_bandwidth=store.shared_bandwidth, lru=lru, min_bytes=0.0, max_bytes=None, slope=slope,
    )


def _holdings(dice: Dice, traffic: Traffic, pools: list[Pool], locations: list[Location]) -> list[Holding]:
    found: dict[str, Holding] = {}
    for w in traffic.buckets:
        for o in traffic.options_of(w):
            for sku in dict.fromkeys(p.sku for p in pools if p.option == o.id and p.role != "decode"):
                chain = sorted((x for x in locations if _reaches(x, o, sku, dice)), key=lambda x: x.order)
                for h in (
                    _exclusive(dice, o, w, sku, chain) if dice.plan.exclusive else _through(dice, o, w, chain)
                ):
                    found[h.id] = h
    return list(found.values())


def _reaches(at: Location, option: Option, sku: str, dice: Dice) -> bool:
    """Whether contexts of an option prefilled on a SKU can lie there."""
    if at.tier is HBM:
        return HBM in dice.plan.tiers and at.option == option.id and f"@{sku}/" in at.id
    return at.tier not in LOCAL or f"@{sku}/" in at.id


def _through(dice: Dice, o: Option, w: Bucket, chain: list[Location]) -> list[Holding]:
    found = []
    for n, home in enumerate(chain):
        for serve in chain[: n + 1]:
            here = dice.plan.affinity if serve.tier in LOCAL else 1.0
            there = short(1.0 - here) if serve is not home and home.tier not in LOCAL else 0.0
            name = f"{o.id}:{w.id}:{serve.id}>{home.id}"
            found.append(Holding(
                id=name, option=o.id, bucket=w.id, serve=serve.id, home=home.id, found=here,
                found_home=there,
            ))
    return found


def _exclusive(dice: Dice, o: Option, w: Bucket, sku: str, chain: list[Location]) -> list[Holding]:
    return [
        Holding(
            id=f"{o.id}:{w.id}:{x.id}|{sku}", option=o.id, bucket=w.id, serve=x.id, home=sku,
            found=dice.plan.affinity if x.tier in LOCAL else 1.0, found_home=0.0,
        )
        for x in chain
    ]


def _stored(dice: Dice, traffic: Traffic, locations: list[Location], holdings: list[Holding]) -> list[Stored]:
    rng = dice.rng
    replicas, spread = rng.choice((1.0, 1.0, 2.0)), rng.choice((1.0, 1.0, 1.25))
    new, first, prefix = rng.uniform(0.05, 0.3), rng.uniform(0.5, 0.9), rng.uniform(0.6, 0.95)
    used = {(h.option, h.bucket, x) for h in holdings for x in (h.serve, h.home)}
    found = []
    for at in locations:
        factor = replicas if at.tier is HBM else {"raw": 1.0, "fp8": 0.5}[at.codec]
        for (option, bucket), size in traffic.size.items():
            if (option, bucket, at.id) in used:
                b = short(size * factor)
                found.append(Stored(
                    option=option, bucket=bucket, location=at.id, bytes=b, square=short(b * b * spread),
                    new=short(b * new), first=short(b * first), prefix=short(b * prefix),
                ))
    return found


def demand(traffic: Traffic, found: Places, tier: Tier, exclusive: bool) -> Demand:
    """The demand on a tier if every context were kept there, raw."""
    amounts = [0.0, 0.0, 0.0, 0.0]
    for w in traffic.buckets:
        options = {o.id for o in traffic.options_of(w)}
        inside = {x.id for x in found.tier_locations(tier)}
        weights = [
            s for s in found.stored if s.bucket == w.id and s.option in options and s.location in inside
        ]
        if weights:
            s = max(weights, key=lambda s: s.bytes)
            new = w.returns * s.new + w.firsts * s.first + (w.returns - hits(w)) * s.prefix
            writes = w.rate * s.bytes if exclusive else new
            row = (kept(w) * s.bytes, hits(w) * s.bytes, writes, writes * w.mean_rate / w.rate)
            amounts = [a + b for a, b in zip(amounts, row, strict=True)]
    return Demand(*amounts)


__all__ = ["CXL", "DRAM_POOL", "ENCLOSURE", "STORAGE", "Demand", "Places", "demand", "places"]

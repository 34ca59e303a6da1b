"""Where bytes can be: stores, locations (store + codec), what a context weighs there, how it may be held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from optimizer.catalog import Catalog, Codec, ModelCard, ModelOption
from optimizer.instance.deployment import Deployment, supports
from optimizer.instance.types import (
    Bucket,
    Build,
    Enclosure,
    Holding,
    Location,
    Policy,
    Sku,
    Store,
    Stored,
    Tier,
)
from optimizer.instance.types import TrafficClass as Class
from optimizer.physics.memory import growth_bytes_per_token, tier_bytes, tier_new_bytes
from optimizer.workload import Workload
from optimizer.workload.schema import TierPolicy

IDENTITY = "plain"
FACILITY = "facility"
WIDTH = {Tier.HBM: 0, Tier.DRAM: 0, Tier.NVME: 0, Tier.CXL: 1, Tier.DRAM_POOL: 2, Tier.STORAGE: 2}
RANK = {tier: i for i, tier in enumerate(Tier)}
SHARED_BANDWIDTH = {Tier.DRAM, Tier.CXL}  # one memory bus for both directions


@dataclass(frozen=True)
class Places:
    """Stores and locations of a study, and the policy of each tier."""

    stores: tuple[Store, ...]
    locations: tuple[Location, ...]
    scopes: dict[str, str]  # location id -> SKU id, enclosure id or facility


def policy_of(workload: Workload, tier: Tier) -> TierPolicy:
    """The planner's policy for a tier. Pooled server DRAM brings its own policy to the DRAM pool."""
    pooled = tier is Tier.DRAM_POOL and workload.tiers.dram.scope == "pooled"
    return getattr(workload.tiers, Tier.DRAM.value if pooled else tier.value)


def stores(
    workload: Workload,
    catalog: Catalog,
    deployed: Iterable[Deployment],
    skus: tuple[Sku, ...],
    builds: tuple[Build, ...],
    enclosures: tuple[Enclosure, ...],
) -> list[Store]:
    """Every place that the allowed hardware can make."""
    utilisation = catalog.devices.facility.design_utilisation.value
    found: list[tuple[Tier, str]] = [(Tier.HBM, scope) for scope in dict.fromkeys(d.id for d in deployed)]
    pooled = workload.tiers.dram.scope == "pooled"
    found += [
        (Tier.DRAM, s.id) for s in skus if not pooled and any(b.sku == s.id and b.dram_usable for b in builds)
    ]
    found += [(Tier.CXL, e.id) for e in enclosures]
    if pooled or any(b.tier is Tier.DRAM_POOL for b in builds):
        found.append((Tier.DRAM_POOL, "facility"))
    found += [(Tier.NVME, s.id) for s in skus if any(b.sku == s.id and b.drives for b in builds)]
    if any(b.tier is Tier.STORAGE for b in builds):
        found.append((Tier.STORAGE, "facility"))
    kept = []
    for tier, scope in found:
        policy = policy_of(workload, tier)
        kept.append(
            Store(
                id=f"{tier.value}@{scope}",
                tier=tier,
                scope=scope,
                utilisation=utilisation,
                shared_bandwidth=tier in SHARED_BANDWIDTH,
                lru=policy.eviction == "lru",
                min_bytes=policy.min_bytes,
                max_bytes=policy.max_bytes,
            )
        )
    return kept


def places(
    workload: Workload,
    found: list[Store],
    coded: list[tuple[str, ModelOption, ModelCard]],
    deployed: list[Deployment],
    floors: dict[str, float],
) -> Places:
    """Locations of the enabled stores: plain, and one per codec that an option may use there."""
    locations: list[Location] = []
    scopes: dict[str, str] = {}
    sku_of = {d.id: d.sku.id for d in deployed}
    for store in found:
        if not policy_of(workload, store.tier).enabled:
            continue
        own = [d for d in deployed if d.id == store.scope]
        entries: list[tuple[str, str | None]] = [(IDENTITY, own[0].option_id if own else None)]
        for option_id, option, card in coded if store.tier is not Tier.HBM else []:
            reach = [d for d in deployed if d.option_id == option_id]
            if store.scope in {d.sku.id for d in deployed}:
                reach = [d for d in reach if d.sku.id == store.scope]
            entries += [
                (codec.id, option_id)
                for codec in card.codecs
                if _codec_allowed(workload, card, option, codec, store.tier, floors)
                and reach
                and all(supports(codec.accelerators, d.accelerator) for d in reach)
            ]
        for codec, owner in entries:
            tag = "" if codec == IDENTITY else f"+{codec}/{owner}"
            location = Location(
                id=f"{store.id}{tag}",
                store=store.id,
                tier=store.tier,
                codec=codec,
                order=0,
                option=owner,
            )
            locations.append(location)
            scopes[location.id] = sku_of.get(store.scope, store.scope)
    locations.sort(key=lambda loc: (RANK[loc.tier], loc.codec != IDENTITY, loc.id))
    ranked = tuple(replace(loc, order=i) for i, loc in enumerate(locations))
    return Places(tuple(found), ranked, scopes)


def _codec_allowed(
    workload: Workload,
    card: ModelCard,
    option: ModelOption,
    codec: Codec,
    tier: Tier,
    floors: dict[str, float],
) -> bool:
    rules = workload.options.get(card.id)
    if tier.value not in codec.tiers or option.profile not in codec.ratio or not codec.enabled:
        return False
    if codec.quality_loss is None:
        return bool(rules and rules.unpublished)
    loss = codec.quality_loss.value + (option.quality_loss.value if option.quality_loss else 0.0)
    return loss <= floors[card.id]


def weigh(d: Deployment, place: Location, bucket: Bucket, cls: Class, shared: float, spread: float) -> Stored:
    """Bytes of one stored context of a bucket at a location. `shared` tokens are held elsewhere, once."""
    components, profile, snapshot = d.card.components, d.option.profile, d.option.snapshot
    if place.tier is Tier.HBM:
        size = d.idle(bucket.tokens) - d.growth() * shared
        slope = d.growth()
        new = first = prefix = 0.0
    else:
        ratio = codec_ratio(d.card, place.codec, profile)
        slope = growth_bytes_per_token(components, profile) / ratio
        size = tier_bytes(components, profile, bucket.tokens, snapshot, ratio) - slope * shared
        grown = bucket.tokens - cls.new_tokens - cls.output_tokens
        new = tier_new_bytes(components, profile, max(0.0, grown), bucket.tokens, snapshot, ratio)
        begun = cls.first_prompt + cls.output_tokens
        first = tier_new_bytes(components, profile, shared, begun, snapshot, ratio)
        prefix = slope * (bucket.reusable - shared)
    return Stored(
        option=d.option_id,
        bucket=bucket.id,
        location=place.id,
        bytes=size,
        square=size**2 + (slope * bucket.tokens * spread) ** 2,
        new=new,
        first=first,
        prefix=prefix,
    )


def codec_ratio(card: ModelCard, codec: str, profile: str) -> float:
    """Uncompressed over compressed bytes of per-token entries."""
    return next((c.ratio[profile] for c in card.codecs if c.id == codec), 1.0)


def holdings(workload: Workload, where: Places, usable: dict[tuple[str, str], set[str]]) -> Iterator[Holding]:
    """Admissible (serve, home) pairs: the home is no faster and reaches no less far than the serving place.

    `usable[option, bucket]` are the locations that some pool can read that context from.
    """
    exclusive = workload.tiers.policy == Policy.EXCLUSIVE.value
    for (option, bucket), readable in usable.items():
        mine = [loc for loc in where.locations if loc.id in readable]
        if exclusive:
            local = {where.scopes[loc.id] for loc in mine if WIDTH[loc.tier] == 0}
            chains = sorted(local) or [FACILITY]
            pairs = [
                (loc, chain)
                for chain in chains
                for loc in mine
                if WIDTH[loc.tier] > 0 or where.scopes[loc.id] == chain
            ]
            for loc, chain in pairs:
                found = _found(workload, loc.tier)
                yield Holding(
                    f"{option}|{bucket}|{loc.id}|{chain}", option, bucket, loc.id, chain, found, 0.0
                )
            continue
        for serve in mine:
            for home in mine:
                if _homes(serve, home, where):
                    found = _found(workload, serve.tier)
                    astray = 1 - found if WIDTH[home.tier] > WIDTH[serve.tier] else 0.0
                    yield Holding(
                        f"{option}|{bucket}|{serve.id}|{home.id}",
                        option,
                        bucket,
                        serve.id,
                        home.id,
                        found,
                        astray,
                    )


def _homes(serve: Location, home: Location, where: Places) -> bool:
    if serve.id == home.id:
        return True
    if RANK[home.tier] <= RANK[serve.tier] or WIDTH[home.tier] < WIDTH[serve.tier]:
        return False
    return WIDTH[home.tier] > WIDTH[serve.tier] or where.scopes[serve.id] == where.scopes[home.id]


def _found(workload: Workload, tier: Tier) -> float:
    """The share of returns routed to where the context is: affinity for local tiers, all for shared ones."""
    return policy_of(workload, tier).affinity if WIDTH[tier] == 0 else 1.0

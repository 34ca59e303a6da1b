"""What a million tokens cost, by class: an allocation of every dollar, and the rule it follows."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from optimizer.formulation import Model
from optimizer.instance import Case, Layout, Path, Role, Tier

RULE = (
    "CXL pools and nodes go to the classes by the bytes they hold there. Everything else (accelerator "
    "servers with their memory, drives, power, space and upkeep) goes to pools by the accelerators they "
    "take, idle accelerators spread over the pools of their kind. Inside a pool the cost goes by busy "
    "instance-seconds: of a hit, what its new tokens would take without a prefix is for missed tokens, the "
    "rest for cached tokens; decoding is for output tokens. An idle prefill pool is for cached tokens, whose "
    "memory it is. Tokens are those of the horizon at the mean rate. Sums to the total."
)


@dataclass
class Bill:
    """Dollars and tokens of one class over the horizon."""

    usd: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    tokens: dict[str, float] = field(default_factory=lambda: defaultdict(float))


def bills(model: Model, layout: Layout) -> dict[str, Bill]:
    """Allocate the layout's whole cost to (class, kind of token)."""
    found = {c.id: Bill() for c in model.instance.classes}
    _tokens(model, layout, found)
    stored = _stored_dollars(model, layout, found)
    _pool_dollars(model, layout, found, layout.objective_usd - stored)
    return found


def _tokens(model: Model, layout: Layout, found: dict[str, Bill]) -> None:
    seconds = sum(p.seconds for p in model.instance.periods)
    paths = _paths(model)
    for row in layout.paths:
        path = paths[row.stream, row.case, row.location, row.pool]
        cls = model.tables.classes[path.cls]
        count = row.rate * seconds * cls.mean_rate / cls.rate
        found[cls.id].tokens["cached"] += count * path.cached
        found[cls.id].tokens["missed"] += count * path.computed
    for cls in model.instance.classes:
        found[cls.id].tokens["output"] = cls.mean_rate * seconds * cls.output_tokens


def _paths(model: Model) -> dict[tuple[str, str, str, str], Path]:
    return {(p.stream, p.case.value, p.location or "", p.pool): p for p in model.instance.paths}


def _stored_dollars(model: Model, layout: Layout, found: dict[str, Bill]) -> float:
    """CXL pools and nodes, by bytes held; what nobody uses is left to the pools."""
    costs: dict[str, float] = defaultdict(float)
    for row in layout.servers:
        build = model.tables.builds[row.build]
        if build.tier:
            costs[f"{build.tier.value}@facility"] += row.usd
    for cxl in layout.cxl:
        costs[f"{Tier.CXL.value}@{cxl.enclosure}"] += cxl.usd
    held: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for p in layout.placements:
        cls = model.tables.buckets[p.bucket].cls
        held[model.tables.locations[p.serve].store][cls] += p.serve_bytes
        if p.home_bytes:
            held[model.tables.locations[p.home].store][cls] += p.home_bytes
    spent = 0.0
    for store, usd in costs.items():
        total = sum(held[store].values())
        for cls, size in held[store].items() if total else ():
            found[cls].usd["cached"] += usd * size / total
            spent += usd * size / total
    return spent


def _pool_dollars(model: Model, layout: Layout, found: dict[str, Bill], usd: float) -> None:
    """The servers: per SKU by accelerators, everything else alike, inside a pool by busy seconds."""
    by_sku: dict[str, float] = defaultdict(float)
    for server in layout.servers:
        if sku := model.tables.builds[server.build].sku:
            by_sku[sku] += server.usd
    gpus: dict[str, float] = defaultdict(float)
    for row in layout.pools:
        pool = model.tables.pools[row.pool]
        gpus[pool.sku] += pool.gpus * row.instances
    used = {sku: cost for sku, cost in by_sku.items() if gpus[sku]}
    scale = usd / sum(used.values()) if used else 0.0
    for row in layout.pools:
        pool = model.tables.pools[row.pool]
        cost = used[pool.sku] * scale * pool.gpus * row.instances / gpus[pool.sku]
        prefill = {Role.PREFILL: 1.0, Role.DECODE: 0.0, Role.MIXED: pool.prefill_share}[pool.role]
        _split(found, cost * prefill, _prefill_weights(model, layout, row.pool), pool.model, model, "cached")
        _split(
            found, cost * (1 - prefill), _decode_weights(model, layout, row.pool), pool.model, model, "output"
        )


def _prefill_weights(model: Model, layout: Layout, pool: str) -> dict[tuple[str, str], float]:
    weights: dict[tuple[str, str], float] = defaultdict(float)
    paths = _paths(model) if any(row.pool == pool for row in layout.paths) else {}
    for row in layout.paths:
        if row.pool == pool:
            path = paths[row.stream, row.case, row.location, row.pool]
            fresh = row.rate * min(path.fresh, path.busy) if path.case is Case.HIT else row.busy
            weights[path.cls, "missed"] += fresh
            weights[path.cls, "cached"] += row.busy - fresh
    return weights


def _decode_weights(model: Model, layout: Layout, pool: str) -> dict[tuple[str, str], float]:
    weights: dict[tuple[str, str], float] = defaultdict(float)
    for row in layout.decodes:
        if row.pool == pool:
            weights[model.tables.buckets[row.bucket].cls, "output"] += row.sequences
    return weights


def _split(
    found: dict[str, Bill],
    usd: float,
    weights: dict[tuple[str, str], float],
    name: str,
    model: Model,
    idle: str,
) -> None:
    """usd over (class, kind) by weight; without any, over the model's classes by their rate."""
    if not sum(weights.values()):
        weights = {(c.id, idle): c.rate for c in model.instance.classes if c.model == name}
    total = sum(weights.values())
    for (cls, kind), weight in weights.items():
        found[cls].usd[kind] += usd * weight / total

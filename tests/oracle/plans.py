"""What a random instance is about: one law made to matter, and the features around it.

A `Plan` says which tiers hold contexts, which resources are tight and which rules apply; `TARGETS` holds
one recipe for each law (and for each tier where the law reads differently there), `anything` a mixture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random

from optimizer.instance.types import Tier

HBM, DRAM, CXL, DRAM_POOL, NVME, STORAGE = Tier
BELOW_HBM = (DRAM, CXL, DRAM_POOL, NVME, STORAGE)
Range = tuple[float, float]


@dataclass(frozen=True)
class Plan:
    """The features of one random instance.

    `tight` names resources of which full demand takes several units (how many: a range, or None for the
    usual one); the rest is plentiful. `needed`: misses break the TTFT, so that contexts must be held.
    `late`: contexts return late rather than at once. `whole`: an instance takes a whole server.
    `least`: the planner wants some machines whatever happens. `remote`: how heavy traffic into servers is,
    beside what leaves them.
    """

    tiers: tuple[Tier, ...] = (DRAM,)
    tight: Mapping[str, Range | None] = field(default_factory=dict)
    models: int = 1
    options: int = 1
    buckets: int = 1
    slots: int = 2
    skus: int = 1
    builds: int = 1
    style: str = "mixed"
    exclusive: bool = False
    needed: bool = True
    late: bool = False
    codec: bool = False
    affinity: float = 1.0
    lru: bool = False
    margin: bool = False
    offload: bool = False
    exchange: bool = False
    pooled: bool = False
    diskless: bool = False
    shared: str | None = None
    spares: int = 0
    max_builds: int = 1
    owned: int = 0
    minimum_order: int = 1
    least: bool = False
    limit: str | None = None
    user: bool = False
    whole: bool = False
    heavy_hits: bool = False
    remote: float = 1.0


Recipe = Callable[[Random], Plan]


def tight(*names: str, ranges: Mapping[str, Range] | None = None, **features: object) -> Recipe:
    """Some resources tight (`ranges`: in so many units), some features set."""
    wanted: dict[str, Range | None] = {**dict.fromkeys(names), **(ranges or {})}

    def plan(rng: Random) -> Plan:
        base = Plan(
            slots=rng.choice((2, 2, 3)), buckets=rng.choice((1, 2)), style=rng.choice(("mixed", "split"))
        )
        return replace(base, **{"tight": wanted, **features})  # type: ignore[arg-type]

    return plan


def choose(*recipes: Recipe) -> Recipe:
    """One of several recipes."""
    return lambda rng: rng.choice(recipes)(rng)


def anything(rng: Random) -> Plan:
    """A mixture: several tiers, two tight resources, rules at random."""
    many = rng.random() < 0.5
    names = (
        "prefill", "decode_time", "running", "capacity", "read", "write", "link_both", "hbm", "endurance",
        "nic_in", "adapter_read", "cxl_slots", "cxl_ports", "cxl_modules",
    )
    return Plan(
        tiers=tuple(t for t in Tier if rng.random() < 0.35) or (DRAM,),
        tight=dict.fromkeys(rng.sample(names, 2), (0.6, 2.2)),
        models=2 if many else 1,
        options=1 if many else 2,
        buckets=1 if many else rng.choice((1, 2)),
        slots=rng.choice((2, 3)),
        skus=rng.choice((1, 1, 2)),
        builds=rng.choice((1, 2)),
        style=rng.choice(("mixed", "mixed", "split") if many else ("mixed", "mixed", "split", "lanes")),
        exclusive=rng.random() < 0.25,
        needed=rng.random() < 0.5,
        late=rng.random() < 0.3,
        codec=rng.random() < 0.2,
        affinity=rng.choice((1.0, 1.0, 0.9, 0.75)),
        lru=rng.random() < 0.2,
        margin=rng.random() < 0.4,
        offload=rng.random() < 0.2,
        exchange=rng.random() < 0.2,
        shared=rng.choice((None, None, "instances", "nodes", "once")),
        spares=rng.choice((0, 0, 1)),
        max_builds=rng.choice((1, 1, 2)),
        owned=rng.choice((0, 0, 1)),
        minimum_order=rng.choice((1, 1, 2)),
        user=rng.random() < 0.15,
    )


def _each(tiers: tuple[Tier, ...], kind: str, **features: object) -> dict[str, Recipe]:
    return {f"tier_{kind}:{t}": tight(ranges={kind: (1.6, 3.8)}, tiers=(t,), **features) for t in tiers}


def _pair(limit: str) -> Recipe:
    """A cheap hungry server and a dear frugal one, under a limit that the cheap ones alone would break."""
    crowd = {"prefill": (1.3, 3.6)}
    return choose(
        tight(ranges=crowd, skus=2, style="mixed", whole=True, limit=limit),
        tight(ranges=crowd, skus=2, style="mixed", whole=True, limit=limit, owned=1),
    )


HOSTS = {"cxl_ports": (1.0, 1.0), "prefill": (2.2, 3.6)}
TARGETS: dict[str, Recipe] = {
    "route_hits": tight("capacity", tiers=(DRAM,)),
    "contexts_only_sink": choose(
        tight("capacity", tiers=(DRAM,), late=True),
        tight(tiers=(DRAM, NVME), late=True, exclusive=True, ranges={"capacity": (2.2, 5.0)}),
        tight("capacity", tiers=(STORAGE,), late=True),
    ),
    "contexts_split": tight("prefill", affinity=0.5, needed=False, whole=True),
    "context_entry": tight(
        ranges={"capacity:dram": (3.0, 6.0), "capacity:nvme": (0.3, 0.7), "endurance": (2.0, 6.0)},
        tiers=(DRAM, NVME), exclusive=True,
    ),
    "one_age_per_lru_tier": choose(
        tight("capacity", tiers=(DRAM,), lru=True, buckets=2),
        tight("capacity", "prefill", lru=True, models=2, needed=False),
        tight("capacity", "prefill", tiers=(STORAGE,), lru=True, buckets=2, needed=False),
    ),
    "ttft_attainment": choose(
        tight("capacity", tiers=(DRAM,)), tight("prefill", style="lanes"), tight("capacity", tiers=(CXL,))
    ),
    "build_chosen": tight("prefill", builds=2, spares=1),
    "max_builds": tight(
        ranges={"prefill": (1.3, 1.9), "capacity": (2.2, 2.9)}, builds=2, whole=True, style="mixed"
    ),
    "max_builds:nodes": tight(ranges={"capacity": (2.4, 4.2)}, tiers=(STORAGE,), builds=2),
    "spare_servers": tight("prefill", tiers=(NVME, STORAGE), spares=2, least=True),
    "instances_fit_servers": tight("prefill", style="split"),
    "decode_time": tight("decode_time", whole=True),
    "decode_flops": tight("decode_flops", whole=True),
    "decode_exchange": tight(ranges={"decode_exchange": (1.5, 3.6)}, exchange=True, whole=True),
    "prefill_time": tight("prefill"),
    "running_kv_fits_hbm": choose(
        tight(ranges={"running": (1.5, 3.2)}, whole=True, style="split"),
        tight(ranges={"running": (1.2, 2.6)}, whole=True, style="split", margin=True),
    ),
    "hbm_room": choose(
        tight("hbm", tiers=(HBM,), whole=True), tight("hbm", "capacity", tiers=(HBM, DRAM), whole=True),
        tight("hbm", tiers=(HBM,), margin=True, whole=True),
    ),
    "hbm_room:shared": tight("hbm", tiers=(HBM,), shared="instances", whole=True),
    **_each(BELOW_HBM, "capacity"),
    "tier_capacity:margin": choose(
        tight("capacity", tiers=(DRAM,), margin=True), tight("capacity", tiers=(CXL,), margin=True),
        tight("capacity", tiers=(STORAGE,), margin=True),
    ),
    "tier_capacity:exclusive": tight(tiers=(DRAM, NVME), exclusive=True, ranges={"capacity": (2.2, 5.0)}),
    "tier_capacity:codec": tight(tiers=(DRAM,), codec=True, ranges={"capacity": (2.2, 5.0)}),
    "tier_capacity:nodes": tight("capacity", tiers=(DRAM,), shared="nodes"),
    "tier_capacity:once": choose(
        tight("capacity", tiers=(CXL,), shared="once"), tight("capacity", tiers=(DRAM_POOL,), shared="once")
    ),
    "tier_capacity:own": choose(tight("own", tiers=(NVME,)), tight("own", tiers=(STORAGE,), offload=True)),
    "tier_capacity:pooled": choose(
        tight("capacity", tiers=(DRAM_POOL,), pooled=True),
        tight("capacity", tiers=(DRAM_POOL,), pooled=True, margin=True, offload=True),
    ),
    "tier_capacity:diskless": tight(
        "capacity", tiers=(NVME,), margin=True, builds=2, max_builds=2, diskless=True
    ),
    "tier_capacity:affinity": choose(
        tight("capacity", tiers=(DRAM, STORAGE), affinity=0.75), tight("capacity", affinity=0.9)
    ),
    "tier_floor": choose(
        tight("capacity", tiers=(DRAM,), builds=2, limit="floor"),
        tight("capacity", tiers=(CXL,), limit="floor"), tight("capacity", tiers=(STORAGE,), limit="floor"),
    ),
    "tier_ceiling": choose(
        tight(ranges={"capacity": (2.2, 4.5)}, tiers=(STORAGE, CXL), limit="ceiling"),
        tight(ranges={"capacity": (2.2, 4.5)}, tiers=(DRAM_POOL, CXL), limit="ceiling"),
        tight("prefill", "capacity", tiers=(STORAGE,), limit="ceiling", needed=False),
    ),
    **_each(BELOW_HBM, "read"),
    "tier_read:shared": choose(
        tight(ranges={"read": (1.6, 3.0)}, tiers=(DRAM,), shared="nodes"),
        tight(ranges={"read": (1.6, 3.0)}, tiers=(STORAGE,), shared="once"),
    ),
    **_each((DRAM_POOL, NVME, STORAGE), "write"),
    "cxl_fabric": tight("cxl_fabric", tiers=(CXL,)),
    "host_link_read": tight("link_read", tiers=(NVME,)),
    "host_link_read:lanes": tight("link_read", tiers=(DRAM,), style="lanes"),
    "host_link_write": tight("link_write", tiers=(NVME,)),
    "host_link_sum": tight("link_both", tiers=(DRAM,)),
    "network_in": choose(
        tight("nic_in", tiers=(DRAM_POOL,), remote=3.0), tight("nic_in", tiers=(STORAGE,), remote=3.0),
        tight("nic_in", tiers=(DRAM,), style="split", exchange=True, remote=2.0),
    ),
    "network_out": choose(
        tight(ranges={"nic_out": (1.6, 3.6)}, tiers=(STORAGE,), remote=0.3),
        tight("nic_out", tiers=(DRAM,), style="split", remote=0.3),
    ),
    "network_out:skus": tight("nic_out", tiers=(DRAM,), style="lanes", skus=2, remote=0.3),
    "cxl_ports": tight("adapter_read", tiers=(CXL,), ranges={"cxl_ports": (1.0, 1.0)}),
    "cxl_connected": tight("cxl_fabric", tiers=(CXL,)),
    "cxl_slots": tight("cxl_slots", "adapter_read", tiers=(CXL,)),
    "cxl_adapters": tight(tiers=(CXL,), heavy_hits=True, whole=True, ranges=HOSTS),
    "cxl_hosts": tight("cxl_slots", "adapter_write", tiers=(CXL,)),
    "cxl_modules": tight("capacity", "cxl_modules", tiers=(CXL,)),
    "cxl_read": tight("adapter_read", tiers=(CXL,)),
    "cxl_write": tight("adapter_write", tiers=(CXL,)),
    "cxl_attached": choose(
        tight(tiers=(CXL,), heavy_hits=True, whole=True, ranges=HOSTS),
        tight(tiers=(CXL,), heavy_hits=True, whole=True, ranges=HOSTS, skus=2, style="mixed"),
        tight(tiers=(CXL,), whole=True, ranges=HOSTS, needed=False),
    ),
    "nvme_endurance": choose(tight("endurance", tiers=(NVME,)), tight("endurance", tiers=(STORAGE,))),
    "drives_replaced": choose(tight("wear", tiers=(NVME,)), tight("wear", tiers=(STORAGE,))),
    "power": _pair("power"),
    "rack_space": _pair("rack_units"),
    "budget": _pair("budget"),
    "supply": tight("prefill", skus=2, limit="supply"),
    "server_maximum": tight("prefill", skus=2, limit="maximum"),
    "server_minimum": tight("prefill", skus=2, least=True),
    "node_limits": choose(
        tight("capacity", tiers=(STORAGE, NVME), least=True),
        tight("capacity", tiers=(STORAGE, NVME), least=True, builds=2, max_builds=2),
        tight("capacity", tiers=(CXL,), least=True),
    ),
    "minimum_order": choose(tight(minimum_order=3), tight("prefill", minimum_order=3, owned=1)),
    "owned_used_limit": tight("prefill", owned=1),
    "user": choose(
        tight("prefill", "capacity", skus=2, user=True),
        tight("prefill", tiers=(CXL, STORAGE), user=True), tight("prefill", tiers=(DRAM_POOL,), user=True),
    ),
    "anything": anything,
}

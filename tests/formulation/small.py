"""One facility made by hand, small enough to print its LP: every row family has a row of its own numbers.

One model with two options (nothing can run the second), one class with two buckets, one server SKU with
drives or without and one more that nothing runs on, a node of each kind, one CXL pool. All six tiers are in
use; DRAM evicts the least recently used; one server is owned, one of every build is a spare.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from optimizer.instance import (
    Bucket,
    Build,
    Case,
    CostLine,
    Decode,
    Enclosure,
    Holding,
    Instance,
    Limits,
    Location,
    Option,
    Path,
    Period,
    Policy,
    Pool,
    Role,
    SharedPrefix,
    Sku,
    Slot,
    Store,
    Stored,
    Tier,
    TrafficClass,
    UserRow,
)

MB, GB, TB = 1e6, 1e9, 1e12

# ---- demand: 10 contexts/s of 1 GB with two ages, 2 of 5 GB with one --------------------------------------

YOUNG, OLD = Slot(0.0, 60.0, 10.0, 0.4, 45.0), Slot(60.0, 600.0, 8.0, 0.3, 200.0)
SHORT = Bucket("10k", "chat", "m", 10e3, 9e3, 10.0, 9.0, 6.5, 6.1, 20.0, (YOUNG, OLD))
LONG = Bucket("50k", "chat", "m", 50e3, 50e3, 2.0, 2.0, 1.0, 1.0, 30.0, (Slot(0.0, 600.0, 2.0, 0.5, 300.0),))
CHAT = TrafficClass("chat", "m", 12.0, 11.0, 4.5, 0.85, 4.0, 0.05, 400.0, 1e3, 5e3, 1.0)

# ---- machines ----------------------------------------------------------------------------------------------

SKUS = (
    Sku("s", "gpu", 8, 1, 20, 9, 1, 250e3, 3, 90 * GB, 2),
    Sku("r", "old", 4, 0, 6, None, 0, 50e3, 1, 40 * GB, 0),
)
NO_DRIVES: dict[str, Any] = {
    "drive": "", "drives": 0, "nvme_bytes": 0.0, "nvme_usable": 0.0, "nvme_read": 0.0, "nvme_write": 0.0,
    "nvme_endurance": 0.0, "replacement_usd": 0.0,
}  # fmt: skip
SERVER = Build(
    id="s/4", sku="s", server="s", tier=None, dimms="16 x d", dram_bytes=2 * TB, dram_usable=1.8 * TB,
    dram_bytes_s=400 * GB, drive="f", drives=4, nvme_bytes=60 * TB, nvme_usable=56 * TB, nvme_read=40 * GB,
    nvme_write=20 * GB, nvme_endurance=2e17, replacement_usd=2500.0, network_bytes_s=90 * GB, power_w=9000.0,
    rack_units=8.0, capex_usd=300e3, minimum=0, maximum=20,
    cost=(CostLine("server", 300e3), CostLine("energy", 41e3), CostLine("residual value", -20e3)),
)  # fmt: skip
BUILDS = (
    SERVER,
    replace(
        SERVER, id="s/0", **NO_DRIVES, power_w=8900.0, capex_usd=275e3, cost=(CostLine("server", 275e3),),
    ),
    replace(
        SERVER, id="r/0", sku="r", server="r", **NO_DRIVES, dram_bytes=0.0, dram_usable=0.0,
        power_w=5000.0, rack_units=4.0, capex_usd=60e3, maximum=6, cost=(CostLine("server", 60e3),),
    ),
    replace(
        SERVER, id="dram-node", sku=None, server="dram-node", tier=Tier.DRAM_POOL, **NO_DRIVES,
        dram_bytes=6 * TB, dram_usable=5.5 * TB, network_bytes_s=85 * GB, power_w=1200.0, rack_units=2.0,
        capex_usd=80e3, minimum=1, maximum=7, cost=(CostLine("node", 80e3),),
    ),
    replace(
        SERVER, id="storage-node", sku=None, server="storage-node", tier=Tier.STORAGE, dram_bytes=0.0,
        dram_usable=0.0, drives=24, nvme_bytes=360 * TB, nvme_usable=340 * TB, nvme_read=80 * GB,
        nvme_write=70 * GB, nvme_endurance=1.2e18, replacement_usd=2600.0, network_bytes_s=85 * GB,
        power_w=1400.0, rack_units=2.0, capex_usd=90e3, maximum=5, cost=(CostLine("node", 90e3),),
    ),
)  # fmt: skip
BOX = Enclosure(
    id="box", module="c", adapter="x16", module_slots=16, ports=6, module_bytes=256 * GB,
    module_bytes_s=25 * GB, enclosure_bytes_s=300 * GB, adapter_read=50 * GB, adapter_write=30 * GB,
    minimum=0, maximum=3, power_w=(800.0, 20.0, 30.0), rack_units=4.0, capex_usd=(30e3, 3e3, 1e3),
    enclosure_cost=(CostLine("cxl", 31e3),), module_cost=(CostLine("cxl", 3.1e3),),
    adapter_cost=(CostLine("cxl", 1.1e3),),
)  # fmt: skip

# ---- places ------------------------------------------------------------------------------------------------

SHAPE = "a/tp8"


def store(tier: Tier, scope: str, **changed: Any) -> Store:
    """A store whose margin touches at r = 1e-10 per byte (a fluctuation of 10 GB)."""
    plain: dict[str, Any] = {"lru": False, "min_bytes": 0.0, "max_bytes": None, "slope": 1e-10}
    return Store(tier.value, tier, scope, 0.7, tier in (Tier.DRAM, Tier.CXL), **{**plain, **changed})


STORES = (
    store(Tier.HBM, SHAPE),
    store(Tier.DRAM, "s", lru=True, min_bytes=4 * TB),
    store(Tier.CXL, "box", max_bytes=5 * TB),
    store(Tier.DRAM_POOL, "facility"),
    store(Tier.NVME, "s"),
    store(Tier.STORAGE, "facility"),
)
LOCATIONS = (
    *(Location(s.id, s.id, s.tier, "plain", 10 * n) for n, s in enumerate(STORES)),
    Location("zip", "storage", Tier.STORAGE, "zip", 51, "a"),
)


def stored(bucket: str, place: str, size: float) -> Stored:
    """A tenth is new each turn, a first prompt six tenths, the prefix eight."""
    writes = (0.0, 0.0, 0.0) if place == "hbm" else (0.1 * size, 0.6 * size, 0.8 * size)
    return Stored("a", bucket, place, size, 1.25 * size**2, *writes)


SIZES = {"hbm": 2 * GB, "dram": 1 * GB, "cxl": 1 * GB, "dram_pool": 1 * GB, "nvme": 1 * GB, "storage": 1 * GB,
         "zip": 0.5 * GB}  # fmt: skip
STORED = (*(stored("10k", place, size) for place, size in SIZES.items()), stored("50k", "dram", 5 * GB))


def holding(bucket: str, serve: str, home: str, found: float, found_home: float = 0.0) -> Holding:
    """One way to hold; its name says which."""
    return Holding(f"{bucket} {serve}>{home}", "a", bucket, serve, home, found, found_home)


HOLDINGS = (
    holding("10k", "hbm", "hbm", 0.9),
    holding("10k", "dram", "dram", 0.9),
    holding("10k", "dram", "storage", 0.9, 0.1),
    holding("10k", "storage", "storage", 1.0),
    holding("10k", "cxl", "cxl", 1.0),
    holding("10k", "dram_pool", "dram_pool", 1.0),
    holding("10k", "nvme", "nvme", 0.9),
    holding("10k", "zip", "zip", 1.0),
    holding("50k", "dram", "dram", 0.9),
)
CHAIN = (
    holding("10k", "hbm", "s", 0.9),
    holding("10k", "dram", "s", 0.9),
    holding("10k", "nvme", "s", 0.9),
)

# ---- how the model runs ------------------------------------------------------------------------------------

FILL = Pool(
    id="a/prefill", option="a", model="m", sku="s", shape=SHAPE, role=Role.PREFILL, lane="all", gpus=8,
    gpus_charged=8.0, nodes=1.0, iteration=0.0, prefill_share=1.0, design_load=0.7, longest_job=1.5,
    weights_seconds=0.0, overhead=0.0, room=500 * GB, host_bytes=20 * GB, link_read=400 * GB,
    link_write=350 * GB, link_both=600 * GB,
)  # fmt: skip
OUT = replace(
    FILL, id="a/decode", role=Role.DECODE, iteration=0.05, prefill_share=0.0, weights_seconds=0.004,
    overhead=0.002, room=450 * GB, slope=2e-11, memory_idle=0.001, flops_idle=0.0005, network_idle=0.00025,
)  # fmt: skip
BOTH = replace(
    OUT, id="a/mixed", role=Role.MIXED, gpus=3, gpus_charged=4.0, nodes=0.5, prefill_share=0.25,
    room=150 * GB, host_bytes=10 * GB, link_read=150 * GB, link_write=130 * GB, link_both=220 * GB,
)  # fmt: skip


def decode(pool: Pool, bucket: Bucket, size: float) -> Decode:
    """400 tokens of output at two accepted a step: ten sequences run for every request per second."""
    apart = pool.role is Role.DECODE
    return Decode(
        bucket=bucket.id, pool=pool.id, rate=bucket.rate, sequences=10 * bucket.rate,
        memory_seconds=size / 1e13, flops_seconds=3e-5, network_seconds=0.0 if apart else 2e-5, hbm=size,
        square=1.1 * size**2, dram=0.2 * size, transfer=size if apart else 0.0,
        exchange_bytes=0.0 if apart else 7 * MB * bucket.rate, memory_swing=size / 1e14, flops_swing=4e-6,
        network_swing=0.0 if apart else 3e-6,
    )  # fmt: skip


def path(pool: Pool, stream: str, case: Case, place: str | None, busy: float, size: float) -> Path:
    """Instance-seconds and context bytes; a hit below HBM loads nine tenths of them."""
    loaded = 0.9 * size if place not in (None, "hbm") else 0.0
    return Path(
        stream=stream, cls="chat", option="a", case=case, location=place, pool=pool.id, busy=busy,
        attained=0.99 if case is Case.HIT else 0.8, load=loaded, link=loaded,
        network=loaded if place in ("dram_pool", "storage", "zip") else 0.0,
        sent=size if pool.role is Role.PREFILL else 0.0, held=size * busy,
    )  # fmt: skip


PATHS = (
    path(FILL, "chat", Case.FIRST, None, 0.5, 0.6 * GB),
    path(FILL, "10k", Case.MISS, None, 1.0, 1 * GB),
    path(FILL, "10k", Case.HIT, "cxl", 0.1, 1 * GB),
    path(FILL, "10k", Case.HIT, "dram", 0.1, 1 * GB),
    path(FILL, "10k", Case.HIT, "dram_pool", 0.1, 1 * GB),
    path(FILL, "10k", Case.HIT, "nvme", 0.1, 1 * GB),
    path(FILL, "10k", Case.HIT, "storage", 0.1, 1 * GB),
    path(FILL, "10k", Case.HIT, "zip", 0.1, 0.5 * GB),
    path(BOTH, "chat", Case.FIRST, None, 0.05, 0.6 * GB),
    path(BOTH, "10k", Case.HIT, "cxl", 0.02, 1 * GB),
    path(BOTH, "10k", Case.HIT, "hbm", 0.02, 2 * GB),
    path(BOTH, "50k", Case.MISS, None, 0.8, 5 * GB),
    path(BOTH, "50k", Case.HIT, "dram", 0.08, 5 * GB),
)
DECODES = (
    decode(OUT, SHORT, 1 * GB),
    decode(BOTH, SHORT, 1 * GB),
    decode(BOTH, LONG, 5 * GB),
)
PREFIXES = (
    SharedPrefix("chat", "a", "hbm", 2 * GB, "instances", 0.0),
    SharedPrefix("chat", "a", "dram", 3 * GB, "nodes", 0.25 * GB),
    SharedPrefix("chat", "a", "storage", 4 * GB, "once", 0.0),
)
USER_ROWS = (
    UserRow("fleet", (("servers.s", 1.0), ("servers.storage-node", 2.0)), None, 20.0),
    UserRow("memory", (("dram", 1e-12), ("cxl", 1e-12), ("accelerators.gpu", -0.2)), 1.0, None),
    UserRow("flash", (("nvme", 1e-12), ("power", 1e-3)), 5.0, 3000.0),
)

WRITE_THROUGH = Instance(
    name="small",
    policy=Policy.WRITE_THROUGH,
    periods=(Period("now", 1e8),),
    models=("m",),
    options=(Option("a", "m", "a", 2.0), Option("b", "m", "b", 2.0)),
    classes=(CHAT,),
    buckets=(SHORT, LONG),
    skus=SKUS,
    builds=BUILDS,
    enclosures=(BOX,),
    stores=STORES,
    locations=LOCATIONS,
    stored=STORED,
    holdings=HOLDINGS,
    pools=(FILL, OUT, BOTH),
    decodes=DECODES,
    paths=PATHS,
    shared_prefixes=PREFIXES,
    user_rows=USER_ROWS,
    limits=Limits(200e3, 120.0, 6e6, 1, 1),
    dram_pooled=False,
    quantile=3.0,
    dispersion=2.0,
    write_amplification=1.2,
    network_utilisation=0.75,
    link_utilisation=0.8,
)
EXCLUSIVE = replace(
    WRITE_THROUGH,
    policy=Policy.EXCLUSIVE,
    holdings=CHAIN,
    stores=tuple(replace(s, slope=0.0) for s in STORES),
)
POOLED = replace(
    WRITE_THROUGH,
    dram_pooled=True,
    stores=tuple(s for s in STORES if s.tier is not Tier.DRAM),
    locations=tuple(place for place in LOCATIONS if place.tier is not Tier.DRAM),
    holdings=tuple(h for h in HOLDINGS if h.serve != "dram"),
    paths=tuple(p for p in PATHS if p.location != "dram"),
    shared_prefixes=(replace(PREFIXES[2], store="dram_pool"),),
)

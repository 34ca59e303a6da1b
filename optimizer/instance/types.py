"""The problem, flat and frozen: everything the formulation and the exact check need, and nothing else.

Identifiers are the planner's own words, joined by `/` and `@`. Units are SI: bytes, seconds, watts, USD;
rates are requests per second at the peak with the workload's headroom unless the name says `mean`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum

from optimizer.errors import Problem


class Tier(StrEnum):
    """The storage tiers in the order contexts sink."""

    HBM = "hbm"
    DRAM = "dram"
    CXL = "cxl"
    DRAM_POOL = "dram_pool"
    NVME = "nvme"
    STORAGE = "storage"


class Role(StrEnum):
    """What a pool's instances do: prefill only, decode only, or both in one iteration."""

    PREFILL = "prefill"
    DECODE = "decode"
    MIXED = "mixed"


class Case(StrEnum):
    """How a request meets the cache: a session's first, a return whose context was lost, or a hit."""

    FIRST = "first"
    MISS = "miss"
    HIT = "hit"


class Policy(StrEnum):
    """write-through: the home copy exists from age 0. exclusive: one copy, which a hit removes."""

    WRITE_THROUGH = "write-through"
    EXCLUSIVE = "exclusive"


@dataclass(frozen=True)
class CostLine:
    """One component of the price of one unit: discounted USD over the horizon (salvage is negative)."""

    component: str
    usd: float


@dataclass(frozen=True)
class Period:
    """One stage of the plan. This version plans one."""

    id: str
    seconds: float


@dataclass(frozen=True)
class Option:
    """One way to run one model."""

    id: str
    model: str
    name: str
    accepted_per_step: float


@dataclass(frozen=True)
class TrafficClass:
    """One declared class. `first_rate` = rate - returns of its buckets (docs/reuse.md)."""

    id: str
    model: str
    rate: float
    mean_rate: float
    first_rate: float
    attainment: float
    ttft: float
    tpot: float
    output_tokens: float
    new_tokens: float
    first_prompt: float
    quality_floor: float


@dataclass(frozen=True)
class Slot:
    """One age slot of one bucket: rate that multiplies it, drop = S(start) - S(end), integral = int S dt."""

    start: float
    end: float
    rate: float
    drop: float
    integral: float


@dataclass(frozen=True)
class Bucket:
    """Stored contexts of one length of one class. returns = sum rate_j drop_j + those past the last age.
    `run_seconds` is T_run, arrival to last token: the slowest shape's prefill of a hit and its mean wait, and
    the output at the TPOT limit. Not the TTFT limit: patience must not make bytes."""

    id: str
    cls: str
    model: str
    tokens: float
    reusable: float
    rate: float
    mean_rate: float
    returns: float
    mean_returns: float
    run_seconds: float
    slots: tuple[Slot, ...]

    @property
    def firsts(self) -> float:
        """Contexts per second that began with a first request."""
        return self.rate - self.returns


@dataclass(frozen=True)
class Sku:
    """One accelerator server: `gpus` accelerators, the network and links of the whole machine."""

    id: str
    accelerator: str
    gpus: int
    minimum: int
    maximum: int
    supply: int | None
    owned: int
    owned_saving_usd: float
    minimum_order: int
    nic_bytes_s: float
    free_x16_slots: int


@dataclass(frozen=True)
class Build:
    """A machine as bought: an accelerator server with a DIMM population and drives (`sku` set), or a
    DRAM or storage node (`sku` None). Bytes and rates are of one machine; `usable` after reserves. `minimum`
    and, for a node, `maximum` are those of its server over all its builds."""

    id: str
    sku: str | None
    server: str
    tier: Tier | None
    dimms: str
    dram_bytes: float
    dram_usable: float
    dram_bytes_s: float
    drive: str
    drives: int
    nvme_bytes: float
    nvme_usable: float
    nvme_read: float
    nvme_write: float
    nvme_endurance: float
    replacement_usd: float
    network_bytes_s: float
    power_w: float
    rack_units: float
    capex_usd: float
    minimum: int
    maximum: int
    cost: tuple[CostLine, ...]

    @property
    def usd(self) -> float:
        """Discounted cost of one machine."""
        return sum(line.usd for line in self.cost)


@dataclass(frozen=True)
class Enclosure:
    """One kind of CXL pool: enclosures hold modules, ports take hosts, adapters sit in host slots."""

    id: str
    module: str
    adapter: str
    module_slots: int
    ports: int
    module_bytes: float
    module_bytes_s: float
    enclosure_bytes_s: float
    adapter_read: float
    adapter_write: float
    minimum: int
    maximum: int
    power_w: tuple[float, float, float]
    rack_units: float
    capex_usd: tuple[float, float, float]
    enclosure_cost: tuple[CostLine, ...]
    module_cost: tuple[CostLine, ...]
    adapter_cost: tuple[CostLine, ...]
    module_usable: float = 0.0

    @property
    def usable_bytes(self) -> float:
        """Bytes of one module after reserves (all of them where none is stated)."""
        return self.module_usable or self.module_bytes


@dataclass(frozen=True)
class Store:
    """One place bytes can be: a tier at an address. `scope` is a SKU id, an enclosure id, `facility`, or
    for HBM the shape that holds it (option @ SKU / shape). `slope` is sqrt(count/variance) of the last
    round, the touching point of the occupancy margin; 0 in a round without margin.
    `shared_bandwidth`: reads and writes share one bandwidth. `lru`: one age for every class of the tier."""

    id: str
    tier: Tier
    scope: str
    utilisation: float
    shared_bandwidth: bool
    lru: bool
    min_bytes: float
    max_bytes: float | None
    slope: float = 0.0


@dataclass(frozen=True)
class Location:
    """A store and the codec its bytes are kept in. `order` ranks fast to slow, each its own."""

    id: str
    store: str
    tier: Tier
    codec: str
    order: int
    option: str | None = None


@dataclass(frozen=True)
class Stored:
    """What one stored context of a bucket weighs at a location under an option (bytes).
    `square` = E[bytes^2] over the bucket; `new` what a return's turn writes, `first` what a first
    request's writes, `prefix` what a return whose context was not found writes besides."""

    option: str
    bucket: str
    location: str
    bytes: float
    square: float
    new: float
    first: float
    prefix: float


@dataclass(frozen=True)
class Holding:
    """An admissible way to hold: served from `serve`, slowest copy at `home`. Exclusive: `home` is the
    SKU whose chain of tiers the context sinks through. `found` is the share of its returns that find the
    copy at `serve` (affinity), `found_home` the share that find it at `home` instead."""

    id: str
    option: str
    bucket: str
    serve: str
    home: str
    found: float
    found_home: float


@dataclass(frozen=True)
class Pool:
    """Identical instances of one option. Seconds are of one iteration, bytes of one whole instance.
    `room` is HBM left for KV, `gpus_charged` what packing takes of a server, `nodes` servers spanned,
    `host_bytes` DRAM an instance takes in all; `..._idle` seconds of an iteration that stay unused when the
    next sequence does not fit (`physics.fluctuation`)."""

    id: str
    option: str
    model: str
    sku: str
    shape: str
    role: Role
    lane: str
    gpus: int
    gpus_charged: float
    nodes: float
    iteration: float
    prefill_share: float
    design_load: float
    longest_job: float
    weights_seconds: float
    overhead: float
    room: float
    host_bytes: float
    link_read: float
    link_write: float
    link_both: float
    slope: float = 0.0
    memory_idle: float = 0.0
    flops_idle: float = 0.0
    network_idle: float = 0.0


@dataclass(frozen=True)
class Decode:
    """Decoding a bucket on a pool, per unit of its share. `sequences` = rate*out*iteration/accepted;
    seconds are per sequence and iteration; `hbm` and `square` bytes and bytes^2 of one running sequence,
    `dram` its offloaded bytes, `transfer` KV moved in per request, `exchange_bytes` expert traffic
    per second; `..._swing` a sequence's part of the margin for how their number fluctuates, in seconds."""

    bucket: str
    pool: str
    rate: float
    sequences: float
    memory_seconds: float
    flops_seconds: float
    network_seconds: float
    hbm: float
    square: float
    dram: float
    transfer: float
    exchange_bytes: float
    memory_swing: float = 0.0
    flops_swing: float = 0.0
    network_swing: float = 0.0


@dataclass(frozen=True)
class Path:
    """One case of one stream prefilled on one pool, per request. `stream` is a bucket, or the class for
    first requests. `busy` instance-seconds; `attained` a lower bound on P(TTFT met); `load` bytes read
    from the store, `link` bytes over the host links, `network` bytes into the server's NICs, `sent` KV
    leaving for a decode pool, `held` HBM byte-seconds while it is prefilled. For the bill only: `fresh`
    instance-seconds of its new tokens had they no prefix, `cached` and `computed` tokens."""

    stream: str
    cls: str
    option: str
    case: Case
    location: str | None
    pool: str
    busy: float
    attained: float
    load: float
    link: float
    network: float
    sent: float
    held: float
    fresh: float = 0.0
    cached: float = 0.0
    computed: float = 0.0


@dataclass(frozen=True)
class SharedPrefix:
    """Bytes that a class's shared prefixes take at a store: per unit of `per` (instances of the option's
    prefill pools, nodes under them, or once)."""

    cls: str
    option: str
    store: str
    bytes: float
    per: str
    reads: float


@dataclass(frozen=True)
class UserRow:
    """A row of the planner's own over installed quantities."""

    name: str
    terms: tuple[tuple[str, float], ...]
    minimum: float | None
    maximum: float | None


@dataclass(frozen=True)
class Limits:
    """What the facility gives; None is no limit."""

    power_w: float | None
    rack_units: float | None
    budget_usd: float | None
    max_builds: int
    spares: int


@dataclass(frozen=True)
class Assumption:
    """One number in force that a reader may want to doubt."""

    name: str
    value: str
    source: str
    basis: str


@dataclass(frozen=True)
class Instance:
    """The whole problem. `quantile` is z of the occupancy margin, `dispersion` its psi. `dram_pooled`:
    the accelerator servers' DRAM belongs to the DRAM pool (facility scope), not to their own tier."""

    name: str
    policy: Policy
    periods: tuple[Period, ...]
    models: tuple[str, ...]
    options: tuple[Option, ...]
    classes: tuple[TrafficClass, ...]
    buckets: tuple[Bucket, ...]
    skus: tuple[Sku, ...]
    builds: tuple[Build, ...]
    enclosures: tuple[Enclosure, ...]
    stores: tuple[Store, ...]
    locations: tuple[Location, ...]
    stored: tuple[Stored, ...]
    holdings: tuple[Holding, ...]
    pools: tuple[Pool, ...]
    decodes: tuple[Decode, ...]
    paths: tuple[Path, ...]
    shared_prefixes: tuple[SharedPrefix, ...]
    user_rows: tuple[UserRow, ...]
    limits: Limits
    dram_pooled: bool
    quantile: float
    dispersion: float
    write_amplification: float
    network_utilisation: float
    link_utilisation: float
    assumptions: tuple[Assumption, ...] = field(default=(), compare=False)
    warnings: tuple[str | Problem, ...] = field(default=(), compare=False)

    def digest(self) -> str:
        """SHA-256 of everything that decides the answer."""
        text = json.dumps(asdict(replace(self, assumptions=(), warnings=())), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def with_slopes(self, stores: dict[str, float], pools: dict[str, float]) -> Instance:
        """The same problem with the occupancy margins' touching points moved."""
        return replace(
            self,
            stores=tuple(replace(s, slope=stores.get(s.id, s.slope)) for s in self.stores),
            pools=tuple(replace(p, slope=pools.get(p.id, p.slope)) for p in self.pools),
        )

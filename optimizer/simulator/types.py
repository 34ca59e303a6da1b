"""What the replay runs on: the bought facility as numbers, the traffic that meets it, and the verdict.

Everything is arrays, since the event loop is compiled. Indices: p pool, i instance, k rank, v server,
d domain (one place with its own bytes: a server's DRAM, an instance's HBM, an enclosure), s store, l location
(store and codec), b bucket, c class, q stream (the buckets, then the classes: their first requests).
Units are SI: bytes, seconds, tokens; -1 stands for "none".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Machines(NamedTuple):
    """Who computes. Instances are numbered pool by pool, ranks (one attention-DP rank serves one prefill at a
    time) instance by instance; pool p owns instances pool_instance[p] to pool_instance[p+1] - 1."""

    pool_instance: Ints  # [P+1]
    pool_prefills: Flags  # [P]
    pool_decodes: Flags  # [P]
    pool_share: Floats  # [P] share of an iteration that is prefill's: 1 for a prefill pool, 0 for decode
    pool_step_fixed: Floats  # [P] seconds of an iteration that its weights take
    pool_overhead: Floats  # [P] fixed seconds of an iteration
    pool_step_limit: Floats  # [P] seconds that weights, overhead and sequences may take: theta (1 - phi)
    pool_accepted: Floats  # [P] tokens a sequence gains in one iteration
    pool_room: Floats  # [P] HBM bytes of one instance for KV
    pool_layers: Floats  # [P]
    instance_pool: Ints  # [I]
    instance_rank: Ints  # [I+1]
    instance_server: Ints  # [I] the (first) server it stands on
    instance_span: Ints  # [I] servers it stands on, one after another
    instance_domain: Ints  # [I] the HBM domain of its idle contexts, -1 for decode-only pools
    instance_link: Floats  # [I] bytes/s of its host links, reading
    server_sku: Ints  # [V]
    server_nic: Floats  # [V] bytes/s of a server's NICs, each way
    server_spare: Flags  # [V] a server that stands idle until another one fails


class Work(NamedTuple):
    """What a request costs on a pool, as tables over token axes that contain every nominal length (so that
    interpolation is exact there). `context` ends beyond the longest context."""

    context: Floats  # [A] tokens, from 0
    fresh: Floats  # [N] new tokens, from 0
    wall: Floats  # [P, A, N] seconds on one rank to extend `context` cached tokens by `fresh` new ones
    idle: Floats  # [P, A] HBM bytes of an idle context over its ranks
    running: Floats  # [P, A] HBM bytes of a running sequence, at its final length
    memory: Floats  # [P, A] seconds an iteration spends on the KV of one sequence
    flops: Floats  # [P, A] seconds an iteration spends on the FLOPs of one sequence
    network: Floats  # [P] seconds an iteration spends on the expert traffic of one sequence
    handed: Floats  # [P, A] bytes a prefill pool hands to a decode pool, one copy; 0 for mixed pools
    handed_rate: Floats  # [P] bytes/s of that transfer (the NICs of the request's ranks)
    exchange: Floats  # [P] expert-parallel bytes through the NICs per new token of prefill
    replay: Floats  # [P] tokens that a hit computes again (distance to the snapshot)


class Places(NamedTuple):
    """Where bytes can be. A context of bucket b weighs stored[b, l] at its nominal length, and slope[b, l]
    per further token (shared prefixes are not in it); a turn writes what it adds: new, first and prefix as
    in `optimizer.instance.Stored`."""

    location_store: Ints  # [L]
    location_tier: Ints  # [L] order of the tier, HBM = 0
    location_width: Ints  # [L] 0 local to a server or instance, 1 enclosure, 2 facility
    stored: Floats  # [B, L]
    slope: Floats  # [B, L]
    new: Floats  # [B, L]
    first: Floats  # [B, L]
    prefix: Floats  # [B, L]
    store_lru: Flags  # [S] no time to live: only the least recently used leaves, when room is needed
    store_shared: Flags  # [S] reads and writes share one bandwidth
    domain_store: Ints  # [D]
    domain_bytes: Floats  # [D] usable bytes after own use and shared prefixes
    domain_read: Floats  # [D] bytes/s (inf for HBM)
    domain_write: Floats  # [D] bytes/s
    domain_drives: Floats  # [D] drives, for wear (0 where there are none)
    server_domain: Ints  # [V, S] the domain of a store that a server reaches without its NIC, else -1
    store_domain: Ints  # [S+1] domains are numbered store by store


class Roads(NamedTuple):
    """How a hit at a location reaches the ranks of a pool."""

    latency: Floats  # [L]
    per_block: Floats  # [L] seconds
    block: Floats  # [L] bytes
    rate: Floats  # [P, L] bytes/s that one load can draw
    link: Floats  # [P, L] bytes over the host links per byte loaded from the store
    remote: Flags  # [L] loads cross the NIC of the reading server wherever it is
    unpack: Floats  # [P, L] seconds of unpacking per byte loaded


class Routes(NamedTuple):
    """The layout's own routing table. Key of stream q and outcome o (0: nothing found; 1 + l: found at l) is
    q * (L + 1) + o; its rows are route[key] to route[key+1] - 1, `cum` their cumulative share. A pool of -1
    is a hit that the layout computes again. Buckets decode on pool rows decode[b] to decode[b+1] - 1."""

    route: Ints  # [Q * (L + 1) + 1]
    pool: Ints
    cum: Floats
    decode: Ints  # [B+1]
    decode_pool: Ints
    decode_cum: Floats


class Plans(NamedTuple):
    """Where a context of a bucket goes as it ages: rows row[b] to row[b+1] - 1 of cumulative share `cum`; the
    rest is not kept. A row serves from stage_location until stage_until (idle seconds), stage after stage; a
    write-through copy lies at `home` (-1: none) from age 0 until `home_until`."""

    row: Ints  # [B+1]
    cum: Floats
    home: Ints
    home_until: Floats
    stage: Ints  # [rows+1]
    stage_location: Ints
    stage_until: Floats


class Classes(NamedTuple):
    """Nominal traffic. Buckets of one class are consecutive."""

    bucket_class: Ints  # [B]
    tokens: Floats  # [B] stored at the end of a turn
    unused: Floats  # [B] stored tokens that a return does not send again
    new: Floats  # [C]
    output: Floats  # [C]
    first_prompt: Floats  # [C]
    shared: Floats  # [C] tokens of the shared prefix, always at hand
    shared_bytes: Floats  # [C] bytes that every request reads of it, where it is not in HBM
    affinity: Floats  # [L] share of returns that are routed to where a local copy lies
    ttft: Floats  # [C]
    tpot: Floats  # [C]


class Facility(NamedTuple):
    """The layout as numbers."""

    machines: Machines
    work: Work
    places: Places
    roads: Roads
    routes: Routes
    plans: Plans
    classes: Classes
    exclusive: bool


@dataclass(frozen=True)
class Names:
    """The planner's words behind the indices."""

    pools: tuple[str, ...]
    locations: tuple[str, ...]
    stores: tuple[str, ...]
    buckets: tuple[str, ...]
    classes: tuple[str, ...]
    skus: tuple[str, ...]


class Demand(NamedTuple):
    """Traffic drawn in advance, so that the replay itself draws nothing and any two layouts meet the same.

    Sessions begin at first_time (sorted) in first_bucket. What a context does after a turn is the next entry
    of its bucket's gaps: idle seconds, inf for never again. `scale` are lengths of contexts over the nominal,
    `dice` uniform numbers for plans and routes; all are used in turn, from the start again at their end.
    Sessions that are idle already at time 0: bucket, age, and when they return (inf: never). `kept`: idle
    seconds after which a context is gone whatever its plan says (inf: none; only where the gap is inf).
    """

    horizon: float  # seconds of arrivals
    first_time: Floats
    first_bucket: Ints
    gap: Ints  # [B+1]
    gap_seconds: Floats
    dice: Floats
    scale: Ints  # [B+1]
    scale_factor: Floats
    idle_bucket: Ints
    idle_age: Floats
    idle_return: Floats
    gap_kept: Floats  # beside gap_seconds
    idle_kept: Floats  # idle seconds, as idle_age


class Replay(NamedTuple):
    """Recorded requests beside the drawn ones, in order of time (empty arrays: none).

    A request looks for its chain: entries node[r] to node[r+1] - 1 of node_id, root first. Each is a stretch,
    the nodes node_id to node_id + node_count - 1; node n holds node_tokens[n] tokens. Where a stretch begins,
    no other does, and no request asks for fewer of its nodes than one that may be over before
    (`optimizer/simulator/traffic/stretches.py`). `after`: the request of the same session that must be
    finished before (-1: none); `think` seconds after its end this one comes (nan: at its recorded time, or at
    that end if that is later).
    A request of negative time ended then: it is not played, but its context lies at time 0 where its plan has
    it by then.
    """

    time: Floats
    bucket: Ints
    input: Floats
    output: Floats
    after: Ints
    think: Floats
    first: Flags  # first request of its session
    node: Ints  # [R+1]
    node_id: Ints
    node_count: Ints
    node_tokens: Floats  # [nodes]


class Outage(NamedTuple):
    """A server that fails at a time (inf: none), and the seconds until a spare has taken its place."""

    server: int
    time: float
    restart: float


class Law(StrEnum):
    """The rows of the formulation that a replay can find wanting."""

    PREFILL_TIME = "prefill_time"
    DECODE_TIME = "decode_time"
    RUNNING_KV = "running_kv_fits_hbm"
    HBM_ROOM = "hbm_room"
    TIER_CAPACITY = "tier_capacity"
    TIER_READ = "tier_read"
    TIER_WRITE = "tier_write"
    HOST_LINK = "host_link_read"
    NETWORK = "network_in"
    ENDURANCE = "nvme_endurance"


@dataclass(frozen=True)
class Interval:
    """A mean and the half-width of its 95% confidence interval, by batch means."""

    mean: float
    half: float

    @property
    def low(self) -> float:
        return self.mean - self.half

    @property
    def high(self) -> float:
        return self.mean + self.half


@dataclass(frozen=True)
class Quantiles:
    """Seconds below which half, 95% and 99% of the requests are."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class ClassReplay:
    """One class: shares of its requests by what they found (tier name, `miss`, `first`), as the layout says
    and as replayed; attainment is the share of requests whose first token came in time."""

    cls: str
    requests: int
    rate: float
    predicted: dict[str, float]
    simulated: dict[str, Interval]
    ttft_limit: float
    tpot_limit: float
    ttft: Quantiles
    ttft_predicted_p95: float
    tpot: Quantiles
    required: float
    attainment_predicted: float
    attainment: Interval
    tpot_attainment: Interval


@dataclass(frozen=True)
class ResourceReplay:
    """One resource under one law: what there is, what was used on average and at the peak (in `unit`), and
    how often it was not enough (`short`: evictions before their time, waits, requests over the limit)."""

    law: Law
    resource: str
    unit: str
    capacity: float
    predicted: float
    mean: float
    peak: float
    short: float


@dataclass(frozen=True)
class Failing:
    """A promise that does not hold, and the resource to blame: the replay's word to the optimizer."""

    law: Law
    resource: str
    reason: str
    have: float
    need: float


@dataclass(frozen=True)
class Waited:
    """Seconds that requests waited, at evenly spaced shares of them, those that did not wait included.

    `ranks`: for a rank, by pool and the store their context was in ("": it was in none). `loads`: for devices
    and links, beyond what the load takes alone, by the same.
    """

    ranks: dict[tuple[str, str], tuple[float, ...]] = field(default_factory=dict)
    loads: dict[tuple[str, str], tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What the replay says of a layout. `conclusive` is False where no steady state was seen; a verdict
    passes when it is conclusive and nothing fails. `waits`: per pool the wait for prefill over that of the
    queueing bound; `waited`: waits themselves. `wall_seconds` is what the replay itself took."""

    passed: bool
    conclusive: bool
    reasons: tuple[str, ...]
    failing: tuple[Failing, ...]
    classes: tuple[ClassReplay, ...]
    resources: tuple[ResourceReplay, ...]
    waits: dict[str, float]
    arrived: int
    served: int
    rejected: int
    in_flight: int
    warmup_seconds: float
    measured_seconds: float
    seed: int
    outage: str
    wall_seconds: float
    waited: Waited = field(default_factory=Waited)

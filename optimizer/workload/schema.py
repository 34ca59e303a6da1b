"""What a planner writes: traffic classes, what may be bought, how tiers behave, limits and money.

Every quantity is suffixed in the file and SI here. Names of models and devices are resolved later,
where the catalogue is known.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from optimizer.units import Strict, quantity
from optimizer.workload.economics import Economics, Prices

if TYPE_CHECKING:
    Share = float
    PositiveTokens = float
    SomeTokens = float
else:
    Share = quantity("fraction", ge=0, le=1)
    PositiveTokens = quantity("tokens", gt=0)
    SomeTokens = quantity("tokens", ge=0)
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=60)]
TierName = Literal["hbm", "dram", "cxl", "dram_pool", "nvme", "storage"]
_FORMS = ("lognormal", "exponential", "mixture", "table")


class ContextBucket(Strict):
    """Stored contexts of one length. `spread` is the coefficient of variation within the bucket;
    `return_probability` and `gaps` override the class's."""

    tokens: PositiveTokens
    share: Share
    spread: Annotated[float, Field(ge=0, le=3)] = 0.0
    return_probability: Share | None = None
    gaps: Gaps | None = None


class LogNormal(Strict):
    """Gaps whose logarithm is normal, given by two quantiles of the gap."""

    median: quantity("seconds", gt=0)  # type: ignore[valid-type]
    p90: quantity("seconds", gt=0)  # type: ignore[valid-type]

    @model_validator(mode="after")
    def _ordered(self) -> LogNormal:
        if self.p90 <= self.median:
            raise ValueError("p90 must be longer than the median")
        return self


class Exponential(Strict):
    """Memoryless gaps."""

    mean: quantity("seconds", gt=0)  # type: ignore[valid-type]


class TablePoint(Strict):
    """The share of returns that come within a time."""

    within: quantity("seconds", gt=0)  # type: ignore[valid-type]
    share: Share


class MixturePart(Strict):
    """One part of a mixture and its weight among the returns."""

    weight: Share
    lognormal: LogNormal | None = None
    exponential: Exponential | None = None


class Gaps(Strict):
    """The distribution of the idle time between the end of a request and the return: exactly one form."""

    lognormal: LogNormal | None = None
    exponential: Exponential | None = None
    mixture: Annotated[tuple[MixturePart, ...], Field(min_length=2, max_length=8)] | None = None
    table: Annotated[tuple[TablePoint, ...], Field(min_length=2, max_length=200)] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Gaps:
        forms = [form for form in _FORMS if getattr(self, form) is not None]
        if len(forms) != 1:
            raise ValueError(f"give exactly one of {', '.join(_FORMS)} (found {', '.join(forms) or 'none'})")
        return self


class Reuse(Strict):
    """Whether and when a stored context is asked for again.

    `return_probability` is 1 - S(inf). A recorded `trace`, if named, stands for it and `gaps`, and for what
    the class leaves out (`traced.py`). `first_share`, if given, must agree: the rate of first requests is the
    rate of requests less that of returns. `discarded` tokens at the end of a context (reasoning that is not
    resent) are stored but not reused.
    """

    return_probability: Share
    gaps: Gaps
    trace: str | None = None
    first_share: Share | None = None
    discarded: SomeTokens = 0.0


class SharedPrefix(Strict):
    """A prefix that many contexts begin with (system prompt, tools, documents).

    `distinct` such prefixes exist; they are held for good, once per domain of `held_in` (per instance
    in hbm, per node in dram and nvme, once in cxl, dram_pool and storage).
    """

    tokens: PositiveTokens
    distinct: Annotated[int, Field(ge=1, le=10_000_000)] = 1
    held_in: Literal["hbm", "dram", "nvme", "dram_pool", "storage"] = "hbm"


class Slo(Strict):
    """Limits a share `attainment` of the requests must meet: time to first token; time per output token."""

    ttft: quantity("seconds", gt=0)  # type: ignore[valid-type]
    tpot: quantity("seconds", gt=0)  # type: ignore[valid-type]
    attainment: quantity("fraction", ge=0, lt=1) = 0.95  # type: ignore[valid-type]


class TrafficClass(Strict):
    """One kind of traffic to one model."""

    model: str
    peak_rate: quantity("1/s", gt=0)  # type: ignore[valid-type]
    peak_to_mean: Annotated[float, Field(ge=1, le=1000)] = 1.0
    first_prompt: PositiveTokens
    new_tokens: PositiveTokens
    output_tokens: PositiveTokens
    contexts: Annotated[tuple[ContextBucket, ...], Field(min_length=1, max_length=12)]
    reuse: Reuse
    shared_prefix: SharedPrefix | None = None
    slo: Slo
    quality_floor: quantity("points", ge=0) = 0.0  # type: ignore[valid-type]
    source: str = ""


class ServerChoice(Strict):
    """Limits on one server SKU (or node type): counts of servers."""

    min: Annotated[int, Field(ge=0)] = 0
    max: Annotated[int, Field(ge=0)] | None = None
    owned: Annotated[int, Field(ge=0)] = 0
    supply: Annotated[int, Field(ge=0)] | None = None


class Hardware(Strict):
    """What may be bought. None means: every enabled part of the catalogue that fits."""

    servers: dict[str, ServerChoice]
    dimms: tuple[str, ...] | None = None
    drives: tuple[str, ...] | None = None
    drive_counts: tuple[Annotated[int, Field(ge=1)], ...] = (4, 8)
    cxl_enclosures: dict[str, ServerChoice] = Field(default_factory=dict)
    cxl_modules: tuple[str, ...] | None = None
    enable: tuple[str, ...] = ()
    max_builds: Annotated[int, Field(ge=1)] = 1
    spares: Annotated[int, Field(ge=0)] = 0


class Eviction(StrEnum):
    """ttl: each class keeps its own time; lru: one age for every class of a cache."""

    TTL = "ttl"
    LRU = "lru"


class TierPolicy(Strict):
    """How one tier behaves. `affinity`: share of returns routed to the server that holds the context
    (local scope only). `min_bytes` forces a smallest tier in; `max_bytes` caps it."""

    enabled: bool = True
    eviction: Eviction = Eviction.TTL
    scope: Literal["local", "pooled"] = "local"
    affinity: Share = 1.0
    min_bytes: quantity("bytes", ge=0) = 0.0  # type: ignore[valid-type]
    max_bytes: quantity("bytes", ge=0) | None = None  # type: ignore[valid-type]


class LocalTier(TierPolicy):
    """A tier that serves the pools on its own server, and no others."""

    scope: Literal["local"] = "local"


class PooledTier(TierPolicy):
    """A tier that holds one copy for many servers."""

    scope: Literal["pooled"] = "pooled"


class Tiers(Strict):
    """The tier policy of the facility."""

    policy: Literal["write-through", "exclusive"] = "write-through"
    hbm: LocalTier = LocalTier()
    dram: TierPolicy = TierPolicy()
    cxl: PooledTier = PooledTier()
    dram_pool: PooledTier = PooledTier()
    nvme: LocalTier = LocalTier()
    storage: PooledTier = PooledTier()


class FacilityLimits(Strict):
    """What the building gives. None: no limit."""

    power: quantity("watts", gt=0) | None = None  # type: ignore[valid-type]
    rack_units: quantity("rack units", gt=0) | None = None  # type: ignore[valid-type]
    budget: quantity("USD", gt=0) | None = None  # type: ignore[valid-type]


class Measured(Strict):
    """A measured throughput that overrides the roofline for one model on one accelerator.

    prefill: prompt tokens/s per GPU of uncached prompts of `context` tokens. decode: output tokens/s per
    GPU at `context` tokens and `sequences` per instance of `gpus`. `option` limits it to one option.
    """

    model: str
    accelerator: str
    phase: Literal["prefill", "decode"]
    tokens_per_second_per_gpu: quantity("tokens/s", gt=0)  # type: ignore[valid-type]
    context: PositiveTokens
    sequences: Annotated[int, Field(ge=1)] | None = None
    gpus: Annotated[int, Field(ge=1)] | None = None
    option: str | None = None
    source: str = Field(min_length=1)

    @model_validator(mode="after")
    def _decode_names_its_batch(self) -> Measured:
        if self.phase == "decode" and (self.sequences is None or self.gpus is None):
            raise ValueError("a measured decode rate states its sequences and gpus per instance")
        return self


class OptionRules(Strict):
    """Which options of one model may be chosen. `unpublished` allows options and codecs without a
    published quality figure; `only` and `exclude` name option ids."""

    only: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    unpublished: bool = False


class UserLimit(Strict):
    """A row of the planner's own: min <= sum of coefficient x quantity <= max.

    Quantities: servers.<id>, accelerators.<id>, dram, cxl, nvme (installed bytes), power (watts).
    """

    terms: Annotated[dict[str, float], Field(min_length=1)]
    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _some_bound(self) -> UserLimit:
        if self.min is None and self.max is None:
            raise ValueError("a limit needs min or max")
        return self


class Grid(Strict):
    """The discrete grid of the model; small on purpose."""

    design_load: Annotated[float, Field(gt=0, lt=1)] = 0.7
    mixed_share: Annotated[float, Field(gt=0, lt=1)] | None = 0.5
    ages: Annotated[int, Field(ge=2, le=20)] = 7
    lanes: Literal[1, 2] = 2


class Workload(Strict):
    """One planning question."""

    schema_: Literal["tierplan-workload/1"] = Field(alias="schema")
    name: Name
    description: str = ""
    classes: Annotated[dict[Name, TrafficClass], Field(min_length=1, max_length=200)]
    hardware: Hardware
    tiers: Tiers = Tiers()
    facility: FacilityLimits = FacilityLimits()
    economics: Economics = Economics()
    prices: Prices = Prices()
    options: dict[str, OptionRules] = Field(default_factory=dict)
    measured: tuple[Measured, ...] = ()
    limits: dict[Name, UserLimit] = Field(default_factory=dict)
    grid: Grid = Grid()
    occupancy_dispersion: Annotated[float, Field(ge=0, le=100)] = 1.0
    headroom: quantity("fraction", ge=0, lt=1) = 0.0  # type: ignore[valid-type]


ContextBucket.model_rebuild()

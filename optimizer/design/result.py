"""result.json: the source of truth. Every report is rendered from it alone.

Money is USD discounted over the horizon unless a name says per month; memory is bytes; rates are req/s at
the peak with headroom.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from optimizer.design.basis import Basis
from optimizer.design.comparisons.result import Comparisons
from optimizer.design.replay import Rejected, ReplayOut, Stress
from optimizer.units import Strict

SCHEMA = "tierplan-result/1"


class ExactCheck(Strict):
    """What the exact check found."""

    passed: bool
    rows_checked: int
    worst_relative_excess: float
    recomputed_usd: float
    violations: tuple[str, ...]


class Checks(Strict):
    """The witnesses that judged the layout. `replay` is None where none was made; `replay_ended` says why the
    problem was not solved again, where a replay rejected the layout."""

    exact: ExactCheck | None
    replay: ReplayOut | None = None
    replay_ended: str = ""


class Servers(Strict):
    """Machines of one build."""

    build: str
    server: str
    accelerator: str | None
    accelerators: int
    count: int
    spare: int
    dimms: str
    dram_bytes: float
    drive: str
    drives: int
    nvme_bytes: float
    usd: float


class CxlPool(Strict):
    """A kind of CXL pool."""

    enclosure: str
    enclosures: int
    modules: int
    module: str
    bytes: float
    hosts: dict[str, int]
    adapters: int
    usd: float


class TierAccount(Strict):
    """One tier of the whole facility."""

    installed_bytes: float
    usable_bytes: float
    used_bytes: float
    margin_bytes: float
    read_bytes_s: float
    write_bytes_s: float


class PoolOut(Strict):
    """Identical instances in one role."""

    pool: str
    model: str
    option: str
    server: str
    role: str
    lane: str
    instances: int
    gpus_per_instance: int
    iteration_ms: float
    prefill_busy: float
    sequences: float
    running_bytes: float


class Placement(Strict):
    """Where a share of a class's contexts lives at an age."""

    cls: str
    bucket: str
    context_tokens: float
    age_from_s: float
    age_to_s: float
    tier: str
    home: str
    location: str
    home_location: str
    share: float
    bytes: float


class ClassOut(Strict):
    """One class as it was asked for: rates with headroom, limits, and the share that must meet TTFT."""

    cls: str
    model: str
    rate: float
    mean_rate: float
    ttft_s: float
    tpot_s: float
    attainment: float


class Flow(Strict):
    """Requests of one class by how they meet the cache (req/s at the peak)."""

    cls: str
    case: str
    tier: str
    rate: float
    in_time: float


class LayoutOut(Strict):
    """What to build and how to run it."""

    servers: tuple[Servers, ...]
    owned_used: dict[str, int]
    cxl: tuple[CxlPool, ...]
    tiers: dict[str, TierAccount]
    pools: tuple[PoolOut, ...]
    options: dict[str, str]
    placement: tuple[Placement, ...]
    flows: tuple[Flow, ...]


class CostOut(Strict):
    """One component of the cost."""

    component: str
    usd: float
    usd_per_month: float


class TokenPrice(Strict):
    """What a million tokens of one class cost (USD), and how many millions the horizon brings."""

    cls: str
    cached: float | None
    missed: float | None
    output: float | None
    cached_mtok: float
    missed_mtok: float
    output_mtok: float


class Binding(Strict):
    """A limit the layout stands at, and what one more unit would save, both local: `price_usd` with the
    machines as bought, `long_run_price_usd` where counts may follow in fractions (the relaxation's)."""

    row: str
    law: str
    have: float
    need: float
    unit: str
    price_usd: float
    long_run_price_usd: float
    price_means: str


class AssumptionOut(Strict):
    """A number in force that a reader may want to doubt."""

    name: str
    value: str
    source: str
    basis: str


class Round(Strict):
    """One solve on the way."""

    what: str
    status: str
    objective_usd: float | None
    bound_usd: float
    gap: float | None
    seconds: float


class Shortfall(Strict):
    """What keeps a demand from being met, in the planner's own words. `sets` are the overrides (`--set`) that
    apply the smallest fix; those of all conflicts together make the demand one that can be met."""

    row: str
    have: float | None
    need: float | None
    unit: str
    fix: str
    sets: tuple[str, ...] = ()


class Size(Strict):
    """The size of the model that was solved."""

    columns: int
    rows: int
    nonzeros: int
    columns_by_family: dict[str, int]


class Result(Strict):
    """The answer to one planning question. `comparisons` is None where none was asked for, `basis` where
    there is no layout (and in results of earlier versions), `stress` where nothing was replayed. `rejected`
    are the layouts that a replay refused before this one."""

    schema_: str = Field(default=SCHEMA, alias="schema")
    name: str
    status: Literal["optimal", "within_gap", "limit", "infeasible", "interrupted"]
    objective_usd: float | None
    bound_usd: float | None
    gap: float | None
    seconds: float
    horizon_s: float
    classes: tuple[ClassOut, ...]
    checks: Checks
    layout: LayoutOut | None
    costs: tuple[CostOut, ...]
    per_million_tokens: tuple[TokenPrice, ...]
    allocation_rule: str
    binding: tuple[Binding, ...]
    infeasible: tuple[Shortfall, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    assumptions: tuple[AssumptionOut, ...]
    rounds: tuple[Round, ...]
    size: Size | None
    versions: dict[str, str]
    options: dict[str, str | float | int | None]
    seed: int
    input_sha256: str
    instance_sha256: str
    comparisons: Comparisons | None = None
    rejected: tuple[Rejected, ...] = ()
    stress: Stress | None = None
    basis: Basis | None = None

"""The answer, by double entry: every decision is stated together with what follows from it.

`optimizer.verify` recomputes each consequence from the decisions, so a number that was moved, or a label
that was swapped, contradicts its neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ServerRow:
    """Machines bought of one build: `spare` of them idle, `replaced` drives worn out over the horizon."""

    build: str
    count: int
    spare: int
    replaced: float
    usd: float


@dataclass(frozen=True)
class OwnedRow:
    """Owned servers of a SKU that are used instead of bought."""

    sku: str
    used: int
    usd: float


@dataclass(frozen=True)
class CxlHostRow:
    """Servers of a SKU attached to an enclosure kind, the free slots they bring, the adapters in them."""

    sku: str
    hosts: int
    slots: int
    adapters: int


@dataclass(frozen=True)
class CxlRow:
    """One kind of CXL pool: enclosures, modules in all of them, and their hosts."""

    enclosure: str
    enclosures: int
    modules: int
    hosts: tuple[CxlHostRow, ...]
    usd: float


@dataclass(frozen=True)
class OptionRow:
    """The option a model runs."""

    model: str
    option: str


@dataclass(frozen=True)
class PoolRow:
    """Instances of a pool, the accelerators they take, and their load: busy prefill instances, running
    sequences, their HBM bytes."""

    pool: str
    instances: int
    accelerators: float
    prefill_busy: float
    sequences: float
    running_bytes: float


@dataclass(frozen=True)
class DecodeRow:
    """The share of a bucket decoded on a pool, and the sequences that means."""

    bucket: str
    pool: str
    share: float
    sequences: float


@dataclass(frozen=True)
class PlacementRow:
    """The share of an option's contexts of a bucket that in one age slot is served from one location and
    homed at another; the bytes it takes at each (0 at home where home is the serving place), and the
    rate of returns that find it. `entry` is the share written to `serve` at the slot's start after
    sinking (exclusive policy), `entry_bytes_s` the bytes per second that takes, in HBM too."""

    option: str
    bucket: str
    slot: int
    serve: str
    home: str
    share: float
    entry: float
    entry_bytes_s: float
    serve_bytes: float
    home_bytes: float
    found_rate: float


@dataclass(frozen=True)
class PathRow:
    """Requests per second of one case of one stream prefilled on a pool; busy instances, and the rate
    that is sure to meet its TTFT."""

    stream: str
    option: str
    case: str
    location: str
    pool: str
    rate: float
    busy: float
    attained: float


@dataclass(frozen=True)
class StoreRow:
    """One store's account: bytes installed, usable, used (mean) and kept as margin; peak traffic."""

    store: str
    installed_bytes: float
    usable_bytes: float
    used_bytes: float
    margin_bytes: float
    read_bytes_s: float
    write_bytes_s: float


@dataclass(frozen=True)
class LruRow:
    """The share of contexts an LRU tier still holds in one age slot."""

    tier: str
    slot: int
    share: float


@dataclass(frozen=True)
class CostRow:
    """Discounted dollars of one component."""

    component: str
    usd: float


@dataclass(frozen=True)
class Layout:
    """A facility: what is bought, how models run, where contexts live, which requests go where."""

    servers: tuple[ServerRow, ...]
    owned: tuple[OwnedRow, ...]
    cxl: tuple[CxlRow, ...]
    options: tuple[OptionRow, ...]
    pools: tuple[PoolRow, ...]
    decodes: tuple[DecodeRow, ...]
    placements: tuple[PlacementRow, ...]
    paths: tuple[PathRow, ...]
    stores: tuple[StoreRow, ...]
    lru: tuple[LruRow, ...]
    costs: tuple[CostRow, ...]
    objective_usd: float

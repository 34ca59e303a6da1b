"""The card of one LLM: what it remembers, what it computes, what it weighs, how it can be run.

A card holds memory *components*, never one bytes-per-token number: held, read and written bytes are
functions of the context length that `optimizer.physics.memory` derives from the components.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, NoReturn

from pydantic import Field, model_validator

from optimizer.catalog.figures import (
    Bytes,
    BytesPerSecond,
    Count,
    Points,
    Sourced,
    Tokens,
)
from optimizer.units import Strict, quantity

Positive = Annotated[int, Field(gt=0)]


class Role(StrEnum):
    """What a memory component is for, which decides what of it is read and what a snapshot stores."""

    KV = "kv"  # read in full for every decoded token
    TOPK = "kv_topk"  # only the selected entries are read
    INDEX = "index"  # scanned in full to select
    WINDOW = "window"  # the last tokens only
    STATE = "state"  # recurrent or convolution state, rewritten in place


class Component(Sourced):
    """One kind of remembered data. `bytes` maps a KV profile to the bytes of one entry in one layer.

    linear: one entry per `stride` tokens in each of `layers`; `read_cap` entries at most are read by
    each of `readers` layers, which may be more than own them, and `layers` 0 where another component
    holds the entries and these only read them again. window: entries of the last `window` tokens.
    state: one entry per layer, read once per `read_period` tokens and rewritten once per `write_period`.
    `in_snapshot` says whether a tier must store it to resume a sequence.
    `heads`: the KV heads one entry is made of, which more tensor-parallel ranks than heads hold more than
    once; None where it is cut evenly over any ranks in use, as recurrent states over their value heads.
    """

    name: str
    kind: Literal["linear", "window", "state"]
    role: Role
    layers: Annotated[int, Field(ge=0)]
    bytes: dict[str, Annotated[float, Field(gt=0)]]
    stride: Positive = 1
    read_cap: Positive | None = None
    readers: Positive | None = None
    window: Positive | None = None
    read_period: Positive = 1
    write_period: Positive = 1
    replicated_under_tp: bool
    heads: Positive | None = None
    in_snapshot: bool = True
    draft: bool = False

    @model_validator(mode="after")
    def _window_has_a_width(self) -> Component:
        if (self.kind == "window") != (self.window is not None):
            raise ValueError("a window component, and only that, states its window in tokens")
        return self

    @model_validator(mode="after")
    def _somebody_reads_it(self) -> Component:
        if self.layers == 0 and (self.kind != "linear" or self.readers is None):
            raise ValueError("layers 0 is for linear entries held elsewhere, which `readers` layers read")
        return self

    @model_validator(mode="after")
    def _heads_are_cut(self) -> Component:
        if self.heads is not None and (self.replicated_under_tp or self.heads == 1):
            raise ValueError("heads is for what ranks share; one head is replicated_under_tp: true, no heads")
        return self


class Attention(Sourced):
    """The geometry of one kind of attention, from which FLOPs per token are derived (physics.flops).

    mla: latent attention (lora = kv_lora_rank, nope/rope/v head dims). dsa: mla read through a top-k
    index. shared_kv: one shared K=V head of `k_dim`, compressed by `stride`, optionally top-k indexed
    or windowed. gqa: ordinary heads, optionally windowed. linear: recurrent (KDA, GDN).
    `index_layers` scan the whole index; `index_pool_layers` more scan only the best `index_pool`
    entries that one of them found. `decode_only` layers see no prompt: the decoder half of an
    encoder-decoder, whose KV comes from the encoder.
    """

    kind: Literal["mla", "dsa", "shared_kv", "gqa", "linear"]
    layers: Positive
    heads: Positive
    lora: Positive | None = None
    nope: Positive | None = None
    rope: Positive | None = None
    k_dim: Positive | None = None
    v_dim: Positive | None = None
    stride: Positive = 1
    window: Positive | None = None
    topk: Positive | None = None
    index_heads: Positive | None = None
    index_dim: Positive | None = None
    index_layers: Positive | None = None
    index_pool: Positive | None = None
    index_pool_layers: Positive | None = None
    decode_only: bool = False

    @model_validator(mode="after")
    def _a_pool_has_layers(self) -> Attention:
        if (self.index_pool is None) != (self.index_pool_layers is None):
            raise ValueError("index_pool and index_pool_layers go together")
        if self.index_pool is not None and (self.kind != "shared_kv" or self.topk is None):
            raise ValueError("index_pool is for shared_kv attention that selects a top-k")
        return self


class Experts(Sourced):
    """The mixture: how many routed experts, how many a token uses, in how many layers.

    `active` is a mean where some choices are zero experts, which hold no weights and get no tokens.
    `node_limit` caps the nodes (hence copies) one token is sent to in expert-parallel exchange.
    """

    routed: Positive
    active: Positive
    layers: Positive
    node_limit: Positive | None = None


class Weights(Strict):
    """The bytes of one weight format. FLOPs run at the peak of `compute_dtype`.

    `host_bytes` are lookup tables (n-gram, Engram) that lie in the DRAM of the servers of an instance.
    """

    format: str
    compute_dtype: Literal["bf16", "fp8"]
    routed_bytes: Bytes
    other_bytes: Bytes
    host_bytes: Bytes | None = None


class Snapshot(Sourced):
    """When state is written to a tier, and how far back the last snapshot lies at a hit.

    last_turn: one per stored context. every_tokens: one per `every` tokens. none: a tier keeps nothing
    but KV. `replay` is the mean number of tokens computed again at each hit: the distance to the
    snapshot, or the window that is rebuilt rather than stored.
    """

    policy: Literal["none", "last_turn", "every_tokens"]
    every: quantity("tokens") | None = None  # type: ignore[valid-type]
    replay: quantity("tokens") = 0.0  # type: ignore[valid-type]

    @model_validator(mode="after")
    def _interval_when_needed(self) -> Snapshot:
        if (self.policy == "every_tokens") != (self.every is not None):
            raise ValueError("every_tokens, and only that policy, states its interval `every`")
        return self


class ModelOption(Strict):
    """One way to run the model in HBM: weight format, KV and state profile, snapshots, offload.

    `quality_loss` in benchmark points; None means unpublished: off unless the planner allows it.
    `accelerators` are accelerator families or ids ("any" for all). `offload` names the components
    kept in the same server's DRAM, and `fetch_miss` the share of their reads that cross the host link.
    `index_reuse` n means the top-k of every n-th indexed layer is reused by the next n-1.
    `prefill_factor`, `decode_factor` multiply the FLOPs of each phase. `read_factor` multiplies the time to
    read a byte of KV in decode (a kernel that unpacks what it reads); states are read as they are.
    """

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9._+-]*$")
    what: str
    weights: str
    profile: str
    snapshot: Snapshot
    quality_loss: Points | None = None
    accelerators: tuple[str, ...] = ("any",)
    engines: tuple[str, ...] = ()
    offload: tuple[str, ...] = ()
    fetch_miss: float = Field(default=1.0, ge=0, le=1)
    index_reuse: Positive = 1
    prefill_factor: float = Field(default=1.0, gt=0)
    decode_factor: float = Field(default=1.0, gt=0)
    read_factor: float = Field(default=1.0, gt=0)
    default: bool = False
    source: str
    note: str = ""


class Codec(Sourced):
    """A cold codec: how bytes are stored in a tier, not how the model runs.

    `ratio` maps a KV profile to uncompressed/compressed on per-token entries; states and windows are
    stored as they are. `rate` is the decode throughput in uncompressed bytes/s of one accelerator.
    """

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9._+-]*$")
    what: str
    tiers: tuple[Literal["dram", "cxl", "dram_pool", "nvme", "storage"], ...]
    ratio: dict[str, Annotated[float, Field(ge=1)]]
    rate: BytesPerSecond
    quality_loss: Points | None = None
    accelerators: tuple[str, ...] = ("any",)
    enabled: bool = True


class Shape(Strict):
    """One instance worth enumerating: `gpus` = tensor_parallel x data_parallel on one accelerator.

    Attention runs tensor-parallel inside each of `data_parallel` ranks; routed experts are spread over
    all `gpus` (expert parallel) with `redundancy` >= 1 copies of the routed bytes.
    """

    accelerator: str
    gpus: Positive
    tensor_parallel: Positive
    data_parallel: Positive = 1
    redundancy: float = Field(default=1.0, ge=1)

    @model_validator(mode="after")
    def _ranks_multiply(self) -> Shape:
        if self.tensor_parallel * self.data_parallel != self.gpus:
            raise ValueError("gpus must equal tensor_parallel x data_parallel")
        return self


class Speculation(Sourced):
    """Speculative decoding: tokens accepted per step, at the FLOPs of 1 + draft_tokens."""

    accepted_per_step: float = Field(default=1.0, ge=1)
    draft_tokens: int = Field(default=0, ge=0)


class ApiPrice(Sourced):
    """What a public API asks for the same tokens."""

    plan: str
    cached: quantity("USD/token")  # type: ignore[valid-type]
    missed: quantity("USD/token")  # type: ignore[valid-type]
    output: quantity("USD/token")  # type: ignore[valid-type]


class ModelCard(Strict):
    """One LLM. `efficiency_family` picks the prefill factor of an accelerator for this model."""

    id: str
    name: str
    direction: Literal["compressed", "hybrid", "full"]
    sources: dict[str, str]
    layers: Positive
    hidden: Positive
    max_context: Tokens
    active_parameters: Count
    prefill_parameters: Count | None = None
    efficiency_family: str = "default"
    prefill_chunk: Tokens | None = None
    attention: tuple[Attention, ...]
    experts: Experts | None = None
    components: tuple[Component, ...]
    weights: tuple[Weights, ...]
    speculation: Speculation
    options: tuple[ModelOption, ...]
    codecs: tuple[Codec, ...] = ()
    shapes: tuple[Shape, ...]
    api_prices: tuple[ApiPrice, ...] = ()

    def option(self, name: str) -> ModelOption:
        """The option of that id; KeyError if the card has none."""
        return next((o for o in self.options if o.id == name), None) or _missing(name)

    def weight(self, fmt: str) -> Weights:
        """The weights of that format; KeyError if the card has none."""
        return next((w for w in self.weights if w.format == fmt), None) or _missing(fmt)

    @model_validator(mode="after")
    def _names_resolve(self) -> ModelCard:
        names = {c.name for c in self.components}
        for option in self.options:
            if option.weights not in {w.format for w in self.weights}:
                raise ValueError(f"option {option.id}: no weights of format {option.weights!r}")
            if any(option.profile not in c.bytes for c in self.components):
                raise ValueError(f"option {option.id}: profile {option.profile!r} lacks bytes")
            if unknown := set(option.offload) - names:
                raise ValueError(f"option {option.id}: offload of unknown component {sorted(unknown)}")
        if sum(o.default for o in self.options) != 1:
            raise ValueError("exactly one option is the default")
        return self

    @model_validator(mode="after")
    def _heads_spread_evenly(self) -> ModelCard:
        for heads in {c.heads for c in self.components if c.heads is not None}:
            for tp in {s.tensor_parallel for s in self.shapes}:
                if tp % heads and heads % tp:
                    raise ValueError(f"{heads} KV heads do not spread evenly over {tp} tensor-parallel ranks")
        return self


def _missing(name: str) -> NoReturn:
    raise KeyError(name)

"""One way to run a model on one server SKU in one shape, and the coefficients that follow from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from optimizer.catalog import Accelerator, Catalog, Facility, ModelCard, ModelOption, Shape, Weights
from optimizer.catalog.llms import Role as Memory
from optimizer.instance.dominance import dominates
from optimizer.instance.types import Sku
from optimizer.physics.flops import decode_flops, extend_flops, prefill_chunk
from optimizer.physics.memory import (
    Footprint,
    growth,
    held,
    offloaded_bytes,
    offloaded_read_bytes,
    read,
    running_bytes,
    tier_entries,
    tier_footprint,
)
from optimizer.physics.roofline import (
    cross_domain_step_seconds,
    decode_flops_per_second,
    decode_step,
    expert_exchange_bytes,
    hbm_bytes_per_second,
    prefill_flops_per_second,
    rank_room,
    routed_fraction_touched,
    step_overhead,
    weight_bytes_per_rank,
)
from optimizer.workload.schema import Measured

BATCH_ERROR = 1e-3  # relative: a batch is a count, and the larger end is taken


@dataclass(frozen=True)
class Deployment:
    """Option x SKU x shape. `max_context` is the longest context its engine must admit (tokens); `peers` are
    itself and the admissible options that dominate it."""

    card: ModelCard
    option: ModelOption
    sku: Sku
    accelerator: Accelerator
    shape: Shape
    facility: Facility
    max_context: float
    peers: tuple[ModelOption, ...]
    measured: tuple[Measured, ...] = ()

    @property
    def option_id(self) -> str:
        """The option in the planner's words."""
        return f"{self.card.id}:{self.option.id}"

    @property
    def id(self) -> str:
        """Option @ SKU / shape: the address of its HBM."""
        return f"{self.option_id}@{self.sku.id}/{shape_name(self.shape)}"

    @cached_property
    def weights(self) -> Weights:
        """The weights of the option's format."""
        return self.card.weight(self.option.weights)

    @property
    def tp(self) -> int:
        """Tensor-parallel ranks that one request runs on."""
        return self.shape.tensor_parallel

    @property
    def gpus(self) -> int:
        """Accelerators of one instance."""
        return self.shape.gpus

    @property
    def step_tokens(self) -> int:
        """Tokens a decode step computes per sequence: the next one and the drafts."""
        return 1 + self.card.speculation.draft_tokens

    @property
    def indexed(self) -> bool:
        """Whether attention selects through an index, whose logits take HBM."""
        return any(c.role is Memory.INDEX for c in self.card.components)

    @property
    def chunk(self) -> float:
        """Tokens of one prefill chunk."""
        return prefill_chunk(self.card)

    # --- HBM -----------------------------------------------------------------------------------

    def room(self, *, prefills: bool) -> float:
        """HBM bytes of one instance left for KV; graphs and decode logits count per sequence."""
        rank = rank_room(
            self.accelerator,
            self.weights,
            self.shape,
            self.facility,
            sequences=0,
            max_context=self.max_context,
            batched_tokens=self.chunk if prefills else 0.0,
            indexed=self.indexed,
        )
        return rank * self.gpus

    @property
    def one_rank(self) -> float:
        """The part of an instance's room that one request can use: one attention-DP rank of many."""
        return self.tp / self.gpus

    @cached_property
    def rank_room(self) -> float:
        """HBM bytes left for KV on the ranks that one request runs on, where nothing is prefilled."""
        return self.room(prefills=False) * self.one_rank

    def running(self, tokens: float) -> float:
        """HBM bytes of one running sequence over the ranks it lies on, graphs and index logits included."""
        kv = running_bytes(
            self.card.components,
            self.option.profile,
            tokens,
            slots=self.step_tokens,
            offload=self.option.offload,
            draft=self.step_tokens > 1,
        ).across(self.tp)
        logits = (
            self.step_tokens * self.max_context * self.facility.index_logit_bytes.value
            if self.indexed
            else 0.0
        )
        return kv + self.tp * (self.facility.graph_bytes_per_sequence.value + logits)

    def idle(self, tokens: float) -> float:
        """HBM bytes of one idle context over the ranks it lies on."""
        return held(self.card.components, self.option.profile, tokens).across(self.tp)

    def stored(self, tokens: float) -> float:
        """Bytes of one context below HBM, plain: one copy, with one snapshot."""
        return self.loaded(tokens).one_copy

    def loaded(self, tokens: float, ratio: float = 1.0, there: float = 0.0) -> Footprint:
        """What a hit brings from a tier: one context with one snapshot, however many are kept, less the
        entries of `there` tokens that it need not bring. A codec of `ratio` acts on per-token entries.
        """
        kept = self.option.snapshot
        if kept.policy == "every_tokens":
            kept = kept.model_copy(update={"policy": "last_turn", "every": None})
        parts, profile = self.card.components, self.option.profile
        return tier_footprint(parts, profile, tokens, kept, ratio) + growth(parts, profile) * (-there / ratio)

    def entries(self, tokens: float, there: float = 0.0) -> Footprint:
        """The per-token entries of `loaded` as they lie in HBM: what a codec unpacks."""
        parts, profile = self.card.components, self.option.profile
        return tier_entries(parts, profile, tokens) + growth(parts, profile) * -there

    def growth(self) -> float:
        """HBM bytes per token over the ranks."""
        return growth(self.card.components, self.option.profile).across(self.tp)

    # --- decode --------------------------------------------------------------------------------

    def batch(self, room: float, tokens: float, budget: float) -> float:
        """The most sequences of this length that an instance runs in iterations of `budget` seconds: as many
        as its room holds and its time allows, with its own KV or with that of an option that dominates it,
        so that smaller KV is never charged more weights (see dominance). At least one.
        """
        return max(replace(self, option=peer)._own_batch(room, tokens, budget) for peer in self.peers)

    def decodes_one(self, tokens: float, budget: float) -> bool:
        """Whether one sequence alone finishes its iteration in `budget` seconds."""
        memory = self.weights_seconds(1.0, everything=False) + self.decode_memory(tokens)
        return self.overhead(1.0) + max(memory, self.decode_compute(tokens), self.decode_network()) <= budget

    def _own_batch(self, room: float, tokens: float, budget: float) -> float:
        most = max(1.0, room / self.running(tokens))
        each = self.decode_memory(tokens)

        def fits(sequences: float) -> bool:
            fixed = self.weights_seconds(sequences, everything=False) + self.overhead(sequences)
            return fixed + sequences * each <= budget

        if fits(most) or not fits(1.0):
            return most if fits(most) else 1.0
        low, high = 1.0, most
        while high - low > BATCH_ERROR * high:
            middle = (low + high) / 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return high

    def weights_seconds(self, sequences: float, *, everything: bool) -> float:
        """Seconds to read the weights a step of that many sequences touches, at its slowest rank."""
        routed, other = weight_bytes_per_rank(self.weights, self.shape)
        tokens = sequences * self.step_tokens
        touched = 1.0 if everything else routed_fraction_touched(self.card.experts, tokens)
        return (routed * touched + other) / hbm_bytes_per_second(self.accelerator) * self.decode_correction

    def overhead(self, sequences: float) -> float:
        """Fixed seconds of a step; tensor parallelism beyond the scale-up domain adds to it."""
        tokens = sequences * self.step_tokens / self.shape.data_parallel
        beyond = cross_domain_step_seconds(self.accelerator, self.card, self.shape, tokens, self.facility)
        return (step_overhead(self.accelerator, self.card.layers) + beyond) * self.decode_correction

    def decode_memory(self, tokens: float) -> float:
        """Seconds an iteration spends on one sequence's KV: HBM reads, and fetches of offloaded parts."""
        rate = hbm_bytes_per_second(self.accelerator) * self.gpus
        return self._reads(tokens).across(self.tp) / rate * self.decode_correction

    def _reads(self, tokens: float) -> Footprint:
        """What an iteration reads of one sequence, in bytes at the pace of HBM.

        A byte of KV counts `read_factor` times, a byte of state once, and what is fetched as often as the
        host link is slower: kernels that unpack KV leave states and transfers as they are.
        """
        option, profile = self.option, self.option.profile
        resident = [c for c in self.card.components if c.name not in option.offload]
        states = [c for c in resident if c.role is Memory.STATE]
        kv = [c for c in resident if c.role is not Memory.STATE]
        reads = read(kv, profile, tokens, index_reuse=option.index_reuse) * option.read_factor
        reads += read(states, profile, tokens)
        if option.offload:
            fetched = offloaded_read_bytes(self.card.components, profile, tokens, option.offload)
            slower = hbm_bytes_per_second(self.accelerator) / self.accelerator.host_link.read.value
            reads += fetched * (option.fetch_miss * slower)
        return reads

    def decode_compute(self, tokens: float) -> float:
        """Seconds an iteration spends on one sequence's FLOPs, drafts included."""
        work = self.step_tokens * decode_flops(self.card, tokens, index_reuse=self.option.index_reuse)
        rate = decode_flops_per_second(self.accelerator, self.weights) * self.gpus
        return work * self.option.decode_factor / rate * self.decode_correction

    def exchange(self, tokens: float) -> float:
        """Expert-parallel bytes of the whole instance that cross NICs for that many tokens."""
        return expert_exchange_bytes(self.card, self.shape, self.accelerator, tokens) * self.gpus

    def decode_network(self) -> float:
        """Seconds an iteration spends on one sequence's expert traffic through the NICs."""
        return self.exchange(self.step_tokens) / (self.accelerator.nic.value * self.gpus)

    def offloaded(self, tokens: float) -> float:
        """DRAM bytes of one running sequence's offloaded components."""
        return offloaded_bytes(self.card.components, self.option.profile, tokens, self.option.offload)

    # --- prefill -------------------------------------------------------------------------------

    @cached_property
    def prefill_rate(self) -> float:
        """FLOP/s of one accelerator in prefill: a measured table where the planner gives one."""
        rate = prefill_flops_per_second(self.accelerator, self.weights, self.card.efficiency_family)
        point = self._measured("prefill")
        if point is None:
            return rate
        return point.tokens_per_second_per_gpu * self.extend(0.0, point.context) / point.context

    def extend(self, cached: float, total: float) -> float:
        """F(cached, total): FLOPs to extend a context."""
        flops = extend_flops(self.card, cached, total, index_reuse=self.option.index_reuse)
        return flops * self.option.prefill_factor

    def busy(self, flops: float, tokens: float) -> float:
        """Instance-seconds of a prefill job of that many new tokens, capped by the NIC."""
        exchange = self.exchange(tokens) / (self.accelerator.nic.value * self.gpus)
        return max(self.wall(flops, tokens, 1.0) / self.shape.data_parallel, exchange)

    def wall(self, flops: float, tokens: float, share: float) -> float:
        """Seconds a prefill job takes on the one attention-DP rank it runs on.

        Tensor parallelism beyond the scale-up domain adds its all-reduces, chunk by chunk.
        """
        compute = flops / (self.prefill_rate * self.tp)
        return (compute + self._beyond_domain(tokens)) / share

    def _beyond_domain(self, tokens: float) -> float:
        full, rest = divmod(tokens, self.chunk)
        chunks = [(full, self.chunk), (1.0 if rest else 0.0, rest)]
        return sum(
            n * cross_domain_step_seconds(self.accelerator, self.card, self.shape, size, self.facility)
            for n, size in chunks
            if n
        )

    # --- measurements --------------------------------------------------------------------------

    def _measured(self, phase: str) -> Measured | None:
        for row in self.measured:
            here = row.model == self.card.id and row.accelerator == self.accelerator.id and row.phase == phase
            if here and row.option in (None, self.option.id):
                return row
        return None

    @cached_property
    def decode_correction(self) -> float:
        """Measured over predicted step time at the measured point; 1 without a measurement."""
        point = self._measured("decode")
        if point is None or point.sequences is None or point.gpus is None:
            return 1.0
        shape = next(
            (s for s in self.card.shapes if s.gpus == point.gpus and s.accelerator == self.accelerator.id),
            self.shape,
        )
        step = decode_step(
            self.accelerator,
            self.card,
            self.weights,
            shape,
            self.facility,
            sequences=point.sequences,
            kv_read=self._reads(point.context),
            context=point.context,
            tokens_per_step=self.step_tokens,
            index_reuse=self.option.index_reuse,
            flops_factor=self.option.decode_factor,
        ).total
        rate = point.sequences * self.card.speculation.accepted_per_step / step / point.gpus
        return rate / point.tokens_per_second_per_gpu


def shape_name(shape: Shape) -> str:
    """tp8, dp16 or tp2dp8."""
    parts = [("tp", shape.tensor_parallel), ("dp", shape.data_parallel)]
    return "".join(f"{letter}{n}" for letter, n in parts if n > 1) or "tp1"


def supports(option_families: tuple[str, ...], accelerator: Accelerator) -> bool:
    """Whether an option or codec works on an accelerator: any, its family, or its id."""
    return bool({"any", accelerator.family, accelerator.id} & set(option_families))


def deployments(
    card: ModelCard,
    option: ModelOption,
    skus: tuple[Sku, ...],
    catalog: Catalog,
    max_context: float,
    admissible: Iterable[ModelOption],
    measured: tuple[Measured, ...],
) -> list[Deployment]:
    """The shapes of a card that an option can run in on the servers that may be had."""
    found = []
    options = tuple(admissible)
    for sku in skus:
        accelerator = catalog.accelerator(sku.accelerator)
        most = most_servers(sku)
        if not supports(option.accelerators, accelerator):
            continue
        if card.weight(option.weights).compute_dtype not in accelerator.peak:
            continue
        for shape in card.shapes:
            fits = packs(shape.gpus, sku.gpus) and shape.gpus <= most * sku.gpus
            if shape.accelerator == accelerator.id and fits:
                found.append(
                    Deployment(
                        card,
                        option,
                        sku,
                        accelerator,
                        shape,
                        catalog.devices.facility,
                        max_context,
                        (option, *(o for o in options if o is not option and dominates(card, o, option))),
                        measured,
                    )
                )
    return found


def most_servers(sku: Sku) -> int:
    """The most servers of a SKU that can be had."""
    return sku.maximum if sku.supply is None else min(sku.maximum, sku.supply + sku.owned)


def packs(gpus: int, server_gpus: int) -> bool:
    """Instances share a server, or take whole servers."""
    return gpus <= server_gpus or gpus % server_gpus == 0


def charged(gpus: int, server_gpus: int) -> float:
    """Accelerators an instance takes from its servers: what packing leaves over is charged too."""
    if gpus > server_gpus:
        return float(gpus)
    return server_gpus / (server_gpus // gpus)

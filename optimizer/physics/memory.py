"""Bytes a sequence holds, reads and writes, as functions of its length (docs/physics.md section 5).

Never one bytes-per-token number: entries of a compressed row appear every `stride` tokens, a window fills
and stays, a state is there from the first token. Everything here is piecewise affine in the length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from optimizer.catalog.llms import Component, Role, Snapshot


@dataclass(frozen=True)
class Footprint:
    """Bytes of one copy, split by what tensor parallelism does to them.

    `sharded` is cut over the ranks of a tensor-parallel group (recurrent states); `replicated` lies on every
    rank (MLA latents, shared K=V heads, index keys); `by_heads` pairs a number of KV heads with the bytes of
    them all (GQA), which are cut no finer than a head: of more ranks than heads, tp/heads hold the same one.
    """

    sharded: float = 0.0
    replicated: float = 0.0
    by_heads: tuple[tuple[int, float], ...] = ()

    @property
    def one_copy(self) -> float:
        """Bytes of one copy: sharded + replicated + those of all heads."""
        return self.sharded + self.replicated + sum(size for _, size in self.by_heads)

    def across(self, tp: float) -> float:
        """Bytes over all ranks of a tensor-parallel group: sharded + tp*replicated + max(1, tp/heads)*size.

        Of tp and heads one divides the other (`ModelCard` sees to it); docs/physics.md section 4.
        """
        shared = sum(size * max(1.0, tp / heads) for heads, size in self.by_heads)
        return self.sharded + tp * self.replicated + shared

    def per_rank(self, tp: float) -> float:
        """Bytes on one rank of a tensor-parallel group: sharded/tp + replicated + size/min(tp, heads)."""
        shared = sum(size / min(tp, heads) for heads, size in self.by_heads)
        return self.sharded / tp + self.replicated + shared

    def __add__(self, other: Footprint) -> Footprint:
        sizes = dict(self.by_heads)
        for heads, size in other.by_heads:
            sizes[heads] = sizes.get(heads, 0.0) + size
        by_heads = tuple(sorted(sizes.items()))
        return Footprint(self.sharded + other.sharded, self.replicated + other.replicated, by_heads)

    def __mul__(self, factor: float) -> Footprint:
        by_heads = tuple((heads, size * factor) for heads, size in self.by_heads)
        return Footprint(self.sharded * factor, self.replicated * factor, by_heads)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Footprint:
        by_heads = tuple((heads, size / divisor) for heads, size in self.by_heads)
        return Footprint(self.sharded / divisor, self.replicated / divisor, by_heads)


def held(components: Iterable[Component], profile: str, tokens: float, *, draft: bool = False) -> Footprint:
    """Bytes kept for one sequence of `tokens` tokens.

    held(L) = sum linear n*floor(L/stride)*b + window n*min(L, w)*b + state n*b.
    """
    return _total(components, draft, lambda c: _held(c, profile, tokens))


def read(
    components: Iterable[Component],
    profile: str,
    tokens: float,
    *,
    index_reuse: float = 1,
    draft: bool = False,
) -> Footprint:
    """Bytes read from HBM per decoded token of one sequence of `tokens` tokens.

    read(L) = sum linear readers*min(floor(L/stride), cap)*b + window n*min(L, w)*b + state n*b/period;
    an index scanned once for `index_reuse` layers costs 1/index_reuse of its bytes.
    """
    return _total(components, draft, lambda c: _read(c, profile, tokens, index_reuse))


def growth(components: Iterable[Component], profile: str, *, draft: bool = False) -> Footprint:
    """Bytes one more token adds to the linear components: sum n*b/stride."""
    linear = _of(components, draft, "linear")
    return _total(linear, draft, lambda c: c.layers * c.bytes[profile] / c.stride)


def growth_bytes_per_token(components: Iterable[Component], profile: str, *, draft: bool = False) -> float:
    """Bytes one more token adds to the linear components, one copy: sum n*b/stride."""
    return growth(components, profile, draft=draft).one_copy


def fixed_bytes(components: Iterable[Component], profile: str, *, draft: bool = False) -> float:
    """Bytes of full windows and states, one copy, whatever the length: sum n*w*b + sum n*b."""
    return state_slot_bytes(components, profile, draft=draft)


def snapshot_bytes(components: Iterable[Component], profile: str, *, draft: bool = False) -> float:
    """Bytes of one snapshot in a tier, one copy: full windows and states that a sequence needs to resume."""
    return _slot([c for c in components if c.in_snapshot], profile, draft).one_copy


def state_slot_bytes(components: Iterable[Component], profile: str, *, draft: bool = False) -> float:
    """Bytes of one running state slot, one copy: full windows and states."""
    return _slot(components, profile, draft).one_copy


def hbm_rewrite_per_decoded_token(
    components: Iterable[Component], profile: str, *, draft: bool = False
) -> float:
    """Bytes rewritten in HBM per decoded token; not what a tier is written (docs/physics.md section 5).

    sum linear n*b/stride + window n*b + state n*b/write_period.
    """
    return sum(
        c.layers * c.bytes[profile] / (c.stride if c.kind == "linear" else c.write_period)
        for c in _of(components, draft, "linear", "window", "state")
    )


def tier_entries(components: Iterable[Component], profile: str, tokens: float) -> Footprint:
    """Per-token entries of a context of `tokens` tokens that a tier stores, before any codec."""
    return held((c for c in components if c.in_snapshot and c.kind == "linear"), profile, tokens)


def tier_footprint(
    components: Iterable[Component], profile: str, tokens: float, snapshot: Snapshot, ratio: float = 1.0
) -> Footprint:
    """What one stored context of `tokens` tokens takes in a tier, split by what its ranks load of it.

    linear(L)/ratio + snapshots*snapshot_bytes, with 0 (none), 1 (last_turn) or max(1, L//every) snapshots.
    A codec's `ratio` acts on per-token entries; windows and states are stored as they are.
    """
    parts = tuple(components)
    match snapshot.policy:
        case "none":
            kept = 0.0
        case "last_turn":
            kept = 1.0
        case _:
            kept = max(1.0, tokens // _interval(snapshot))
    one = _slot([c for c in parts if c.in_snapshot], profile, False)
    return tier_entries(parts, profile, tokens) / ratio + one * kept


def tier_bytes(
    components: Iterable[Component], profile: str, tokens: float, snapshot: Snapshot, ratio: float = 1.0
) -> float:
    """Bytes one stored context of `tokens` tokens takes in a tier, one copy: see `tier_footprint`."""
    return tier_footprint(components, profile, tokens, snapshot, ratio).one_copy


def tier_new_bytes(
    components: Iterable[Component],
    profile: str,
    before: float,
    after: float,
    snapshot: Snapshot,
    ratio: float = 1.0,
) -> float:
    """Bytes written to a tier by a turn that grows a context from `before` to `after` tokens, one copy.

    (linear(after) - linear(before))/ratio + made*snapshot_bytes: one snapshot a turn (last_turn), or one
    per boundary of `every` tokens crossed and at least one at the end of the turn.
    """
    if not 0 <= before <= after:
        raise ValueError(f"a turn cannot shrink a context: before={before}, after={after}")
    parts = tuple(components)
    match snapshot.policy:
        case "none":
            made = 0.0
        case "last_turn":
            made = 1.0
        case _:
            every = _interval(snapshot)
            made = max(1.0, after // every - before // every)
    entries = tier_entries(parts, profile, after).one_copy - tier_entries(parts, profile, before).one_copy
    return entries / ratio + made * snapshot_bytes(parts, profile)


def running_bytes(
    components: Iterable[Component],
    profile: str,
    tokens: float,
    slots: float = 1,
    offload: Collection[str] = (),
    *,
    draft: bool = False,
) -> Footprint:
    """HBM bytes of one running sequence, without the components named in `offload`.

    linear(L) + window(L) + slots*states: a hybrid runs with 1-5 state slots (docs/physics.md section 4).
    """
    return _total(
        (c for c in components if c.name not in offload),
        draft,
        lambda c: _held(c, profile, tokens) * (slots if c.kind == "state" else 1),
    )


def offloaded_bytes(
    components: Iterable[Component], profile: str, tokens: float, offload: Collection[str]
) -> float:
    """DRAM bytes of the offloaded components of one running sequence, one copy."""
    return held(_named(components, offload), profile, tokens, draft=True).one_copy


def offloaded_read_bytes(
    components: Iterable[Component], profile: str, tokens: float, offload: Collection[str]
) -> Footprint:
    """Bytes of the offloaded components read per decoded token, before any hit in HBM (`fetch_miss`)."""
    return read(_named(components, offload), profile, tokens, draft=True)


def _of(components: Iterable[Component], draft: bool, *kinds: str) -> list[Component]:
    return [c for c in components if c.kind in kinds and (draft or not c.draft)]


def _named(components: Iterable[Component], names: Collection[str]) -> list[Component]:
    parts = tuple(components)
    if unknown := set(names) - {c.name for c in parts}:
        raise ValueError(f"offload of unknown components {sorted(unknown)}")
    return [c for c in parts if c.name in names]


def _total(components: Iterable[Component], draft: bool, size: Callable[[Component], float]) -> Footprint:
    sharded = replicated = 0.0
    by_heads: dict[int, float] = {}
    for component in _of(components, draft, "linear", "window", "state"):
        if component.replicated_under_tp:
            replicated += size(component)
        elif component.heads is not None:
            by_heads[component.heads] = by_heads.get(component.heads, 0.0) + size(component)
        else:
            sharded += size(component)
    return Footprint(sharded, replicated, tuple(sorted(by_heads.items())))


def _entries(component: Component, tokens: float) -> float:
    if component.kind == "linear":
        return math.floor(tokens / component.stride)
    return min(math.floor(tokens), component.window) if component.window else 1


def _held(component: Component, profile: str, tokens: float) -> float:
    return component.layers * _entries(component, tokens) * component.bytes[profile]


def _read(component: Component, profile: str, tokens: float, index_reuse: float) -> float:
    entries = min(_entries(component, tokens), component.read_cap or math.inf)
    layers = component.readers or component.layers
    reuse = index_reuse if component.role is Role.INDEX else 1
    return layers * entries * component.bytes[profile] / (reuse * component.read_period)


def _slot(components: Iterable[Component], profile: str, draft: bool) -> Footprint:
    moving = _of(components, draft, "window", "state")
    return _total(moving, draft, lambda c: c.layers * (c.window or 1) * c.bytes[profile])


def _interval(snapshot: Snapshot) -> float:
    if not snapshot.every:
        raise ValueError("snapshot policy every_tokens needs a positive interval `every`")
    return float(snapshot.every)

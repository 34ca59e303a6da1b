"""FLOPs to decode a token and to extend a context (docs/physics.md section 2).

Each kind of attention is a sum of terms `flops * min(position/stride, cap)`: a decoded token pays them at
its own position, a prefill pays their sum over the new positions, in closed form. Work is never tokens
times a constant: a hit still pays attention over its prefix.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from optimizer.catalog.llms import Attention, ModelCard

FLOPS_PER_MAC = 2
STATE_MACS = 3  # decay-and-update, read for the delta, read for the query: 6 FLOPs per entry of the state
DEFAULT_PREFILL_CHUNK = 8192.0  # tokens, "unless the card says"; docs/physics.md section 2


class Term(NamedTuple):
    """FLOPs per entry attended, where a token at position p attends to min(p/stride, cap) entries."""

    flops: float
    stride: float = 1.0
    cap: float = math.inf

    def at(self, position: float) -> float:
        """FLOPs of the token at `position`: flops*min(p/stride, cap)."""
        return self.flops * min(position / self.stride, self.cap)

    def between(self, start: float, end: float) -> float:
        """FLOPs of all tokens at positions start+1 ... end."""
        return self.flops * (self._pairs(end) - self._pairs(start))

    def _pairs(self, n: float) -> float:
        """sum over p=1..n of min(p/stride, cap): a triangle up to the knee, then a strip."""
        knee = self.cap * self.stride
        if n <= knee:
            return n * (n + 1) / (2 * self.stride)
        return knee * (knee + 1) / (2 * self.stride) + self.cap * (n - knee)


class Extension(NamedTuple):
    """FLOPs of a prefill: `linear` in the new tokens alone, and `attention` over the context."""

    linear: float
    attention: float


def decode_flops(card: ModelCard, tokens: float, *, index_reuse: float = 1) -> float:
    """FLOPs of one decoded token at a context of `tokens` tokens: 2A + sum of terms at that position.

    Dense MLA runs absorbed, 2H(2r+dr) per pair and layer. A = active parameters.
    """
    attended = sum(t.at(tokens) for a in card.attention for t in _absorbed(a, index_reuse))
    return FLOPS_PER_MAC * float(card.active_parameters) + attended


def extend_flops(
    card: ModelCard, cached: float, total: float, *, index_reuse: float = 1, chunk: float | None = None
) -> float:
    """F(a, b): FLOPs to extend a context from `cached` to `total` tokens.

    F = 2A(b-a) + sum over p=a+1..b of the attention at p + re-expansion of the cached latents per chunk.
    Additive, F(a,c) = F(a,b) + F(b,c), where b-a is a whole number of chunks, and always without MLA.
    """
    return sum(extension(card, cached, total, index_reuse=index_reuse, chunk=chunk))


def extension(
    card: ModelCard, cached: float, total: float, *, index_reuse: float = 1, chunk: float | None = None
) -> Extension:
    """F(a, b) in its two parts (docs/physics.md section 2: V3, 2k on 100k is 148 / 1,214 TFLOP).

    Layers that see no prompt (`decode_only`) cost nothing here; A is the prefill's own where it has one.
    """
    if not 0 <= cached <= total:
        raise ValueError(f"a context cannot shrink: cached={cached}, total={total}")
    step = chunk or prefill_chunk(card)
    if step <= 0:
        raise ValueError(f"a prefill chunk is a positive number of tokens, not {step}")
    active = card.prefill_parameters or card.active_parameters
    seen = [a for a in card.attention if not a.decode_only]
    attention = sum(_extend(a, cached, total, step, index_reuse) for a in seen)
    return Extension(FLOPS_PER_MAC * float(active) * (total - cached), attention)


def prefill_chunk(card: ModelCard) -> float:
    """Tokens one prefill chunk holds: the card's, else DEFAULT_PREFILL_CHUNK."""
    return float(card.prefill_chunk) if card.prefill_chunk else DEFAULT_PREFILL_CHUNK


def _extend(attention: Attention, start: float, end: float, chunk: float, index_reuse: float) -> float:
    """FLOPs of one attention kind over positions start+1 ... end, chunk by chunk where that matters."""
    if attention.kind == "mla":
        return _expanded(attention, start, end, chunk)
    if attention.kind == "dsa":
        return _lesser(attention, start, end, chunk, index_reuse)
    return sum(term.between(start, end) for term in _absorbed(attention, index_reuse))


def _expanded(attention: Attention, start: float, end: float, chunk: float) -> float:
    """Dense MLA prefill: 2H(dn+dr+dv) per pair and layer, plus 2rH(dn+dv) per cached token and chunk.

    The chunks see start, start+chunk, ... cached tokens: m*start + chunk*m(m-1)/2 over m chunks.
    """
    heads, lora, nope, rope, value = _need(attention, "heads", "lora", "nope", "rope", "v_dim")
    pair = Term(FLOPS_PER_MAC * heads * (nope + rope + value) * attention.layers)
    expand = FLOPS_PER_MAC * lora * heads * (nope + value) * attention.layers
    chunks = math.ceil((end - start) / chunk)
    return pair.between(start, end) + expand * (chunks * start + chunk * chunks * (chunks - 1) / 2)


def _lesser(attention: Attention, start: float, end: float, chunk: float, index_reuse: float) -> float:
    """DSA prefill: in each chunk the lesser of dense (expanded) and sparse (absorbed, top-k + index scan).

    Past the top-k each further cached token costs a chunk `chunk*pair + expansion` dense and `chunk*index`
    sparse: once sparse is the lesser there it stays so, and all whole chunks left are summed at once.
    """
    terms = _absorbed(attention, index_reuse)
    (topk,) = _need(attention, "topk")
    total = 0.0
    while start < end:
        stop = min(start + chunk, end)
        dense = _expanded(attention, start, stop, chunk)
        sparse = sum(term.between(start, stop) for term in terms)
        whole = (end - start) // chunk
        settled = start >= topk and _dense_grows_faster(attention, chunk, index_reuse)
        if whole > 1 and sparse <= dense and settled:
            stop = start + whole * chunk
            total += sum(term.between(start, stop) for term in terms)
        else:
            total += min(dense, sparse)
        start = stop
    return total


def _dense_grows_faster(attention: Attention, chunk: float, index_reuse: float) -> bool:
    """Whether one more cached token costs a whole chunk more in dense than in sparse attention."""
    more = _expanded(attention, 1, 1 + chunk, chunk) - _expanded(attention, 0, chunk, chunk)
    return more >= chunk * _index(attention, index_reuse).flops


def _absorbed(attention: Attention, index_reuse: float) -> tuple[Term, ...]:
    """The terms of a decoded token: what each kind of attention pays per entry it looks at."""
    layers, heads = attention.layers, attention.heads
    cap = attention.window / attention.stride if attention.window else math.inf
    match attention.kind:
        case "mla" | "dsa":
            lora, rope = _need(attention, "lora", "rope")
            per_entry = FLOPS_PER_MAC * heads * (2 * lora + rope) * layers
            if attention.kind == "mla":
                return (Term(per_entry),)
            (topk,) = _need(attention, "topk")
            return Term(per_entry, 1.0, topk), _index(attention, index_reuse)
        case "shared_kv":
            (width,) = _need(attention, "k_dim")  # one head serves as key and as value
            per_entry = FLOPS_PER_MAC * heads * 2 * width * layers
            if attention.topk is None:
                return (Term(per_entry, attention.stride, cap),)
            selected = Term(per_entry, attention.stride, min(cap, attention.topk))
            return selected, _index(attention, index_reuse), *_pool(attention)
        case "gqa":
            key, value = _need(attention, "k_dim", "v_dim")
            return (Term(FLOPS_PER_MAC * heads * (key + value) * layers, attention.stride, cap),)
        case "linear":  # one entry, the state, whatever the length
            key, value = _need(attention, "k_dim", "v_dim")
            return (Term(STATE_MACS * FLOPS_PER_MAC * heads * key * value * layers, 1.0, 1.0),)
    raise ValueError(f"unknown attention kind {attention.kind!r}")


def _index(attention: Attention, index_reuse: float) -> Term:
    """The scan that selects the top-k: 2*Hi*di per key and indexed layer, shared by `index_reuse` layers."""
    heads, width, layers = _need(attention, "index_heads", "index_dim", "index_layers")
    return Term(FLOPS_PER_MAC * heads * width * layers / index_reuse, attention.stride)


def _pool(attention: Attention) -> tuple[Term, ...]:
    """The layers that select again, among the `index_pool` best entries of a full scan: 2*Hi*di per key."""
    if attention.index_pool is None:
        return ()
    heads, width, layers = _need(attention, "index_heads", "index_dim", "index_pool_layers")
    return (Term(FLOPS_PER_MAC * heads * width * layers, attention.stride, attention.index_pool),)


def _need(attention: Attention, *names: str) -> tuple[int, ...]:
    values = tuple(getattr(attention, name) for name in names)
    if missing := [name for name, value in zip(names, values, strict=True) if value is None]:
        raise ValueError(f"attention of kind {attention.kind} lacks {', '.join(missing)}")
    return values

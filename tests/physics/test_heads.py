"""KV heads on tensor-parallel ranks: bytes counted by placing every head, and what the shipped cards say.

Query heads are cut over the ranks; a rank keeps the KV heads that its query heads look at. Placed so, one
entry and layer at a time, copies show up by themselves; `Footprint` must count the same bytes.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from optimizer.physics.memory import Footprint, growth, held, read, running_bytes, tier_footprint

from .cards import CATALOG, shipped
from .inline import FACTS, NO_SNAPSHOT, card, linear, shape, state, window

LAST = NO_SNAPSHOT.model_copy(update={"policy": "last_turn"})
KV_HEADS = {
    "llama-3.1-70b": {"kv": 8},
    "mimo-v2-flash": {"global-kv": 4, "window": 8, "mtp-window": 8},
    "mimo-v2.5-pro": {"global-kv": 8, "window": 8, "mtp-window": 8},
    "qwen3-235b-a22b": {"kv": 4},
    "qwen3.5-122b-a10b": {"kv": 2, "mtp-kv": 2},
    "qwen3.5-397b-a17b": {"kv": 2, "mtp-kv": 2},
}


def kv_heads_of(rank, tp, heads):
    """The KV heads that the query heads of a rank look at: `tp` of them to a KV head, shared out in order."""
    queries = range(rank * heads, (rank + 1) * heads)  # of heads * tp in all
    return {query // tp for query in queries}


def placed(part, tokens, tp):
    """What each rank holds of one component: {(layer, entry, piece): bytes}, an exact number."""
    pieces = part.heads or (1 if part.replicated_under_tp else tp)
    kept = {"linear": tokens // part.stride, "window": min(tokens, part.window or 0), "state": 1}
    size = Fraction(part.bytes["p"]) / pieces
    ranks = []
    for rank in range(tp):
        own = kv_heads_of(rank, tp, pieces)
        every = [(layer, entry) for layer in range(part.layers) for entry in range(kept[part.kind])]
        ranks.append({(*one, piece): size for one in every for piece in own})
    return ranks


@st.composite
def groups(draw):
    """(tp, components): up to four of any kind, with heads of which and of tp one divides the other."""
    tp = draw(st.integers(1, 16))
    divisors = [n for n in range(2, tp + 1) if tp % n == 0]
    many = st.integers(1, 4).map(lambda times: times * tp).filter(lambda heads: heads > 1)
    heads = st.one_of(many, st.sampled_from(divisors)) if divisors else many
    parts = []
    for i in range(draw(st.integers(1, 4))):
        layers, size = draw(st.integers(1, 3)), 64.0 * draw(st.integers(1, 9))
        replicated = draw(st.booleans())
        part = draw(st.sampled_from([
            linear(f"{i}", layers, size, stride=draw(st.sampled_from([1, 4])), replicated=replicated),
            window(f"{i}", layers, size, draw(st.integers(1, 8)), replicated=replicated),
            state(f"{i}", layers, size, replicated=replicated),
        ]))  # fmt: skip
        counted = None if replicated else draw(st.none() | heads)
        parts.append(part.model_copy(update={"heads": counted}))
    return tp, parts


@given(groups(), st.integers(0, 20))
def test_bytes_are_those_of_every_head_where_it_lies(group, tokens):
    """All ranks hold as much; over them all it is `across`; what is there at all is one copy."""
    tp, parts = group
    ranks = [[kept[rank] for kept in (placed(part, tokens, tp) for part in parts)] for rank in range(tp)]
    each = [sum(sum(kept.values()) for kept in rank) for rank in ranks]
    once = [{key: size for rank in ranks for key, size in rank[i].items()} for i in range(len(parts))]
    found = held(parts, "p", tokens)
    assert each == pytest.approx([found.per_rank(tp)] * tp, rel=1e-12)
    assert float(sum(each)) == pytest.approx(found.across(tp), rel=1e-12)
    assert float(sum(sum(pieces.values()) for pieces in once)) == pytest.approx(found.one_copy, rel=1e-12)


SIZE = st.integers(0, 10**6)
SIZES = st.dictionaries(st.sampled_from([2, 4, 8]), SIZE).map(lambda sizes: tuple(sorted(sizes.items())))
PART = st.builds(Footprint, SIZE, SIZE, SIZES)


@given(PART, PART, st.integers(0, 9), st.sampled_from([1, 2, 4, 8, 16]))
def test_footprints_add_and_scale_in_every_measure(one, other, factor, tp):
    for measure in (lambda f: f.one_copy, lambda f: f.across(tp), lambda f: f.per_rank(tp) * tp):
        assert measure(one + other * factor) == pytest.approx(measure(one) + factor * measure(other))
        assert measure(one / 4) == pytest.approx(measure(one) / 4)
    assert one.across(tp) == pytest.approx(one.per_rank(tp) * tp)
    assert one.one_copy <= one.across(tp) <= tp * one.one_copy
    assert one + other == other + one


def test_eight_ranks_of_two_heads():
    """Each head on four ranks, each rank one head; two ranks hold one copy between them."""
    kv = Footprint(by_heads=((2, 10.0),))
    assert [(kv.across(tp), kv.per_rank(tp)) for tp in (1, 2, 4, 8)] == [
        (10.0, 10.0), (10.0, 5.0), (20.0, 5.0), (40.0, 5.0),
    ]  # fmt: skip
    assert kv.replicated == 0, "no byte lies on every rank"


@pytest.mark.parametrize(
    ("name", "tp", "gigabytes"),
    [
        ("qwen3.5-397b-a17b", 2, 4.22),
        ("qwen3.5-397b-a17b", 8, 16.30),
        ("qwen3.5-122b-a10b", 4, 6.60),
        ("qwen3-235b-a22b", 4, 25.23),
        ("qwen3-235b-a22b", 8, 50.47),
        ("mimo-v2-flash", 4, 3.05),
        ("mimo-v2-flash", 8, 6.07),
        ("mimo-v2.5-pro", 8, 6.75),
        ("llama-3.1-70b", 8, 42.95),
    ],
)
def test_a_context_of_128k_over_the_ranks(name, tp, gigabytes):
    """GB in bf16. States of Qwen3.5 and the windows of MiMo, over 8 heads, are cut all the way."""
    assert held(shipped(name).components, "bf16", 131_072).across(tp) / 1e9 == pytest.approx(
        gigabytes, abs=0.005
    )


def test_every_kind_of_bytes_follows_the_heads():
    """397B under TP8: KV four times, states once, in what runs, is read, grows and comes from a tier."""
    parts, tokens = shipped("qwen3.5-397b-a17b").components, 100_000
    kv, states = 30_720 * tokens, 192_061_440
    assert running_bytes(parts, "bf16", tokens).across(8) == 4 * kv + states
    assert read(parts, "bf16", tokens).across(8) == 4 * kv + states
    assert growth(parts, "bf16").across(8) == 4 * 30_720
    assert tier_footprint(parts, "bf16", tokens, LAST, ratio=16).across(8) == 4 * kv / 16 + states


@pytest.mark.parametrize("name", sorted(CATALOG.models))
def test_every_card_states_the_heads_of_what_is_cut_by_heads(name):
    """KV that is neither replicated nor a state; states are cut over value heads that every shape divides."""
    one = shipped(name)
    stated = {part.name: part.heads for part in one.components if part.heads is not None}
    assert stated == KV_HEADS.get(name, {})
    cut = {p.name for p in one.components if p.kind != "state" and not p.replicated_under_tp}
    assert cut == stated.keys()
    if any(p.kind == "state" and not p.replicated_under_tp for p in one.components):
        (values,) = {kind.heads for kind in one.attention if kind.kind == "linear"}
        assert all(values % form.tensor_parallel == 0 for form in one.shapes)


def test_heads_that_ranks_cannot_share_are_refused():
    three = linear("kv", 1, 64.0, replicated=False).model_copy(update={"heads": 3})
    with pytest.raises(ValidationError, match="3 KV heads do not spread evenly over 8"):
        card(1e9, 1, (), components=(three,))
    fits = three.model_copy(update={"heads": 16})
    assert card(1e9, 1, (), components=(fits,)).shapes == (shape(8, 8),)


@pytest.mark.parametrize("changes", [{"heads": 1}, {"heads": 4, "replicated_under_tp": True}])
def test_what_every_rank_holds_states_no_heads(changes):
    stated = {"name": "kv", "kind": "linear", "role": "kv", "layers": 1, "bytes": {"p": 8},
              "replicated_under_tp": False, **FACTS, **changes}  # fmt: skip
    with pytest.raises(ValidationError, match="replicated_under_tp"):
        type(linear("kv", 1, 8.0)).model_validate(stated)

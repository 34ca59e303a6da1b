"""Laws that hold for all arguments and every card of the catalogue (hypothesis)."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.physics.capacity import root_margin, tangent_margin, tangent_slope
from optimizer.physics.flops import decode_flops, extend_flops, prefill_chunk
from optimizer.physics.memory import held, read, tier_bytes
from optimizer.physics.queueing import attained
from optimizer.physics.transfer import load_seconds

from .cards import CATALOG, shipped
from .inline import NO_SNAPSHOT

LENGTH = st.integers(0, 2_000_000)
MODELS = sorted(CATALOG.models)
EXAMPLES = settings(max_examples=25, deadline=None)  # of each card


def profiles(name):
    """The KV profiles that the options of a model run."""
    return {option.profile for option in shipped(name).options}


def latent(card):
    """Whether a prefill expands latents again in every chunk."""
    return any(part.kind in ("mla", "dsa") for part in card.attention)


def one_pass(card):
    """Whether a prompt takes the way of a decoded token: not so in an encoder-decoder."""
    return card.prefill_parameters is None and not any(part.decode_only for part in card.attention)


def full_from(parts):
    """Tokens from which every window and top-k is full."""
    return max((p.window or (p.read_cap or 0) * p.stride) for p in parts)


EXPANDED_ONCE = [name for name in MODELS if not latent(shipped(name))]
DECODED_AS_READ = [name for name in EXPANDED_ONCE if one_pass(shipped(name))]
POSITIVE = st.floats(1e-6, 1e12)
LOAD = st.floats(0.01, 0.99)


@pytest.mark.parametrize("name", EXPANDED_ONCE)
@EXAMPLES
@given(lengths=st.lists(LENGTH, min_size=3, max_size=3))
def test_extension_is_additive_without_reexpansion(name, lengths):
    """F(a, c) = F(a, b) + F(b, c)."""
    a, b, c = sorted(lengths)
    one = shipped(name)
    assert extend_flops(one, a, c) == pytest.approx(
        extend_flops(one, a, b) + extend_flops(one, b, c), rel=1e-12
    )


@pytest.mark.parametrize("name", MODELS)
@EXAMPLES
@given(a=LENGTH, chunks=st.integers(0, 40), more=LENGTH)
def test_extension_is_additive_at_chunk_boundaries(name, a, chunks, more):
    """With re-expansion too, where the cut is a whole number of chunks."""
    one = shipped(name)
    b = a + chunks * int(prefill_chunk(one))
    parts = extend_flops(one, a, b) + extend_flops(one, b, b + more)
    assert extend_flops(one, a, b + more) == pytest.approx(parts, rel=1e-12)


@pytest.mark.parametrize("name", MODELS)
@EXAMPLES
@given(cached=LENGTH, new=st.integers(1, 100_000))
def test_an_extension_costs_at_least_its_linear_part(name, cached, new):
    one = shipped(name)
    active = (one.prefill_parameters or one.active_parameters).value
    assert extend_flops(one, cached, cached + new) >= 2 * active * new


@pytest.mark.parametrize("name", DECODED_AS_READ)
@EXAMPLES
@given(length=st.integers(1, 2_000_000))
def test_one_new_token_costs_what_a_decoded_token_costs(name, length):
    one = shipped(name)
    assert extend_flops(one, length - 1, length) == pytest.approx(decode_flops(one, length), rel=1e-3)


@pytest.mark.parametrize("name", MODELS)
@EXAMPLES
@given(length=LENGTH, more=st.integers(0, 100_000))
def test_held_and_read_never_fall(name, length, more):
    parts = shipped(name).components
    for measure, profile in itertools.product((held, read), profiles(name)):
        small, large = measure(parts, profile, length), measure(parts, profile, length + more)
        assert large.sharded >= small.sharded
        assert large.replicated >= small.replicated
        for (heads, size), (same, less) in zip(large.by_heads, small.by_heads, strict=True):
            assert heads == same
            assert size >= less


@pytest.mark.parametrize("name", MODELS)
@EXAMPLES
@given(beyond=st.integers(0, 1_000_000), strides=st.integers(1, 1_000))
def test_held_and_read_are_affine_once_windows_and_top_k_are_full(name, beyond, strides):
    """Equal steps of whole strides add equal bytes."""
    parts = shipped(name).components
    length, step = full_from(parts) + beyond, strides * math.lcm(*(part.stride for part in parts))
    for measure, profile in itertools.product((held, read), profiles(name)):
        one, two, three = (measure(parts, profile, length + i * step).one_copy for i in range(3))
        assert three - two == pytest.approx(two - one, rel=1e-9, abs=1e-3)


@pytest.mark.parametrize("name", MODELS)
@EXAMPLES
@given(length=LENGTH, more=st.integers(0, 10**6))
def test_a_stored_context_never_shrinks_with_length(name, length, more):
    parts = shipped(name).components
    for profile in profiles(name):
        small, large = (tier_bytes(parts, profile, n, NO_SNAPSHOT) for n in (length, length + more))
        assert large >= small


@given(st.floats(0.01, 10), POSITIVE, POSITIVE, POSITIVE)
def test_the_tangent_margin_is_never_below_the_root(z, variance, count, slope):
    assert tangent_margin(z, variance, count, slope) >= root_margin(z, variance, count) * (1 - 1e-12)


@given(st.floats(0.01, 10), POSITIVE, POSITIVE)
def test_the_tangent_touches_the_root(z, variance, count):
    touching = tangent_margin(z, variance, count, tangent_slope(variance, count))
    assert touching == pytest.approx(root_margin(z, variance, count), rel=1e-9)


def test_a_tangent_needs_a_positive_slope():
    with pytest.raises(ValueError, match="positive"):
        tangent_margin(2.33, 1.0, 1.0, 0.0)


@given(st.floats(0, 100), st.floats(0, 100), st.floats(0.01, 100), LOAD, LOAD)
def test_attainment_is_monotone(slack, more, longest, rho, other):
    """More slack never attains less; more load or longer jobs never attain more. Always a probability."""
    base = attained(slack, longest, rho)
    assert 0 <= base <= 1
    assert attained(slack + more, longest, rho) >= base
    assert attained(slack, longest + more, rho) <= base
    light, heavy = sorted((rho, other))
    assert attained(slack, longest, heavy) <= attained(slack, longest, light) + 1e-12  # the root's last place


@given(st.floats(0, 1e12), st.floats(0, 1e12), st.floats(0, 0.99))
def test_more_bytes_never_load_faster(size, more, used):
    first, second = (load_seconds(1e-5, 1e-5, 1e6, s, 50e9, used) for s in (size, size + more))
    assert second >= first
    assert math.isfinite(second)

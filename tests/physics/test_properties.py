"""Laws that hold for all arguments (hypothesis)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.physics.capacity import root_margin, tangent_margin, tangent_slope
from optimizer.physics.flops import DEFAULT_PREFILL_CHUNK, decode_flops, extend_flops
from optimizer.physics.memory import held, read, tier_bytes
from optimizer.physics.queueing import attained
from optimizer.physics.transfer import load_seconds

from .cards import shipped
from .inline import NO_SNAPSHOT

LENGTH = st.integers(0, 2_000_000)
PROFILE = {
    "deepseek-v3.2": "fp8",
    "deepseek-v4-flash": "fp8",
    "deepseek-v4-pro": "fp8",
    "kimi-k3": "bf16",
    "kimi-k2": "bf16",
    "llama-3.1-70b": "bf16",
}
NAME = st.sampled_from(sorted(PROFILE))
WITHOUT_MLA = st.sampled_from(["deepseek-v4-flash", "deepseek-v4-pro", "llama-3.1-70b"])
POSITIVE = st.floats(1e-6, 1e12)
LOAD = st.floats(0.01, 0.99)
STRIDES = 128  # every shipped stride divides it
CAPPED_FROM = 4_096  # every shipped window and top-k is full from here


@given(WITHOUT_MLA, st.lists(LENGTH, min_size=3, max_size=3))
def test_extension_is_additive_without_reexpansion(name, lengths):
    """F(a, c) = F(a, b) + F(b, c)."""
    a, b, c = sorted(lengths)
    one = shipped(name)
    assert extend_flops(one, a, c) == pytest.approx(
        extend_flops(one, a, b) + extend_flops(one, b, c), rel=1e-12
    )


@settings(deadline=None)
@given(NAME, LENGTH, st.integers(0, 40), LENGTH)
def test_extension_is_additive_at_chunk_boundaries(name, a, chunks, more):
    """With re-expansion too, where the cut is a whole number of chunks."""
    one = shipped(name)
    b = a + chunks * int(DEFAULT_PREFILL_CHUNK)
    parts = extend_flops(one, a, b) + extend_flops(one, b, b + more)
    assert extend_flops(one, a, b + more) == pytest.approx(parts, rel=1e-12)


@given(NAME, LENGTH, st.integers(1, 100_000))
def test_an_extension_costs_at_least_its_linear_part(name, cached, new):
    one = shipped(name)
    assert extend_flops(one, cached, cached + new) >= 2 * one.active_parameters.value * new


@given(WITHOUT_MLA, st.integers(1, 2_000_000))
def test_one_new_token_costs_what_a_decoded_token_costs(name, length):
    one = shipped(name)
    assert extend_flops(one, length - 1, length) == pytest.approx(decode_flops(one, length), rel=1e-3)


@given(NAME, LENGTH, st.integers(0, 100_000))
def test_held_and_read_never_fall(name, length, more):
    parts, profile = shipped(name).components, PROFILE[name]
    for measure in (held, read):
        small, large = measure(parts, profile, length), measure(parts, profile, length + more)
        assert large.sharded >= small.sharded
        assert large.replicated >= small.replicated


@given(NAME, st.integers(CAPPED_FROM, 1_000_000), st.integers(1, 1_000))
def test_held_and_read_are_affine_once_windows_and_top_k_are_full(name, length, step):
    """Equal steps of whole strides add equal bytes."""
    parts, profile, step = shipped(name).components, PROFILE[name], step * STRIDES
    for measure in (held, read):
        one, two, three = (measure(parts, profile, length + i * step).one_copy for i in range(3))
        assert three - two == pytest.approx(two - one, rel=1e-9, abs=1e-3)


@given(NAME, LENGTH, st.integers(0, 10**6))
def test_a_stored_context_never_shrinks_with_length(name, length, more):
    parts, profile = shipped(name).components, PROFILE[name]
    assert tier_bytes(parts, profile, length + more, NO_SNAPSHOT) >= tier_bytes(
        parts, profile, length, NO_SNAPSHOT
    )


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

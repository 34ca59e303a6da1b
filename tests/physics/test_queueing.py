"""Waiting times of a prefill lane, against the root's definition, a simulation and DESIGN's figures."""

from __future__ import annotations

import math
import random

import pytest

from optimizer.physics.queueing import attained, mean_wait, mean_wait_bound, wait_exponent


@pytest.mark.parametrize("rho", [1e-12, 1e-3, 0.1, 0.5, 0.7, 0.9, 0.99, 1 - 1e-9])
def test_the_exponent_is_the_root(rho):
    root = wait_exponent(rho)
    assert root > 0
    assert root + math.log(-math.expm1(-root) / root) == pytest.approx(-math.log(rho), rel=1e-9)


def test_the_exponent_near_full_load():
    """(e^x - 1)/x = 1 + x/2 + ..., so x tends to 2*(1 - rho)."""
    assert wait_exponent(1 - 1e-9) == pytest.approx(2e-9, rel=1e-6)


def test_a_lane_at_or_past_full_load_has_no_wait_to_bound():
    assert wait_exponent(0) == math.inf
    for rho in (1.0, 1.2, -0.1, math.nan):
        with pytest.raises(ValueError, match="load in"):
            wait_exponent(rho)


def test_long_misses_among_short_hits():
    """5% misses of 10 s among 0.2 s hits at rho 0.7: 8.5 s together, hits alone 0.23 s (DESIGN, law 8)."""
    mean = 0.05 * 10 + 0.95 * 0.2
    assert mean_wait(0.7, mean, 0.05 * 10**2 + 0.95 * 0.2**2) == pytest.approx(8.5, abs=0.05)
    assert mean_wait_bound(0.2, 0.7) == pytest.approx(0.23, abs=0.005)


def test_attained_edges():
    assert attained(-1.0, 10.0, 0.7) == 0.0
    assert attained(0.0, 10.0, 0.7) == 0.0
    assert attained(1e9, 10.0, 0.7) == 1.0
    assert attained(0.0, 10.0, 0.0) == 1.0


@pytest.mark.parametrize("rho", [0.5, 0.8])
def test_attained_is_a_lower_bound_in_simulation(rho):
    """Lindley's recursion with jobs of the longest length, the worst case of the bound; fixed seed."""
    dice, wait, waits = random.Random(7), 0.0, []
    for _ in range(60_000):
        waits.append(wait)
        wait = max(0.0, wait + 1.0 - dice.expovariate(rho))
    for slack in (0.5, 2.0, 5.0):
        assert sum(w <= slack for w in waits) / len(waits) >= attained(slack, 1.0, rho) - 0.01

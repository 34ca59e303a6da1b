"""Intervals cover what they promise to, trends and warm-ups are found, quantiles are true."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from optimizer.simulator.verdict.statistics import interval, quantiles, steady, sums, warmup

RUNS, LENGTH, MEMORY = 400, 20_000, 0.95


def random(seed):
    return np.random.Generator(np.random.PCG64(seed))


def autoregressive(seed, length=LENGTH, memory=MEMORY):
    """x[t] = memory x[t-1] + noise, from its stationary distribution: mean 0."""
    noise = random(seed).standard_normal(length)
    noise[0] /= math.sqrt(1 - memory**2)
    return lfilter([1.0], [1.0, -memory], noise)


def covered(found, truth):
    return found.low <= truth <= found.high


# ---- intervals --------------------------------------------------------------------------------------------


def test_the_interval_covers_the_mean_of_dependent_values_and_a_naive_one_does_not():
    times = np.arange(float(LENGTH))
    good = naive = 0
    for seed in range(RUNS):
        x = autoregressive(seed)
        good += covered(interval(x, times, 0.0, LENGTH), 0.0)
        naive += abs(x.mean()) <= 1.96 * x.std(ddof=1) / math.sqrt(LENGTH)
    assert 0.90 < good / RUNS < 0.99
    assert naive / RUNS < 0.5


def test_the_interval_covers_a_share_where_requests_come_unevenly():
    """Bursts of requests that fare alike: the mean is one over requests and not over batches."""
    good = 0
    for seed in range(RUNS):
        dice = random(seed)
        busy = dice.random(500) < 0.2  # minutes; a busy one has ten times the requests, and half of them fail
        count = dice.poisson(np.where(busy, 100, 10))
        minute = np.repeat(np.arange(500), count)
        failed = dice.random(len(minute)) < np.where(busy, 0.5, 0.01)[minute]
        found = interval(failed.astype(float), minute + dice.random(len(minute)), 0.0, 500.0)
        good += covered(found, (0.2 * 100 * 0.5 + 0.8 * 10 * 0.01) / (0.2 * 100 + 0.8 * 10))
    assert 0.90 < good / RUNS < 0.99


def test_a_regular_run_by_hand():
    """Two batches of means 1 and 3: mean 2, standard error 1, t of one degree of freedom 12.706."""
    found = interval(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0.0, 4.0, 5.0, 9.0]), 0.0, 10.0, batches=2)
    assert (found.mean, found.half) == (2.0, pytest.approx(12.7062047))


def test_a_fuller_batch_counts_for_more():
    """Sums 0 and 3 of 1 and 3 requests: mean 3/4, residuals of -3/8 and 3/8 of the mean count, error 3/8."""
    found = interval(np.array([0.0, 1.0, 1.0, 1.0]), np.array([0.0, 5.0, 6.0, 7.0]), 0.0, 10.0, batches=2)
    assert (found.mean, found.half) == (0.75, pytest.approx(0.375 * 12.7062047))


def test_only_what_comes_within_the_time_counts():
    values, times = np.array([9.0, 1.0, 2.0, 9.0]), np.array([0.9, 1.0, 2.9, 3.0])
    total, count = sums(values, times, 1.0, 3.0, 2)
    assert (total.tolist(), count.tolist()) == ([1.0, 2.0], [1.0, 1.0])


def test_of_no_request_nothing_is_known():
    found = interval(np.empty(0), np.empty(0), 0.0, 1.0)
    assert math.isnan(found.mean)
    assert found.half == math.inf


# ---- trends -----------------------------------------------------------------------------------------------


def test_a_steady_run_is_called_unsteady_once_in_a_hundred():
    alarms = sum(not steady(random(seed).standard_normal(20)) for seed in range(4000))
    assert alarms / 4000 == pytest.approx(0.01, abs=4 * math.sqrt(0.01 * 0.99 / 4000))


def test_a_late_change_is_found():
    assert not steady(np.concatenate((np.zeros(14), np.ones(6))))


def test_a_growing_queue_is_found():
    means = np.arange(20) * 0.5 + random(1).standard_normal(20)
    assert not steady(means)
    assert not steady(np.arange(20.0))
    assert steady(means - np.arange(20) * 0.5)


def test_a_trend_too_small_to_matter_is_none():
    means = 100 + np.arange(20) * 0.05
    assert not steady(means)
    assert steady(means, matters=0.02)


@pytest.mark.parametrize("means", [[], [1.0, math.nan, 1.0, 1.0, 1.0], [math.inf, 1.0]])
def test_of_batches_without_a_request_no_steadiness_is_claimed(means):
    assert not steady(np.array(means))


def test_equal_batches_are_steady():
    assert steady(np.full(20, 0.95))


# ---- warm-up ----------------------------------------------------------------------------------------------


def test_a_cache_that_fills_is_warm_when_it_is_full():
    """Mean 1 - exp(-t / 50) with noise of 0.05: its bias is below the noise of a batch from about t = 200."""
    for seed in range(50):
        t = np.arange(2000)
        found = warmup(1 - np.exp(-t / 50) + 0.05 * random(seed).standard_normal(2000))
        assert 75 <= found <= 500


@pytest.mark.parametrize("memory", [0.0, 0.9])
def test_a_run_that_is_warm_from_the_start_loses_little(memory):
    """Of two hundred samples, also of a run that remembers ten of them."""
    cut = [warmup(autoregressive(seed, 200, memory)) for seed in range(400)]
    assert np.mean([found is None for found in cut]) < 0.05
    assert np.mean([found or 0 for found in cut]) < 25


def test_a_run_that_never_settles_has_no_warm_up():
    assert warmup(np.arange(1000.0)) is None
    assert warmup(1 - np.exp(-np.arange(1000) / 800)) is None
    assert warmup(np.ones(10)) is None


def test_the_least_error_is_that_of_the_definition():
    z = 1e6 + autoregressive(3, 40, 0.5)
    means = np.repeat(z, 5)  # batches of five equal values
    error = [np.sum((z[d:] - z[d:].mean()) ** 2) / (40 - d) ** 2 for d in range(20)]
    assert warmup(means) == 5 * int(np.argmin(error))


# ---- quantiles --------------------------------------------------------------------------------------------


LAWS = {"exponential": stats.expon(), "lognormal": stats.lognorm(1.0), "uniform": stats.uniform()}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_quantiles_are_those_of_the_distribution(law):
    """An observed quantile has a standard error of sqrt(p (1 - p) / n) / density."""
    count = 50_000
    found = quantiles(law.rvs(count, random_state=random(4)))
    for p, seen in ((0.5, found.p50), (0.95, found.p95), (0.99, found.p99)):
        error = math.sqrt(p * (1 - p) / count) / law.pdf(law.ppf(p))
        assert abs(seen - law.ppf(p)) < 4 * error


def test_requests_that_never_came_have_their_place():
    found = quantiles(np.array([1.0] * 94 + [2.0] * 3 + [math.inf] * 3))
    assert (found.p50, found.p95, found.p99) == (1.0, 2.0, math.inf)
    assert all(math.isnan(q) for q in vars(quantiles(np.empty(0))).values())

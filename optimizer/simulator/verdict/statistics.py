"""What a run says, and how surely: means with intervals, quantiles, warm-up, and whether there is a trend.

Requests of one run are not independent: those that meet the same queue wait alike. So the run is cut into
batches of equal time, long against the memory of the queues, whose means are nearly independent and nearly
normal (batch means: Law, Simulation Modeling and Analysis, section 9.5.3).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtr, stdtrit

from optimizer.simulator.types import Floats, Interval, Quantiles

CONFIDENCE = 0.95
BATCHES = 20
"""Few enough to be long: more than thirty gain little (Schmeiser 1982)."""
TREND_LEVEL = 0.01
"""How often a run without a trend is called unsteady by chance."""
MSER_BATCH = 5
FEWEST = 4
"""Batches below which nothing is said of a trend."""


def sums(values: Floats, times: Floats, start: float, end: float, batches: int) -> tuple[Floats, Floats]:
    """(sum of values, count) of the requests of each of the batches of [start, end), by their times."""
    inside = (times >= start) & (times < end)
    width = (end - start) / batches
    batch = np.minimum(((times[inside] - start) / width).astype(np.int64), batches - 1)
    return (
        np.bincount(batch, weights=values[inside], minlength=batches).astype(np.float64),
        np.bincount(batch, minlength=batches).astype(np.float64),
    )


def interval(
    values: Floats, times: Floats, start: float, end: float, batches: int = BATCHES
) -> Interval:
    """The mean of `values` over the requests in [start, end), and the half-width of its 95% interval.

    A batch with more requests counts for more: the mean is R = sum of sums / sum of counts, and its variance
    that of a ratio, sum over batches of (sum_b - R count_b)^2 / (B (B - 1) mean count^2), with Student's t of
    B - 1 degrees of freedom. Of no request at all the mean is nan and the half-width inf; equal values
    everywhere have a half-width of 0, which is no proof that others cannot come.
    """
    total, count = sums(values, times, start, end, batches)
    if not count.sum():
        return Interval(math.nan, math.inf)
    mean = float(total.sum() / count.sum())
    residual = (total - mean * count) / count.mean()
    error = math.sqrt(float(residual @ residual) / (batches * (batches - 1)))
    return Interval(mean, float(stdtrit(batches - 1, (1 + CONFIDENCE) / 2)) * error)


def steady(means: Floats, matters: float = 0.0) -> bool:
    """Whether batch means show no trend: Student's test of a regression line's slope, at 1%.

    A trend that over the whole run moves the mean by less than the share `matters` of it is none. A few
    batches, or equal ones, show no trend.
    """
    means = np.asarray(means, dtype=np.float64)
    count = len(means)
    if count < FEWEST or not np.all(np.isfinite(means)):
        return bool(count and np.all(np.isfinite(means)))
    x = np.arange(count) - (count - 1) / 2
    slope = float(x @ means) / float(x @ x)
    centre = float(means.mean())
    if abs(slope) * count <= max(matters * abs(centre), 1e-12 * abs(centre)):
        return True
    residual = means - centre - slope * x
    error = math.sqrt(float(residual @ residual) / (count - 2) / float(x @ x))
    if not error:
        return False
    return float(2 * stdtr(count - 2, -abs(slope) / error)) >= TREND_LEVEL


def warmup(series: Floats) -> int | None:
    """How many leading values of an evenly spaced series belong to the warm-up, by MSER-5 (White 1997).

    Of the means of five values each, leave out the first d so that the standard error of the mean of the
    rest, as if they were independent, is least: sum (z - mean)^2 / (n - d)^2. Only the first half is
    searched: a few last values that happen to be alike are no steady state (one in four of steady series of
    200 values that remember ten has its least error there). None where half would have to go: the series
    has not settled. What changes later is for `steady` to find.
    """
    count = len(series) // MSER_BATCH
    if count < 2 * FEWEST:
        return None
    z = np.asarray(series[: count * MSER_BATCH], dtype=np.float64).reshape(count, MSER_BATCH).mean(axis=1)
    z = z - z.mean()  # so that the difference of squares below loses no digits
    left = np.arange(count, 0, -1)
    total, squares = np.cumsum(z[::-1])[::-1], np.cumsum(z[::-1] ** 2)[::-1]
    spread = np.maximum(squares - total**2 / left, 0.0) / left**2
    best = int(np.argmin(spread[: count // 2 + 1]))
    return best * MSER_BATCH if best < count // 2 else None


def quantiles(values: Floats) -> Quantiles:
    """The least observed values within which half, 95% and 99% of all are; nan of none.

    Observed ones, so that requests which never came (inf) have their place and spoil no others.
    """
    if not len(values):
        return Quantiles(math.nan, math.nan, math.nan)
    p50, p95, p99 = np.quantile(values, (0.5, 0.95, 0.99), method="inverted_cdf")
    return Quantiles(float(p50), float(p95), float(p99))

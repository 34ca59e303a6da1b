"""Exact random numbers: gaps of every declared distribution, what is left of one at an age, ages, lengths.

Gaps by inversion: a gap is where the tail equals a uniform number; a gap known to be longer than an age,
where it equals that number times the tail at the age. Nothing is approximated, at no age: lognormal tails
are inverted in logarithms. Ages by rejection within cells whose counts are exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from optimizer.simulator.types import Floats
from optimizer.workload.gaps import ExponentialGap, GapDistribution, LogNormalGap, MixtureGap, TableGap


def tails(gap: GapDistribution, ages: Floats) -> Floats:
    """P(gap > age) of every age (seconds), as the distribution's own `tail`."""
    match gap:
        case ExponentialGap():
            return np.exp(-ages / gap.mean)
        case LogNormalGap():
            return np.exp(_log_tails(gap, ages))
        case MixtureGap():
            return np.sum([weight * tails(part, ages) for weight, part in gap.parts], axis=0)
        case TableGap():
            return np.interp(ages, gap.times, gap.tails)
    raise TypeError(f"no sampler for gaps of {type(gap).__name__}")


def beyond(gap: GapDistribution, ages: Floats, random: np.random.Generator) -> Floats:
    """One gap for every age, given that it is longer (age 0: just a gap), in seconds.

    inf where a table does not tell when: its returns beyond the last point.
    """
    match gap:
        case ExponentialGap():
            return ages + random.exponential(gap.mean, len(ages))
        case LogNormalGap():
            log_tail = _log_tails(gap, ages) - random.standard_exponential(len(ages))
            return np.maximum(ages, np.exp(gap.mu - gap.sigma * ndtri_exp(log_tail)))
        case MixtureGap():
            return _beyond_mixture(gap, ages, random)
        case TableGap():
            return _beyond_table(gap, ages, random)
    raise TypeError(f"no sampler for gaps of {type(gap).__name__}")


def sample(gap: GapDistribution, count: int, random: np.random.Generator) -> Floats:
    """Independent gaps in seconds."""
    return beyond(gap, np.zeros(count), random)


def points(
    edges: Floats, mean: Floats, height: Callable[[Floats], Floats], random: np.random.Generator
) -> Floats:
    """A Poisson process of density proportional to `height`, which never grows, with `mean` points per cell.

    A cell's count is exact from the integral; within it, points are rejected against the height at its start.
    """
    cell = np.repeat(np.arange(len(mean)), random.poisson(mean))
    found = np.empty(len(cell))
    top, width = height(edges[:-1]), np.diff(edges)
    missing = np.arange(len(cell))
    while len(missing):
        at = cell[missing]
        tried = edges[at] + width[at] * random.random(len(at))
        good = random.random(len(at)) * top[at] < height(tried)
        found[missing[good]] = tried[good]
        missing = missing[~good]
    return found


def lengths(spread: float, low: float, high: float, count: int, random: np.random.Generator) -> Floats:
    """Lengths over the nominal: gamma of mean 1 and coefficient of variation `spread`, held between low and
    high, and stretched so that their mean is 1 all the same. Exactly 1 without a spread, or room for one.

    The mean of what is held never falls with the stretch, so the stretch is found by bisection.
    """
    if not spread or not low < 1 < high:
        return np.ones(count)
    raw = random.gamma(spread**-2, spread**2, count)

    def held(stretch: float) -> Floats:
        return np.clip(raw * stretch, low, high)

    least, most = 0.0, 1.0
    while held(most).mean() < 1:
        most *= 2
    for _ in range(50):
        middle = (least + most) / 2
        least, most = (least, middle) if held(middle).mean() > 1 else (middle, most)
    return held(most)


def _log_tails(gap: LogNormalGap, ages: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(log_ndtr(-(np.log(ages) - gap.mu) / gap.sigma))


def _beyond_mixture(gap: MixtureGap, ages: Floats, random: np.random.Generator) -> Floats:
    """A part is chosen by its weight times its tail at the age: what of it is still waiting."""
    waiting = np.cumsum([weight * tails(part, ages) for weight, part in gap.parts], axis=0)
    level = random.random(len(ages)) * waiting[-1]
    chosen = np.minimum((level >= waiting).sum(axis=0), len(gap.parts) - 1)
    found = np.empty(len(ages))
    for index, (_, part) in enumerate(gap.parts):
        mine = chosen == index
        found[mine] = beyond(part, ages[mine], random)
    return found


def _beyond_table(gap: TableGap, ages: Floats, random: np.random.Generator) -> Floats:
    level = (1.0 - random.random(len(ages))) * tails(gap, ages)
    found = np.interp(level, gap.tails[::-1], gap.times[::-1])
    return np.where(level <= gap.tails[-1], np.inf, np.maximum(ages, found))

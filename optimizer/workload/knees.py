"""Where the age slots end: few breakpoints that lose least.

The optimum holds each class's contexts up to an age that depends on how a hit compares with the memory
that waits for it. Let a hit be worth holding one context for T seconds (the break-even of the
"minutes rule"; about an hour for DRAM, a week for flash). Holding to age tau is then worth

    value(tau, T) = (1 - S(tau)) - integral(0, tau) / T     hits per request.

Prices and models spread T over decades, so the loss of a set of breakpoints is the mean, over T on a log
grid, of the best value on all ages less the best value on the breakpoints. A shortest path chooses them
(exact where a value has one peak), then single exchanges until none helps: deterministic, and nearly the
same optimum from six to eight ages as from all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optimizer.workload.reuse import PEAK_WINDOW, Survival

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
HUMAN_AGES: tuple[float, ...] = (
    *(1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0),
    *(m * _MINUTE for m in (1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 45)),
    *(h * _HOUR for h in (1, 1.5, 2, 3, 4, 6, 8, 12, 18)),
    *(d * _DAY for d in (1, 2, 3, 5, 7)),
)
"""Ages in seconds that a person would name, near-evenly spaced in the logarithm; the last is the cap."""
RETURNED = 0.995
"""Candidates end at the first human age by which this share of all returns has come."""
BREAK_EVENS = np.geomspace(10.0, 14 * _DAY, 60)
"""Seconds of holding one context that a hit may be worth."""


def knees(survivals: Sequence[Survival], weights: Sequence[float], count: int) -> tuple[float, ...]:
    """Age breakpoints 0 = tau_0 < ... < tau_J in seconds, J <= count slots, for curves of given weights.

    One hour is among them when a later one is, since the rate that multiplies a slot changes there.
    """
    if count < 1 or len(survivals) != len(weights) or not survivals:
        raise ValueError("knees needs count >= 1 and a weight for each of at least one survival curve")
    ages = candidates(survivals, weights)
    values = _values(survivals, weights, ages)
    chosen = _choose(values, count, [])
    if PEAK_WINDOW in ages and ages[max(chosen)] > PEAK_WINDOW and count > 1:
        hour = ages.index(PEAK_WINDOW)
        if hour not in chosen:
            chosen = _choose(values, count, [hour])
    return (0.0, *(ages[index] for index in sorted(chosen)))


def loss(survivals: Sequence[Survival], weights: Sequence[float], ages: Sequence[float]) -> float:
    """What the breakpoints lose against all candidate ages: hits per request, mean over break-evens."""
    every = candidates(survivals, weights)
    best = _values(survivals, weights, every).max(axis=1)
    have = _values(survivals, weights, [age for age in ages if age > 0]).max(axis=1)
    return float((np.maximum(best, 0.0) - np.maximum(have, 0.0)).sum()) / (len(BREAK_EVENS) * sum(weights))


def candidates(survivals: Sequence[Survival], weights: Sequence[float]) -> list[float]:
    """The human ages up to the first by which RETURNED of the weighted returns have come."""
    returns = sum(w * curve.return_probability for curve, w in zip(survivals, weights, strict=True))
    for position, age in enumerate(HUMAN_AGES, 1):
        come = sum(w * (1 - curve.at(age)) for curve, w in zip(survivals, weights, strict=True))
        if come >= RETURNED * returns:
            return list(HUMAN_AGES[:position])
    return list(HUMAN_AGES)


def _values(survivals: Sequence[Survival], weights: Sequence[float], ages: Sequence[float]) -> np.ndarray:
    """value(tau, T) weighted: a row for each curve and break-even, a column for each age."""
    rows = []
    for curve, weight in zip(survivals, weights, strict=True):
        hits = np.array([1 - curve.at(age) for age in ages])
        held = np.array([curve.integral(0.0, age) for age in ages])
        rows.append(weight * (hits[None, :] - held[None, :] / BREAK_EVENS[:, None]))
    return np.concatenate(rows)


def _choose(values: np.ndarray, count: int, fixed: list[int]) -> list[int]:
    """The columns that together lose least: the best path, then the best single exchange while one helps."""
    chosen = _path(values, min(count, values.shape[1]), fixed)
    improved = True
    while improved:
        improved = False
        for old in [index for index in chosen if index not in fixed]:
            rest = [index for index in chosen if index != old]
            new = _best_addition(values, rest)
            if _total(values, [*rest, new]) > _total(values, chosen) + 1e-12:
                chosen, improved = [*rest, new], True
    return chosen


def _path(values: np.ndarray, count: int, fixed: list[int]) -> list[int]:
    """`count` columns through `fixed` that lose least if every row is served from its best column's nearest
    chosen neighbours or from age 0, as it is where a row has one maximum: a shortest path over columns."""
    columns = values.shape[1]
    hops = np.full((columns + 1, columns + 1), np.inf)  # from a column (0: age 0) to one (last: beyond)
    best, top = values.argmax(axis=1), np.maximum(values.max(axis=1), 0.0)
    padded = np.hstack([np.zeros((len(values), 1)), values, np.full((len(values), 1), -np.inf)])
    for start in range(columns + 1):
        for end in range(start, columns + 1):
            if any(start - 1 < column < end for column in fixed):
                continue  # would leap over a column that must be kept
            between = (best >= start - 1) & (best < end)
            served = np.maximum(0.0, np.maximum(padded[between, start], padded[between, end + 1]))
            hops[start, end] = (top[between] - served).sum()
    reach, steps = hops[0], []
    for _ in range(count):
        via = reach[:columns, None] + hops[1:, :]
        steps.append(via.argmin(axis=0))
        reach = via.min(axis=0)
    chosen = [columns]
    for step in reversed(steps):
        chosen.append(int(step[chosen[-1]]))
    return chosen[1:]


def _best_addition(values: np.ndarray, chosen: list[int]) -> int:
    """The column whose addition raises the total most; the earliest of equals; never one of `chosen`."""
    base = values[:, chosen].max(axis=1, initial=0.0)
    totals = np.maximum(values, base[:, None]).sum(axis=0)
    totals[chosen] = -np.inf
    return int(totals.argmax())


def _total(values: np.ndarray, chosen: list[int]) -> float:
    return float(values[:, chosen].max(axis=1, initial=0.0).sum())

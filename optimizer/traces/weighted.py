"""Percentiles of values that each stand for many: exact, as if every value were written out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

PERCENTS = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
DIGITS = 4


def summary(values: ArrayLike, weights: ArrayLike) -> dict[str, float]:
    """Percentiles p1 to p99.9, mean, min, max, and n, the sum of the whole weights; n alone where 0."""
    value, weight = np.asarray(values, float), np.asarray(weights, np.int64)
    value, weight = value[weight > 0], weight[weight > 0]
    number = int(weight.sum())
    if number == 0:
        return {"n": 0}
    order = np.argsort(value, kind="stable")
    value, weight = value[order], weight[order]
    found = percentiles(value, np.cumsum(weight), np.array(PERCENTS))
    named = {f"p{percent:g}": round(float(at), DIGITS) for percent, at in zip(PERCENTS, found, strict=True)}
    return {
        **named, "mean": round(float(value @ weight) / number, DIGITS),
        "min": float(value[0]), "max": float(value[-1]), "n": number,
    }


def percentiles(
    value: NDArray[np.float64], upto: NDArray[np.int64], percents: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Linear interpolation between order statistics, as numpy does; `upto`: how many values are no larger."""
    place = percents / 100.0 * (upto[-1] - 1)
    below = np.floor(place).astype(np.int64)
    low = value[np.searchsorted(upto, below, side="right")]
    high = value[np.searchsorted(upto, np.minimum(below + 1, upto[-1] - 1), side="right")]
    return low + (place - below) * (high - low)

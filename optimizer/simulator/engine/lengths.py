"""Tables over tokens, read between their points: exact at every nominal length."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optimizer.compiled import inner


@inner
def left(axis: NDArray[np.float64], x: float) -> int:
    """The last point of an axis that is at most x, leaving one to its right."""
    low, high = 0, len(axis) - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if axis[middle] <= x:
            low = middle
        else:
            high = middle
    return low


@inner
def along(axis: NDArray[np.float64], values: NDArray[np.float64], x: float) -> float:
    """Linear between points, and on beyond the last."""
    i = left(axis, x)
    part = (x - axis[i]) / (axis[i + 1] - axis[i])
    return float(values[i] + (values[i + 1] - values[i]) * part)


@inner
def across(
    rows: NDArray[np.float64], columns: NDArray[np.float64], values: NDArray[np.float64], x: float, y: float
) -> float:
    """Bilinear between points."""
    i, j = left(rows, x), left(columns, y)
    s = (x - rows[i]) / (rows[i + 1] - rows[i])
    t = (y - columns[j]) / (columns[j + 1] - columns[j])
    upper = values[i, j] + (values[i, j + 1] - values[i, j]) * t
    lower = values[i + 1, j] + (values[i + 1, j + 1] - values[i + 1, j]) * t
    return float(upper + (lower - upper) * s)

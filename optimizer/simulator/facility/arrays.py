"""Lists of numbers as the arrays that compiled loops take: one type each, contiguous."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from optimizer.simulator.types import Flags, Floats, Ints


def floats(values: ArrayLike) -> Floats:
    """float64."""
    return np.ascontiguousarray(values, dtype=np.float64)


def ints(values: ArrayLike) -> Ints:
    """int64."""
    return np.ascontiguousarray(values, dtype=np.int64)


def flags(values: ArrayLike) -> Flags:
    """bool."""
    return np.ascontiguousarray(values, dtype=np.bool_)


def starts(counts: Iterable[int]) -> Ints:
    """Where each of consecutive groups begins, and where the last one ends."""
    return ints(np.cumsum([0, *counts]))

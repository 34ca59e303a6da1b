"""Seconds of processor time: other work on the machine matters less to them than to a clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
BEST_OF = 3


def timed(run: Callable[[], T], best_of: int = BEST_OF) -> tuple[float, T]:
    """The least seconds of a few runs, and what came out."""
    least = math.inf
    for _ in range(best_of):
        began = time.process_time()
        result = run()
        least = min(least, time.process_time() - began)
    return least, result

"""How much must be kept free: margins for fluctuation, and the one longest request.

docs/reuse.md; docs/physics.md section 4.
"""

from __future__ import annotations

import math

from optimizer.catalog.llms import Shape
from optimizer.physics.memory import Footprint


def root_margin(z: float, variance: float, count: float) -> float:
    """Margin of a sum of `count` independent items at quantile z: z*sqrt(count*variance).

    In bytes when `variance` is bytes^2 per item; `count` 1 takes `variance` as that of the whole.
    """
    return z * math.sqrt(count * variance)


def tangent_margin(z: float, variance: float, count: float, slope: float) -> float:
    """A margin linear in `variance` and in `count`, never below the root for any slope > 0.

    (z/2)*(variance*slope + count/slope) >= z*sqrt(count*variance), with equality at slope =
    `tangent_slope(variance, count)`: arithmetic against geometric mean. An old slope is still safe.
    """
    if slope <= 0:
        raise ValueError(f"the slope of a tangent margin is positive, not {slope}")
    return z / 2 * (variance * slope + count / slope)


def tangent_slope(variance: float, count: float) -> float:
    """The slope at which `tangent_margin` touches the root: sqrt(count/variance)."""
    return math.sqrt(count / variance)


def requests_that_fit(room: float, running: Footprint, shape: Shape) -> float:
    """Running requests of this footprint that an instance holds, with `room` KV bytes free on each GPU.

    DP * room / `per_rank(TP)`: a request lies on one attention-DP rank. Not rounded; 0 if none.
    """
    return shape.data_parallel * max(0.0, room) / running.per_rank(shape.tensor_parallel)


def longest_request_fits(room: float, longest: Footprint, shape: Shape) -> bool:
    """Whether one longest request runs: its bytes on a rank, `per_rank(TP)`, <= room of one GPU.

    Running KV lives in HBM and nowhere else: no amount of DRAM changes the answer, and no number of
    attention-DP ranks either (LMCache 1372; law `running_kv_fits_hbm`).
    """
    return longest.per_rank(shape.tensor_parallel) <= room

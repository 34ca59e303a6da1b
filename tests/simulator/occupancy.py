"""What a tier of the mean occupancy catches, and one with the margin, request by request.

    python -m tests.simulator.occupancy

One tier, one class, a time to live. N contexts are held on average; the tier has room for their mean bytes,
or for mean + z sqrt(V), V = N E[bytes^2] (docs/formulation.md, law 6). Sessions, gaps and lengths are drawn,
in the steady state from the start: the gaps of the workload `small`, lengths alike or gamma-distributed.
Sessions live long and their lengths with them, so what one run says is judged by several.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from optimizer.instance import Tier
from optimizer.simulator.facility.plans import Life
from optimizer.simulator.types import Floats, Interval
from tests.simulator.handmade import Bucket, Cls, Pool, Scene, Store, demand, run

LIVE = (60, 240, 720, 3000)
SPREADS = (0.0, 0.7)
Z = 2.33
REQUESTS = 30_000
SEEDS = 8
STUDENT = 2.365  # 97.5% of seven degrees of freedom
RETURNS = 0.985  # probability that a context is asked for again
ENDS = (0.0, 4.0, 24.0, 54.0, 114.0, 294.0, 594.0, 1794.0)  # seconds: the gaps of `small`, to half an hour
SHARES = (0.0, 0.16666, 0.65812, 0.80864, 0.88987, 0.95099, 0.97024, 1.0)
LIVES = (60.0, 300.0)  # seconds a context is kept
TOKENS = 1000.0


@dataclass(frozen=True)
class Cell:
    """What one tier caught of the requests that came back in time, and the most that it could have."""

    margin: float  # over the mean
    caught: Interval  # share of all requests
    promised: float


def held(life: float) -> float:
    """Seconds that a context is held after a turn, on average: the integral of S up to the time to live."""
    grid = np.linspace(0.0, life, 30_001)
    gone = RETURNS * np.interp(grid, ENDS, SHARES)
    return float(np.trapezoid(1 - gone, grid))


def promised(life: float) -> float:
    """1 - S(time to live): requests that return within it, of all."""
    return RETURNS * float(np.interp(life, ENDS, SHARES))


def gaps(count: int, random: np.random.Generator) -> Floats:
    """Idle seconds until the return; inf for never."""
    drawn = np.interp(random.random(count), SHARES, ENDS)
    return np.where(random.random(count) < RETURNS, drawn, math.inf)


def idle(rate: float, life: float, random: np.random.Generator) -> list[tuple[int, float, float]]:
    """Contexts of the past at time 0, by age and return: gaps that cover it are met by their length."""
    pool = np.interp(random.random(200_000), SHARES, ENDS)
    count = random.poisson(rate * RETURNS * pool.mean())
    gap = random.choice(pool, count, p=pool / pool.sum())
    age = random.random(count) * gap
    never = random.random(random.poisson(rate * (1 - RETURNS) * life)) * life
    return [
        *((0, float(a), float(g - a)) for a, g in zip(age, gap, strict=True)),
        *((0, float(a), math.inf) for a in never),
    ]


@cache
def cell(live: int, spread: float, life: float, with_margin: bool) -> Cell:
    """Several runs."""
    margin = Z * math.sqrt((1 + spread**2) / live) if with_margin else 0.0
    caught = np.array([one(live, spread, life, margin, seed) for seed in range(SEEDS)])
    half = STUDENT * float(caught.std(ddof=1)) / math.sqrt(SEEDS)
    return Cell(margin, Interval(float(caught.mean()), half), promised(life))


def one(live: int, spread: float, life: float, margin: float, seed: int) -> float:
    """The share of requests that find their context. The replay itself looks them up, holds and drops them;
    prefill and decoding take no time."""
    random = np.random.default_rng([seed, live, int(10 * spread), int(life)])
    rate = live / held(life)
    horizon = REQUESTS / rate
    lengths = random.gamma(spread**-2, spread**2, REQUESTS) if spread else np.ones(1)
    scene = Scene(
        pools=(Pool(ranks=64, wall=1e-9),),
        stores=(Store(tier=Tier.DRAM_POOL, sizes=(live * TOKENS * (1 + margin),)),),
        classes=(Cls(buckets=(Bucket(TOKENS, lives=(Life(1.0, 0, life, ()),)),), new=1.0),),
    )
    firsts = np.sort(random.random(random.poisson(rate * (1 - RETURNS) * horizon)) * horizon)
    traffic = demand(
        horizon, firsts, gaps=[gaps(int(1.5 * REQUESTS), random).tolist()], scales=[lengths.tolist()],
        idle=idle(rate, life, random), dice=random.random(6 * REQUESTS),
    )  # fmt: skip
    made = run(scene, traffic, count=int(1.5 * REQUESTS))
    rows = made.state.request[: made.state.counts[0]]
    return float((rows["found"][rows["arrival"] > horizon / 10] >= 0).mean())


def table() -> list[str]:
    """As it stands in docs/simulator.md."""
    lines = [
        "| kept | lengths' spread | live contexts | retention | room for the mean | mean + margin | margin |",
        "|---|---|---|---|---|---|---|",
    ]
    for life in LIVES:
        for spread in SPREADS:
            for live in LIVE:
                mean, more = (cell(live, spread, life, with_margin) for with_margin in (False, True))
                lines.append(
                    f"| {life:.0f} s | {spread:g} | {live:,} | {mean.promised:.3f} | {said(mean.caught)} "
                    f"| {said(more.caught)} | {more.margin:.0%} |"
                )
    return lines


def said(share: Interval) -> str:
    return f"{share.mean:.3f} ± {share.half:.3f}"


if __name__ == "__main__":
    print("\n".join(table()))

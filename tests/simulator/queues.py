"""Queues whose waits are known, played through the replay: one prefill pool, nothing else in the way."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from optimizer.simulator.engine.state import ARRIVED, INSIDE, SERVED
from optimizer.simulator.types import Floats
from optimizer.simulator.verdict.statistics import BATCHES, CONFIDENCE, interval
from tests.simulator.handmade import Pool, Run, Scene, demand, requests, run

WARMUP = 0.1
"""Share of a run that is left out: thousands of jobs, against a relaxation of 400 at a load of 0.9."""


def exponential(random: np.random.Generator, count: int) -> Floats:
    """Jobs of mean 1."""
    return random.exponential(1.0, count)


def constant(random: np.random.Generator, count: int) -> Floats:
    """Jobs of 1 each."""
    return np.ones(count)


def two_lengths(random: np.random.Generator, count: int) -> Floats:
    """Short jobs and 5% of the longest, of mean 1: what a lane of hits and some misses sees."""
    long = 8.0
    return np.where(random.random(count) < 0.05, long, (1 - 0.05 * long) / 0.95)


def queue(jobs: Floats, load: float, ranks: int, random: np.random.Generator) -> Run:
    """A Poisson stream of these jobs (seconds; a token takes one second) through one instance."""
    arrivals = np.cumsum(random.exponential(jobs.mean() / load / ranks, len(jobs)))
    scene = Scene(pools=(Pool(ranks=ranks),))
    return run(scene, demand(float(arrivals[-1])), requests(arrivals, jobs), count=0)


def rows(seen: Run) -> np.ndarray:
    """The requests that arrived."""
    return seen.state.request[: seen.state.counts[ARRIVED]]


def measured(seen: Run, values: Floats, confidence: float) -> tuple[float, float]:
    """Mean of a number of every request after the warm-up, and the half-width of its interval."""
    end = seen.demand.horizon
    found = interval(values, rows(seen)["arrival"], WARMUP * end, end)
    wider = stdtrit(BATCHES - 1, (1 + confidence) / 2) / stdtrit(BATCHES - 1, (1 + CONFIDENCE) / 2)
    return found.mean, float(wider) * found.half


def erlang_wait(load: float, ranks: int) -> float:
    """Mean wait of M/M/c in mean jobs: C(c, a) / (c - a), C by Erlang, a = c load."""
    a = load * ranks
    blocked = 1.0
    for k in range(1, ranks + 1):  # Erlang B, by its recursion
        blocked = a * blocked / (k + a * blocked)
    return blocked / (1 - load * (1 - blocked)) / (ranks - a)


def sojourns(seen: Run) -> float:
    """Sum over requests of the seconds they were inside, until the horizon."""
    q = rows(seen)
    left = np.where(q["state"] == SERVED, q["done"], seen.demand.horizon)
    return math.fsum(left - q["arrival"])


def inside(seen: Run) -> float:
    """The same, as the replay integrated it: requests inside over time (Little's law)."""
    assert seen.state.area[1] == seen.demand.horizon or seen.state.counts[INSIDE] == 0
    return float(seen.state.area[0])

"""Waits for prefill are those of theory: M/M/1, M/D/1, M/M/c, Little's law, and the bound that plans use."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from optimizer.instance import Role, Tier
from optimizer.physics.queueing import mean_wait, wait_exponent
from optimizer.simulator.facility.plans import Life
from optimizer.simulator.verdict.statistics import BATCHES
from tests.simulator.handmade import Bucket, Cls, Pool, Scene, Store, demand, requests, run
from tests.simulator.queues import (
    WARMUP,
    constant,
    erlang_wait,
    exponential,
    inside,
    measured,
    queue,
    rows,
    sojourns,
    two_lengths,
)

JOBS = {0.5: 150_000, 0.7: 100_000, 0.9: 300_000}
LOADS = tuple(JOBS)
CELLS = {
    "M/M/1": (exponential, 1, lambda load: erlang_wait(load, 1)),
    "M/D/1": (constant, 1, lambda load: mean_wait(load, 1.0, 1.0)),
    "M/M/2": (exponential, 2, lambda load: erlang_wait(load, 2)),
    "M/M/8": (exponential, 8, lambda load: erlang_wait(load, 8)),
}
SEED = 20261201  # chosen before any run; one stream for each cell
CONFIDENT = 0.99


@cache
def played(name, load):
    """One run of a cell."""
    jobs, ranks, _ = CELLS[name]
    stream = np.random.SeedSequence([SEED, list(CELLS).index(name), LOADS.index(load)])
    random = np.random.Generator(np.random.PCG64(stream))
    return queue(jobs(random, JOBS[load]), load, ranks, random)


@cache
def long_and_short(load):
    """A lane of short jobs and a few of the longest."""
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([SEED, 99, LOADS.index(load)])))
    return queue(two_lengths(random, JOBS[load]), load, 1, random)


def test_erlang_by_hand():
    """M/M/1: load / (1 - load). M/M/2: load^2 / (1 - load^2)."""
    assert [erlang_wait(load, 1) for load in LOADS] == pytest.approx([x / (1 - x) for x in LOADS])
    assert [erlang_wait(load, 2) for load in LOADS] == pytest.approx([x**2 / (1 - x**2) for x in LOADS])


def test_mean_waits_are_those_of_theory():
    """Twelve cells, each in its 99% interval. By chance two or more of twelve miss once in 165."""
    missed = {}
    for name, (_, _, theory) in CELLS.items():
        for load in LOADS:
            seen = played(name, load)
            mean, half = measured(seen, rows(seen)["wait"], CONFIDENT)
            assert half < 0.25 * theory(load), "too wide to notice a fault"
            if abs(mean - theory(load)) > half:
                missed[name, load] = (mean, theory(load), half)
    assert len(missed) <= 1, missed


def test_waits_of_unlike_jobs_are_pollaczek_khinchines():
    misses = 0
    for load in LOADS:
        seen = long_and_short(load)
        jobs = rows(seen)["wall"]
        theory = mean_wait(load, 1.0, 0.05 * 64 + 0.95 * ((1 - 0.4) / 0.95) ** 2)
        mean, half = measured(seen, rows(seen)["wait"], CONFIDENT)
        assert jobs.mean() == pytest.approx(1.0, rel=0.02)
        misses += abs(mean - theory) > half
    assert misses == 0


def test_requests_inside_are_rate_times_sojourn():
    """Little's law, of every run: the integral of requests inside is the sum of their seconds."""
    for name in CELLS:
        for load in LOADS:
            seen = played(name, load)
            assert inside(seen) == pytest.approx(sojourns(seen), rel=1e-9)


@pytest.mark.parametrize("load", LOADS)
def test_waits_stay_below_the_bound_of_the_plan(load):
    """P(wait > t) <= exp(-x t / b), for jobs no longer than b: equal jobs, and a few long among short ones.

    Of a proportion that lies below the bound by its interval nothing is asked; above, at most its interval.
    """
    for seen, longest in ((played("M/D/1", load), 1.0), (long_and_short(load), 8.0)):
        for multiple in (0.25, 0.5, 1.0, 2.0, 4.0):
            late, half = measured(seen, (rows(seen)["wait"] > multiple * longest).astype(float), CONFIDENT)
            assert late - half <= math.exp(-wait_exponent(load) * multiple)


def test_the_bound_would_be_broken_by_waits_a_tenth_longer():
    """It is tight enough to be a test: equal jobs at 0.9 come within a factor of two of it everywhere."""
    seen = played("M/D/1", 0.9)
    late, _ = measured(seen, (rows(seen)["wait"] > 4.0).astype(float), CONFIDENT)
    assert 0.5 < late / math.exp(-4 * wait_exponent(0.9)) <= 1


def test_busy_ranks_are_the_load():
    """What ranks do is the sum of the jobs, and nothing is done twice."""
    seen = played("M/M/8", 0.7)
    q = rows(seen)
    begun = q["arrival"] + q["load"] + q["wait"] < seen.demand.horizon
    assert seen.state.instance["prefill_busy"].sum() == pytest.approx(q["wall"][begun].sum(), rel=1e-9)


# ---- limits -----------------------------------------------------------------------------------------------


def test_alone_a_first_token_takes_the_prefill_and_nothing_else():
    """One tier, bandwidth without end, one request at a time: to the last bit, hit or not."""
    kept = Bucket(tokens=1000.0, unused=10.0, lives=(Life(1.0, 0, 1e9, ()),))
    scene = Scene(
        pools=(Pool(wall=0.01, wall_context=1e-6),),
        stores=(Store(Tier.DRAM_POOL),),
        classes=(Cls(buckets=(kept,), new=64.0, first_prompt=936.0),),
    )
    seen = run(scene, demand(20_000.0, [0.0], gaps=[[150.0, 130.5]]))
    q = rows(seen)
    q = q[np.isfinite(q["first_token"])]
    assert len(q) > 100
    assert (q["found"][1:] == 0).all()
    assert (q["first_token"] == q["arrival"] + q["wall"]).all()
    assert q["wall"][0] == pytest.approx(0.01 * 936)
    assert q["wall"][1:] == pytest.approx((0.01 + 1e-6 * 990) * 64)


def test_short_iterations_late_in_a_long_run_end():
    """A time of 3e5 s is told to 6e-11 s: of iterations of 2e-6 s that is more than what counts as done."""
    time = np.array([3e5, 3.1e5])
    seen = run(Scene(), demand(4e5), requests(time, np.ones(2)))
    assert np.isfinite(rows(seen)["done"]).all()


def test_a_rank_is_free_for_the_next_when_a_job_ends():
    """Two ranks, four jobs at once: two begin at once, two when the first ones end, in their order."""
    seen = run(Scene(pools=(Pool(ranks=2),)), demand(100.0), requests(np.ones(4), np.array([3.0, 5, 1, 1])))
    assert rows(seen)["wait"].tolist() == [0.0, 0.0, 3.0, 4.0]


def test_a_pool_apart_decodes_what_was_handed_over():
    """The first token comes with the KV, after its bytes over the NICs of the rank."""
    pools = (Pool(Role.PREFILL, handed=1000.0, handed_rate=1e4), Pool(Role.DECODE, limit=1.0))
    seen = run(Scene(pools=pools), demand(100.0), requests(np.ones(1), np.array([20.0])))
    (request,) = rows(seen)
    assert request["first_token"] == pytest.approx(1.0 + 20.0 + 20_000 / 1e4)
    assert (request["prefill_pool"], request["pool"]) == (0, 1)


def test_warm_up_and_batches_are_long_enough():
    """A batch holds some twenty relaxations of the slowest cell: batch means are nearly independent."""
    relaxation = 1 / (1 - math.sqrt(0.9)) ** 2
    assert JOBS[0.9] * (1 - WARMUP) / BATCHES > 20 * relaxation

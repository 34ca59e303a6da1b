"""Traffic drawn from a workload's distributions, in the steady state of the planned peak from the start.

The plan multiplies every age slot by the rate of the time its contexts come from: the peak for ages within
an hour, the mean for older ones (`Slot.rate`, docs/reuse.md). Drawn traffic is stationary in the same sense:
first requests are Poisson, a gap is drawn after every turn, and at time 0 the facility is met by the contexts
of the past, rate(age) S(age) of them at every age, each with what is left of its own gap. As the run goes on,
contexts of the peak grow older than an hour. Only the share mean/peak of them stays (`kept`); the others are
forgotten at that age, with their returns. So at every time both are as planned, in expectation: contexts of
each age, and returns at each age.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.instance import Bucket, Instance
from optimizer.simulator.sampling import beyond, tails
from optimizer.simulator.types import Demand, Floats, Ints
from optimizer.workload import Survival, Workload, bucket_survival
from optimizer.workload.schema import ContextBucket, TrafficClass

SPARE = 1.3
"""Gaps and lengths drawn per one that is expected to be used."""
LEAST = 1024
"""Entries at least, where fewer are expected."""
DICE = 6
"""Uniform numbers per request."""
CELLS = 160
"""Age cells, besides the ends of slots: how finely S is followed before rejection makes it exact."""


@dataclass(frozen=True)
class Past:
    """Contexts of one bucket idle at time 0: age, seconds until the return (inf: never), idle seconds after
    which it is forgotten (inf: as its plan says)."""

    age: Floats
    comes: Floats
    kept: Floats


def draw(
    instance: Instance,
    workload: Workload,
    requests: int,
    seed: int,
    *,
    oldest: Sequence[float] | Floats,
    longest: Sequence[float] | Floats | None = None,
    without: Collection[str] = (),
) -> Demand:
    """The traffic of a run of about `requests` requests at the instance's rates.

    `oldest`: idle seconds after which the layout keeps nothing of each bucket, finite; older contexts are
    drawn only where they return, to find nothing. `longest`: tokens of the longest context of each bucket
    that a rank can hold (none: no limit). `without`: classes that are replayed from a trace instead. Buckets
    are numbered as in the instance.
    """
    if not np.all(np.isfinite(oldest)):
        raise ValueError("the oldest age must be finite: contexts that never return fill any memory")
    horizon = requests / sum(c.rate for c in instance.classes)
    streams = np.random.SeedSequence(seed).spawn(len(instance.buckets) + 1)
    first_time: list[Floats] = []
    gaps: list[Floats] = []
    kept: list[Floats] = []
    scales: list[Floats] = []
    pasts: list[Past] = []
    for index, (bucket, declared, context) in enumerate(declarations(instance, workload)):
        random = np.random.Generator(np.random.PCG64(streams[index]))
        curve = bucket_survival(declared, context)
        at_work = bucket.cls not in without
        rate = bucket.rate if at_work else 0.0
        first_time.append(_firsts(bucket.firsts if at_work else 0.0, horizon, random))
        pasts.append(past(bucket, curve, float(oldest[index]), horizon, random) if at_work else _nobody())
        ages = np.zeros(_enough(rate * horizon))
        gap, forgotten = faded(bucket, ages, _returns(curve, ages, random), random)
        gaps.append(gap)
        kept.append(forgotten)
        sessions = _enough(len(first_time[-1]) + len(pasts[-1].age)) if context.spread else 1
        low = (declared.new_tokens + declared.output_tokens) / bucket.tokens
        high = longest[index] / bucket.tokens if longest is not None else math.inf
        scales.append(lengths(context.spread, low, high, sessions, random))
    when = np.concatenate(first_time)
    order = np.argsort(when, kind="stable")
    which = np.repeat(np.arange(len(gaps)), [len(times) for times in first_time])
    idle = sum(len(p.age) for p in pasts)
    dice = np.random.Generator(np.random.PCG64(streams[-1]))
    return Demand(
        horizon=horizon,
        first_time=when[order],
        first_bucket=which[order],
        gap=_starts(gaps),
        gap_seconds=np.concatenate(gaps),
        dice=dice.random(max(LEAST, DICE * requests + idle)),
        scale=_starts(scales),
        scale_factor=np.concatenate(scales),
        idle_bucket=np.repeat(np.arange(len(pasts)), [len(p.age) for p in pasts]),
        idle_age=np.concatenate([p.age for p in pasts]),
        idle_return=np.concatenate([p.comes for p in pasts]),
        gap_kept=np.concatenate(kept),
        idle_kept=np.concatenate([p.kept for p in pasts]),
    )


def declarations(
    instance: Instance, workload: Workload
) -> list[tuple[Bucket, TrafficClass, ContextBucket]]:
    """Every bucket of the instance with the words of the workload it was built from."""
    declared = [(name, cls, context) for name, cls in workload.classes.items() for context in cls.contexts]
    found = []
    for bucket, (name, cls, context) in zip(instance.buckets, declared, strict=True):
        if bucket.cls != name or bucket.tokens != context.tokens:
            raise ValueError(f"bucket {bucket.id} is not {name}'s: the instance is of another workload")
        found.append((bucket, cls, context))
    return found


def past(
    bucket: Bucket, curve: Survival, oldest: float, horizon: float, random: np.random.Generator
) -> Past:
    """Contexts of a bucket idle at time 0: all of an age up to `oldest`, and older ones that return."""
    limit = max(oldest, peak_age(bucket))
    age = _ages(bucket, curve, limit, oldest, random)
    total = _returns(curve, age, random)
    total, kept = faded(bucket, age, total, random)
    comes = total - age
    wanted = (age < oldest) | (comes <= horizon)
    lost = _lost(bucket, curve, limit, horizon, random)
    return Past(
        np.concatenate((age[wanted], lost.age)),
        np.concatenate((comes[wanted], lost.comes)),
        np.concatenate((kept[wanted], lost.kept)),
    )


def peak_age(bucket: Bucket) -> float:
    """The age in seconds from which the mean rate counts."""
    return max((slot.end for slot in bucket.slots if slot.rate > bucket.mean_rate), default=0.0)


def faded(
    bucket: Bucket, age: Floats, total: Floats, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """(gap, kept) of contexts of some age with a total gap. Of those that grow older than the peak has
    lasted, the share mean/peak stays; the rest never returns (inf) and is forgotten at that age."""
    limit = peak_age(bucket)
    stays = bucket.mean_rate / bucket.rate
    if stays == 1:
        return total, np.full(len(age), np.inf)
    gone = (age <= limit) & (total > limit) & (random.random(len(age)) >= stays)
    return np.where(gone, np.inf, total), np.where(gone, limit, np.inf)


def lengths(
    spread: float, low: float, high: float, count: int, random: np.random.Generator
) -> Floats:
    """Lengths over the nominal: gamma of mean 1 and coefficient of variation `spread`, held between low
    and high, and stretched so that their mean is 1 all the same. Exactly 1 without a spread or room for it."""
    if not spread or not low < 1 < high:
        return np.ones(count)
    raw = random.gamma(spread**-2, spread**2, count)
    stretch = 1.0
    for _ in range(40):  # a contraction: what is held at an end does not move
        stretch /= float(np.mean(np.clip(raw * stretch, low, high)))
    return np.clip(raw * stretch, low, high)


def _returns(curve: Survival, age: Floats, random: np.random.Generator) -> Floats:
    """Total gaps of contexts of given ages: inf with the probability, given the age, that none ever ends."""
    waiting = curve.return_probability * tails(curve.gap, age)
    back = random.random(len(age)) * (waiting + curve.never) < waiting
    total = np.full(len(age), np.inf)
    total[back] = beyond(curve.gap, age[back], random)
    return total


def _ages(
    bucket: Bucket, curve: Survival, limit: float, oldest: float, random: np.random.Generator
) -> Floats:
    """Ages of a Poisson number of contexts with density rate(age) S(age) on [0, limit), seconds."""
    if limit <= 0:
        return np.empty(0)
    peak = peak_age(bucket)
    cuts = (oldest, peak, *(slot.end for slot in bucket.slots))
    edges = np.unique([0.0, *np.geomspace(limit * 1e-6, limit, CELLS), *(c for c in cuts if 0 < c < limit)])
    rate = np.where(edges[1:] <= peak, bucket.rate, bucket.mean_rate)
    mean = rate * [curve.integral(a, b) for a, b in itertools.pairwise(edges)]
    never, back = curve.never, curve.return_probability
    return _points(edges, mean, lambda t: never + back * tails(curve.gap, t), random)


def _lost(
    bucket: Bucket, curve: Survival, limit: float, horizon: float, random: np.random.Generator
) -> Past:
    """Returns within the horizon of contexts that are older than `limit` at time 0: by then kept nowhere.

    At time t they come at mean_rate R tail(limit + t). What a table leaves open comes at that rate too.
    """
    edges = limit + np.linspace(0.0, horizon, CELLS)
    tail = [curve.gap.tail_integral(b) - curve.gap.tail_integral(a) for a, b in itertools.pairwise(edges)]
    mean = bucket.mean_rate * curve.return_probability * np.maximum(tail, 0.0)
    reached = _points(edges, mean, lambda t: tails(curve.gap, t), random)
    comes = reached - limit
    total = beyond(curve.gap, reached, random)
    age = np.where(np.isfinite(total), total - comes, limit)
    return Past(age, comes, np.full(len(age), np.inf))


def _points(
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


def _firsts(rate: float, horizon: float, random: np.random.Generator) -> Floats:
    """Times of a Poisson process."""
    return np.sort(random.random(random.poisson(max(0.0, rate) * horizon)) * horizon)


def _nobody() -> Past:
    return Past(np.empty(0), np.empty(0), np.empty(0))


def _enough(expected: float) -> int:
    return max(LEAST, math.ceil(SPARE * expected))


def _starts(parts: list[Floats]) -> Ints:
    return np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)

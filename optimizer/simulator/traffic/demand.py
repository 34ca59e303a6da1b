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
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.instance import Bucket, Instance
from optimizer.simulator.traffic.sampling import beyond, lengths, points, tails
from optimizer.simulator.types import Demand, Floats, Ints
from optimizer.workload import Survival, Workload, bucket_survival
from optimizer.workload.schema import ContextBucket, TrafficClass

SPARE = 1.3
"""Gaps and lengths drawn per one that is expected to be used."""
LEAST = 1024
"""Entries at least, where fewer are expected."""
MOST_LENGTHS = 100_000
"""Lengths at most: after so many, a length meets another gap when it is used again."""
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


@dataclass(frozen=True)
class _Drawn:
    """One bucket's first requests, past, gaps and lengths."""

    firsts: Floats
    idle: Past
    gaps: Floats
    kept: Floats
    lengths: Floats


_NONE = np.empty(0)
_NEVER, _NOMINAL = np.full(1, np.inf), np.ones(1)
_NOTHING = _Drawn(_NONE, Past(_NONE, _NONE, _NONE), _NEVER, _NEVER, _NOMINAL)


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
    *streams, rolled = np.random.SeedSequence(seed).spawn(len(instance.buckets) + 1)
    drawn: list[_Drawn] = []
    for index, (bucket, declared, context) in enumerate(declarations(instance, workload)):
        if bucket.cls in without:
            drawn.append(_NOTHING)
            continue
        random = np.random.Generator(np.random.PCG64(streams[index]))
        curve = bucket_survival(declared, context)
        firsts = _firsts(bucket.firsts, horizon, random)
        idle = past(bucket, curve, float(oldest[index]), horizon, random)
        fresh = np.zeros(max(LEAST, math.ceil(SPARE * bucket.rate * horizon)))
        gaps, kept = faded(bucket, fresh, _returns(curve, fresh, random), random)
        sessions = math.ceil(SPARE * (len(firsts) + len(idle.age)))
        count = min(max(LEAST, sessions), MOST_LENGTHS) if context.spread else 1
        prefix = declared.shared_prefix.tokens if declared.shared_prefix else 0.0
        low = (prefix + declared.new_tokens + declared.output_tokens) / bucket.tokens
        high = longest[index] / bucket.tokens if longest is not None else math.inf
        drawn.append(_Drawn(firsts, idle, gaps, kept, lengths(context.spread, low, high, count, random)))
    when = np.concatenate([d.firsts for d in drawn])
    order = np.argsort(when, kind="stable")
    numbers = np.arange(len(drawn))
    idle_bucket = np.repeat(numbers, [len(d.idle.age) for d in drawn])
    dice = np.random.Generator(np.random.PCG64(rolled)).random(max(LEAST, DICE * requests + len(idle_bucket)))
    return Demand(
        horizon=horizon,
        first_time=when[order],
        first_bucket=np.repeat(numbers, [len(d.firsts) for d in drawn])[order],
        gap=_starts([d.gaps for d in drawn]),
        gap_seconds=np.concatenate([d.gaps for d in drawn]),
        dice=dice,
        scale=_starts([d.lengths for d in drawn]),
        scale_factor=np.concatenate([d.lengths for d in drawn]),
        idle_bucket=idle_bucket,
        idle_age=np.concatenate([d.idle.age for d in drawn]),
        idle_return=np.concatenate([d.idle.comes for d in drawn]),
        gap_kept=np.concatenate([d.kept for d in drawn]),
        idle_kept=np.concatenate([d.idle.kept for d in drawn]),
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
    return points(edges, mean, lambda t: never + back * tails(curve.gap, t), random)


def _lost(
    bucket: Bucket, curve: Survival, limit: float, horizon: float, random: np.random.Generator
) -> Past:
    """Returns within the horizon of contexts that are older than `limit` at time 0: by then kept nowhere.

    At time t they come at mean_rate R tail(limit + t). What a table leaves open comes at that rate too.
    """
    edges = limit + np.linspace(0.0, horizon, CELLS)
    tail = [curve.gap.tail_integral(b) - curve.gap.tail_integral(a) for a, b in itertools.pairwise(edges)]
    mean = bucket.mean_rate * curve.return_probability * np.maximum(tail, 0.0)
    reached = points(edges, mean, lambda t: tails(curve.gap, t), random)
    comes = reached - limit
    total = beyond(curve.gap, reached, random)
    age = np.where(np.isfinite(total), total - comes, max(limit, *(slot.end for slot in bucket.slots)))
    return Past(age, comes, np.full(len(age), np.inf))


def _firsts(rate: float, horizon: float, random: np.random.Generator) -> Floats:
    """Times of a Poisson process."""
    return np.sort(random.random(random.poisson(max(0.0, rate) * horizon)) * horizon)


def _starts(parts: list[Floats]) -> Ints:
    return np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)

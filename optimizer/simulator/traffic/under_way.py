"""Requests that are being decoded when a replay begins, so that it need not wait for the facility to fill."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optimizer.instance import Instance
from optimizer.simulator.types import Facility, Floats, Ints


class Busy(NamedTuple):
    """Their buckets, and the share of their output that is left."""

    bucket: Ints
    left: Floats


def under_way(built: Facility, instance: Instance, seed: int, without: tuple[str, ...] = ()) -> Busy:
    """Poisson many of each bucket: its rate times the seconds one takes in the steady state.

    n sequences make an iteration of f + n m seconds (weights and overhead, KV of one), and n is the rate r
    times the i iterations of a request times that: an iteration takes f / (1 - r i m), at most what the pool
    allows. Classes in `without` are replayed from a trace instead.
    """
    machines, work, classes, routes = built.machines, built.work, built.classes, built.routes
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 1])))
    own = 1 - np.where(machines.pool_decodes, machines.pool_share, 0.0)  # decoding's share of an iteration
    load = np.zeros(len(machines.pool_share))
    streams = []
    for b, bucket in enumerate(instance.buckets):
        if bucket.cls in without:
            continue
        output = classes.output[classes.bucket_class[b]]
        rows = slice(routes.decode[b], routes.decode[b + 1])
        shares = np.diff(routes.decode_cum[rows], prepend=0.0)
        for p, share in zip(routes.decode_pool[rows], shares, strict=True):
            iterations = bucket.rate * share * output / machines.pool_accepted[p]
            memory = np.interp(classes.tokens[b] - output / 2, work.context, work.memory[p])
            instances = machines.pool_instance[p + 1] - machines.pool_instance[p]
            load[p] += iterations * memory / (instances * own[p])
            streams.append((b, p, iterations))
    idle_step = (machines.pool_step_fixed + machines.pool_overhead) / own
    most = machines.pool_step_limit / own
    step = np.minimum(np.where(load < 1, idle_step / np.maximum(1 - load, 1e-9), np.inf), most)
    counts = [int(random.poisson(iterations * step[p])) for _, p, iterations in streams]
    bucket_of = np.repeat(np.array([b for b, _, _ in streams], np.int64), counts)
    return Busy(bucket_of, random.random(len(bucket_of)))

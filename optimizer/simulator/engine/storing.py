"""After a turn: what is kept where, what that writes, and when it goes."""

from __future__ import annotations

import numpy as np

from optimizer.compiled import inner
from optimizer.simulator.engine.cache import EMPTY, drop, hold
from optimizer.simulator.engine.finding import HBM, HOME, STAGE, place, snapshot
from optimizer.simulator.engine.heap import push
from optimizer.simulator.engine.state import (
    BLOCK,
    BYTES,
    EXCLUSIVE,
    EXPIRE,
    FIRST,
    NEW,
    NONE,
    OPENING,
    PREFIX,
    SLOPE,
    Fixed,
    State,
)
from optimizer.simulator.engine.stretch import hold_stretch


@inner
def store(fixed: Fixed, state: State, request: int, now: float) -> None:
    """A turn is over: its context goes to where its plan says, at age 0."""
    q = state.request[request]
    plan = state.session[q["session"]]["plan"]
    if plan == NONE:
        return
    first, last = fixed.plan_stage[plan], fixed.plan_stage[plan + 1]
    if first < last:
        keep(fixed, state, request, fixed.stage_location[first], fixed.stage_until[first], STAGE, now)
    home = fixed.plan_home[plan]
    if home != NONE and not (first < last and fixed.stage_location[first] == home):
        keep(fixed, state, request, home, fixed.plan_home_until[plan], HOME, now)


@inner
def keep(
    fixed: Fixed, state: State, request: int, location: int, seconds: float, copy: int, now: float
) -> None:
    """Hold a request's context at one location for some seconds, writing what was not there."""
    q = state.request[request]
    s = state.session[q["session"]]
    domain = place(fixed, location, s["where"])
    if domain == NONE:
        return
    if q["recorded"] != NONE:
        keep_chain(fixed, state, request, location, domain, seconds, now)
        return
    key = q["session"] * len(state.cache.domain) + domain
    seconds = min(seconds, s["kept"])
    beyond = s["tokens"] - state.bucket[q["bucket"]]["tokens"]
    weight = fixed.stored[:, q["bucket"], location]
    size = weight[BYTES] + weight[SLOPE] * beyond
    written = size
    if fixed.rules[EXCLUSIVE] == 0:
        there = q["had"] & copy
        written = weight[OPENING] if q["found"] == FIRST else weight[NEW]
        if not there and q["found"] != FIRST:
            written += max(0.0, weight[PREFIX] + weight[SLOPE] * beyond)
    remember(fixed, state, key, size, location, seconds, 0.0, now)
    write(fixed, state, location, domain, written, now)


@inner
def keep_chain(
    fixed: Fixed, state: State, request: int, location: int, domain: int, seconds: float, now: float
) -> None:
    """Hold the chain of a recorded request, writing what was not there."""
    q = state.request[request]
    written = hold_chain(fixed, state, q["recorded"], location, domain, seconds, now)
    write(fixed, state, location, domain, written, now)


@inner
def hold_chain(
    fixed: Fixed, state: State, r: int, location: int, domain: int, seconds: float, now: float
) -> float:
    """Touch a recorded chain in a domain, from its leaf to its root. Bytes that were not there."""
    domains, bucket = len(state.cache.domain), fixed.recorded[r]["bucket"]
    slope, extra = fixed.stored[SLOPE, bucket, location], snapshot(fixed, state, bucket, location)
    written = 0.0
    until = kept_until(fixed, location, seconds, now)
    for k in range(fixed.node[r + 1] - 1, fixed.node[r] - 1, -1):
        n = fixed.node_id[k]
        key = (len(state.session) + n) * domains + domain
        c, missing = hold_stretch(
            state.cache, key, n, fixed.node_count[k], slope, extra, until, slope * fixed.rules[BLOCK], now
        )
        written += missing
        extra = 0.0  # a snapshot is of the whole chain, at its end
        see_to(state, c, key, until)
    return written


@inner
def remember(
    fixed: Fixed, state: State, key: int, size: float, location: int, seconds: float, unit: float, now: float
) -> None:
    """Hold a node, and see to it that it goes in time; never from an LRU tier, where room alone decides."""
    until = kept_until(fixed, location, seconds, now)
    see_to(state, hold(state.cache, key, size, until, unit, now), key, until)


@inner
def kept_until(fixed: Fixed, location: int, seconds: float, now: float) -> float:
    """The time until which a tier keeps what is touched now."""
    return float(np.inf if fixed.location[location]["lru"] else now + seconds)


@inner
def see_to(state: State, c: int, key: int, until: float) -> None:
    """That a copy (-1: none) goes in time."""
    if c != EMPTY and until < state.cache.copy[c]["alarm"]:
        state.cache.copy[c]["alarm"] = until
        push(state.heap, until, EXPIRE, c, key)


@inner
def write(fixed: Fixed, state: State, location: int, domain: int, size: float, now: float) -> None:
    """Bytes go to a tier's device; where reads and writes share a bandwidth, loads wait behind them."""
    if fixed.location[location]["tier"] == HBM:
        return
    device = state.device[domain]
    device["written"] += size
    seconds = size / device["write"]
    device["write_busy"] += seconds
    if device["shared"]:
        device["read_free"] = max(device["read_free"], now) + seconds
    else:
        device["write_free"] = max(device["write_free"], now) + seconds
        device["late"] = max(device["late"], device["write_free"] - now - seconds)


@inner
def expire(fixed: Fixed, state: State, copy: int, key: int, now: float) -> None:
    """The time of a copy has come, unless it was asked for since: then it is looked at again later. An
    exclusive copy sinks to the next stage of its plan."""
    c = state.cache.copy[copy]
    if c["key"] != key or c["alarm"] != now:
        return
    c["alarm"] = np.inf
    if c["until"] > now:
        if c["until"] < np.inf:
            c["alarm"] = c["until"]
            push(state.heap, c["until"], EXPIRE, copy, key)
        return
    drop(state.cache, copy, now)
    if fixed.rules[EXCLUSIVE] > 0:
        sink(fixed, state, key, now)


@inner
def sink(fixed: Fixed, state: State, key: int, now: float) -> None:
    """Move a context whose stage is over to its next stage."""
    domains = len(state.cache.domain)
    session = key // domains
    if session >= len(state.session):
        return
    s = state.session[session]
    plan, age = s["plan"], now - s["ended"]
    for k in range(fixed.plan_stage[plan], fixed.plan_stage[plan + 1]):
        if min(fixed.stage_until[k], s["kept"]) > age * (1 + 1e-9):
            location = fixed.stage_location[k]
            domain = place(fixed, location, s["where"])
            weight = fixed.stored[:, s["bucket"], location]
            size = weight[BYTES] + weight[SLOPE] * (s["tokens"] - state.bucket[s["bucket"]]["tokens"])
            left = min(fixed.stage_until[k], s["kept"]) - age
            remember(fixed, state, session * domains + domain, size, location, left, 0.0, now)
            write(fixed, state, location, domain, size, now)
            return

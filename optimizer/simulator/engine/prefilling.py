"""A request comes, finds its context, is routed to an instance, loads, waits for a rank, and is prefilled.

A rank serves one request at a time, in the order in which their contexts are at hand; that order makes the
queue a single number, the time the rank is free. A load crosses the tier's device, the host links and, where
the bytes lie elsewhere, the NICs; each serves one load after another at its full rate.
"""

from __future__ import annotations

import numpy as np

from optimizer.compiled import inner
from optimizer.simulator.engine.cache import account, reserve
from optimizer.simulator.engine.finding import HBM, begin_running, let_go, look_up, roll
from optimizer.simulator.engine.heap import push
from optimizer.simulator.engine.lengths import across, along
from optimizer.simulator.engine.state import (
    BYTES,
    FIRST,
    INSIDE,
    LINK,
    MISS,
    NONE,
    PREFILLED,
    RATE,
    READY,
    REFUSED,
    REJECTED,
    SLOPE,
    START,
    UNPACK,
    Fixed,
    State,
)


@inner
def arrive(fixed: Fixed, state: State, request: int, now: float) -> None:
    """A request is there, for the first time or again after its server failed."""
    q = state.request[request]
    domain, opening = NONE, q["found"] == FIRST
    if not opening or q["recorded"] != NONE:
        domain = look_up(fixed, state, request)
        if opening and domain == NONE:
            q["found"] = FIRST
    p = route(fixed, state, request)
    if p == NONE and q["found"] >= 0:  # the layout computes this hit again, or nobody up can take it
        q["found"], q["cached"], domain = MISS, 0.0, NONE
        p = route(fixed, state, request)
    i = NONE if p == NONE else instance_for(fixed, state, p, q["found"], domain)
    if i == NONE:
        reject(fixed, state, request, now)
        return
    p = state.instance[i]["pool"]
    begin_running(fixed, state, request, now)
    shared = fixed.cls[q["cls"]]["shared"]
    brought = q["cached"]
    start = max(shared, q["cached"] - state.pool[p]["replay"]) if q["found"] >= 0 else shared
    start = min(start, q["total"])
    q["pool"], q["prefill_pool"] = p, p
    q["instance"], q["epoch"] = i, state.instance[i]["epoch"]
    q["wall"] = across(fixed.context, fixed.fresh, fixed.wall[p], start, q["total"] - start)
    q["cached"] = start
    loaded = load(fixed, state, request, domain, brought, now)
    q["load"] = loaded - now
    wait = max((loaded - now) / state.pool[p]["layers"], loaded - now - q["wall"])
    push(state.heap, now + wait, READY, request, NONE)


@inner
def reject(fixed: Fixed, state: State, request: int, now: float) -> None:
    """Nobody can serve a request: its session ends, and nobody comes back to its context."""
    q = state.request[request]
    let_go(fixed, state, request, now)
    q["state"], q["done"] = REJECTED, now
    state.counts[REFUSED] += 1
    inside(state, -1, now)


@inner
def inside(state: State, change: int, now: float) -> None:
    """Requests in the system, and their integral (Little's law)."""
    state.area[0] += state.counts[INSIDE] * (now - state.area[1])
    state.area[1] = now
    state.counts[INSIDE] += change


@inner
def route(fixed: Fixed, state: State, request: int) -> int:
    """The pool that the layout sends this case of this stream to; one with an instance that is up."""
    q = state.request[request]
    stream = len(state.bucket) + q["cls"] if q["found"] == FIRST else q["bucket"]
    key = stream * (len(fixed.location) + 1) + max(0, q["found"] + 1)
    luck = roll(fixed, state)
    chosen, spare = NONE, NONE
    for row in range(fixed.route[key], fixed.route[key + 1]):
        p = fixed.route_pool[row]
        if p != NONE and not alive(state, p):
            continue
        spare = p if spare == NONE else spare
        if luck < fixed.route_cum[row]:
            chosen = p
            return int(chosen)
    return int(spare)


@inner
def alive(state: State, pool: int) -> bool:
    """Whether any instance of a pool is up."""
    up = False
    for i in range(state.pool[pool]["first"], state.pool[pool]["last"]):
        up = up or state.instance[i]["up"]
    return bool(up)


@inner
def free_at(state: State, instance: int) -> int:
    """The rank of an instance that is free first."""
    first, last = state.instance[instance]["rank_first"], state.instance[instance]["rank_last"]
    best = first
    for k in range(first + 1, last):
        if state.rank[k] < state.rank[best]:
            best = k
    return int(best)


@inner
def instance_for(fixed: Fixed, state: State, pool: int, found: int, domain: int) -> int:
    """The instance of a pool that takes a request: the one whose HBM holds its context; else of those that
    reach its context without a NIC, or of all, the one with a rank free first."""
    holder = NONE if domain == NONE else fixed.domain_instance[domain]
    if holder != NONE and state.instance[holder]["pool"] == pool and state.instance[holder]["up"]:
        return int(holder)
    best, near = NONE, False
    store = NONE if domain == NONE else fixed.location[found]["store"]
    for i in range(state.pool[pool]["first"], state.pool[pool]["last"]):
        if not state.instance[i]["up"]:
            continue
        here = store != NONE and near_to(fixed, state, i, store, domain)
        if near and not here:
            continue
        sooner = best == NONE or state.rank[free_at(state, i)] < state.rank[free_at(state, best)]
        if sooner or (here and not near):
            best, near = i, here
    return int(best)


@inner
def load(fixed: Fixed, state: State, request: int, domain: int, tokens: float, now: float) -> float:
    """The time that many tokens of a request's context have come from a domain."""
    q = state.request[request]
    place = q["found"]
    if domain == NONE or fixed.domain_instance[domain] == q["instance"]:
        return now
    at, p, i = fixed.location[place], q["pool"], q["instance"]
    b = state.bucket[q["bucket"]]
    slope = fixed.stored[SLOPE, q["bucket"], place]
    size = fixed.stored[BYTES, q["bucket"], place] + slope * (tokens - b["tokens"])
    if size <= 0:
        return now
    if at["tier"] == HBM:  # in the HBM of another lane: handed over as prefill hands over to decode
        done = through_nic(state, i, size, now)
        pace = state.pool[p]["handed_rate"]
        return float(max(done, now + size / pace) if pace > 0 else done)
    device = state.device[domain]
    done = serve_device(device, size, now)
    linked = size * fixed.road[LINK, p, place] / state.instance[i]["link"]
    state.instance[i]["link_free"] = max(state.instance[i]["link_free"], now) + linked
    state.instance[i]["link_busy"] += linked
    done = max(done, state.instance[i]["link_free"])
    if at["remote"] or (at["width"] == 0 and not near_to(fixed, state, i, at["store"], domain)):
        done = max(done, through_nic(state, i, size, now))
    done = max(done, now + size / fixed.road[RATE, p, place])
    blocks = np.ceil(size / at["block"]) if at["block"] > 0 else 0.0
    return float(done + at["latency"] + blocks * at["per_block"] + size * fixed.road[UNPACK, p, place])


@inner
def serve_device(device: np.void, size: float, now: float) -> float:
    """The time a tier's device has read `size` bytes, one load after another."""
    seconds = size / device["read"]
    device["read_free"] = max(device["read_free"], now) + seconds
    device["read_busy"] += seconds
    device["late"] = max(device["late"], device["read_free"] - now - seconds)
    return float(device["read_free"])


@inner
def through_nic(state: State, instance: int, size: float, now: float) -> float:
    """The time `size` bytes have come in through the NICs of an instance's servers, an equal part by each."""
    first, span = state.instance[instance]["server"], state.instance[instance]["span"]
    done = now
    for v in range(first, first + span):
        n = state.server[v]
        seconds = size / span / n["nic"]
        n["in_free"] = max(n["in_free"], now) + seconds
        n["in_busy"] += seconds
        done = max(done, n["in_free"])
    return float(done)


@inner
def out_of_nic(state: State, instance: int, size: float, now: float) -> float:
    """The time `size` bytes have gone out through them."""
    first, span = state.instance[instance]["server"], state.instance[instance]["span"]
    done = now
    for v in range(first, first + span):
        n = state.server[v]
        seconds = size / span / n["nic"]
        n["out_free"] = max(n["out_free"], now) + seconds
        n["out_busy"] += seconds
        done = max(done, n["out_free"])
    return float(done)


@inner
def near_to(fixed: Fixed, state: State, instance: int, store: int, domain: int) -> bool:
    """Whether one of an instance's servers reaches a domain without its NIC."""
    first, near = state.instance[instance]["server"], False
    for v in range(first, first + state.instance[instance]["span"]):
        near = near or fixed.server_domain[v, store] == domain
    return bool(near)


@inner
def lost(state: State, request: int) -> bool:
    """Whether the server of a request has failed since it was routed there."""
    q = state.request[request]
    return bool(q["epoch"] != state.instance[q["instance"]]["epoch"])


@inner
def ready(fixed: Fixed, state: State, request: int, now: float) -> None:
    """A request's context is at hand: it takes the rank of its instance that is free first."""
    q = state.request[request]
    k = free_at(state, q["instance"])
    begin = max(now, state.rank[k])
    q["wait"] = begin - now
    state.rank[k] = begin + q["wall"]
    push(state.heap, begin, START, request, NONE)


@inner
def start(fixed: Fixed, state: State, request: int, now: float) -> None:
    """Its prefill begins, and takes HBM for all of its context."""
    q = state.request[request]
    i = q["instance"]
    state.instance[i]["prefill_busy"] += q["wall"]
    q["held"] = along(fixed.context, fixed.idle[q["pool"]], q["total"])
    d = state.instance[i]["domain"]
    if d != NONE:
        reserve(state.cache, d, q["held"], 0.0, now)
    push(state.heap, now + q["wall"], PREFILLED, request, NONE)


@inner
def release(state: State, request: int, now: float) -> None:
    """The HBM of a prefill is free again."""
    q = state.request[request]
    d = state.instance[q["instance"]]["domain"]
    if d != NONE:
        account(state.cache, d, -q["held"], now)
    q["held"] = 0.0

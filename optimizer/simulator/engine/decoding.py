"""Decoding: the sequences of an instance advance together, one iteration at a time, in closed form.

An instance runs iterations whose length depends on the sequences in it. Between two changes of that set every
sequence gains the same count of iterations, so that a sequence is done when the instance has done the
iterations it came at plus its own; the next to finish is the top of a heap.
"""

from __future__ import annotations

import numpy as np

from optimizer.compiled import inner
from optimizer.simulator.engine.cache import EPSILON, account, reserve
from optimizer.simulator.engine.finding import roll
from optimizer.simulator.engine.heap import push
from optimizer.simulator.engine.lengths import along
from optimizer.simulator.engine.prefilling import reject
from optimizer.simulator.engine.state import NONE, STEP, Fixed, State

DONE = 1e-9  # iterations, relative: what counts as finished
CLOCK = 1e-15  # relative: what rounding may take from a time, some units in the last place
NOTHING, KV, TIME = range(3)  # what an instance lacks


@inner
def step_of(pool: np.void, sequences: float, memory: float, flops: float) -> float:
    """Seconds of an iteration's decode part: weights and KV from HBM, or FLOPs, or expert traffic."""
    slowest = max(pool["fixed"] + memory, flops, sequences * pool["network"])
    return float(pool["overhead"] + slowest)


@inner
def advance(state: State, instance: int, now: float) -> None:
    """Bring an instance's iterations, and the integrals of its load, up to now."""
    i = state.instance[instance]
    passed = now - i["since"]
    if passed > 0:
        limit = state.pool[i["pool"]]["limit"]
        if i["sequences"] > 0:
            i["steps"] += passed / i["step"]
            share = i["step"] * (1 - state.pool[i["pool"]]["share"]) / limit
            i["step_area"] += passed * share
            i["step_peak"] = max(i["step_peak"], share)
        i["kv_area"] += passed * i["kv"]
        i["sequence_area"] += passed * i["sequences"]
        i["kv_peak"] = max(i["kv_peak"], i["kv"])
        i["since"] = now


@inner
def plan_next(state: State, instance: int, now: float) -> None:
    """The set of sequences has changed: a new pace, and a new time of the next to finish."""
    i = state.instance[instance]
    i["version"] += 1
    if i["sequences"] == 0:
        return
    pool = state.pool[i["pool"]]
    i["step"] = step_of(pool, i["sequences"], i["memory"], i["flops"]) / (1 - pool["share"])
    left = state.sequence[i["heap_first"]]["steps"] - i["steps"]
    push(state.heap, now + max(0.0, left) * i["step"], STEP, instance, i["version"])


@inner
def fits(state: State, instance: int, request: int) -> int:
    """What an instance lacks to take a sequence: NOTHING, room for its KV, or time in the iteration.
    One alone is run however long its iteration is: else it would wait for ever, and those behind it."""
    i, q = state.instance[instance], state.request[request]
    pool = state.pool[i["pool"]]
    if i["kv"] + q["kv"] > pool["room"] * (1 + EPSILON) or i["sequences"] >= i["heap_room"]:
        return KV
    if i["sequences"] == 0:
        return NOTHING
    step = step_of(pool, i["sequences"] + 1, i["memory"] + q["memory"], i["flops"] + q["flops"])
    return TIME if step > pool["limit"] * (1 + EPSILON) else NOTHING


@inner
def weigh(fixed: Fixed, state: State, request: int, pool: int) -> None:
    """What a request takes of a pool while it is decoded."""
    q = state.request[request]
    half = q["tokens"] - q["output"] / 2
    q["kv"] = along(fixed.context, fixed.running[pool], q["tokens"])
    q["memory"] = along(fixed.context, fixed.memory[pool], half)
    q["flops"] = along(fixed.context, fixed.flops[pool], half)


@inner
def decode_pool(fixed: Fixed, state: State, bucket: int) -> int:
    """The pool that decodes a request of a bucket."""
    b = state.bucket[bucket]
    luck = roll(fixed, state)
    for row in range(b["decode_first"], b["decode_last"]):
        if luck < fixed.decode_cum[row]:
            return int(fixed.decode_pool[row])
    return NONE


@inner
def best(state: State, pool: int, request: int) -> tuple[int, int]:
    """The instance of a pool that can take a request and has the shortest iteration, or -1; and what is short
    where none can."""
    found, shortest, lacking = NONE, np.inf, KV
    for i in range(state.pool[pool]["first"], state.pool[pool]["last"]):
        if not state.instance[i]["up"]:
            continue
        lack = fits(state, i, request)
        if lack == NOTHING:
            load = state.instance[i]["memory"] + 1e-9 * state.instance[i]["sequences"]
            if load < shortest:
                found, shortest = i, load
        else:
            lacking = lack
    return found, lacking


@inner
def enter(fixed: Fixed, state: State, request: int, pool: int, now: float) -> None:
    """A prefilled request asks a pool to decode it: it begins, or waits behind those that came before."""
    if pool == NONE:  # nothing that was bought decodes it
        reject(fixed, state, request, now)
        return
    weigh(fixed, state, request, pool)
    q, p = state.request[request], state.pool[pool]
    q["pool"] = pool
    if q["kv"] > p["room"] * (1 + EPSILON):
        reject(fixed, state, request, now)
        return
    first = request if p["waiting"] == 0 else p["head"]  # behind others it lacks what the first of them does
    found, lacking = best(state, pool, first)
    if found != NONE and first == request:
        admit(fixed, state, request, found, now)
        return
    if lacking == KV:
        p["short_kv"] += 1
    else:
        p["short_time"] += 1
    q["next"] = NONE
    if p["tail"] == NONE:
        p["head"] = request
    else:
        state.request[p["tail"]]["next"] = request
    p["tail"] = request
    p["waiting"] += 1


@inner
def admit(fixed: Fixed, state: State, request: int, instance: int, now: float) -> None:
    """A sequence joins an instance."""
    i, q = state.instance[instance], state.request[request]
    advance(state, instance, now)
    if i["sequences"] == 0:
        i["steps"] = 0.0
    q["instance"], q["epoch"] = instance, i["epoch"]
    steps = i["steps"] + q["output"] / state.pool[i["pool"]]["accepted"]
    at, first = i["sequences"], i["heap_first"]
    i["sequences"] += 1
    state.sequence[first + at]["steps"], state.sequence[first + at]["request"] = steps, request
    while at > 0 and state.sequence[first + at]["steps"] < state.sequence[first + ((at - 1) >> 1)]["steps"]:
        exchange(state, first + at, first + ((at - 1) >> 1))
        at = (at - 1) >> 1
    i["kv"] += q["kv"]
    i["memory"] += q["memory"]
    i["flops"] += q["flops"]
    i["kv_peak"] = max(i["kv_peak"], i["kv"])
    if i["domain"] != NONE:
        reserve(state.cache, i["domain"], q["kv"], 0.0, now)
    plan_next(state, instance, now)


@inner
def exchange(state: State, a: int, b: int) -> None:
    """Swap two sequences of a heap."""
    x, y = state.sequence[a], state.sequence[b]
    x["steps"], y["steps"] = y["steps"], x["steps"]
    x["request"], y["request"] = y["request"], x["request"]


@inner
def sift_down(state: State, first: int, count: int) -> None:
    """Restore a heap of `count` sequences after its top was replaced."""
    at, heap = 0, state.sequence[first : first + count]
    while 2 * at + 1 < count:
        child = 2 * at + 1
        if child + 1 < count and heap[child + 1]["steps"] < heap[child]["steps"]:
            child += 1
        if heap[at]["steps"] <= heap[child]["steps"]:
            return
        exchange(state, first + at, first + child)
        at = child


@inner
def leave(state: State, instance: int, now: float) -> int:
    """The sequence that finishes first leaves its instance. Returns its request."""
    i = state.instance[instance]
    first = i["heap_first"]
    request = state.sequence[first]["request"]
    q = state.request[request]
    i["sequences"] -= 1
    last = i["sequences"]
    exchange(state, first, first + last)
    sift_down(state, first, last)
    i["kv"] = max(0.0, i["kv"] - q["kv"]) if last > 0 else 0.0
    i["memory"] = max(0.0, i["memory"] - q["memory"]) if last > 0 else 0.0
    i["flops"] = max(0.0, i["flops"] - q["flops"]) if last > 0 else 0.0
    if i["domain"] != NONE:
        account(state.cache, i["domain"], -q["kv"], now)
    return int(request)


@inner
def over(state: State, instance: int) -> bool:
    """Whether the first sequence of an instance has made its last iteration."""
    i = state.instance[instance]
    if i["sequences"] == 0:
        return False
    goal = state.sequence[i["heap_first"]]["steps"]
    unseen = CLOCK * i["since"] / i["step"]  # within the rounding of a time: else late ones never end
    return bool(goal <= i["steps"] + DONE * max(1.0, goal) + unseen)


@inner
def call_waiting(fixed: Fixed, state: State, pool: int, now: float) -> None:
    """Let those in that wait for a pool, in their order, while there is room for the first."""
    p = state.pool[pool]
    while p["head"] != NONE:
        request = p["head"]
        found, _ = best(state, pool, request)
        if found == NONE:
            return
        p["head"] = state.request[request]["next"]
        p["waiting"] -= 1
        if p["head"] == NONE:
            p["tail"] = NONE
        admit(fixed, state, request, found, now)

"""Where a context should lie, and where it is found: plans, domains, prefix lookup."""

from __future__ import annotations

import numpy as np

from optimizer.compiled import inner
from optimizer.simulator.engine.cache import EMPTY, drop, find, touch
from optimizer.simulator.engine.state import (
    BLOCK,
    BYTES,
    DICE,
    EXCLUSIVE,
    HITS,
    MISS,
    NONE,
    SLOPE,
    Fixed,
    State,
)
from optimizer.simulator.engine.stretch import node_bytes

STAGE, HOME = np.int64(1), np.int64(2)  # bits of REQUEST.had
HBM = 0  # order of the fastest tier
WHOLE = 1 - 1e-9  # a node of this share of its bytes is all there


@inner
def roll(fixed: Fixed, state: State) -> float:
    """The next uniform number."""
    at = state.counts[DICE]
    state.counts[DICE] = at + 1
    return float(fixed.dice[at % len(fixed.dice)])


@inner
def plan_of(fixed: Fixed, state: State, bucket: int, luck: float) -> int:
    """The row of the bucket's plans that a context of this luck follows; -1: it is not kept."""
    b = state.bucket[bucket]
    for row in range(b["plan_first"], b["plan_last"]):
        if luck < fixed.plan_cum[row]:
            return row
    return NONE


@inner
def place(fixed: Fixed, location: int, where: float) -> int:
    """The domain of a location that a session uses: always the same one. -1: there is none."""
    at = fixed.location[location]
    domains = at["last"] - at["first"]
    if domains == 0:
        return NONE
    return int(at["first"] + min(domains - 1, int(where * domains)))


@inner
def places(fixed: Fixed, plan: int) -> int:
    """How many locations a plan may hold copies at: its stages, then its home."""
    return int(fixed.plan_stage[plan + 1] - fixed.plan_stage[plan] + (fixed.plan_home[plan] != NONE))


@inner
def location_of(fixed: Fixed, plan: int, i: int) -> int:
    """The i-th location of a plan."""
    k = fixed.plan_stage[plan] + i
    return int(fixed.stage_location[k] if k < fixed.plan_stage[plan + 1] else fixed.plan_home[plan])


@inner
def look_up(fixed: Fixed, state: State, request: int) -> int:
    """Find a request's context: found, cached (tokens) and had of the request. Returns the domain that serves
    it, or -1. Local copies are met with the stated affinity."""
    q = state.request[request]
    q["found"], q["cached"], q["had"], q["due"] = MISS, 0.0, 0, NONE
    plan = state.session[q["session"]]["plan"]
    if plan == NONE or (fixed.rules[HITS] < 1 and roll(fixed, state) >= fixed.rules[HITS]):
        return NONE
    if q["recorded"] != NONE:
        return chain(fixed, state, request, plan)
    q["due"] = due(fixed, state, request, plan)
    where, domains, served = state.session[q["session"]]["where"], len(state.cache.domain), NONE
    for i in range(places(fixed, plan)):
        location = location_of(fixed, plan, i)
        domain = place(fixed, location, where)
        if domain == NONE or find(state.cache, q["session"] * domains + domain) == EMPTY:
            continue
        q["had"] |= HOME if location == fixed.plan_home[plan] else STAGE
        if served == NONE and astray(fixed, state, location):
            q["due"] = NONE  # not lost: the router went past it, as it is stated to
        elif served == NONE:
            served, q["found"] = domain, location
            q["cached"] = state.session[q["session"]]["tokens"] - state.bucket[q["bucket"]]["unused"]
    return served


@inner
def due(fixed: Fixed, state: State, request: int, plan: int) -> int:
    """The location that a drawn context's plan has it at, at the age of this return; -1: it is let go."""
    s = state.session[state.request[request]["session"]]
    age = state.request[request]["arrival"] - s["ended"]
    if age >= s["kept"]:
        return NONE
    for k in range(fixed.plan_stage[plan], fixed.plan_stage[plan + 1]):
        if age < fixed.stage_until[k]:
            return int(fixed.stage_location[k])
    return int(fixed.plan_home[plan]) if age < fixed.plan_home_until[plan] else NONE


@inner
def astray(fixed: Fixed, state: State, location: int) -> bool:
    """Whether a return is routed past the server that holds its local copy."""
    at = fixed.location[location]
    return bool(at["width"] == 0 and at["affinity"] < 1 and roll(fixed, state) >= at["affinity"])


@inner
def chain(fixed: Fixed, state: State, request: int, plan: int) -> int:
    """Look a recorded chain up from its root: the longest run of nodes that are there, each in its fastest
    place. The place that holds most of it counts as the one that serves it."""
    q = state.request[request]
    where, domains = state.session[q["session"]]["where"], len(state.cache.domain)
    missed = astray(fixed, state, location_of(fixed, plan, 0))
    most, served, r = 0.0, NONE, q["recorded"]
    for i in range(places(fixed, plan)):
        location = location_of(fixed, plan, i)
        domain = place(fixed, location, where)
        if domain == NONE or (missed and fixed.location[location]["width"] == 0):
            continue
        held = 0.0
        for k in range(fixed.node[r], fixed.node[r + 1]):
            c = find(state.cache, (len(state.session) + fixed.node_id[k]) * domains + domain)
            there, whole = stretch_tokens(fixed, state, q["bucket"], location, c, fixed.node_count[k])
            held += there
            if not whole:
                break
        if held > most:
            most, served, q["found"] = held, domain, location
    q["cached"] = min(most, q["total"])
    return served


@inner
def stretch_tokens(
    fixed: Fixed, state: State, bucket: int, location: int, c: int, count: int
) -> tuple[float, bool]:
    """Tokens that a copy holds of the first `count` nodes of its stretch, and whether that is all of them:
    whole nodes, then whole blocks from the front of one, or nothing where a snapshot is needed."""
    there, slope = 0.0, fixed.stored[SLOPE, bucket, location]
    for i in range(count):
        if c == EMPTY or i > state.cache.copy[c]["last"]:
            return there, False
        tokens = state.cache.tokens[state.cache.copy[c]["first"] + i]
        share = node_bytes(state.cache, c, i) / (tokens * slope) if slope > 0 else 1.0
        if share < WHOLE:
            if snapshot(fixed, state, bucket, location) > 0 or fixed.rules[BLOCK] <= 0:
                return there, False
            return there + np.floor(share * tokens / fixed.rules[BLOCK] + 1e-9) * fixed.rules[BLOCK], False
        there += tokens
    return there, True


@inner
def snapshot(fixed: Fixed, state: State, bucket: int, location: int) -> float:
    """Bytes of a context at a location that do not grow with its length."""
    grown = fixed.stored[SLOPE, bucket, location] * state.bucket[bucket]["tokens"]
    fixed_bytes = fixed.stored[BYTES, bucket, location] - grown
    return float(fixed_bytes if fixed_bytes > 1e-6 * grown else 0.0)


@inner
def begin_running(fixed: Fixed, state: State, request: int, now: float) -> None:
    """What happens to the copies of a context whose request begins: those below HBM stay while it runs; the
    one in HBM becomes the running one; an exclusive one leaves its tier."""
    q = state.request[request]
    plan = state.session[q["session"]]["plan"]
    if plan == NONE or q["recorded"] != NONE:
        return
    for i in range(places(fixed, plan)):
        location = location_of(fixed, plan, i)
        c = copy_at(fixed, state, q["session"], location)
        if c == EMPTY:
            continue
        if fixed.location[location]["tier"] == HBM or fixed.rules[EXCLUSIVE] > 0:
            drop(state.cache, c, now)
        else:
            touch(state.cache, c, np.inf)


@inner
def let_go(fixed: Fixed, state: State, request: int, now: float) -> None:
    """Nobody comes back to the context of a request: its copies go."""
    q = state.request[request]
    plan = state.session[q["session"]]["plan"]
    if plan == NONE or q["recorded"] != NONE:
        return
    for i in range(places(fixed, plan)):
        c = copy_at(fixed, state, q["session"], location_of(fixed, plan, i))
        if c != EMPTY:
            drop(state.cache, c, now)


@inner
def copy_at(fixed: Fixed, state: State, session: int, location: int) -> int:
    """The copy of a drawn context at a location, or -1."""
    domain = place(fixed, location, state.session[session]["where"])
    return EMPTY if domain == NONE else find(state.cache, session * len(state.cache.domain) + domain)

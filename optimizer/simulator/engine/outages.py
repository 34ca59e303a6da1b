"""A server fails, and perhaps a spare takes its place."""

from __future__ import annotations

import numpy as np

from optimizer.compiled import inner
from optimizer.simulator.engine.cache import flush
from optimizer.simulator.engine.decoding import advance, call_waiting, leave, plan_next
from optimizer.simulator.engine.heap import push
from optimizer.simulator.engine.prefilling import arrive
from optimizer.simulator.engine.state import NONE, OUTAGE_RESTART, RESTART, Fixed, State

LOCAL = 0


@inner
def fail(fixed: Fixed, state: State, server: int, now: float) -> None:
    """Everything on a server is gone: what its memory and drives hold, and what runs on it begins anew."""
    for d in range(len(fixed.domain_store)):
        if lies_on(fixed, state, d, server):
            flush(state.cache, d, now)
            state.cache.domain[d]["capacity"] = -state.cache.domain[d]["capacity"]  # kept for the restart
    for i in range(len(state.instance)):
        if stands_on(state, i, server):
            state.instance[i]["up"] = False
            state.instance[i]["epoch"] += 1
    for i in range(len(state.instance)):
        if stands_on(state, i, server):
            advance(state, i, now)
            while state.instance[i]["sequences"] > 0:
                arrive(fixed, state, leave(state, i, now), now)
            plan_next(state, i, now)
            for k in range(state.instance[i]["rank_first"], state.instance[i]["rank_last"]):
                state.rank[k] = np.inf
    if fixed.rules[OUTAGE_RESTART] < np.inf:
        push(state.heap, now + fixed.rules[OUTAGE_RESTART], RESTART, server, NONE)


@inner
def stands_on(state: State, instance: int, server: int) -> bool:
    """Whether an instance needs a server."""
    i = state.instance[instance]
    return bool(i["server"] <= server < i["server"] + i["span"])


@inner
def lies_on(fixed: Fixed, state: State, domain: int, server: int) -> bool:
    """Whether a domain is in a server: its own DRAM or drives, or the HBM of an instance on it."""
    i = fixed.domain_instance[domain]
    if i != NONE:
        return stands_on(state, i, server)
    store = fixed.domain_store[domain]
    local = False
    for at in fixed.location:
        local = local or (at["store"] == store and at["width"] == LOCAL)
    return bool(local and fixed.server_domain[server, store] == domain)


@inner
def restart(fixed: Fixed, state: State, server: int, now: float) -> None:
    """A spare, empty, is in the place of a failed server."""
    for d in range(len(fixed.domain_store)):
        if lies_on(fixed, state, d, server):
            state.cache.domain[d]["capacity"] = abs(state.cache.domain[d]["capacity"])
    for i in range(len(state.instance)):
        if stands_on(state, i, server):
            state.instance[i]["up"] = True
            for k in range(state.instance[i]["rank_first"], state.instance[i]["rank_last"]):
                state.rank[k] = now
    for p in range(len(state.pool)):
        call_waiting(fixed, state, p, now)

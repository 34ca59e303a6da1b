"""The event loop: what happens when, until the end of the horizon."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optimizer.compiled import by_reference, entry, inner
from optimizer.simulator.engine.cache import account
from optimizer.simulator.engine.decoding import (
    advance,
    call_waiting,
    decode_pool,
    enter,
    leave,
    over,
    plan_next,
)
from optimizer.simulator.engine.finding import HOME, STAGE, begin_running, place, plan_of, roll
from optimizer.simulator.engine.heap import in_order, pop, push, swap
from optimizer.simulator.engine.lengths import along
from optimizer.simulator.engine.outages import fail, restart
from optimizer.simulator.engine.prefilling import arrive, inside, lost, out_of_nic, ready, release, start
from optimizer.simulator.engine.state import (
    ARRIVED,
    BYTES,
    DECODE,
    ENDED,
    EXPIRE,
    FAIL,
    FIRST,
    HORIZON,
    MISS,
    NONE,
    OUTAGE_SERVER,
    OUTAGE_TIME,
    PREFILLED,
    READY,
    RECORD,
    RETURN,
    SERVED,
    SESSIONS,
    SLOPE,
    START,
    STEP,
    Fixed,
    Samples,
    State,
)
from optimizer.simulator.engine.storing import expire, hold_chain, remember, store
from optimizer.simulator.traffic.under_way import Busy


class Idle(NamedTuple):
    """Sessions that are idle at time 0, oldest first."""

    bucket: NDArray[np.int64]
    age: NDArray[np.float64]
    comes_back: NDArray[np.float64]
    kept: NDArray[np.float64]


GOLDEN = 0.6180339887498949  # multiples of it, modulo 1, leave no gap wider than about two shares


Told, Now, Seen = by_reference(Fixed), by_reference(State), by_reference(Samples)


@entry
def replay(
    fixed: Fixed,
    state: State,
    samples: Samples,
    idle: Idle,
    busy: Busy,
) -> None:
    """Begin in the planned steady state, and replay until the horizon."""
    told, now = Told(*fixed), Now(*state)
    begin(told, now, idle)
    begin_decoding(told, now, busy)
    run(told, now, Seen(*samples))


@inner
def begin(fixed: Fixed, state: State, idle: Idle) -> None:
    """Time 0: sessions that are idle already lie where their plans have them at their age."""
    for n in range(len(idle.bucket)):
        s = open_session(fixed, state, idle.bucket[n])
        state.session[s]["turns"], state.session[s]["ended"] = 1, -idle.age[n]
        state.session[s]["kept"] = idle.kept[n]
        if state.session[s]["plan"] != NONE:
            lay_out(fixed, state, s, idle.age[n], NONE)
        push(state.heap, idle.comes_back[n], RETURN, s, NONE)
    if fixed.rules[OUTAGE_TIME] < np.inf:
        push(state.heap, fixed.rules[OUTAGE_TIME], FAIL, int(fixed.rules[OUTAGE_SERVER]), NONE)
    for r in range(len(fixed.recorded)):
        if fixed.recorded[r]["after"] == NONE:  # the head of a session, or of what is left of it at time 0
            s = fixed.recorded[r]["session"]
            state.session[s]["where"], state.session[s]["luck"] = roll(fixed, state), roll(fixed, state)
            if fixed.recorded[r]["time"] < 0:
                begin_recorded(fixed, state, s, r)
            else:
                push(state.heap, fixed.recorded[r]["time"], RECORD, r, NONE)


@inner
def begin_recorded(fixed: Fixed, state: State, session: int, r: int) -> None:
    """Time 0: a recorded session that is idle already, and its next request."""
    s, recorded = state.session[session], fixed.recorded[r]
    s["bucket"], s["plan"] = recorded["bucket"], plan_of(fixed, state, recorded["bucket"], s["luck"])
    s["turns"], s["ended"], s["kept"] = 1, recorded["time"], np.inf
    if s["plan"] != NONE:
        lay_out(fixed, state, session, -recorded["time"], r)
    if recorded["next"] != NONE:
        push(state.heap, fixed.recorded[recorded["next"]]["time"], RECORD, recorded["next"], NONE)


@inner
def begin_decoding(fixed: Fixed, state: State, busy: Busy) -> None:
    """Time 0: requests that are being decoded already, with what is left of their output."""
    for n in range(len(busy.bucket)):
        bucket = busy.bucket[n]
        s = open_session(fixed, state, bucket)
        state.session[s]["turns"] = 1
        cls = fixed.cls[state.bucket[bucket]["cls"]]
        request = admit_request(state, s, bucket, state.bucket[bucket]["cls"], NONE, 0.0)
        q = state.request[request]
        q["found"], q["total"], q["tokens"] = MISS, state.session[s]["tokens"], state.session[s]["tokens"]
        q["output"] = cls["output"] * busy.left[n]
        if state.session[s]["plan"] != NONE:
            lay_out(fixed, state, s, 0.0, NONE)
            q["had"] = STAGE | HOME
            begin_running(fixed, state, request, 0.0)
        q["first_token"] = 0.0
        enter(fixed, state, request, decode_pool(fixed, state, bucket), 0.0)


@inner
def open_session(fixed: Fixed, state: State, bucket: int) -> int:
    """A new session of a bucket, with its length, its plan and its place."""
    session = state.counts[SESSIONS]
    state.counts[SESSIONS] = session + 1
    s, b = state.session[session], state.bucket[bucket]
    s["bucket"], s["turns"] = bucket, 0
    b["luck"] = (b["luck"] + GOLDEN) % 1.0  # evenly spread, so that every plan has its share of few sessions
    s["where"], s["luck"] = roll(fixed, state), b["luck"]
    s["plan"] = plan_of(fixed, state, bucket, s["luck"])
    s["tokens"] = b["tokens"]
    if b["scales"] > 0:
        s["tokens"] *= fixed.scale[b["scale_first"] + b["scale"] % b["scales"]]
        b["scale"] += 1
    return int(session)


@inner
def lay_out(fixed: Fixed, state: State, session: int, age: float, r: int) -> None:
    """Put a context that has been idle for `age` seconds where its plan has it by now: that of recorded
    request r, or of a drawn session."""
    s = state.session[session]
    plan = s["plan"]
    for k in range(fixed.plan_stage[plan], fixed.plan_stage[plan + 1]):
        until = min(fixed.stage_until[k], s["kept"])
        if age < until:
            lay_copy(fixed, state, session, fixed.stage_location[k], until - age, r)
            break
    home, until = fixed.plan_home[plan], min(fixed.plan_home_until[plan], s["kept"])
    if home != NONE and age < until:
        lay_copy(fixed, state, session, home, until - age, r)


@inner
def lay_copy(fixed: Fixed, state: State, session: int, location: int, left: float, r: int) -> None:
    """One copy of it, with the time it has left there."""
    s = state.session[session]
    domain = place(fixed, location, s["where"])
    if domain == NONE:
        return
    if r != NONE:
        hold_chain(fixed, state, r, location, domain, left, 0.0)
        return
    beyond = s["tokens"] - state.bucket[s["bucket"]]["tokens"]
    size = fixed.stored[BYTES, s["bucket"], location] + fixed.stored[SLOPE, s["bucket"], location] * beyond
    key = session * len(state.cache.domain) + domain
    remember(fixed, state, key, size, location, left, 0.0, 0.0)


@inner
def run(fixed: Fixed, state: State, samples: Samples) -> None:
    """Replay until the horizon, or until the table of requests is full."""
    arrivals, sample, horizon = np.int64(0), np.int64(0), fixed.rules[HORIZON]
    while True:
        first = fixed.first_time[arrivals] if arrivals < len(fixed.first_time) else np.inf
        later = state.heap.event[0]["time"] if state.heap.counts[0] > 0 else np.inf
        now = min(first, later)
        while sample < len(samples.time) and samples.time[sample] <= min(now, horizon):
            take(state, samples, sample)
            sample += 1
        if now >= horizon or state.counts[ARRIVED] >= len(state.request):
            inside(state, 0, min(now, horizon))
            return
        if first <= later:
            session = open_session(fixed, state, fixed.first_bucket[arrivals])
            arrivals += 1
            happen(fixed, state, RETURN, session, NONE, now)
        else:
            if state.heap.counts[0] >= state.heap.counts[3]:
                tidy(state)
            now, kind, a, b = pop(state.heap)
            happen(fixed, state, kind, a, b, now)


@inner
def tidy(state: State) -> None:
    """Take out events of which nothing will come: of copies that are gone or were asked for since, of
    iterations in which another set of sequences takes part."""
    heap, kept = state.heap, 0
    for n in range(heap.counts[0]):
        e = heap.event[n]
        if e["kind"] == EXPIRE:
            c = state.cache.copy[e["a"]]
            if c["key"] != e["b"] or c["alarm"] != e["time"]:
                continue
        elif e["kind"] == STEP and state.instance[e["a"]]["version"] != e["b"]:
            continue
        if kept < n:
            swap(heap, kept, n)
        kept += 1
    heap.counts[0] = kept
    in_order(heap)


@inner
def happen(fixed: Fixed, state: State, kind: int, a: int, b: int, now: float) -> None:
    """One event. Arrivals, for the first time and again, stand at one place: they take long to compile."""
    arriving = NONE
    if kind == RETURN:
        arriving = come(fixed, state, a, now)
    elif kind == RECORD:
        arriving = come_recorded(fixed, state, a, now)
    elif READY <= kind <= PREFILLED and lost(state, a):
        arriving = a
        release(state, a, now)
    elif kind == READY:
        ready(fixed, state, a, now)
    elif kind == START:
        start(fixed, state, a, now)
    elif kind == PREFILLED:
        prefilled(fixed, state, a, now)
    elif kind == DECODE:
        first_token(fixed, state, a, b, now)
    elif kind == STEP:
        stepped(fixed, state, a, b, now)
    elif kind == EXPIRE:
        expire(fixed, state, a, b, now)
    elif kind == FAIL:
        fail(fixed, state, a, now)
    else:
        restart(fixed, state, a, now)
    if arriving != NONE:
        arrive(fixed, state, arriving, now)


@inner
def come(fixed: Fixed, state: State, session: int, now: float) -> int:
    """The next request of a drawn session."""
    s = state.session[session]
    b = state.bucket[s["bucket"]]
    cls = fixed.cls[b["cls"]]
    request = admit_request(state, session, s["bucket"], b["cls"], NONE, now)
    q = state.request[request]
    q["found"] = FIRST if s["turns"] == 0 else MISS
    q["total"] = cls["first_prompt"] if s["turns"] == 0 else s["tokens"] - b["unused"] + cls["new"]
    q["tokens"], q["output"] = s["tokens"], cls["output"]
    return request


@inner
def come_recorded(fixed: Fixed, state: State, r: int, now: float) -> int:
    """A recorded request."""
    recorded = fixed.recorded[r]
    session = recorded["session"]
    bucket = recorded["bucket"]
    s = state.session[session]
    s["bucket"], s["plan"] = bucket, plan_of(fixed, state, bucket, s["luck"])
    request = admit_request(state, session, bucket, state.bucket[bucket]["cls"], r, now)
    q = state.request[request]
    q["found"] = FIRST if recorded["first"] else MISS
    q["total"], q["output"] = recorded["input"], recorded["output"]
    q["tokens"] = recorded["input"] + recorded["output"]
    return request


@inner
def admit_request(state: State, session: int, bucket: int, cls: int, recorded: int, now: float) -> int:
    """A new row of the table of requests."""
    request = state.counts[ARRIVED]
    state.counts[ARRIVED] = request + 1
    inside(state, 1, now)
    q = state.request[request]
    q["session"], q["bucket"], q["cls"], q["recorded"] = session, bucket, cls, recorded
    q["arrival"], q["first_token"], q["done"], q["due"] = now, np.nan, np.nan, NONE
    return int(request)


@inner
def prefilled(fixed: Fixed, state: State, request: int, now: float) -> None:
    """A prefill is over: its KV goes to the pool that decodes it, or stays where it is."""
    q = state.request[request]
    release(state, request, now)
    column = 0 if q["found"] == FIRST else 1
    state.tokens[q["cls"], column] += q["total"] - q["cached"]
    state.tokens[q["cls"], 2 + q["found"] if q["found"] >= 0 else column] += q["cached"]
    p = state.pool[q["pool"]]
    if p["decodes"]:
        first_token(fixed, state, request, q["pool"], now)
        return
    size = along(fixed.context, fixed.handed[q["pool"]], q["total"])
    there = max(out_of_nic(state, q["instance"], size, now), now + size / p["handed_rate"])
    push(state.heap, there, DECODE, request, decode_pool(fixed, state, q["bucket"]))


@inner
def first_token(fixed: Fixed, state: State, request: int, pool: int, now: float) -> None:
    """The first token is out; the rest is decoded by a pool."""
    q = state.request[request]
    if np.isnan(q["first_token"]):
        q["first_token"] = now
    enter(fixed, state, request, pool, now)


@inner
def stepped(fixed: Fixed, state: State, instance: int, version: int, now: float) -> None:
    """An instance reaches the last iteration of a sequence, if nothing joined or left in between."""
    i = state.instance[instance]
    if i["version"] != version:
        return
    advance(state, instance, now)
    while over(state, instance):
        finish(fixed, state, leave(state, instance, now), now)
    call_waiting(fixed, state, i["pool"], now)
    plan_next(state, instance, now)


@inner
def finish(fixed: Fixed, state: State, request: int, now: float) -> None:
    """The last token: the context is stored, and the session thinks."""
    q = state.request[request]
    q["done"], q["state"] = now, SERVED
    state.counts[ENDED] += 1
    inside(state, -1, now)
    s = state.session[q["session"]]
    s["turns"] += 1
    s["ended"], s["kept"] = now, np.inf
    r = q["recorded"]
    if r == NONE:
        b = state.bucket[q["bucket"]]
        gap = b["gap_first"] + b["gap"] % b["gaps"]
        b["gap"] += 1
        s["kept"] = fixed.gap_kept[gap]
        push(state.heap, now + fixed.gap[gap], RETURN, q["session"], NONE)
    store(fixed, state, request, now)
    if r != NONE and fixed.recorded[r]["next"] != NONE:
        later = fixed.recorded[fixed.recorded[r]["next"]]
        at = max(now, later["time"]) if np.isnan(later["think"]) else now + later["think"]
        push(state.heap, at, RECORD, fixed.recorded[r]["next"], NONE)


@inner
def take(state: State, samples: Samples, k: int) -> None:
    """Write down how things stand, and begin new peaks."""
    now = samples.time[k]
    for d in range(len(state.cache.domain)):
        account(state.cache, d, 0.0, now)
        samples.domain[k, d] = state.cache.domain[d]
        samples.device[k, d] = state.device[d]
        state.cache.domain[d]["peak"] = state.cache.domain[d]["used"]
        state.device[d]["late"] = 0.0
    for i in range(len(state.instance)):
        advance(state, i, now)
        samples.instance[k, i] = state.instance[i]
        state.instance[i]["kv_peak"], state.instance[i]["step_peak"] = state.instance[i]["kv"], 0.0
    for v in range(len(state.server)):
        samples.server[k, v] = state.server[v]
    for p in range(len(state.pool)):
        samples.pool[k, p] = state.pool[p]
    # one by one: numba compiles messages about shapes, in seconds, into a copy of arrays
    for c in range(len(state.tokens)):
        for found in range(state.tokens.shape[1]):
            samples.tokens[k, c, found] = state.tokens[c, found]

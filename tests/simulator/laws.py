"""What every finished run keeps, whatever the facility: requests, bytes, times. Each says what broke it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from optimizer.simulator.engine.copies import EMPTY, LEFT, ROWS, SLOTS, find
from optimizer.simulator.engine.state import (
    ARRIVED,
    ENDED,
    IN_FLIGHT,
    INSIDE,
    NONE,
    REFUSED,
    REJECTED,
    SERVED,
)
from tests.simulator.handmade import Run

ROUNDING = 1e-9
"""Relative, of sums that were kept up to date by adding and taking away."""


def broken(seen: Run) -> list[str]:
    """Every law that a run breaks, with the number that shows it."""
    return [f"{law.__name__}: {what}" for law in LAWS for what in law(seen)]


def rows(seen: Run) -> np.ndarray:
    """The requests that arrived."""
    return seen.state.request[: seen.state.counts[ARRIVED]]


# ---- requests and times -----------------------------------------------------------------------------------


def requests_are_conserved(seen: Run) -> Iterator[str]:
    """arrived = served + rejected + in flight, by the counters and by the rows."""
    counts, states = seen.state.counts, Counter(rows(seen)["state"].tolist())
    for index, state in ((ENDED, SERVED), (REFUSED, REJECTED), (INSIDE, IN_FLIGHT)):
        if counts[index] != states[state]:
            yield f"{counts[index]} counted, {states[state]} rows of state {state}"
    if counts[ARRIVED] != counts[ENDED] + counts[REFUSED] + counts[INSIDE]:
        yield f"{counts}"
    if counts[ARRIVED] >= len(seen.state.request):
        yield "the table of requests is full"


def everyone_comes_once(seen: Run) -> Iterator[str]:
    """Every first request before the horizon; a session has one drawn request at a time."""
    q, horizon = rows(seen), seen.demand.horizon
    firsts = int((seen.demand.first_time < horizon).sum())
    drawn = q[q["recorded"] == NONE]
    if (drawn["found"] == -2).sum() > firsts:
        yield f"{(drawn['found'] == -2).sum()} first requests of {firsts}"
    by_session = np.lexsort((drawn["arrival"], drawn["session"]))
    a, b = drawn[by_session[:-1]], drawn[by_session[1:]]
    same = a["session"] == b["session"]
    if not (a["done"][same] <= b["arrival"][same]).all():
        yield "a session's next request came before the last one was over"


def recorded_ones_follow_each_other(seen: Run) -> Iterator[str]:
    """In order, once each; after `think` where that is known, else at their own time or when they can."""
    q, replay = rows(seen), seen.replay
    mine = q[q["recorded"] >= 0]
    if len(np.unique(mine["recorded"])) != len(mine):
        yield "a recorded request came twice"
    by = {int(row["recorded"]): row for row in mine}
    for r, before in enumerate(replay.after):
        if before < 0:
            if (r in by) != (replay.time[r] < seen.demand.horizon):
                yield f"{r} due at {replay.time[r]:.6g}"
            continue
        if r not in by:
            continue
        done = by[int(before)]["done"]
        think = replay.think[r]
        due = max(done, replay.time[r]) if math.isnan(think) else done + think
        if by[r]["arrival"] != due:
            yield f"{r} came at {by[r]['arrival']:.9g}, due at {due:.9g}"


def times_are_ordered(seen: Run) -> Iterator[str]:
    """0 <= arrival <= first token <= done <= horizon of what is served; no part of a wait is negative."""
    q, horizon = rows(seen), seen.demand.horizon
    if not ((q["arrival"] >= 0) & (q["arrival"] <= horizon)).all():
        yield "an arrival outside the run"
    served = q[q["state"] == SERVED]
    for early, late in (("arrival", "first_token"), ("first_token", "done")):
        if not (served[early] <= served[late]).all():
            yield f"{early} after {late}"
    if not (served["done"] <= horizon).all():
        yield "done after the horizon"
    turned_away = q[q["state"] == REJECTED]
    if not (turned_away["arrival"] <= turned_away["done"]).all():
        yield "rejected before it came"
    if not np.isnan(q[q["state"] == IN_FLIGHT]["done"]).all():
        yield "done, and in flight"
    for column in ("load", "wait", "wall", "cached", "held", "kv"):
        if not (np.isfinite(q[column]) & (q[column] >= 0)).all():
            yield f"{column} is {q[column].min()} to {q[column].max()}"
    if not (q["cached"] <= q["total"] * (1 + ROUNDING)).all():
        yield "more was cached than there is"


def first_tokens_take_their_prefill(seen: Run) -> Iterator[str]:
    """Where nothing fails: at least arrival + wait + wall, and no longer than with the load."""
    if seen.outage.server >= 0:
        return
    q = rows(seen)
    q = q[(q["state"] == SERVED) & (q["wall"] > 0)]
    least = q["arrival"] + q["wait"] + q["wall"]
    if not (q["first_token"] >= least * (1 - ROUNDING)).all():
        yield f"{(q['first_token'] - least).min()} s too early"
    mixed = seen.state.pool["decodes"][q["prefill_pool"]]
    if not (q["first_token"] <= (least + q["load"]) * (1 + ROUNDING))[mixed].all():
        yield f"{(q['first_token'] - least - q['load'])[mixed].max()} s too late"


def area_is_sojourns(seen: Run) -> Iterator[str]:
    """Little's law: the integral of requests inside is the sum of the seconds they were."""
    q = rows(seen)
    left = np.where(q["state"] == IN_FLIGHT, seen.demand.horizon, q["done"])
    total = math.fsum(left - q["arrival"])
    if not math.isclose(seen.state.area[0], total, rel_tol=ROUNDING, abs_tol=ROUNDING):
        yield f"{seen.state.area[0]:.12g} s, {total:.12g} s by requests"


# ---- decoding ---------------------------------------------------------------------------------------------


def running(seen: Run, instance: int) -> np.ndarray:
    """The requests that an instance decodes."""
    i = seen.state.instance[instance]
    mine = seen.state.sequence[i["heap_first"] : i["heap_first"] + i["sequences"]]
    return seen.state.request[mine["request"]]


def running_kv_fits_hbm(seen: Run) -> Iterator[str]:
    """At every time, whatever there is of other memory."""
    room = seen.state.pool["room"]
    for table in (seen.state.instance, *seen.samples.instance):
        for i in table:
            most = max(i["kv"], i["kv_peak"])
            if most > room[i["pool"]] * (1 + ROUNDING):
                yield f"{most:.9g} B of {room[i['pool']]:.9g}"


def instances_carry_their_sequences(seen: Run) -> Iterator[str]:
    """KV and seconds of an instance are the sums over its sequences, and their time fits the iteration."""
    for i, row in enumerate(seen.state.instance):
        q = running(seen, i)
        if row["sequences"] and not (q["state"] == IN_FLIGHT).all():
            yield "a finished request is decoded"
        for column in ("kv", "memory", "flops"):
            total, most = math.fsum(q[column]), seen.state.request[column].max()
            if not math.isclose(row[column], total, rel_tol=1e-6, abs_tol=1e-6 * most):
                yield f"{column} {row[column]:.9g}, {total:.9g} by sequences"
        pool = seen.state.pool[row["pool"]]
        if row["sequences"] > 1 and row["step"] * (1 - pool["share"]) > pool["limit"] * (1 + ROUNDING):
            yield f"an iteration of {row['step']:.6g} s"
        if not row["up"] and row["sequences"]:
            yield "a server that failed decodes"
        left = seen.state.sequence["steps"][row["heap_first"] : row["heap_first"] + row["sequences"]]
        if len(left) and (left < row["steps"] * (1 - 1e-6) - 1e-6).any():
            yield f"a sequence at {row['steps']:.9g} iterations was to end at {left.min():.9g}"
        if (left[(np.arange(1, len(left)) - 1) >> 1] > left[1:]).any():
            yield "another sequence than the first of the heap ends first"


def nobody_waits_for_nothing(seen: Run) -> Iterator[str]:
    """A pool where requests wait has an instance that decodes something else, or none that is up."""
    for p, pool in enumerate(seen.state.pool):
        mine = seen.state.instance[seen.state.instance["pool"] == p]
        up = mine[mine["up"]]
        if pool["waiting"] and len(up) and not up["sequences"].sum():
            yield f"{pool['waiting']} wait, and nothing runs"


# ---- bytes ------------------------------------------------------------------------------------------------


def held(seen: Run) -> np.ndarray:
    """The copies of all domains."""
    rows = seen.state.cache.copy[: seen.state.cache.counts[ROWS]]
    return rows[rows["key"] >= 0]


def copies(seen: Run, domain: int) -> list[int]:
    """A domain's copies, newest first."""
    held, found = seen.state.cache, []
    c = int(held.domain[domain]["newest"])
    while c != EMPTY:
        found.append(c)
        c = int(held.copy[c]["older"])
    return found


def taken(seen: Run, domain: int) -> float:
    """Bytes of running requests in a domain: under prefill, and decoded."""
    total = 0.0
    for i, row in enumerate(seen.state.instance):
        if row["domain"] == domain:
            q = rows(seen)
            here = q[(q["instance"] == i) & (q["state"] == IN_FLIGHT)]
            total += math.fsum(here["held"]) + math.fsum(running(seen, i)["kv"])
    return total


def bytes_of(seen: Run, c: int) -> float:
    """What a copy holds: its last node, and those before it, whole."""
    copy = seen.state.cache.copy[c]
    nodes = seen.state.cache.tokens[copy["first"] : copy["first"] + copy["last"]]
    return float(copy["size"] + copy["slope"] * nodes.sum())


def bytes_are_conserved(seen: Run) -> Iterator[str]:
    """used = copies + what running requests take; no more than the capacity, except by those requests."""
    held = seen.state.cache
    for d, domain in enumerate(held.domain):
        sizes = np.array([bytes_of(seen, c) for c in copies(seen, d)])
        idle, busy = math.fsum(sizes), taken(seen, d)
        scale = max(abs(domain["capacity"]), idle + busy, 1.0)
        if abs(domain["used"] - idle - busy) > 1e-6 * scale:
            yield f"domain {d} uses {domain['used']:.9g}, holds {idle:.9g} and {busy:.9g}"
        if not ((sizes > 0) | (sizes == 0)).all():
            yield f"a copy of {sizes.min()} B"
        if idle and idle + busy > abs(domain["capacity"]) * (1 + 1e-6):
            yield f"domain {d} keeps {idle:.9g} idle, though it uses {domain['used']} of {domain['capacity']}"
        if domain["used"] > abs(domain["capacity"]) * (1 + 1e-6) and not domain["refused"]:
            yield f"domain {d} is over its capacity in silence"
        if domain["area"] < 0 or domain["evicted"] < 0 or domain["refused"] < 0:
            yield f"domain {d}: {domain}"
        if domain["capacity"] < 0 and idle:
            yield f"domain {d} has failed and holds {idle:.9g}"


def copies_are_in_their_lists(seen: Run) -> Iterator[str]:
    """Every copy is in the list of its domain, found by its key, and not on the stack of free ones."""
    held, domains = seen.state.cache, len(seen.state.cache.domain)
    listed = []
    for d in range(domains):
        mine = copies(seen, d)
        listed += mine
        if mine and held.domain[d]["oldest"] != mine[-1]:
            yield f"domain {d}: the list ends elsewhere"
        for newer, older in zip([EMPTY, *mine], mine, strict=False):
            if held.copy[older]["newer"] != newer or held.copy[older]["key"] % domains != d:
                yield f"copy {older} of domain {d} is out of place"
    count = len(held.copy) - held.counts[LEFT]
    free = held.free[: held.counts[ROWS] - count].tolist()
    if len(listed) != count or sorted(listed + free) != list(range(held.counts[ROWS])):
        yield f"{len(listed)} copies, {count} counted, {len(free)} free, of {held.counts[ROWS]}"
    for c in listed:
        if find(held, held.copy[c]["key"]) != c:
            yield f"copy {c} is not found"
    if (held.slot[: held.counts[SLOTS]] > 0).sum() != len(listed) or held.slot[held.counts[SLOTS] :].any():
        yield "keys that nobody holds"


def contexts_lie_where_they_may(seen: Run) -> Iterator[str]:
    """Exclusive: a context is in one place at a time, and nowhere while its request runs. Write-through: at
    most at its stage and at home."""
    domains = len(seen.state.cache.domain)
    keys = held(seen)["key"]
    drawn = keys[keys < len(seen.state.session) * domains]
    most = 1 if seen.facility.exclusive else 2
    count = Counter((drawn // domains).tolist())
    if count and max(count.values()) > most:
        yield f"a context in {max(count.values())} places"
    if seen.facility.exclusive:
        q = rows(seen)
        busy = set(q[(q["state"] == IN_FLIGHT) & (q["recorded"] == NONE)]["session"].tolist())
        both = busy & set(count)
        if both:
            yield f"{len(both)} running contexts are kept as well"


def copies_go_in_time(seen: Run) -> Iterator[str]:
    """Where there is a time to live, none is past it; only those of running requests have none."""
    domains, end = len(seen.state.cache.domain), seen.demand.horizon
    q = rows(seen)
    busy = set(q[q["state"] == IN_FLIGHT]["session"].tolist())
    lru = seen.facility.places.store_lru[seen.facility.places.domain_store]
    for c in held(seen):
        session, domain = int(c["key"] // domains), int(c["key"] % domains)
        if c["until"] < end:
            yield f"a copy was due to go at {c['until']:.6g}"
        if c["until"] == math.inf and not lru[domain] and session not in busy:
            yield f"a copy of session {session} stays for ever"


def nothing_is_in_the_way(seen: Run) -> bool:
    """Whether contexts can be where their plans have them."""
    places, held = seen.facility.places, seen.state.cache.domain
    room = not held["evicted"].any() and not held["refused"].any()
    undisturbed = seen.outage.server < 0 and seen.hits == 1 and (seen.facility.routes.pool >= 0).all()
    return bool(room and undisturbed and (np.diff(places.store_domain) > 0).all())


def contexts_are_where_their_plan_has_them(seen: Run) -> Iterator[str]:
    """Where there is room for all, nothing fails, nothing is disturbed, and every hit is loaded: each drawn
    return finds its context at the place of its age, or knows that it was let go."""
    if not nothing_is_in_the_way(seen):
        return
    q = rows(seen)
    q = q[(q["recorded"] == NONE) & (q["due"] != NONE)]
    lost = q[q["found"] != q["due"]]
    if len(lost):
        yield f"{len(lost)} of {len(q)} were due at {lost['due'][0]} and found at {lost['found'][0]}"


# ---- devices ----------------------------------------------------------------------------------------------


def devices_do_one_thing_at_a_time(seen: Run) -> Iterator[str]:
    """Busy seconds are no more than those until a device, a link, a NIC is free."""
    device, instance, server = seen.state.device, seen.state.instance, seen.state.server
    reading = device["read_busy"] + np.where(device["shared"], device["write_busy"], 0.0)
    pairs = [
        ("read", reading, device["read_free"]), ("link", instance["link_busy"], instance["link_free"]),
        ("NIC in", server["in_busy"], server["in_free"]), ("NIC out", server["out_busy"], server["out_free"]),
    ]  # fmt: skip
    if (~device["shared"]).any():
        apart = ~device["shared"]
        pairs.append(("write", device["write_busy"][apart], device["write_free"][apart]))
    for name, busy, free in pairs:
        if not (busy <= free * (1 + ROUNDING) + ROUNDING).all():
            yield f"{name}: busy {busy.max():.9g} s of {free.max():.9g}"


def nothing_is_nan(seen: Run) -> Iterator[str]:
    """Every number of the state and the samples is one, and none that counts is negative."""
    for name in ("instance", "server", "device", "pool", "domain"):
        tables = [getattr(seen.samples, name)]
        tables.append(seen.state.cache.domain if name == "domain" else getattr(seen.state, name))
        for table in tables:
            for column in table.dtype.names:
                if table[column].dtype.kind == "f" and np.isnan(table[column]).any():
                    yield f"{name}.{column}"
    for column in ("kv", "memory", "flops", "link_busy", "prefill_busy", "kv_area", "sequence_area"):
        if (seen.samples.instance[column] < 0).any():
            yield f"instance.{column} is negative"
    if (np.diff(seen.samples.domain["area"], axis=0) < 0).any():
        yield "an integral falls"


LAWS: tuple[Callable[[Run], Iterator[str]], ...] = (
    requests_are_conserved, everyone_comes_once, recorded_ones_follow_each_other, times_are_ordered,
    first_tokens_take_their_prefill, area_is_sojourns, running_kv_fits_hbm, instances_carry_their_sequences,
    nobody_waits_for_nothing, bytes_are_conserved, copies_are_in_their_lists, contexts_lie_where_they_may,
    copies_go_in_time, contexts_are_where_their_plan_has_them, devices_do_one_thing_at_a_time, nothing_is_nan,
)  # fmt: skip

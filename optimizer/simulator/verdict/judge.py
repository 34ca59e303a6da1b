"""The verdict: which promises held, and where one did not, which resource is to blame."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optimizer.instance import Instance, Layout
from optimizer.physics.queueing import wait_exponent
from optimizer.simulator.engine.state import ENDED, INSIDE, MISS, NONE, REFUSED
from optimizer.simulator.types import ClassReplay, Failing, Floats, Law, ResourceReplay, Verdict
from optimizer.simulator.verdict.loaded import longest, way
from optimizer.simulator.verdict.meant import never_taken, nobody
from optimizer.simulator.verdict.observed import Observed, first_tokens, found_names, per_token, rejected
from optimizer.simulator.verdict.predicted import ClassPrediction, Prediction
from optimizer.simulator.verdict.statistics import quantiles
from optimizer.simulator.verdict.usage import usage
from optimizer.simulator.verdict.waited import waited

LOST = 0.03
"""Share of a class's requests that may find their context elsewhere than its plan says, or not at all."""
REFUSED_SHARE = 0.002
"""Share of a class's requests that may be turned away."""
LEAST_WAIT = 0.02  # of the bound's wait: what is less is taken as this, since a short run cannot tell


def judge(seen: Observed, instance: Instance, told: Prediction, layout: Layout) -> Verdict:
    """Compare a run with what the layout promises. `seed`, `outage` and `wall_seconds` are the caller's."""
    tiers = {location.id: location.tier.value for location in instance.locations}
    tier_of = tuple(tiers[name] for name in seen.names.locations)
    resources = usage(seen, instance, told, layout)
    classes = tuple(
        of_class(seen, instance, told.classes[cls.id], index, tier_of)
        for index, cls in enumerate(instance.classes)
    )
    failing = [
        *(f for index, cls in enumerate(classes) for f in of_promises(seen, instance, layout, cls, index)),
        *(f for index, cls in enumerate(classes) for f in of_hits(seen, cls, index)),
        *of_wear(seen, resources),
    ]
    failing = list({(f.law, f.resource): f for f in reversed(failing)}.values())[::-1]
    reasons = [f.reason for f in failing]
    if not seen.conclusive:
        reasons.append("no steady state: the number of running requests still changes; replay more requests")
    count = seen.state.counts
    return Verdict(
        passed=seen.conclusive and not failing,
        conclusive=seen.conclusive,
        reasons=tuple(reasons),
        failing=tuple(failing),
        classes=classes,
        resources=resources,
        waits=waits(seen, instance),
        waited=waited(seen),
        arrived=len(seen.requests),
        served=int(count[ENDED]),
        rejected=int(count[REFUSED]),
        in_flight=int(count[INSIDE]),
        warmup_seconds=seen.start,
        measured_seconds=seen.end - seen.start,
        seed=0,
        outage="",
        wall_seconds=math.nan,
    )


def of_class(
    seen: Observed, instance: Instance, told: ClassPrediction, index: int, tier_of: tuple[str, ...]
) -> ClassReplay:
    """One class, as predicted and as replayed."""
    cls, rows = instance.classes[index], seen.of_class(index)
    found = found_names(rows, tier_of)
    names = sorted({*told.shares, *found})
    ttft, tpot = first_tokens(rows), per_token(rows)
    known = seen.until(rows, "first_token", cls.ttft)
    ended = seen.until(rows, "done", 0.0, allowed=cls.tpot * float(rows["output"].max(initial=0.0)))
    served = ~rejected(rows)
    return ClassReplay(
        cls=cls.id,
        requests=len(rows),
        rate=len(rows) / (seen.end - seen.start),
        predicted=told.shares,
        simulated={name: seen.share(rows, found == name, seen.end) for name in names},
        ttft_limit=cls.ttft,
        tpot_limit=cls.tpot,
        ttft=quantiles(ttft[rows["arrival"] < known]),
        ttft_predicted_p95=told.ttft_p95,
        tpot=quantiles(tpot[(rows["arrival"] < ended) & served]),
        required=cls.attainment,
        attainment_predicted=told.attainment,
        attainment=seen.share(rows, ttft <= cls.ttft, known),
        tpot_attainment=seen.share(rows, (tpot <= cls.tpot * (1 + 1e-9)) & served, ended),
    )


def of_promises(
    seen: Observed, instance: Instance, layout: Layout, cls: ClassReplay, index: int
) -> list[Failing]:
    """First tokens and the pace of the others: surely below what is required, and what made them late."""
    rows, failing = seen.of_class(index), []
    turned_away = seen.share(rows, rejected(rows), seen.end)
    if never_taken(rows).mean() > turned_away.mean / 2 and turned_away.low > REFUSED_SHARE:
        prefill = nobody(layout, instance, cls.cls)[Law.PREFILL_TIME]
        served = 1 - turned_away.mean
        return [_short(cls, "requests served", served, 1.0, Law.PREFILL_TIME, prefill)]
    if cls.attainment.high < cls.required:
        law, resource = late_for(seen, rows[first_tokens(rows) > cls.ttft_limit])
        failing.append(_short(cls, "first tokens in time", cls.attainment.mean, cls.required, law, resource))
    if cls.tpot_attainment.high < cls.required:
        slow = slow_for(seen, instance, layout, cls, rows[per_token(rows) > cls.tpot_limit])
        failing.append(_slow(cls, "requests at their pace", cls.tpot_attainment.mean, cls.required, *slow))
    if turned_away.low > REFUSED_SHARE:
        slow = slow_for(seen, instance, layout, cls, rows[rejected(rows)])
        failing.append(_slow(cls, "requests served", 1 - turned_away.mean, 1.0, *slow))
    return failing


def _short(cls: ClassReplay, what: str, have: float, need: float, law: Law, resource: str) -> Failing:
    reason = f"{cls.cls}: {have:.1%} {what}, required {need:.1%}; {law.value}[{resource}] is short"
    return Failing(law, resource, reason, have, need)


def _slow(
    cls: ClassReplay, what: str, have: float, need: float, where: tuple[Law, str], running: float, z: float
) -> Failing:
    """Sequences come and go: as many as run on average need room for z standard deviations more."""
    short = _short(cls, what, have, need, *where)
    return replace(short, have=running, need=running + z * math.sqrt(running))


def late_for(seen: Observed, late: NDArray[Any]) -> tuple[Law, str]:
    """What made most of the late first tokens late: a context that should have been there, a load, a
    hand-over, or the wait for a rank."""
    pool = seen.names.pools[_commonest(late["prefill_pool"])] if len(late) else seen.names.pools[0]
    lost = late[(late["found"] == MISS) & (late["due"] != NONE)]
    spent = np.stack([late["wait"] + late["wall"], late["load"], handed(late)])
    most = spent.argmax(axis=0)
    loading = late[(most == 1) & (late["found"] >= 0)]
    if len(lost) > len(late) / 2:
        store = seen.facility.places.location_store[_commonest(lost["due"])]
        return _capacity(seen.names.stores[store]), seen.names.stores[store]
    if len(loading) > len(late) / 2:
        return longest(way(seen, _commonest(loading["prefill_pool"]), _commonest(loading["found"])))
    if (most == 2).sum() > len(late) / 2:
        machines = seen.facility.machines
        server = machines.instance_server[machines.pool_instance[_commonest(late["prefill_pool"])]]
        return Law.NETWORK, seen.names.skus[machines.server_sku[server]]
    return Law.PREFILL_TIME, pool


def handed(rows: NDArray[Any]) -> Floats:
    """Seconds a first token waited for its context to be handed over, after all else; 0 where none came."""
    took = rows["first_token"] - rows["arrival"] - rows["wait"] - rows["wall"] - rows["load"]
    return np.where(np.isnan(took), 0.0, np.maximum(took, 0.0))


def slow_for(
    seen: Observed, instance: Instance, layout: Layout, cls: ClassReplay, slow: NDArray[Any]
) -> tuple[tuple[Law, str], float, float]:
    """What made sequences wait to be decoded: HBM or time, of the pool where most of them are; the sequences
    that run there on average, at least one, and the standard deviations of them there should be room for."""
    pools = seen.state.pool
    decoding = slow[pools["decodes"][slow["pool"]]] if len(slow) else slow
    if not len(decoding):
        return (Law.DECODE_TIME, nobody(layout, instance, cls.cls)[Law.DECODE_TIME]), 1.0, instance.quantile
    p = _commonest(decoding["pool"])
    short_of_time = pools[p]["short_time"] >= pools[p]["short_kv"]
    mine = slice(seen.facility.machines.pool_instance[p], seen.facility.machines.pool_instance[p + 1])
    running = float(seen.grown(seen.samples.instance[:, mine], "sequence_area").sum())
    law = Law.DECODE_TIME if short_of_time else Law.RUNNING_KV
    return (law, seen.names.pools[p]), max(1.0, running), instance.quantile


def of_hits(seen: Observed, cls: ClassReplay, index: int) -> list[Failing]:
    """Contexts that were not where their plan has them: surely more than LOST of the class's requests."""
    rows = seen.of_class(index)
    failing = []
    stores = seen.facility.places.location_store
    for store in range(len(seen.names.stores)):
        here = (rows["due"] != NONE) & (stores[rows["due"]] == store) & ~never_taken(rows)
        astray = here & (rows["found"] != rows["due"])
        lost = seen.share(rows, astray, seen.end)
        if lost.low > LOST:
            name = seen.names.stores[store]
            law = _capacity(name)
            reason = (
                f"{cls.cls}: {lost.mean:.1%} of requests do not find their context in {name} any more; "
                f"{law.value}[{name}] is short"
            )
            kept = 1 - float(astray.sum()) / max(1, int(here.sum()))
            failing.append(Failing(law, name, reason, kept, 1.0))
    return failing


def of_wear(seen: Observed, resources: tuple[ResourceReplay, ...]) -> list[Failing]:
    """Drives that would surely be worn out before their time."""
    return [
        Failing(
            r.law, r.resource,
            f"{r.resource}: {r.mean:.3g} bytes written a day and drive, {r.capacity:.3g} allowed",
            r.capacity, r.mean,
        )
        for r in resources
        if r.law is Law.ENDURANCE and r.mean > r.capacity * (1 + seen.written_error(r.resource))
    ]  # fmt: skip


def waits(seen: Observed, instance: Instance) -> dict[str, float]:
    """Per prefill pool, the wait that 95% of its requests did not exceed, over that of the queueing bound."""
    pools = {pool.id: pool for pool in instance.pools}
    found = {}
    for p, name in enumerate(seen.names.pools):
        pool = pools[name]
        q = seen.requests
        rows = q[(q["prefill_pool"] == p) & (q["arrival"] >= seen.start) & (q["wall"] > 0)]
        if not seen.facility.machines.pool_prefills[p] or not len(rows) or not pool.longest_job:
            continue
        bound = -math.log(0.05) * pool.longest_job / wait_exponent(pool.design_load)
        found[name] = max(LEAST_WAIT, float(np.quantile(rows["wait"], 0.95)) / bound)
    return found


def _capacity(store: str) -> Law:
    return Law.HBM_ROOM if store.startswith("hbm@") else Law.TIER_CAPACITY


def _commonest(indices: NDArray[Any]) -> int:
    return int(np.bincount(indices).argmax())

"""How much of every resource a replay used, beside what the layout says."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from optimizer.instance import Instance, Layout, Tier
from optimizer.simulator.engine.state import MISS, NONE
from optimizer.simulator.types import Law, ResourceReplay
from optimizer.simulator.verdict.observed import Observed
from optimizer.simulator.verdict.predicted import Prediction
from optimizer.simulator.verdict.wear import average_over_peak

DAY = 86400.0
SHARE = "share of time"


def usage(seen: Observed, instance: Instance, told: Prediction, layout: Layout) -> tuple[ResourceReplay, ...]:
    """Every resource under every law that a replay can judge."""
    return (
        *_pools(seen, told),
        *_stores(seen, told),
        *_devices(seen, instance),
        *_networks(seen),
        *_drives(seen, instance, layout),
    )


def _pools(seen: Observed, told: Prediction) -> Iterator[ResourceReplay]:
    machines = seen.facility.machines
    for p, name in enumerate(seen.names.pools):
        mine = slice(machines.pool_instance[p], machines.pool_instance[p + 1])
        count = mine.stop - mine.start
        row, table = told.pools[name], seen.samples.instance[:, mine]
        if machines.pool_prefills[p]:
            ranks = machines.instance_rank[mine.start + 1] - machines.instance_rank[mine.start]
            busy = table["prefill_busy"].sum(axis=1) * machines.pool_share[p] / ranks
            pace = np.diff(busy, prepend=0.0) / np.diff(seen.samples.time, prepend=0.0)
            mean = (busy[-1] - busy[seen.first_sample]) / seen.seconds
            here = seen.requests[
                (seen.requests["prefill_pool"] == p) & (seen.requests["arrival"] >= seen.start)
            ]
            waited = float((here["wait"] > 0).mean()) if len(here) else 0.0
            yield ResourceReplay(
                Law.PREFILL_TIME, name, "busy instances", count * machines.pool_share[p], row.prefill_busy,
                float(mean), seen.most(pace), waited,
            )  # fmt: skip
        if machines.pool_decodes[p]:
            pool = seen.state.pool[p]
            asked = (seen.requests["pool"] == p) & np.isfinite(seen.requests["first_token"])
            entered = max(1, int(asked.sum()))
            step = seen.grown(table, "step_area").mean()
            yield ResourceReplay(
                Law.DECODE_TIME, name, "share of the iteration", 1.0, math.nan, float(step),
                seen.most(table["step_peak"].max(axis=1)), float(pool["short_time"]) / entered,
            )  # fmt: skip
            yield ResourceReplay(
                Law.RUNNING_KV, name, "bytes", float(machines.pool_room[p] * count), row.running_bytes,
                float(seen.grown(table, "kv_area").sum()), seen.most(table["kv"].sum(axis=1)),
                float(pool["short_kv"]) / entered,
            )  # fmt: skip


def _stores(seen: Observed, told: Prediction) -> Iterator[ResourceReplay]:
    places = seen.facility.places
    rows = seen.requests[seen.requests["arrival"] >= seen.start]
    for s, name in enumerate(seen.names.stores):
        here = places.domain_store == s
        table = seen.samples.domain[:, here]
        due = rows[(rows["due"] != NONE) & (places.location_store[rows["due"]] == s)]
        lost = float((due["found"] != due["due"]).mean()) if len(due) else 0.0
        law = Law.HBM_ROOM if name.startswith(f"{Tier.HBM.value}@") else Law.TIER_CAPACITY
        predicted = told.stores[name].used_bytes if name in told.stores else math.nan
        yield ResourceReplay(
            law, name, "bytes", float(places.domain_bytes[here].sum()), predicted,
            float(seen.grown(table, "area").sum()), seen.most(table["used"].sum(axis=1)), lost,
        )  # fmt: skip


def _devices(seen: Observed, instance: Instance) -> Iterator[ResourceReplay]:
    places = seen.facility.places
    rows = seen.requests[(seen.requests["arrival"] >= seen.start) & (seen.requests["found"] > MISS)]
    for s, name in enumerate(seen.names.stores):
        if name.startswith(f"{Tier.HBM.value}@"):
            continue
        here = places.domain_store == s
        table = seen.samples.device[:, here]
        mine = rows[places.location_store[rows["found"]] == s]
        slow = float((mine["load"] > mine["wall"]).mean()) if len(mine) else 0.0
        reading = table["read_busy"] + np.where(places.store_shared[s], table["write_busy"], 0.0)
        kinds = [(Law.TIER_READ, reading)]
        if not places.store_shared[s]:
            kinds.append((Law.TIER_WRITE, table["write_busy"]))
        for law, busy in kinds:
            pace = np.diff(busy.mean(axis=1), prepend=0.0) / np.diff(seen.samples.time, prepend=0.0)
            mean = (busy[-1] - busy[seen.first_sample]).mean() / seen.seconds
            yield ResourceReplay(
                law, name, SHARE, 1.0, math.nan, float(mean), seen.most(pace),
                slow if law is Law.TIER_READ else 0.0,
            )  # fmt: skip


def _networks(seen: Observed) -> Iterator[ResourceReplay]:
    machines = seen.facility.machines
    for p, name in enumerate(seen.names.pools):
        mine = slice(machines.pool_instance[p], machines.pool_instance[p + 1])
        if machines.pool_prefills[p]:
            busy = seen.grown(seen.samples.instance[:, mine], "link_busy")
            yield ResourceReplay(
                Law.HOST_LINK, name, SHARE, 1.0, math.nan, float(busy.mean()), float(busy.max()), 0.0
            )
    for k, sku in enumerate(seen.names.skus):
        here = (machines.server_sku == k) & ~machines.server_spare
        if here.any():
            table = seen.samples.server[:, here]
            busy = np.maximum(seen.grown(table, "in_busy"), seen.grown(table, "out_busy"))
            yield ResourceReplay(
                Law.NETWORK, sku, SHARE, 1.0, math.nan, float(busy.mean()), float(busy.max()), 0.0
            )


def _drives(seen: Observed, instance: Instance, layout: Layout) -> Iterator[ResourceReplay]:
    """Bytes written a day and drive on average, with the drives' own amplification."""
    places = seen.facility.places
    pace = average_over_peak(instance, layout)
    days = instance.periods[0].seconds / DAY
    builds = {b.id: b for b in instance.builds}
    for s, name in enumerate(seen.names.stores):
        here = places.domain_store == s
        drives = float(places.domain_drives[here].sum())
        if not drives:
            continue
        store = next(x for x in instance.stores if x.id == name)
        bought = [
            (row, builds[row.build])
            for row in layout.servers
            if builds[row.build].drives and store.scope in (builds[row.build].sku, "facility")
        ]
        stands = sum(
            b.nvme_endurance * (row.count - row.spare) + b.nvme_endurance / b.drives * row.replaced
            for row, b in bought
        )
        written = seen.grown(seen.samples.device[:, here], "written").sum() * DAY * pace.get(name, 1.0)
        yield ResourceReplay(
            Law.ENDURANCE, name, "bytes a day and drive", stands / days / drives, math.nan,
            float(written) * instance.write_amplification / drives, math.nan, 0.0,
        )  # fmt: skip

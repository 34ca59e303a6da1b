"""What a layout rests on, in result.json: enough to build the same problem and to replay the same layout.

The question after every override, the layout row by row as the exact check reads it, and what changed the
coefficients on the way: what replays asked for, and the touching points of the occupancy margins.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import Field

from optimizer.instance.layout import Layout
from optimizer.instance.types import Instance
from optimizer.units import Strict


class Tightened(Strict):
    """A resource that a replay found wanting: how many times as much of it a plan must ask for since."""

    law: str
    resource: str
    factor: float


class Basis(Strict):
    """`workload` is the document with its overrides, `place` where it was read (traces lie beside it).

    `store_slopes` and `pool_slopes` are the touching points of the round that found the layout; `waits` the
    waits for prefill, as parts of what the queueing bound says, that were fed back to it. `operation_sha256`
    is the digest of the untightened problem without its money: what a replay depends on.
    """

    workload: dict[str, Any]
    place: str
    layout: Layout
    tightened: tuple[Tightened, ...] = ()
    waits: dict[str, float] = Field(default_factory=dict)
    store_slopes: dict[str, float]
    pool_slopes: dict[str, float]
    operation_sha256: str


def operation_digest(instance: Instance) -> str:
    """SHA-256 of what decides how a layout runs: everything but prices and touching points."""
    free = replace(
        instance,
        builds=tuple(replace(b, capex_usd=0.0, replacement_usd=0.0, cost=()) for b in instance.builds),
        enclosures=tuple(
            replace(
                e, capex_usd=(0.0, 0.0, 0.0), enclosure_cost=(), module_cost=(), adapter_cost=()
            )
            for e in instance.enclosures
        ),
        skus=tuple(replace(s, owned_saving_usd=0.0) for s in instance.skus),
        limits=replace(instance.limits, budget_usd=None),
        stores=tuple(replace(s, slope=0.0) for s in instance.stores),
        pools=tuple(replace(p, slope=0.0) for p in instance.pools),
    )
    return free.digest()

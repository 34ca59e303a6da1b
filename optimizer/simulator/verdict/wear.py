"""From writes at the peak, which a replay sees, to writes on average, which wear drives.

The two differ by more than the rates: of contexts older than the peak is long, and of requests that find
nothing, there are other shares at another hour (docs/reuse.md). So what was seen is scaled by what the layout
itself writes to a store on average over what it writes there at the peak.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from optimizer.instance import Bucket, Instance, Layout, PlacementRow, Policy
from optimizer.instance.types import Holding, Stored


@dataclass(frozen=True)
class Flow:
    """Requests per second of a bucket at some time of the day: all, returns, those of each age slot."""

    rate: float
    returns: float
    slots: tuple[float, ...]


def average_over_peak(instance: Instance, layout: Layout) -> dict[str, float]:
    """By store, the planned bytes written per second on average over those at the peak."""
    peak, mean = written(instance, layout, mean=False), written(instance, layout, mean=True)
    return {store: mean[store] / seconds for store, seconds in peak.items() if seconds > 0}


def written(instance: Instance, layout: Layout, *, mean: bool) -> dict[str, float]:
    """Bytes per second that the layout writes to each store."""
    buckets = {b.id: b for b in instance.buckets}
    weights = {(s.option, s.bucket, s.location): s for s in instance.stored}
    holdings = {(h.option, h.bucket, h.serve, h.home): h for h in instance.holdings}
    stores = {location.id: location.store for location in instance.locations}
    held: dict[tuple[str, str, str, str], list[PlacementRow]] = defaultdict(list)
    for row in layout.placements:
        held[row.option, row.bucket, row.serve, row.home].append(row)
    found: dict[str, float] = defaultdict(float)
    for (option, name, serve, home), rows in held.items():
        bucket = buckets[name]
        flow = at(bucket, mean=mean)
        if instance.policy is Policy.EXCLUSIVE:
            found[stores[serve]] += exclusive(rows, bucket, weights[option, name, serve], flow)
            continue
        for place in {serve, home}:
            holding = holdings[option, name, serve, home]
            found[stores[place]] += write_through(
                rows, bucket, weights[option, name, place], flow, finds(holding, place)
            )
    return dict(found)


def at(bucket: Bucket, *, mean: bool) -> Flow:
    """The flow at the peak, or on average."""
    if not mean:
        return Flow(bucket.rate, bucket.returns, tuple(slot.rate for slot in bucket.slots))
    slots = tuple(min(slot.rate, bucket.mean_rate) for slot in bucket.slots)
    return Flow(bucket.mean_rate, bucket.mean_returns, slots)


def finds(holding: Holding, place: str) -> float:
    """The share of returns that find a copy at this place, so that it need not be written again."""
    return holding.found + (holding.found_home if place == holding.home else 0.0)


def write_through(
    rows: list[PlacementRow], bucket: Bucket, weight: Stored, flow: Flow, found: float
) -> float:
    """What turns add, and whole contexts where a return found none."""
    first = sum(row.share for row in rows if row.slot == 1)
    there = sum(
        row.share * flow.slots[row.slot - 1] * bucket.slots[row.slot - 1].drop * found for row in rows
    )
    opened = (flow.rate - flow.returns) * weight.first
    return first * (flow.returns * (weight.new + weight.prefix) + opened) - there * weight.prefix


def exclusive(rows: list[PlacementRow], bucket: Bucket, weight: Stored, flow: Flow) -> float:
    """Every context after its turn, and what sinks into this place later."""
    total = 0.0
    for row in rows:
        if row.slot == 1:
            total += row.share * flow.rate
        else:
            left = 1 - sum(slot.drop for slot in bucket.slots[: row.slot - 1])
            total += row.entry * flow.slots[row.slot - 1] * left
    return total * weight.bytes

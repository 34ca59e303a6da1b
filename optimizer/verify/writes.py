"""What is written where: each policy's own law of bytes per second, at the peak and on average."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from optimizer.instance.types import Bucket, Holding, Stored
from optimizer.verify.amounts import Amount, product, total
from optimizer.verify.reading import Placed

if TYPE_CHECKING:
    from optimizer.verify.plan import Plan


@dataclass(frozen=True)
class Flow:
    """The request rates of a bucket, at the peak or on average: what writes are counted with."""

    rate: Fraction
    returns: Fraction
    slots: tuple[Fraction, ...]


def flow_of(bucket: Bucket, *, mean: bool) -> Flow:
    """Peak: lambda_w, returns_w, lambda_j. Mean: mean_rate, mean_returns, min(lambda_j, mean_rate)."""
    if not mean:
        return Flow(
            Fraction(bucket.rate), Fraction(bucket.returns), tuple(Fraction(s.rate) for s in bucket.slots)
        )
    slots = tuple(Fraction(min(slot.rate, bucket.mean_rate)) for slot in bucket.slots)
    return Flow(Fraction(bucket.mean_rate), Fraction(bucket.mean_returns), slots)


def writes(plan: Plan, *, mean: bool) -> dict[tuple[str, str], Amount]:
    """Bytes per second written, by (option, store). HBM copies are left behind by the run, not written."""
    terms: dict[tuple[str, str], list[Fraction]] = defaultdict(list)
    flows = {bucket.id: flow_of(bucket, mean=mean) for bucket in plan.instance.buckets}
    law = exclusive if plan.exclusive else write_through
    for holding, slots in plan.slots_of_holding.items():
        for location in plan.tables.copies(holding):
            if not plan.in_hbm(location):
                weight = plan.tables.stored[holding.option, holding.bucket, location]
                key = (holding.option, plan.tables.store_of(location).id)
                terms[key].extend(law(holding, slots, weight, flows[holding.bucket]))
    return {key: total(values) for key, values in terms.items()}


def write_through(
    holding: Holding, slots: dict[int, Placed], weight: Stored, flow: Flow
) -> Iterator[Fraction]:
    """share_1 (returns new + firsts first) + prefix (returns share_1 - sum lambda_j dS_j f share_j), with
    firsts = rate - returns, f what finds the copy and so rewrites nothing: at the home both finds, at a
    faster place only its own (a return served from the home is promoted)."""
    first_share = slots[1].share if 1 in slots else Fraction(0)
    yield product(first_share, flow.returns, weight.new)
    yield product(first_share, flow.rate, weight.first)
    yield -product(first_share, flow.returns, weight.first)
    yield product(first_share, flow.returns, weight.prefix)
    finds = Fraction(holding.found)
    if weight.location == holding.home:
        finds += Fraction(holding.found_home)
    for j, placed in slots.items():
        yield -product(placed.share, flow.slots[j - 1], placed.slot.drop, finds, weight.prefix)


def exclusive(holding: Holding, slots: dict[int, Placed], weight: Stored, flow: Flow) -> Iterator[Fraction]:
    """bytes (lambda_w share_1 + sum_{j>=2} lambda_j S_{j-1} entry_j), S_{j-1} = 1 - sum_{i<j} dS_i."""
    for j, placed in slots.items():
        if j == 1:
            yield product(placed.share, flow.rate, weight.bytes)
        elif placed.entry:
            before = (Fraction(slot.drop) for slot in placed.bucket.slots[: j - 1])
            survivors = 1 - sum(before, Fraction(0))
            yield product(placed.entry, flow.slots[j - 1], survivors, weight.bytes)

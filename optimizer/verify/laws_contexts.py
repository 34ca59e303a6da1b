"""Law 2: contexts only sink as they age; and the one age that an LRU cache imposes (of law 6)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from optimizer.instance.types import Holding
from optimizer.verify.amounts import Amount, of, total
from optimizer.verify.certificate import Row, at_least, at_most, equal
from optimizer.verify.plan import ZERO, Plan


def shares_by_home(plan: Plan) -> dict[tuple[str, str, str], dict[Holding, list[Fraction]]]:
    """The shares of every holding over all its slots, grouped by (option, bucket, home)."""
    groups: dict[tuple[str, str, str], dict[Holding, list[Fraction]]] = defaultdict(dict)
    for holding, slots in plan.slots_of_holding.items():
        ages = range(1, len(plan.tables.buckets[holding.bucket].slots) + 1)
        shares = [slots[j].share if j in slots else ZERO for j in ages]
        groups[holding.option, holding.bucket, holding.home][holding] = shares
    return groups


def summed(rows: list[list[Fraction]]) -> list[Amount]:
    """Shares of several holdings added slot by slot."""
    return [total(column) for column in zip(*rows, strict=True)]


def never_grows(name: str, shares: list[Amount]) -> Iterator[Row]:
    """One row `name,j]` for every pair of neighbouring slots: shares[j+1] <= shares[j]."""
    for j, (now, later) in enumerate(pairwise(shares), start=1):
        if now.scale or later.scale:
            yield at_most(f"{name},{j}]", later, now)


def contexts_only_sink(plan: Plan) -> Iterator[Row]:
    """A context never climbs back as it ages: a copy exists from age 0 or not at all.

    Write-through: share[(k,d),j+1] <= share[(k,d),j] for k != d, and sum_k share[(k,d),j+1] <= sum_k
    share[(k,d),j]. Exclusive: sum_{k'<=k} share[j+1] <= sum_{k'<=k} share[j] for every k of the chain, where
    places of one order are one step of it  [share]
    """
    for (option, bucket, home), rows in shares_by_home(plan).items():
        words = f"{option},{bucket}"
        if plan.exclusive:
            depth = {holding: plan.tables.locations[holding.serve].order for holding in rows}
            steps = {depth[holding]: holding for holding in rows}
            for step, holding in sorted(steps.items()):
                above = summed([shares for upper, shares in rows.items() if depth[upper] <= step])
                yield from never_grows(f"contexts_only_sink[{words},{holding.serve},{home}", above)
            continue
        for holding, shares in rows.items():
            if holding.serve != home:
                single = [of(share) for share in shares]
                yield from never_grows(f"contexts_only_sink[{words},{holding.serve},{home}", single)
        yield from never_grows(f"contexts_only_sink[{words},all,{home}", summed(list(rows.values())))


def contexts_split(plan: Plan) -> Iterator[Row]:
    """No more contexts are kept than there are, and only under the option the model runs.

    Sum_h share[h,1] <= option[a]  [share]
    """
    shares: dict[tuple[str, str], list[Fraction]] = defaultdict(list)
    for placed in plan.decisions.placed:
        if placed.j == 1:
            shares[placed.holding.option, placed.holding.bucket].append(placed.share)
    for (option, bucket), terms in shares.items():
        yield at_most(f"contexts_split[{option},{bucket}]", total(terms), of(plan.option(option)))


def context_entry(plan: Plan) -> Iterator[Row]:
    """What a place holds more than a slot earlier was written there (exclusive policy).

    entry[h,j] >= share[h,j] - share[h,j-1], j >= 2  [share]
    """
    if not plan.exclusive:
        return
    for holding, slots in plan.slots_of_holding.items():
        for j, placed in slots.items():
            if j >= 2:
                before = slots[j - 1].share if j - 1 in slots else ZERO
                need = total([placed.share, -before])
                yield at_least(f"context_entry[{holding.id},{j}]", of(placed.entry), need)


def one_age_per_lru_tier(plan: Plan) -> Iterator[Row]:
    """A cache that evicts the least recently used keeps every class for the same time.

    Sum_a sum_{h with a copy in the tier} share[h,j] = lru_share[tier,j]  [share]
    """
    tables = plan.tables
    lru_stores = {store.id for store in plan.instance.stores if store.lru}
    if not lru_stores:
        return
    tiers_of: dict[Holding, set[str]] = {}
    caching: dict[tuple[str, str], bool] = {}
    for holding in plan.instance.holdings:
        stores = (tables.store_of(location) for location in tables.copies(holding))
        tiers_of[holding] = {store.tier.value for store in stores if store.id in lru_stores}
        caching.update({(tier, holding.bucket): True for tier in tiers_of[holding]})
    shares: dict[tuple[str, str, int], list[Fraction]] = defaultdict(list)
    for placed in plan.decisions.placed:
        for tier in tiers_of[placed.holding]:
            shares[tier, placed.holding.bucket, placed.j].append(placed.share)
    for tier, bucket in caching:
        for j in range(1, len(tables.buckets[bucket].slots) + 1):
            need = of(plan.decisions.lru.get((tier, j), ZERO))
            have = total(shares.get((tier, bucket, j), []))
            yield equal(f"one_age_per_lru_tier[{tier},{bucket},{j}]", have, need)


LAWS = (contexts_only_sink, contexts_split, context_entry, one_age_per_lru_tier)

"""Law 6: bytes have an address, and an address has an end."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.instance.types import Tier
from optimizer.verify.amounts import of, together
from optimizer.verify.certificate import Row, at_least, at_most
from optimizer.verify.plan import Plan


def hbm_room(plan: Plan) -> Iterator[Row]:
    """Idle contexts, contexts under prefill and a mixed pool's running ones share what weights leave.

    mean + margin(V, n) + sum path held + sum sequences hbm decode (mixed) + shared prefixes n
    <= sum room instances  [B]
    """
    for store in plan.instance.stores:
        if store.tier is Tier.HBM:
            account = plan.accounts[store.id]
            yield at_most(f"hbm_room[{store.id}]", account.used.plus(account.margin), account.usable)


def tier_capacity(plan: Plan) -> Iterator[Row]:
    """A store holds its contexts at a quantile of their number, not on average.

    sum_l mean_l + margin(sum_l V_l, n) + shared prefixes + own use <= usable  [B]
    """
    for store in plan.instance.stores:
        if store.tier is not Tier.HBM:
            account = plan.accounts[store.id]
            yield at_most(f"tier_capacity[{store.id}]", account.used.plus(account.margin), account.usable)


def tier_floor(plan: Plan) -> Iterator[Row]:
    """The planner's smallest tier.

    sum of installed bytes of a tier >= min_bytes  [B]
    """
    for tier in sorted({store.tier for store in plan.instance.stores if store.min_bytes}):
        stores = [store for store in plan.instance.stores if store.tier is tier]
        installed = together(plan.accounts[store.id].installed for store in stores)
        yield at_least(f"tier_floor[{tier}]", installed, of(max(store.min_bytes for store in stores)))


def tier_ceiling(plan: Plan) -> Iterator[Row]:
    """The planner's largest tier.

    sum of installed bytes of a tier <= max_bytes  [B]
    """
    for tier in sorted({store.tier for store in plan.instance.stores if store.max_bytes is not None}):
        stores = [store for store in plan.instance.stores if store.tier is tier]
        installed = together(plan.accounts[store.id].installed for store in stores)
        ceiling = min(store.max_bytes for store in stores if store.max_bytes is not None)
        yield at_most(f"tier_ceiling[{tier}]", installed, of(ceiling))


LAWS = (hbm_room, tier_capacity, tier_floor, tier_ceiling)

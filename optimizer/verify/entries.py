"""Double entry: every consequence that the layout states, recomputed from its decisions.

A row that is absent states zeros; it may be left out only if that is so.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from optimizer.instance.layout import PoolRow, StoreRow
from optimizer.verify.accounts import Account
from optimizer.verify.amounts import NOTHING, Amount, of, product, total
from optimizer.verify.certificate import Row, stated
from optimizer.verify.laws_time import active_pools
from optimizer.verify.plan import Plan
from optimizer.verify.reading import Placed


def pool_rows(plan: Plan) -> Iterator[Row]:
    """prefill_busy = sum path busy; sequences = sum sequences decode; running_bytes = the same x hbm."""
    for pool in active_pools(plan):
        running = plan.decisions.running.get(pool.id)
        row = running.row if running else PoolRow(pool.id, 0, 0.0, 0.0, 0.0, 0.0)
        busy = total(product(x.rate, x.path.busy) for x in plan.paths_on_pool.get(pool.id, []))
        taken = of(product(plan.instances(pool.id), pool.gpus_charged))
        yield stated(f"PoolRow.accelerators[{pool.id}]", row.accelerators, taken)
        yield stated(f"PoolRow.prefill_busy[{pool.id}]", row.prefill_busy, busy)
        yield stated(f"PoolRow.sequences[{pool.id}]", row.sequences, plan.on_pool(pool.id))
        yield stated(f"PoolRow.running_bytes[{pool.id}]", row.running_bytes, plan.on_pool(pool.id, "hbm"))


def decode_rows(plan: Plan) -> Iterator[Row]:
    """sequences = Decode.sequences share."""
    for item in plan.decisions.decoded:
        name = f"DecodeRow.sequences[{item.decode.bucket},{item.pool.id}]"
        yield stated(name, item.row.sequences, of(product(item.share, item.decode.sequences)))


def placement_rows(plan: Plan) -> Iterator[Row]:
    """serve_bytes = B(serve) contexts there; home_bytes likewise at another home; found_rate = lambda_j dS_j
    share (found + found_home)."""
    for placed in plan.decisions.placed:
        words = f"{placed.holding.id},{placed.j}"
        found = total(rate for _, rate in plan.found_terms(placed))
        serve, *home = (bytes_at(plan, placed, location) for location in plan.tables.copies(placed.holding))
        yield stated(f"PlacementRow.serve_bytes[{words}]", placed.row.serve_bytes, serve)
        yield stated(f"PlacementRow.home_bytes[{words}]", placed.row.home_bytes, home[0] if home else NOTHING)
        yield stated(f"PlacementRow.found_rate[{words}]", placed.row.found_rate, found)
        written = of(entered(plan, placed))
        yield stated(f"PlacementRow.entry_bytes_s[{words}]", placed.row.entry_bytes_s, written)


def entered(plan: Plan, placed: Placed) -> Fraction:
    """bytes lambda_j S_{j-1} entry, S_{j-1} = 1 - sum_{i<j} dS_i: what sinking into the place writes."""
    weight = plan.tables.stored[placed.holding.option, placed.holding.bucket, placed.holding.serve]
    gone = sum((Fraction(slot.drop) for slot in placed.bucket.slots[: placed.j - 1]), Fraction(0))
    return product(placed.entry, placed.slot.rate, 1 - gone, weight.bytes)


def bytes_at(plan: Plan, placed: Placed, location: str) -> Amount:
    """B x live contexts of one placement at one of its copies."""
    weight = plan.tables.stored[placed.holding.option, placed.holding.bucket, location]
    return of(product(plan.context_seconds(placed, location), weight.bytes))


def path_rows(plan: Plan) -> Iterator[Row]:
    """busy = rate busy; attained = rate attained."""
    for routed in plan.decisions.routed:
        path = routed.path
        words = ",".join((path.stream, path.option, path.case, path.location or "", path.pool))
        yield stated(f"PathRow.busy[{words}]", routed.row.busy, of(product(routed.rate, path.busy)))
        yield stated(
            f"PathRow.attained[{words}]", routed.row.attained, of(product(routed.rate, path.attained))
        )


def store_rows(plan: Plan) -> Iterator[Row]:
    """Every store's account."""
    for store in plan.instance.stores:
        account: Account = plan.accounts[store.id]
        row = plan.decisions.stores.get(store.id) or StoreRow(store.id, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        yield stated(f"StoreRow.installed_bytes[{store.id}]", row.installed_bytes, account.installed)
        yield stated(f"StoreRow.usable_bytes[{store.id}]", row.usable_bytes, account.usable)
        yield stated(f"StoreRow.used_bytes[{store.id}]", row.used_bytes, account.used)
        yield stated(f"StoreRow.margin_bytes[{store.id}]", row.margin_bytes, account.margin)
        yield stated(f"StoreRow.read_bytes_s[{store.id}]", row.read_bytes_s, account.read)
        yield stated(f"StoreRow.write_bytes_s[{store.id}]", row.write_bytes_s, account.write)


def spare_rows(plan: Plan) -> Iterator[Row]:
    """spare = spares chosen[u]."""
    for bought in plan.decisions.bought.values():
        spares = of(plan.instance.limits.spares * plan.chosen(bought.build.id))
        yield stated(f"ServerRow.spare[{bought.build.id}]", bought.row.spare, spares)


def host_rows(plan: Plan) -> Iterator[Row]:
    """slots = free_x16_slots hosts."""
    for cxl in plan.decisions.cxl.values():
        for host in cxl.hosts:
            free = of(product(host.hosts, plan.tables.skus[host.sku].free_x16_slots))
            yield stated(f"CxlHostRow.slots[{cxl.enclosure},{host.sku}]", host.slots, free)


ENTRIES = (host_rows, pool_rows, decode_rows, placement_rows, path_rows, store_rows, spare_rows)

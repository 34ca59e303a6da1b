"""All decisions and all laws of an instance, as one linear system.

Ranges of columns are only what keeps enumeration finite; every limit that matters is a row.
"""

from __future__ import annotations

from optimizer.instance.types import Instance, Pool

from . import laws_capacity, laws_compute, laws_facility, laws_requests, laws_traffic
from .book import Book
from .linear import Bound, Column, System, column, total

LAWS = (
    *laws_requests.LAWS, *laws_compute.LAWS, *laws_capacity.LAWS, *laws_traffic.LAWS, *laws_facility.LAWS,
)
INFINITE = float("inf")


def system(instance: Instance) -> System:
    """Columns, cost and rows; among equal costs, least prefill (most hits)."""
    if len(instance.periods) != 1:
        raise ValueError("the oracle knows one period")
    book = Book(instance)
    rows = tuple(row for law in LAWS for row in law(book))
    prefill = total(p.busy * column("path", i) for i, p in book.paths.items())
    return System(columns(book), laws_facility.cost(book), rows, wish=prefill)


def columns(book: Book) -> dict[Column, Bound]:
    """Every column with its range; integers in the order they are decided."""
    integers = _integers(book)
    found = {name: Bound(0.0, float(upper), order) for order, (name, upper) in enumerate(integers)}
    return found | {name: Bound(0.0, upper) for name, upper in _reals(book)}


def _integers(book: Book) -> list[tuple[Column, int]]:
    """(column, most): machines before instances, because instances need machines."""
    instance = book.instance
    most = {s.id: most_servers(book, s.id) for s in instance.skus}
    found: list[tuple[Column, int]] = [(("option", o.id), 1) for o in instance.options]
    found += [(("chosen", u.id), 1) for u in instance.builds]
    found += [(("ordered", s.id), 1) for s in instance.skus if s.minimum_order > 1]
    found += [(("servers", u.id), u.maximum) for u in instance.builds]
    found += [(("owned_used", s.id), most[s.id]) for s in instance.skus]
    found += [(("enclosures", e.id), e.maximum) for e in instance.enclosures]
    found += [(("modules", e.id), e.maximum * e.module_slots) for e in instance.enclosures]
    found += [(("hosts", e.id, s.id), most[s.id]) for e in instance.enclosures for s in instance.skus]
    found += [
        (("adapters", e.id, s.id), most[s.id] * s.free_x16_slots)
        for e in instance.enclosures
        for s in instance.skus
    ]
    found += [(("instances", p.id), most_instances(book, p)) for p in instance.pools]
    return found


def most_servers(book: Book, sku: str) -> int:
    """Servers of a SKU if every build were bought out."""
    return sum(u.maximum for u in book.builds_of(sku))


def most_instances(book: Book, pool: Pool) -> int:
    """Instances that the accelerators of all servers hold."""
    accelerators = book.skus[pool.sku].gpus * most_servers(book, pool.sku)
    return int(accelerators / pool.gpus_charged + 1e-9)


def _reals(book: Book) -> list[tuple[Column, float]]:
    instance = book.instance
    found: list[tuple[Column, float]] = [(("decode", d.bucket, d.pool), INFINITE) for d in instance.decodes]
    found += [(("path", i), INFINITE) for i in book.paths]
    for h in instance.holdings:
        slots = range(1, len(book.buckets[h.bucket].slots) + 1)
        found += [(("share", h.id, str(j)), INFINITE) for j in slots]
        if book.exclusive:
            found += [(("entry", h.id, str(j)), INFINITE) for j in slots if j >= 2]
    found += [(("replaced", u.id), INFINITE) for u in instance.builds if u.drives > 0]
    deepest = max((len(w.slots) for w in instance.buckets), default=0)
    for tier in laws_requests.lru_tiers(book):
        found += [(("lru_share", tier, str(j)), INFINITE) for j in range(1, deepest + 1)]
    return found

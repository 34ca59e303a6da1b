"""Laws 1, 2 and 8: where requests go, how contexts sink, and when the first token comes."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.instance.types import Case, Role, Tier

from .book import Book
from .linear import Linear, Row, at_most, column, equals, total


def route_returns(book: Book) -> Iterator[Row]:
    """Every return is a miss or a hit somewhere."""
    for option, w in book.option_buckets:
        paths = book.paths_where(
            lambda p, a=option, w=w: p.option == a and p.stream == w.id and p.case is not Case.FIRST
        )
        yield equals(
            "route_returns", (option, w.id), total(x for _, x in paths), w.returns * column("option", option)
        )


def route_hits(book: Book) -> Iterator[Row]:
    """No more hits than returns that find their context."""
    for option, w in book.option_buckets:
        for location in book.instance.locations:
            paths = book.paths_where(
                lambda p, a=option, w=w, at=location: (
                    p.option == a and p.stream == w.id and p.case is Case.HIT and p.location == at.id
                )
            )
            if paths:
                found = book.found(option, w, location.id)
                yield at_most("route_hits", (option, w.id, location.id), total(x for _, x in paths), found)


def route_first(book: Book) -> Iterator[Row]:
    """Every first request is prefilled."""
    for option in book.instance.options:
        for cls in book.instance.classes:
            if cls.model != option.model:
                continue
            paths = book.paths_where(
                lambda p, a=option, c=cls: p.option == a.id and p.cls == c.id and p.case is Case.FIRST
            )
            first = cls.first_rate * column("option", option.id)
            yield equals("route_first", (option.id, cls.id), total(x for _, x in paths), first)


def serve_all_decode(book: Book) -> Iterator[Row]:
    """Every bucket is decoded somewhere."""
    for option, w in book.option_buckets:
        pools = {p.id for p in book.pools_where(lambda p, a=option: p.option == a)}
        parts = [
            column("decode", d.bucket, d.pool)
            for d in book.instance.decodes
            if d.bucket == w.id and d.pool in pools
        ]
        yield equals("serve_all_decode", (option, w.id), total(parts), column("option", option))


def decode_where_prefilled(book: Book) -> Iterator[Row]:
    """What a mixed pool prefills it decodes."""
    for pool in book.pools_where(lambda p: p.role is Role.MIXED):
        for cls in book.instance.classes:
            if cls.model != pool.model:
                continue
            paths = book.paths_where(lambda p, q=pool, c=cls: p.pool == q.id and p.cls == c.id)
            decoded = total(
                book.buckets[d.bucket].rate * column("decode", d.bucket, d.pool)
                for d in book.decodes_on([pool])
                if book.buckets[d.bucket].cls == cls.id
            )
            yield equals("decode_where_prefilled", (cls.id, pool.id), total(x for _, x in paths), decoded)


def contexts_only_sink(book: Book) -> Iterator[Row]:
    """A context moves down its chain of tiers as it ages, never up, never back."""
    rows = _sink_exclusive(book) if book.exclusive else _sink_write_through(book)
    yield from rows


def _sink_write_through(book: Book) -> Iterator[Row]:
    for option, w in book.option_buckets:
        holdings = book.holdings_of(option, w.id)
        for home in dict.fromkeys(h.home for h in holdings):
            copies = [h for h in holdings if h.home == home]
            for j in range(1, len(w.slots)):
                for h in copies:
                    if h.serve != home:
                        index = (option, w.id, h.serve, home, str(j))
                        yield at_most("contexts_only_sink", index, book.share(h, j + 1), book.share(h, j))
                later = total(book.share(h, j + 1) for h in copies)
                earlier = total(book.share(h, j) for h in copies)
                yield at_most("contexts_only_sink", (option, w.id, "all", home, str(j)), later, earlier)


def _sink_exclusive(book: Book) -> Iterator[Row]:
    for option, w in book.option_buckets:
        holdings = book.holdings_of(option, w.id)
        for chain in dict.fromkeys(h.home for h in holdings):
            links = [h for h in holdings if h.home == chain]
            links.sort(key=lambda h: book.locations[h.serve].order)
            for n, last in enumerate(links, 1):
                for j in range(1, len(w.slots)):
                    later = total(book.share(h, j + 1) for h in links[:n])
                    earlier = total(book.share(h, j) for h in links[:n])
                    index = (option, w.id, last.serve, chain, str(j))
                    yield at_most("contexts_only_sink", index, later, earlier)


def contexts_split(book: Book) -> Iterator[Row]:
    """A context is kept in one way."""
    for option, w in book.option_buckets:
        kept = total(book.share(h, 1) for h in book.holdings_of(option, w.id))
        if kept.terms:
            yield at_most("contexts_split", (option, w.id), kept, column("option", option))


def context_entry(book: Book) -> Iterator[Row]:
    """What sinks into a tier is written there."""
    if not book.exclusive:
        return
    for h in book.instance.holdings:
        for j in range(2, len(book.buckets[h.bucket].slots) + 1):
            entry = column("entry", h.id, str(j)) + book.share(h, j - 1)
            yield at_most("context_entry", (h.id, str(j)), book.share(h, j), entry)


def one_age_per_lru_tier(book: Book) -> Iterator[Row]:
    """An LRU tier keeps every class to the same age."""
    for tier in lru_tiers(book):
        inside = {x.id for x in book.instance.locations if x.tier is tier}
        for w in book.instance.buckets:
            copies = [h for h in book.instance.holdings if h.bucket == w.id and inside & {h.serve, h.home}]
            for j in range(1, len(w.slots) + 1 if copies else 1):
                kept = total(book.share(h, j) for h in copies)
                age = column("lru_share", tier, str(j))
                yield equals("one_age_per_lru_tier", (tier, w.id, str(j)), kept, age)


def lru_tiers(book: Book) -> list[Tier]:
    """The tiers under LRU."""
    return [t for t in Tier if any(s.lru and s.tier is t for s in book.instance.stores)]


def ttft_attainment(book: Book) -> Iterator[Row]:
    """Enough requests of a class meet their time to first token."""
    for cls in book.instance.classes:
        met = total(p.attained * x for p, x in book.paths_where(lambda p, c=cls: p.cls == c.id))
        yield at_most("ttft_attainment", (cls.id,), Linear({}, cls.attainment * cls.rate), met)


LAWS = (
    route_returns, route_hits, route_first, serve_all_decode, decode_where_prefilled, contexts_only_sink,
    contexts_split, context_entry, one_age_per_lru_tier, ttft_attainment,
)

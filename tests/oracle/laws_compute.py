"""Laws 3, 4 and 5: one option a model, what is built, instances on servers, time and running KV."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.instance.types import Pool, Role

from .book import Book, prefill_part
from .linear import Linear, Row, at_most, column, equals, total


def one_option(book: Book) -> Iterator[Row]:
    """Every model runs one option."""
    for model in book.instance.models:
        options = [column("option", o.id) for o in book.instance.options if o.model == model]
        yield equals("one_option", (model,), total(options), 1.0)


def build_chosen(book: Book) -> Iterator[Row]:
    """Machines are bought of chosen builds only."""
    for u in book.instance.builds:
        chosen = float(u.maximum) * column("chosen", u.id)
        yield at_most("build_chosen", (u.id,), column("servers", u.id), chosen)


def max_builds(book: Book) -> Iterator[Row]:
    """Few different builds of one SKU, or of one node tier."""
    limit = float(book.instance.limits.max_builds)
    for sku in book.instance.skus:
        yield at_most("max_builds", (sku.id,), book.builds_chosen(book.builds_of(sku)), limit)
    for tier in dict.fromkeys(u.tier for u in book.instance.builds if u.sku is None and u.tier):
        yield at_most("max_builds", (tier,), book.builds_chosen(book.nodes_of(tier)), limit)


def spare_servers(book: Book) -> Iterator[Row]:
    """Every chosen build has its spares."""
    for u in book.instance.builds:
        spares = float(book.instance.limits.spares) * column("chosen", u.id)
        yield at_most("spare_servers", (u.id,), spares, column("servers", u.id))


def instances_fit_servers(book: Book) -> Iterator[Row]:
    """Instances take accelerators of servers in use."""
    for sku in book.instance.skus:
        pools = book.pools_where(lambda p, s=sku: p.sku == s.id)
        charged = book.over_instances(pools, lambda p: p.gpus_charged)
        yield at_most("instances_fit_servers", (sku.id,), charged, float(sku.gpus) * book.sku_in_use(sku.id))


def decode_time(book: Book) -> Iterator[Row]:
    """Weights and every running sequence are read within an iteration."""
    for p in book.decoding():
        used = (p.weights_seconds + p.overhead + p.memory_idle) * column("instances", p.id)
        used += book.sequences([p], lambda d: d.memory_seconds + d.memory_swing)
        yield at_most("decode_time", (p.id,), used, _iteration(p))


def decode_flops(book: Book) -> Iterator[Row]:
    """The arithmetic of every running sequence fits an iteration."""
    for p in book.decoding():
        used = (p.overhead + p.flops_idle) * column("instances", p.id)
        used += book.sequences([p], lambda d: d.flops_seconds + d.flops_swing)
        yield at_most("decode_flops", (p.id,), used, _iteration(p))


def decode_exchange(book: Book) -> Iterator[Row]:
    """Expert-parallel traffic fits an iteration."""
    for p in book.decoding():
        if any(d.network_seconds > 0.0 for d in book.decodes_on([p])):
            used = (p.overhead + p.network_idle) * column("instances", p.id)
            used += book.sequences([p], lambda d: d.network_seconds + d.network_swing)
            yield at_most("decode_exchange", (p.id,), used, _iteration(p))


def _iteration(p: Pool) -> Linear:
    part = 0.0 if p.role is Role.DECODE else p.prefill_share
    return p.iteration * (1.0 - part) * column("instances", p.id)


def prefill_time(book: Book) -> Iterator[Row]:
    """Prefill fits the design load of the share of time it has."""
    for p in book.prefilling():
        busy = total(i.busy * x for i, x in book.paths_where(lambda i, q=p: i.pool == q.id))
        given = p.design_load * prefill_part(p) * column("instances", p.id)
        yield at_most("prefill_time", (p.id,), busy, given)


def running_kv_fits_hbm(book: Book) -> Iterator[Row]:
    """Running sequences live in HBM."""
    for p in book.decoding():
        instances = column("instances", p.id)
        variance = book.instance.dispersion * book.sequences([p], lambda d: d.square)
        used = book.sequences([p], lambda d: d.hbm) + book.margin(p.slope, variance, instances)
        yield at_most("running_kv_fits_hbm", (p.id,), used, p.room * instances)


LAWS = (
    one_option, build_chosen, max_builds, spare_servers, instances_fit_servers, decode_time, decode_flops,
    decode_exchange, prefill_time, running_kv_fits_hbm,
)

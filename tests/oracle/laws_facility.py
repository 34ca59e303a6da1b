"""Law 9 and the objective: what the building, the market and the planner allow, and what it all costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from optimizer.instance.types import Build, Enclosure, Tier

from .book import Book
from .laws_capacity import installed_bytes
from .linear import Linear, Row, at_most, column, total


def over_machines(
    book: Book, unit: Callable[[Build], float], parts: Callable[[Enclosure], tuple[float, float, float]]
) -> Linear:
    """A quantity of every machine, enclosure, module and adapter in the plan (spares too)."""
    machines = [unit(u) * column("servers", u.id) for u in book.instance.builds]
    for e in book.instance.enclosures:
        enclosure, module, adapter = parts(e)
        machines.append(enclosure * column("enclosures", e.id))
        machines.append(module * column("modules", e.id))
        machines.extend(adapter * column("adapters", e.id, s.id) for s in book.instance.skus)
    return total(machines)


def power_watts(book: Book) -> Linear:
    """Nameplate power."""
    return over_machines(book, lambda u: u.power_w, lambda e: e.power_w)


def power(book: Book) -> Iterator[Row]:
    """Nameplate power fits the building."""
    if (limit := book.instance.limits.power_w) is not None:
        yield at_most("power", (), power_watts(book), limit)


def rack_space(book: Book) -> Iterator[Row]:
    """Machines and enclosures fit the racks."""
    if (limit := book.instance.limits.rack_units) is not None:
        used = over_machines(book, lambda u: u.rack_units, lambda e: (e.rack_units, 0.0, 0.0))
        yield at_most("rack_space", (), used, limit)


def budget(book: Book) -> Iterator[Row]:
    """Capital spending fits the budget; an owned server is not bought again."""
    if (limit := book.instance.limits.budget_usd) is not None:
        spent = over_machines(book, lambda u: u.capex_usd, lambda e: e.capex_usd)
        yield at_most("budget", (), spent - owned_savings(book), limit)


def supply(book: Book) -> Iterator[Row]:
    """No more servers than the market gives and the planner owns."""
    for s in book.instance.skus:
        if s.supply is not None:
            yield at_most("supply", (s.id,), book.servers_of(s.id), float(s.supply + s.owned))


def server_maximum(book: Book) -> Iterator[Row]:
    """The planner's most servers of a SKU."""
    for s in book.instance.skus:
        yield at_most("server_maximum", (s.id,), book.servers_of(s.id), float(s.maximum))


def server_minimum(book: Book) -> Iterator[Row]:
    """The planner's least servers of a SKU."""
    for s in book.instance.skus:
        yield at_most("server_minimum", (s.id,), Linear({}, float(s.minimum)), book.servers_of(s.id))


def node_limits(book: Book) -> Iterator[Row]:
    """The planner's least and most nodes of a kind, and CXL enclosures of a kind."""
    for node in dict.fromkeys(u.server for u in book.instance.builds if u.sku is None):
        builds = [u for u in book.instance.builds if u.sku is None and u.server == node]
        count = total(column("servers", u.id) for u in builds)
        yield at_most("node_limits", (node, "max"), count, float(max(u.maximum for u in builds)))
        yield at_most("node_limits", (node, "min"), Linear({}, float(max(u.minimum for u in builds))), count)
    for e in book.instance.enclosures:
        count = column("enclosures", e.id)
        yield at_most("node_limits", (e.id, "max"), count, float(e.maximum))
        yield at_most("node_limits", (e.id, "min"), Linear({}, float(e.minimum)), count)


def minimum_order(book: Book) -> Iterator[Row]:
    """Of a SKU one buys nothing, or at least its minimum order; what is owned is not bought.

    `ordered` is the oracle's own 0/1 column: bought <= most x ordered, bought >= minimum x ordered.
    """
    for s in book.instance.skus:
        if s.minimum_order > 1:
            bought = book.servers_of(s.id) - column("owned_used", s.id)
            ordered = column("ordered", s.id)
            yield at_most("minimum_order", (s.id, "any"), bought, float(s.maximum) * ordered)
            yield at_most("minimum_order", (s.id, "least"), float(s.minimum_order) * ordered, bought)


def owned_used_limit(book: Book) -> Iterator[Row]:
    """Owned servers are used at most once each, and only where the plan has servers."""
    for s in book.instance.skus:
        used = column("owned_used", s.id)
        yield at_most("owned_used_limit", (s.id, "owned"), used, float(s.owned))
        yield at_most("owned_used_limit", (s.id, "servers"), used, book.servers_of(s.id))


def user(book: Book) -> Iterator[Row]:
    """The planner's own rows over installed quantities."""
    for row in book.instance.user_rows:
        amount = total(coefficient * user_quantity(book, name) for name, coefficient in row.terms)
        if row.maximum is not None:
            yield at_most("user", (row.name, "max"), amount, row.maximum)
        if row.minimum is not None:
            yield at_most("user", (row.name, "min"), Linear({}, row.minimum), amount)


def user_quantity(book: Book, name: str) -> Linear:
    """servers.<SKU or node>, accelerators.<accelerator>, power (watts); dram, cxl, nvme: installed bytes of
    a medium, in servers and nodes alike (there is no other name for what nodes hold)."""
    kind, _, which = name.partition(".")
    if kind == "servers":
        builds = [u for u in book.instance.builds if which in (u.sku, u.server)]
        return total(column("servers", u.id) for u in builds)
    if kind == "accelerators":
        skus = [s for s in book.instance.skus if s.accelerator == which]
        return total(float(s.gpus) * book.servers_of(s.id) for s in skus)
    if name == "power":
        return power_watts(book)
    if name == "cxl":
        return installed_bytes(book, Tier.CXL)
    if name in ("dram", "nvme"):
        flash = name == "nvme"
        return total(
            (u.nvme_bytes if flash else u.dram_bytes) * column("servers", u.id) for u in book.instance.builds
        )
    raise ValueError(f"user row term {name!r} is not a quantity the oracle knows")


def cost(book: Book) -> Linear:
    """Cost lines of everything bought, replaced drives, less what owned servers save."""

    def parts(e: Enclosure) -> tuple[float, float, float]:
        lines = (e.enclosure_cost, e.module_cost, e.adapter_cost)
        enclosure, module, adapter = (sum(line.usd for line in x) for x in lines)
        return enclosure, module, adapter

    usd = over_machines(book, lambda u: u.usd, parts)
    usd += total(u.replacement_usd * column("replaced", u.id) for u in book.instance.builds if u.drives > 0)
    return usd - owned_savings(book)


def owned_savings(book: Book) -> Linear:
    """The price of owned servers that are used instead of bought."""
    return total(s.owned_saving_usd * column("owned_used", s.id) for s in book.instance.skus)


LAWS = (
    power, rack_space, budget, supply, server_maximum, server_minimum, node_limits, minimum_order,
    owned_used_limit, user,
)

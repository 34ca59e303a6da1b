"""What stands in the way of a demand, as amounts: have, need and smallest fix of every row that gives way.

An elastic solve lets the rows that a planner can move give way, by the least share of what they are, and what
gave way is told in the planner's words, with the `--set` override that moves its limit. The tangents of the
occupancy margins follow the answer, so that no more is asked for than where they touch best.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from optimizer.design import margins
from optimizer.design.explain import LAW_OF, row_name, row_unit
from optimizer.design.result import Shortfall
from optimizer.design.search import Clock
from optimizer.formulation import Model, write
from optimizer.formulation.model import Rows
from optimizer.instance import Instance, Tier
from optimizer.instance.hardware import UNLIMITED
from optimizer.solver import Compiled, Given, Slack, SolveOptions, compile, give_way
from optimizer.workload import Workload

AT_MOST = 100_000  # machines: more than any answer
HAIR = 1e-6  # a fix is told this much on the safe side, so that applying it is enough
BREADTH = 1e-8  # of a hair, relative to a row
NOTHING = 1e-9  # of what was demanded: a demand of less is none
COUNT = 1e-4  # a count found within the solver's tolerance is that count
COUNTED = ("servers", "nodes", "builds", "enclosures")  # units of which there can be one
PLAIN = 1e4  # amounts from which no decimals are told
CLOSE = 1e-3  # of the least: no fix is searched for closer
STEEPER = (1.0, 10.0, 100.0)  # touching points for domains with ever less in each
TOUCHES = 4  # of the margins' touching points, at most


@dataclass(frozen=True)
class Remedy:
    """How a planner gives way on a row family: in words, and as an override (None: said in words only)."""

    words: str
    path: str | None
    shown: str = "{:.9g}"
    whole: bool = False
    demand: bool = False  # written with both sides negated: a demand, not a limit


REMEDIES = {
    "power": Remedy("raise facility.power", "facility.power", "{:.9g} kW"),
    "rack_space": Remedy("raise facility.rack_units", "facility.rack_units", "{:.9g} U"),
    "budget": Remedy("raise facility.budget", "facility.budget", "${:.9g}k"),
    "supply": Remedy("raise hardware.servers.*.supply", "hardware.servers.*.supply", "{:.0f}", whole=True),
    "server_maximum": Remedy("raise hardware.servers.*.max", "hardware.servers.*.max", "{:.0f}", whole=True),
    "server_minimum": Remedy(
        "lower hardware.servers.*.min", "hardware.servers.*.min", "{:.0f}", whole=True, demand=True
    ),
    "node_limits": Remedy("~ hardware.servers.*.+", "hardware.servers.*.+", "{:.0f}", whole=True),
    "enclosure_limits": Remedy(
        "~ hardware.cxl_enclosures.*.+", "hardware.cxl_enclosures.*.+", "{:.0f}", whole=True
    ),
    "ttft_attainment": Remedy(
        "raise classes.*.slo.ttft, or lower attainment", "classes.*.slo.attainment", demand=True
    ),
    "tier_ceiling": Remedy("raise tiers.*.max_bytes", "tiers.*.max_bytes", "{:.9g} GB"),
    "tier_floor": Remedy("lower tiers.*.min_bytes", "tiers.*.min_bytes", "{:.9g} GB", demand=True),
    "user": Remedy("~ limits.*.+", "limits.*.+"),
    "max_builds": Remedy("raise hardware.max_builds", "hardware.max_builds", "{:.0f}", whole=True),
}
"""Row families a planner can give way on, and how: `*` is the name in the row, `+` its side, `~` which way it
moves. Spares are none: fewer of them help only through the machines in use, whose limits tell it."""


@dataclass(frozen=True)
class Conflict:
    """A row that must give way: what it has and needs in its unit, and how its limit is set.

    `path` is None where no override sets it; `rate` is what an override of a share is a share of.
    """

    row: str
    family: str
    have: float
    need: float
    unit: str
    path: str | None
    words: str
    rate: float = 1.0
    beside: int = 0  # what the planner has besides: owned servers beside the supply

    @property
    def demand(self) -> bool:
        """Whether the row asks for something and does not limit it."""
        return _is_demand(self.family, self.row)

    @property
    def hair(self) -> bool:
        """Whether so little is missing that it may be rounding of the solver."""
        return abs(self.need - self.have) <= BREADTH * max(abs(self.need), abs(self.have))

    def further(self, now: Conflict) -> Conflict:
        """The row when it must give way once more: from what was asked first to what is needed last."""
        return replace(now, need=self.need) if self.demand else replace(now, have=self.have)

    def shortfall(self, hair: float = HAIR) -> Shortfall:
        """In words, and as an override that is `hair` on the safe side."""
        return Shortfall(
            row=self.row,
            have=self.have,
            need=self.need,
            unit=self.unit,
            fix=f"{self.words} by {_amount(abs(self.need - self.have), self.unit)}",
            sets=() if self.path is None else (f"{self.path}={self._setting(hair)}",),
        )

    def _setting(self, hair: float) -> str:
        remedy = REMEDIES[self.family]
        value = (self.have if self.demand else self.need) / self.rate - self.beside
        if self.demand and self.family != "user":  # others ask for no less than nothing
            value = max(0.0, value)
        if remedy.whole:
            value = math.floor(value + COUNT) if self.demand else math.ceil(value - COUNT)
        elif self.demand and 0 < value <= NOTHING * abs(self.need / self.rate):
            value = 0.0
        else:
            value += (-hair if self.demand else hair) * abs(value)
        return remedy.shown.format(value + 0.0)


def room_to_give(instance: Instance, workload: Workload) -> tuple[Model, Compiled]:
    """The same demand without the bounds on counts that its limits imply: a limit can only be seen to be
    too low where the counts may exceed it. The planner's own limits on CXL pools, elsewhere the bounds of
    columns, become rows `enclosure_limits`."""
    servers = workload.hardware.servers
    most = {name: UNLIMITED if choice.max is None else choice.max for name, choice in servers.items()}
    builds = tuple(replace(b, maximum=AT_MOST if b.sku else most[b.server]) for b in instance.builds)
    boxes = tuple(replace(e, minimum=0, maximum=AT_MOST) for e in instance.enclosures)
    model = write(replace(instance, builds=builds, enclosures=boxes))
    m, t = model.pyomo, model.t
    limits = model.rows("enclosure_limits")
    for e in instance.enclosures:
        count = m.enclosures[e.id, t]
        limits.at_most((e.id, "max"), [(1.0, count)], constant=float(e.maximum))
        if e.minimum:
            limits.at_most((e.id, "min"), [(-1.0, count)], constant=-float(e.minimum))
    for (sku, _), ordered in m.ordered.items():  # an order may exceed the present maximum
        lots = Rows(m.minimum_order, 1.0, model.units["minimum_order"])
        lots.at_most((sku, "any"), [(1.0, m.servers_of_sku[sku, t])], [(float(AT_MOST), ordered)])
    return model, compile(m)


def conflicts(model: Model, compiled: Compiled, options: SolveOptions) -> tuple[Shortfall, ...]:
    """Have, need and the smallest fix of every conflict at once, on rows a planner can give way on; () when
    there is none."""
    given = _give_way(compiled, options)
    return tuple(conflict.shortfall() for conflict in _conflicts(model, compiled, given))


def standing(
    instance: Instance, workload: Workload, options: SolveOptions
) -> tuple[tuple[Conflict, ...], Instance]:
    """Every conflict where the margins touch best, and the instance with these touching points.

    Without a conflict the instance is one that can be met, though it was not where the margins touched first.
    Where no limit that a planner can move mends it, the margins may ask every domain for more than it has:
    they are tried where they leave it room.
    """
    clock = Clock.start(options.time_limit)
    first = found, there = _touching(instance, workload, options, clock)
    roomy = margins.first_guess(instance, margin_kept=True)
    for factor in STEEPER:
        if _movable(found) or not clock.left:
            break
        found, there = _touching(margins.steeper(roomy, factor), workload, options, clock)
    return (found, there) if _movable(found) else first


def _movable(found: tuple[Conflict, ...]) -> bool:
    return all(conflict.path for conflict in found)


def _touching(
    instance: Instance, workload: Workload, options: SolveOptions, clock: Clock
) -> tuple[tuple[Conflict, ...], Instance]:
    """The conflicts, and where the margins touch: they follow the answer while less gives way for it."""
    found: tuple[Conflict, ...] = ()
    least, there = math.inf, instance
    for _ in range(TOUCHES):
        model, compiled = room_to_give(instance, workload)
        given = _give_way(compiled, clock.within(options))
        saved = least - given.total
        if saved > 0:
            least, there, found = given.total, instance, tuple(_conflicts(model, compiled, given))
        if given.total <= 0 or saved <= CLOSE * least or not clock.left:
            break
        compiled.read_back(given.x)
        touching, moved = margins.touching(model)
        if moved < margins.SETTLED:
            break
        instance = replace(touching, builds=instance.builds, enclosures=instance.enclosures)
    return found, there


def _give_way(compiled: Compiled, options: SolveOptions) -> Given:
    allowed = [i for i, c in enumerate(compiled.constraints) if c.parent_component().name in REMEDIES]
    return give_way(compiled.lp, allowed, replace(options, gap=min(options.gap, CLOSE)))


def _conflicts(model: Model, compiled: Compiled, given: Given) -> Iterator[Conflict]:
    return (_conflict(model, compiled.constraints[slack.row], slack) for slack in given.slacks)


def _conflict(model: Model, constraint: Any, slack: Slack) -> Conflict:
    family, row = constraint.parent_component().name, row_name(constraint)
    law, remedy = LAW_OF.get(family), REMEDIES.get(family)
    unit, size = (law.unit, law.size) if law else ("enclosures", 1.0)
    scale = row_unit(model, constraint) / size
    low, high = slack.have * scale, slack.need * scale
    have, need = (-high, -low) if _is_demand(family, row) else (low, high)
    if remedy is not None and remedy.whole:
        have, need = (round(x) if abs(x - round(x)) < COUNT else x for x in (have, need))
    index = constraint.index()
    keys = [str(key) for key in (index if isinstance(index, tuple) else (index,)) if key != model.t]
    owner = keys[0] if keys else ""
    tier = family in ("tier_floor", "tier_ceiling")
    if tier and owner == Tier.DRAM_POOL.value and model.instance.dram_pooled:
        keys = [Tier.DRAM.value]  # whose policy the servers' pooled DRAM follows
    return Conflict(
        row=row,
        family=family,
        have=have + 0.0,
        need=need + 0.0,
        unit=unit,
        path=_named(remedy.path, keys) if remedy and remedy.path else None,
        words=_named(remedy.words, keys) if remedy else "relax this row",
        rate=model.tables.classes[owner].rate if family == "ttft_attainment" else 1.0,
        beside=model.tables.skus[owner].owned if family == "supply" else 0,
    )


def _is_demand(family: str, row: str) -> bool:
    """Whether a row asks for something and does not limit it: it is written with both sides negated."""
    remedy = REMEDIES.get(family)
    return (remedy is not None and remedy.demand) or row.endswith(",min]")


def _named(pattern: str, keys: list[str]) -> str:
    """The words or path of a remedy for one row. A kind of CXL pool is set by its enclosure's name."""
    owner, side = (keys[0].partition("+")[0] if keys else ""), (keys[-1] if keys else "")
    way = "lower" if side == "min" else "raise"
    return pattern.replace("*", owner).replace("+", side).replace("~", way)


def _amount(amount: float, unit: str) -> str:
    one = abs(amount - 1) < COUNT and unit in COUNTED
    shown = f"{amount:,.4g}" if amount < PLAIN else f"{amount:,.0f}"
    return f"{shown} {unit.removesuffix('s') if one else unit}"

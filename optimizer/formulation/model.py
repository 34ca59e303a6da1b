"""The model of record: decisions, derived quantities, and the order in which the laws are written.

Symbols are those of `docs/formulation.md`. Rows are written in units that keep coefficients near one;
each law says which, so that a price can be read back in the planner's words.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from optimizer.formulation.contexts import Contexts, Terms
from optimizer.formulation.tables import Tables
from optimizer.instance import Holding, Instance, Policy, SharedPrefix, Tier

GB = 1e9
TB = 1e12
KW = 1e3
MS = 1e-3


def linear(terms: Iterable[tuple[float, Any]], constant: float = 0.0) -> Any:
    """sum of coefficient x variable, built without intermediate expression nodes; zeros dropped."""
    kept = [(c, v) for c, v in terms if c != 0.0]
    if not kept:
        return constant
    return LinearExpression(
        constant=constant, linear_coefs=[c for c, _ in kept], linear_vars=[v for _, v in kept]
    )


def scaled(factor: float, terms: Iterable[tuple[float, Any]]) -> list[tuple[float, Any]]:
    """The terms times a factor."""
    return [(factor * c, v) for c, v in terms]


class Rows:
    """One row family of the model, written with every variable on the left in units of `unit`."""

    def __init__(self, constraint: Any, unit: float, units: dict[Any, float] | None = None):
        self.constraint = constraint
        self.unit = unit
        self.units = {} if units is None else units

    def in_units_of(self, unit: float) -> Rows:
        """The same family, written in another unit: for rows whose size only the planner knows."""
        return Rows(self.constraint, unit, self.units)

    def at_most(self, key: Any, left: Terms, right: Terms = (), constant: float = 0.0) -> None:
        """left <= right + constant. A row without variables must hold by itself."""
        body = linear(scaled(1 / self.unit, left) + scaled(-1 / self.unit, right))
        if isinstance(body, float):
            if body > constant / self.unit:
                self.constraint[key] = pyo.Constraint.Infeasible
            return
        self.units[key] = self.unit
        self.constraint[key] = body <= constant / self.unit

    def equal(self, key: Any, left: Terms, right: Terms = (), constant: float = 0.0) -> None:
        """left = right + constant."""
        body = linear(scaled(1 / self.unit, left) + scaled(-1 / self.unit, right))
        if isinstance(body, float):
            if body != constant / self.unit:
                self.constraint[key] = pyo.Constraint.Infeasible
            return
        self.units[key] = self.unit
        self.constraint[key] = body == constant / self.unit


class Model:
    """A Pyomo model, the tables of its instance, and the derived linear quantities the laws share."""

    def __init__(self, instance: Instance):
        self.instance = instance
        self.tables = Tables.of(instance)
        self.pyomo = pyo.ConcreteModel(instance.name)
        self.t = instance.periods[0].id
        self.units: dict[str, dict[Any, float]] = {}  # family -> key -> SI size of the row's unit
        self._declare()
        self.contexts = Contexts(instance, self.tables, self.pyomo)

    def rows(self, family: str, unit: float = 1.0) -> Rows:
        """A new row family of this name."""
        constraint = pyo.Constraint(pyo.Any)
        self.pyomo.add_component(family, constraint)
        return Rows(constraint, unit, self.units.setdefault(family, {}))

    def _declare(self) -> None:
        """The decisions, all non-negative."""
        m, inst = self.pyomo, self.instance
        t = self.t
        buckets = self.tables.buckets
        m.servers = pyo.Var(
            [(b.id, t) for b in inst.builds],
            domain=pyo.NonNegativeIntegers,
            bounds=lambda _, u, _t: (0, self.tables.builds[u].maximum),
        )
        m.chosen = pyo.Var([(b.id, t) for b in inst.builds], domain=pyo.Binary)
        m.replaced = pyo.Var([(b.id, t) for b in inst.builds if b.drives], domain=pyo.NonNegativeReals)
        m.owned_used = pyo.Var(
            [(s.id, t) for s in inst.skus if s.owned],
            domain=pyo.NonNegativeIntegers,
            bounds=lambda _, s, _t: (0, self.tables.skus[s].owned),
        )
        m.ordered = pyo.Var([(s.id, t) for s in inst.skus if s.minimum_order > 1], domain=pyo.Binary)
        enclosures = {e.id: e for e in inst.enclosures}
        hosts = [(e.id, s.id, t) for e in inst.enclosures for s in inst.skus if s.free_x16_slots]
        m.enclosures = pyo.Var(
            [(e, t) for e in enclosures],
            domain=pyo.NonNegativeIntegers,
            bounds=lambda _, e, _t: (enclosures[e].minimum, enclosures[e].maximum),
        )
        m.modules = pyo.Var(
            [(e, t) for e in enclosures],
            domain=pyo.NonNegativeIntegers,
            bounds=lambda _, e, _t: (0, enclosures[e].module_slots * enclosures[e].maximum),
        )
        m.hosts = pyo.Var(hosts, domain=pyo.NonNegativeIntegers)
        m.adapters = pyo.Var(hosts, domain=pyo.NonNegativeIntegers)
        m.option = pyo.Var([o.id for o in inst.options], domain=pyo.Binary)
        m.instances = pyo.Var([(p.id, t) for p in inst.pools], domain=pyo.NonNegativeIntegers)
        m.servers_of_sku = pyo.Var([(s.id, t) for s in inst.skus], domain=pyo.NonNegativeIntegers)
        m.servers_in_all = pyo.Var([t], domain=pyo.NonNegativeIntegers)
        m.accelerators_of_model = pyo.Var([(k, t) for k in inst.models], domain=pyo.NonNegativeIntegers)
        m.decode = pyo.Var([(d.bucket, d.pool) for d in inst.decodes], bounds=(0, 1))
        m.path = pyo.Var(range(len(inst.paths)), domain=pyo.NonNegativeReals)
        entries = inst.holdings if inst.policy is Policy.EXCLUSIVE else ()
        m.entry = pyo.Var(
            [(h, j) for h, hold in enumerate(entries) for j in range(2, len(buckets[hold.bucket].slots) + 1)],
            bounds=(0, 1),
        )
        slots = max((len(b.slots) for b in inst.buckets), default=0)
        tiers = sorted({s.tier.value for s in inst.stores if s.lru})
        m.lru_share = pyo.Var([(k, j) for k in tiers for j in range(1, slots + 1)], bounds=(0, 1))

    # --- derived quantities, as lists of terms -------------------------------------------------

    def in_use(self, builds: Iterable[Any], worth: str | None = None) -> Terms:
        """sum over builds of worth x (servers - spares x chosen); worth None counts machines."""
        spares = self.instance.limits.spares
        terms: list[tuple[float, Any]] = []
        for b in builds:
            value = 1.0 if worth is None else float(getattr(b, worth))
            terms.append((value, self.pyomo.servers[b.id, self.t]))
            if spares:
                terms.append((-value * spares, self.pyomo.chosen[b.id, self.t]))
        return terms

    def servers_in_use(self, sku: str) -> Terms:
        """in_use[s], machines."""
        return self.in_use(self.tables.builds_of.get(sku, []))

    def count(self, pools: Iterable[Any], worth: str | None = None) -> Terms:
        """sum over pools of worth x instances."""
        return [
            (1.0 if worth is None else float(getattr(p, worth)), self.pyomo.instances[p.id, self.t])
            for p in pools
        ]

    def finders(self, option: str, bucket: str, location: str) -> list[tuple[Holding, list[float]]]:
        """The holdings whose returns find their context at a location, and how many per slot and share."""
        returns = [slot.rate * slot.drop for slot in self.tables.buckets[bucket].slots]
        found = []
        for h in self.tables.holdings.get((option, bucket), []):
            part = h.found if h.serve == location else h.found_home if h.home == location else 0.0
            if part:
                found.append((h, [part * r for r in returns]))
        return found

    def found(self, option: str, bucket: str, location: str) -> Terms:
        """found[a,w,l]: returns per second that find their context at a location."""
        return [
            t
            for h, weights in self.finders(option, bucket, location)
            for t in self.contexts.weighted(h, weights)
        ]

    def resident(self, location: str, weigh: str) -> Terms:
        """mean_l (weigh="bytes") or V_l/psi ("square"): weight x the rate x time contexts spend there.

        A home counts every context homed there, so each home is taken once, from its own holding.
        """
        terms: list[tuple[float, Any]] = []
        place = self.tables.locations[location]
        running = place.tier is not Tier.HBM and self.instance.policy is Policy.WRITE_THROUGH
        for h in self.tables.holdings_at.get(location, []):
            bucket = self.tables.buckets[h.bucket]
            weight = getattr(self.tables.stored[h.option, h.bucket, location], weigh)
            times = [slot.rate * slot.integral for slot in bucket.slots]
            if running:
                times[0] += bucket.rate * bucket.run_seconds
            if h.serve == location:
                sums = self.contexts.weighted_home if h.home == location else self.contexts.weighted
                terms += sums(h, [weight * t for t in times])
        return terms

    def written(self, location: str, *, mean: bool = False, option: str | None = None) -> Terms:
        """Bytes per second written to a location (not HBM), at the peak or at the mean rate."""
        terms: list[tuple[float, Any]] = []
        for h in self.tables.holdings_at.get(location, []):
            if option in (None, h.option):
                exclusive = self.instance.policy is Policy.EXCLUSIVE
                terms += self._sunk(h, location, mean) if exclusive else self._through(h, location, mean)
        return terms

    def _through(self, h: Holding, location: str, mean: bool) -> Terms:
        """Every turn's new bytes, a first request's prompt, and the prefix of returns that find nothing."""
        b = self.tables.buckets[h.bucket]
        weigh = self.tables.stored[h.option, h.bucket, location]
        rate, returns = (b.mean_rate, b.mean_returns) if mean else (b.rate, b.returns)
        finds = h.found + h.found_home if location == h.home else h.found
        weights = [
            -weigh.prefix * finds * slot.drop * (min(slot.rate, b.mean_rate) if mean else slot.rate)
            for slot in b.slots
        ]
        weights[0] += returns * (weigh.new + weigh.prefix) + (rate - returns) * weigh.first
        return self.contexts.weighted(h, weights)

    def _sunk(self, h: Holding, location: str, mean: bool) -> Terms:
        """A hit removes the copy: every entry into a tier writes the whole context."""
        b = self.tables.buckets[h.bucket]
        size = self.tables.stored[h.option, h.bucket, location].bytes
        number = self.contexts.number[h.id]
        terms = [(size * (b.mean_rate if mean else b.rate), self.contexts.variable[number, 1])]
        alive = 1.0
        for j, slot in enumerate(b.slots, 1):
            if j > 1:
                age_rate = min(slot.rate, b.mean_rate) if mean else slot.rate
                terms.append((size * age_rate * alive, self.pyomo.entry[number, j]))
            alive -= slot.drop
        return terms

    def written_by_option(self, option: str) -> Terms:
        """Bytes per second an option's contexts write to every store but HBM, at the peak."""
        return [
            term
            for loc in self.instance.locations
            if loc.tier is not Tier.HBM
            for term in self.written(loc.id, option=option)
        ]

    def read_from(self, store: str) -> Terms:
        """Bytes per second read from a store: contexts by hits, shared prefixes by every request."""
        hits = [
            (self.instance.paths[i].load, self.pyomo.path[i])
            for loc in self.tables.locations_of.get(store, [])
            for i in self.tables.paths_from.get(loc.id, [])
        ]
        return [
            *hits,
            *(t for p in self.tables.prefixes.get(store, []) if p.reads for t in self._prefix_reads(p)),
        ]

    def _prefix_reads(self, prefix: SharedPrefix) -> Terms:
        """reads x the requests of the class under the option, on pools that the store's scope reaches."""
        scope = self.tables.stores[prefix.store].scope
        near = self.tables.pools_of_option.get(prefix.option, [])
        pools = [p for p in near if scope not in self.tables.skus or p.sku == scope]
        return [
            (prefix.reads, self.pyomo.path[i])
            for p in pools
            for i in self.tables.paths_on.get(p.id, [])
            if self.instance.paths[i].cls == prefix.cls
        ]

    def paths(self, indices: Iterable[int], weigh: str | None = None) -> Terms:
        """sum of weight x path rate over path numbers."""
        return [
            (1.0 if weigh is None else float(getattr(self.instance.paths[i], weigh)), self.pyomo.path[i])
            for i in indices
        ]

    def margin(self, variance: Terms, count: Terms, slope: float) -> Terms:
        """(z/2)(V r + n/r): what a capacity row adds to its mean (0 without a slope)."""
        if not slope:
            return []
        half = self.instance.quantile / 2
        return scaled(half * slope, variance) + scaled(half / slope, count)

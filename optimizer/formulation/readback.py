"""Solved model -> Layout: the inverse of `formulate`, so that answers come back in the planner's words.

The solver's numbers are right to a tolerance; here they are put on the safe side: integers are rounded,
nothing negative stays, nothing runs on a pool that was not bought or lives in a store that is empty, and
no more is read from a place than is found there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from optimizer.formulation.capacity import domains, installed_at, occupancy, other_use, supply
from optimizer.formulation.contexts import Terms
from optimizer.formulation.model import Model
from optimizer.formulation.sinking import chains
from optimizer.instance import (
    Case,
    CostRow,
    CxlHostRow,
    CxlRow,
    DecodeRow,
    Layout,
    LruRow,
    OptionRow,
    OwnedRow,
    PathRow,
    PlacementRow,
    Policy,
    PoolRow,
    Role,
    ServerRow,
    StoreRow,
    Tier,
)

NEGLIGIBLE_RATE = 1e-9  # req/s: one request in thirty years
NEGLIGIBLE_SHARE = 1e-12


def value(terms: Terms) -> float:
    """sum of coefficient x the variable's present value."""
    return float(sum(c * (v.value or 0.0) for c, v in terms))


def tidy(model: Model) -> None:
    """Put the solution on the safe side, in place."""
    m, tables = model.pyomo, model.tables
    for variable in m.component_data_objects(ctype=_var(), active=True):
        number = variable.value or 0.0
        integral = variable.is_integer() or variable.is_binary()
        variable.set_value(float(round(number)) if integral else max(0.0, number), skip_validation=True)
    for b in model.instance.builds:
        m.chosen[b.id, model.t].set_value(1.0 if m.servers[b.id, model.t].value > 0.5 else 0.0)
    _drop_idle(model)
    running = {p.id for p in model.instance.pools if m.instances[p.id, model.t].value > 0.5}
    for (_, pool), decode in m.decode.items():
        if pool not in running or decode.value < NEGLIGIBLE_SHARE:
            decode.set_value(0.0)
    empty = {s.id for s in model.instance.stores if not installed_at(model, s, value)}
    for h in model.instance.holdings:
        places = [tables.locations[p].store for p in (h.serve, h.home) if p in tables.locations]
        if empty.intersection(places):
            for j in range(1, model.contexts.slots(h) + 1):
                model.contexts.variable[model.contexts.number[h.id], j].set_value(0.0)
    _let_sink(model)
    for (number, j), entry in m.entry.items():
        h = model.instance.holdings[number]
        entry.set_value(max(0.0, model.contexts.value(h, j) - model.contexts.value(h, j - 1)))
    for i, path in enumerate(model.instance.paths):
        store = tables.locations[path.location].store if path.location else None
        if path.pool not in running or store in empty or m.path[i].value < NEGLIGIBLE_RATE:
            m.path[i].set_value(0.0)
    _read_what_is_found(model)


def _let_sink(model: Model) -> None:
    """Take back what rounding lets contexts rise: under the exclusive policy each share is a decision, and
    one of 1e-16 where the slot before has none is a context from nowhere."""
    contexts = model.contexts
    for _, _, _, chain, slots in chains(model) if contexts.exclusive else ():
        numbers = [contexts.number[h.id] for h in chain]
        for j in range(2, slots + 1):
            room = 0.0
            for number in numbers:
                now = contexts.variable[number, j]
                room += contexts.variable[number, j - 1].value
                now.set_value(min(now.value, max(0.0, room)))
                room -= now.value


def _drop_idle(model: Model) -> None:
    """Instances of an option not chosen, which idle accelerators allowed, and CXL parts without a module:
    nothing rests on them, but the hosts of pools that the planner insists on."""
    m, t = model.pyomo, model.t
    for p in model.instance.pools:
        if m.option[p.option].value < 0.5:
            m.instances[p.id, t].set_value(0.0)
    for key, hosts in m.hosts.items():
        if m.modules[key[0], t].value < 0.5 and m.enclosures[key[0], t].lb == 0:
            hosts.set_value(0.0)
            m.adapters[key].set_value(0.0)
    for name, boxes in m.enclosures.items():
        if m.modules[name].value < 0.5 and boxes.lb == 0:
            boxes.set_value(0.0)


def let_idle_go(model: Model) -> bool:
    """Drop instances that prefill, decode and hold nothing; whether there were any. Accelerators left over
    in a server cost nothing, so the solver may leave instances on them. The exact check has the last word:
    an idle instance's links may carry what others write."""
    m, t = model.pyomo, model.t
    holding = {
        store.scope
        for h in model.instance.holdings
        if (store := model.tables.stores[model.tables.locations[h.serve].store]).tier is Tier.HBM
        and any(model.contexts.value(h, j) > 0 for j in range(1, model.contexts.slots(h) + 1))
    }
    found = False
    for p in model.instance.pools:
        works = any(m.path[i].value for i in model.tables.paths_on.get(p.id, [])) or any(
            m.decode[d.bucket, d.pool].value for d in model.tables.decodes.get(p.id, [])
        )
        keeps = p.role is not Role.DECODE and p.shape in holding
        if m.instances[p.id, t].value and not works and not keeps:
            m.instances[p.id, t].set_value(0.0)
            found = True
    return found


def _var() -> type:
    import pyomo.environ as pyo

    return pyo.Var


def _read_what_is_found(model: Model) -> None:
    """Scale hits down where rounding reads more than is found."""
    for (option, stream), indices in model.tables.paths.items():
        if stream not in model.tables.buckets:
            continue
        by_place: dict[str, list[int]] = defaultdict(list)
        for i in indices:
            path = model.instance.paths[i]
            if path.case is Case.HIT and path.location and model.pyomo.path[i].value:
                by_place[path.location].append(i)
        for place, hits in by_place.items():
            found = max(
                0.0,
                sum(
                    part * model.contexts.value(h, j)
                    for h, parts in model.finders(option, stream, place)
                    for j, part in enumerate(parts, 1)
                ),
            )
            taken = sum(model.pyomo.path[i].value for i in hits)
            if taken > found:
                for i in hits:
                    model.pyomo.path[i].set_value(model.pyomo.path[i].value * found / taken)


def read_back(model: Model) -> Layout:
    """The layout of a solved model, by double entry."""
    tidy(model)
    m = model.pyomo
    costs: dict[str, float] = defaultdict(float)
    servers = tuple(_servers(model, costs))
    owned = tuple(_owned(model, costs))
    cxl = tuple(_cxl(model, costs))
    options = tuple(OptionRow(o.model, o.id) for o in model.instance.options if m.option[o.id].value > 0.5)
    return Layout(
        servers=servers,
        owned=owned,
        cxl=cxl,
        options=options,
        pools=tuple(_pools(model)),
        decodes=tuple(
            DecodeRow(
                d.bucket,
                d.pool,
                m.decode[d.bucket, d.pool].value,
                d.sequences * m.decode[d.bucket, d.pool].value,
            )
            for d in model.instance.decodes
            if m.decode[d.bucket, d.pool].value
        ),
        placements=tuple(_placements(model)),
        paths=tuple(_paths(model)),
        stores=tuple(_stores(model)),
        lru=tuple(LruRow(tier, j, v.value) for (tier, j), v in m.lru_share.items() if v.value),
        costs=tuple(CostRow(name, usd) for name, usd in sorted(costs.items()) if usd),
        objective_usd=sum(costs.values()),
    )


def _servers(model: Model, costs: dict[str, float]) -> Iterable[ServerRow]:
    m, t = model.pyomo, model.t
    for b in model.instance.builds:
        count = round(m.servers[b.id, t].value)
        if not count:
            continue
        replaced = m.replaced[b.id, t].value if b.drives else 0.0
        for line in b.cost:
            costs[line.component] += count * line.usd
        if replaced:
            costs["replacement drives"] += replaced * b.replacement_usd
        usd = count * b.usd + replaced * b.replacement_usd
        yield ServerRow(b.id, count, model.instance.limits.spares, replaced, usd)


def _owned(model: Model, costs: dict[str, float]) -> Iterable[OwnedRow]:
    for s in model.instance.skus:
        if s.owned and (used := round(model.pyomo.owned_used[s.id, model.t].value)):
            saved = -used * s.owned_saving_usd
            costs["owned hardware"] += saved
            yield OwnedRow(s.id, used, saved)


def _cxl(model: Model, costs: dict[str, float]) -> Iterable[CxlRow]:
    m, t = model.pyomo, model.t
    for e in model.instance.enclosures:
        count, modules = round(m.enclosures[e.id, t].value), round(m.modules[e.id, t].value)
        hosts = tuple(
            CxlHostRow(
                s,
                round(m.hosts[name, s, t].value),
                model.tables.skus[s].free_x16_slots * round(m.hosts[name, s, t].value),
                round(m.adapters[name, s, t].value),
            )
            for (name, s, _) in m.hosts
            if name == e.id and (m.hosts[name, s, t].value or m.adapters[name, s, t].value)
        )
        adapters = sum(h.adapters for h in hosts)
        if not (count or modules or hosts):
            continue
        usd = 0.0
        for lines, n in ((e.enclosure_cost, count), (e.module_cost, modules), (e.adapter_cost, adapters)):
            for line in lines:
                costs[line.component] += n * line.usd
                usd += n * line.usd
        yield CxlRow(e.id, count, modules, hosts, usd)


def _pools(model: Model) -> Iterable[PoolRow]:
    m = model.pyomo
    for p in model.instance.pools:
        if count := round(m.instances[p.id, model.t].value):
            decodes = model.tables.decodes.get(p.id, [])
            sequences = [(d.sequences * m.decode[d.bucket, d.pool].value, d) for d in decodes]
            busy = value(model.paths(model.tables.paths_on.get(p.id, []), "busy"))
            yield PoolRow(
                p.id,
                count,
                count * p.gpus_charged,
                busy,
                sum(n for n, _ in sequences),
                sum(n * d.hbm for n, d in sequences),
            )


def _placements(model: Model) -> Iterable[PlacementRow]:
    exclusive = model.instance.policy is Policy.EXCLUSIVE
    for h in model.instance.holdings:
        bucket = model.tables.buckets[h.bucket]
        before, alive = 0.0, 1.0
        for j, slot in enumerate(bucket.slots, 1):
            surviving, alive = alive, alive - slot.drop
            share = max(0.0, model.contexts.value(h, j))
            entry = max(0.0, share - before) if exclusive and j > 1 else 0.0
            before = share
            if not share:
                continue
            sizes = []
            for place in (
                (h.serve, h.home) if h.home in model.tables.locations and h.home != h.serve else (h.serve,)
            ):
                time = slot.rate * slot.integral
                if j == 1 and not exclusive and model.tables.locations[place].tier is not Tier.HBM:
                    time += bucket.rate * bucket.run_seconds
                sizes.append(model.tables.stored[h.option, h.bucket, place].bytes * time * share)
            yield PlacementRow(
                h.option,
                h.bucket,
                j,
                h.serve,
                h.home,
                share,
                entry,
                entry * slot.rate * surviving * model.tables.stored[h.option, h.bucket, h.serve].bytes,
                sizes[0],
                sizes[1] if len(sizes) > 1 else 0.0,
                slot.rate * slot.drop * share * (h.found + h.found_home),
            )


def _paths(model: Model) -> Iterable[PathRow]:
    for i, p in enumerate(model.instance.paths):
        if rate := model.pyomo.path[i].value:
            yield PathRow(
                p.stream,
                p.option,
                p.case.value,
                p.location or "",
                p.pool,
                rate,
                p.busy * rate,
                p.attained * rate,
            )


def _stores(model: Model) -> Iterable[StoreRow]:
    for s in model.instance.stores:
        here = installed_at(model, s, value)
        if not here:
            continue
        mean, variance = occupancy(model, s)
        hbm = s.tier is Tier.HBM
        counted = model.count(model.tables.shape_pools.get(s.scope, [])) if hbm else domains(model, s)
        written = (
            ()
            if hbm
            else [t for loc in model.tables.locations_of.get(s.id, []) for t in model.written(loc.id)]
        )
        yield StoreRow(
            s.id,
            here,
            here if hbm else value(supply(model, s, "usable")),
            value([*mean, *other_use(model, s)]),
            value(model.margin(variance, counted, s.slope)),
            value(model.read_from(s.id)),
            value(written),
        )

"""The consequences of decisions in plain floats: the second hand of the double entry, for samples only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from optimizer.instance import (
    CostRow,
    CxlHostRow,
    CxlRow,
    DecodeRow,
    Holding,
    Instance,
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
    Slot,
    Store,
    StoreRow,
    Tier,
)
from tests.verify.samples import Choices


class Books:
    """An instance and decisions, and every number of the layout that follows from them."""

    def __init__(self, problem: Instance, made: Choices):
        self.problem, self.made = problem, made
        self.builds = {b.id: b for b in problem.builds}
        self.skus = {s.id: s for s in problem.skus}
        self.buckets = {b.id: b for b in problem.buckets}
        self.pools = {p.id: p for p in problem.pools}
        self.places = {x.id: x for x in problem.locations}
        self.decodes = {(d.bucket, d.pool): d for d in problem.decodes}
        self.paths = {(i.stream, i.option, i.case.value, i.location or "", i.pool): i for i in problem.paths}
        self.holdings = {(h.option, h.bucket, h.serve, h.home): h for h in problem.holdings}
        self.stored = {(x.option, x.bucket, x.location): x for x in problem.stored}
        self.costs: dict[str, float] = defaultdict(float)

    # ---- contexts ------------------------------------------------------------------------------------

    def contexts(self, holding: Holding, j: int, slot: Slot, share: float, place: str) -> float:
        """Live contexts at a copy."""
        b = self.buckets[holding.bucket]
        runs = (
            j == 0 and self.problem.policy is Policy.WRITE_THROUGH and self.places[place].tier is not Tier.HBM
        )
        return share * (slot.rate * slot.integral + (b.rate * b.run_seconds if runs else 0.0))

    def copies(self, holding: Holding) -> list[str]:
        """Where a holding keeps bytes."""
        return [place for place in dict.fromkeys((holding.serve, holding.home)) if place in self.places]

    def held(self) -> Iterator[tuple[Holding, int, Slot, float, str]]:
        """Every nonzero share at every copy."""
        for key, by_slot in self.made.share.items():
            holding = self.holdings[key]
            for j, slot in enumerate(self.buckets[holding.bucket].slots):
                for place in self.copies(holding):
                    yield holding, j, slot, by_slot[j], place

    def write_rate(self, store: Store) -> float:
        """Bytes per second written to a store at the peak."""
        written = 0.0
        for key, by_slot in self.made.share.items():
            holding = self.holdings[key]
            b = self.buckets[holding.bucket]
            for place in self.copies(holding):
                if self.places[place].store != store.id or store.tier is Tier.HBM:
                    continue
                x = self.stored[holding.option, holding.bucket, place]
                if self.problem.policy is Policy.EXCLUSIVE:
                    survivors = 1.0
                    written += x.bytes * b.rate * by_slot[0]
                    for j, slot in enumerate(b.slots):
                        written += x.bytes * slot.rate * survivors * self.made.entry[key][j]
                        survivors -= slot.drop
                    continue
                finds = holding.found + (holding.found_home if place == holding.home else 0.0)
                kept = sum(s.rate * s.drop * finds * share for s, share in zip(b.slots, by_slot, strict=True))
                written += by_slot[0] * (b.returns * x.new + b.firsts * x.first)
                written += x.prefix * (b.returns * by_slot[0] - kept)
        return written

    # ---- machines ------------------------------------------------------------------------------------

    def in_use(self, sku: str) -> int:
        """Servers of a SKU less spares."""
        bought = [(self.builds[u], n) for u, n in self.made.servers.items() if n]
        return sum(n - self.problem.limits.spares for build, n in bought if build.sku == sku)

    def shape_pools(self, store: Store) -> list[str]:
        """The pools that own an HBM store."""
        return [
            name
            for name in self.made.instances
            if self.pools[name].shape == store.scope and self.pools[name].role is not Role.DECODE
        ]

    def supply(self, store: Store) -> tuple[float, float, float]:
        """(installed, usable, places) of a store."""
        if store.tier is Tier.HBM:
            count = sum(self.made.instances[p] for p in self.shape_pools(store))
            room = sum(self.made.instances[p] * self.pools[p].room for p in self.shape_pools(store))
            return room, room, count
        if store.tier is Tier.CXL:
            boxes, modules = self.made.cxl.get(store.scope, (0, 0))
            size = modules * self.problem.enclosures[0].module_bytes
            return size, size, boxes
        kind = "nvme" if store.tier in (Tier.NVME, Tier.STORAGE) else "dram"
        mine = [
            (self.builds[u], n)
            for u, n in self.made.servers.items()
            if n and (self.builds[u].sku == store.scope or self.builds[u].tier is store.tier)
        ]
        spares = self.problem.limits.spares
        installed = sum(n * getattr(build, f"{kind}_bytes") for build, n in mine)
        usable = sum((n - spares) * getattr(build, f"{kind}_usable") for build, n in mine)
        return installed, usable, len(mine) if store.scope == "facility" else self.in_use(store.scope)

    def own_use(self, store: Store) -> float:
        """Shared prefixes, host tables, offloaded and running sequences, contexts under prefill."""
        used, made = 0.0, self.made
        for prefix in self.problem.shared_prefixes:
            if prefix.store == store.id and prefix.option in made.options.values():
                reached = [
                    self.pools[p]
                    for p in made.instances
                    if self.pools[p].option == prefix.option and self.pools[p].role is not Role.DECODE
                ]
                nodes = sum(made.instances[p.id] * (p.nodes if prefix.per == "nodes" else 1) for p in reached)
                used += prefix.bytes * (1 if prefix.per == "once" else nodes)
        for (bucket, name), share in made.decode.items():
            d, pool = self.decodes[bucket, name], self.pools[name]
            if store.tier is Tier.DRAM and pool.sku == store.scope:
                used += share * d.sequences * d.dram
            if pool.role is Role.MIXED and pool.shape == store.scope:
                used += share * d.sequences * d.hbm
        if store.tier is Tier.DRAM:
            used += sum(
                n * self.pools[p].host_bytes
                for p, n in made.instances.items()
                if self.pools[p].sku == store.scope
            )
        if store.tier is Tier.HBM:
            used += sum(
                rate * self.paths[k].held
                for k, rate in made.path.items()
                if self.pools[k[4]].shape == store.scope
            )
        return used

    # ---- rows ----------------------------------------------------------------------------------------

    def store_row(self, store: Store) -> StoreRow:
        """The account of a store."""
        mean = variance = 0.0
        for holding, j, slot, share, place in self.held():
            if self.places[place].store == store.id:
                time = self.contexts(holding, j, slot, share, place)
                weight = self.stored[holding.option, holding.bucket, place]
                mean += time * weight.bytes
                variance += time * weight.square * self.problem.dispersion
        for (bucket, name), share in self.made.decode.items():
            d, pool = self.decodes[bucket, name], self.pools[name]
            if pool.role is Role.MIXED and pool.shape == store.scope:
                variance += share * d.sequences * d.square * self.problem.dispersion
        installed, usable, count = self.supply(store)
        margin = (
            self.problem.quantile / 2 * (variance * store.slope + count / store.slope) if store.slope else 0.0
        )
        read = sum(
            rate * self.paths[key].load
            for key, rate in self.made.path.items()
            if key[3] and self.places[key[3]].store == store.id
        )
        return StoreRow(
            store.id, installed, usable, mean + self.own_use(store), margin, read, self.write_rate(store)
        )

    def charge(self, component: str, usd: float) -> float:
        """Book dollars under a component."""
        self.costs[component] += usd
        return usd

    def server_row(self, name: str, count: int) -> ServerRow:
        """Machines of one build."""
        build, replaced = self.builds[name], self.made.replaced.get(name, 0.0)
        usd = sum(self.charge(line.component, count * line.usd) for line in build.cost)
        if replaced:
            usd += self.charge("replacement drives", replaced * build.replacement_usd)
        return ServerRow(name, count, self.problem.limits.spares, replaced, usd)

    def owned_row(self, sku: str, used: int) -> OwnedRow:
        """Owned servers in use, a saving."""
        return OwnedRow(sku, used, self.charge("owned hardware", -used * self.skus[sku].owned_saving_usd))

    def cxl_row(self, name: str, boxes: int, modules: int) -> CxlRow:
        """A CXL pool."""
        kind = next(e for e in self.problem.enclosures if e.id == name)
        hosts = tuple(
            CxlHostRow(s, h, h * self.skus[s].free_x16_slots, a)
            for (e, s), (h, a) in self.made.hosts.items()
            if e == name
        )
        counts = (boxes, modules, sum(h.adapters for h in hosts))
        prices = (kind.enclosure_cost, kind.module_cost, kind.adapter_cost)
        usd = sum(
            self.charge(line.component, n * line.usd)
            for n, cost in zip(counts, prices, strict=True)
            for line in cost
        )
        return CxlRow(name, boxes, modules, hosts, usd)

    def pool_row(self, name: str, count: int) -> PoolRow:
        """A pool and its load."""
        busy = sum(rate * self.paths[key].busy for key, rate in self.made.path.items() if key[4] == name)
        running = [(share, self.decodes[key]) for key, share in self.made.decode.items() if key[1] == name]
        sequences = sum(share * d.sequences for share, d in running)
        taken = count * next(p.gpus_charged for p in self.problem.pools if p.id == name)
        weight = sum(share * d.sequences * d.hbm for share, d in running)
        return PoolRow(name, count, taken, busy, sequences, weight)

    def placements(self) -> Iterator[PlacementRow]:
        """Every nonzero share or entry."""
        for key, by_slot in self.made.share.items():
            holding, entries = self.holdings[key], self.made.entry.get(key, (0.0,) * len(by_slot))
            slots = self.buckets[holding.bucket].slots
            for j, slot in enumerate(slots):
                alive = 1.0 - sum(s.drop for s in slots[:j])
                if not by_slot[j] and not entries[j]:
                    continue
                sizes = [
                    self.contexts(holding, j, slot, by_slot[j], place)
                    * self.stored[key[0], key[1], place].bytes
                    for place in self.copies(holding)
                ]
                found = slot.rate * slot.drop * by_slot[j] * (holding.found + holding.found_home)
                yield PlacementRow(
                    key[0],
                    key[1],
                    j + 1,
                    key[2],
                    key[3],
                    by_slot[j],
                    entries[j],
                    entries[j] * slot.rate * alive * self.stored[key[0], key[1], key[2]].bytes,
                    sizes[0],
                    sizes[1] if len(sizes) > 1 else 0.0,
                    found,
                )


def book(problem: Instance, made: Choices) -> Layout:
    """The layout that states every consequence of the decisions."""
    books = Books(problem, made)
    servers = tuple(books.server_row(u, n) for u, n in made.servers.items())
    owned = tuple(books.owned_row(s, n) for s, n in made.owned.items())
    cxl = tuple(books.cxl_row(e, *counts) for e, counts in made.cxl.items())
    stores = (books.store_row(store) for store in problem.stores)
    return Layout(
        servers=servers,
        owned=owned,
        cxl=cxl,
        options=tuple(OptionRow(m, a) for m, a in made.options.items()),
        pools=tuple(books.pool_row(p, n) for p, n in made.instances.items()),
        decodes=tuple(
            DecodeRow(w, p, x, books.decodes[w, p].sequences * x) for (w, p), x in made.decode.items()
        ),
        placements=tuple(books.placements()),
        paths=tuple(
            PathRow(*key, rate, rate * books.paths[key].busy, rate * books.paths[key].attained)
            for key, rate in made.path.items()
        ),
        stores=tuple(s for s in stores if any((s.installed_bytes, s.used_bytes, s.margin_bytes))),
        lru=tuple(LruRow(t, j, x) for t, ages in made.lru.items() for j, x in enumerate(ages, start=1) if x),
        costs=tuple(CostRow(c, usd) for c, usd in books.costs.items()),
        objective_usd=sum(books.costs.values()),
    )

"""Layouts to replay: solved with a loose gap, or drawn at random on the columns of an instance."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache, cached_property

from optimizer.design.rounds import improve
from optimizer.design.search import Clock
from optimizer.instance import (
    Build,
    CxlHostRow,
    CxlRow,
    DecodeRow,
    Instance,
    Layout,
    OptionRow,
    PathRow,
    PlacementRow,
    Pool,
    PoolRow,
    Role,
    ServerRow,
    Tier,
)
from optimizer.instance.offer import offer
from optimizer.simulator.facility.assemble import facility
from optimizer.simulator.facility.bought import Bought
from optimizer.simulator.types import Facility, Names
from optimizer.solver import SolveOptions
from optimizer.verify.plan import Plan
from optimizer.verify.reading import Decisions
from optimizer.verify.tables import Tables
from optimizer.workload import Workload
from tests.conftest import ROOT
from tests.instance.shipped import CATALOG, built, workload

LOOSE = SolveOptions(gap=0.2, time_limit=60.0)
SMALL = ROOT / "tests/metamorphic/workloads"
ON_B300 = ("small", "hardware.servers={HGX-B300-8: {max: 4}}")
"""The shipped `small` on one SKU, where an option with its latents in DRAM is chosen."""
ON_TWO_B300 = ("small", "hardware.servers={HGX-B300-8: {min: 2, max: 2}}", "hardware.dimms=[RDIMM-64]")
"""The facility that `small` comes out with, found in a second."""


@dataclass(frozen=True)
class Case:
    """A layout, what it answers, and the facility it is replayed as."""

    instance: Instance
    layout: Layout
    workload: Workload

    @cached_property
    def bought(self) -> Bought:
        """The layout looked up."""
        return Bought(self.instance, self.layout, offer(self.workload, CATALOG))

    @cached_property
    def built(self) -> tuple[Facility, Names]:
        """The arrays and their names."""
        return facility(self.instance, self.layout, self.workload, CATALOG)

    @cached_property
    def plan(self) -> Plan:
        """The exact check's view of the layout."""
        tables = Tables(self.instance)
        return Plan(tables, Decisions(tables, self.layout))


@cache
def solved(name: str, *overrides: str) -> Case:
    """One round of search."""
    instance = built(name, *overrides)
    best, _, _ = improve(instance, LOOSE, Clock.start(LOOSE.time_limit), rounds=1)
    assert best is not None
    return Case(best.model.instance, best.layout, workload(name, *overrides))


@cache
def drawn(seed: int, name: str, *overrides: str) -> Case:
    """Random machines, pools, shares and rates: no law need hold, but instances fit their servers."""
    instance = built(name, *overrides)
    instance = replace(instance, limits=replace(instance.limits, spares=seed % 2))
    return Case(instance, _Draw(instance, seed).layout, workload(name, *overrides))


class _Draw:
    def __init__(self, instance: Instance, seed: int):
        self.instance, self.dice = instance, random.Random(seed)
        self.options = {m: self._option(m) for m in instance.models}
        self.running = {pool.id: self.dice.randint(1, 5) for pool in self._pools()}
        self.kept = [pool for pool in instance.pools if pool.id in self.running]
        servers = self._servers()
        self.pools_of_memory = tuple(self._cxl(servers))
        self.layout = Layout(
            servers=servers, owned=(), cxl=self.pools_of_memory,
            options=tuple(OptionRow(m, a) for m, a in self.options.items()),
            pools=tuple(PoolRow(p, n, 0.0, 0.0, 0.0, 0.0) for p, n in self.running.items()),
            decodes=tuple(self._decodes()), placements=tuple(self._placements()), paths=tuple(self._paths()),
            stores=(), lru=(), costs=(), objective_usd=0.0,
        )  # fmt: skip

    def _option(self, model: str) -> str:
        roles = defaultdict(set)
        for pool in self.instance.pools:
            roles[pool.option].add(pool.role)
        mine = [o.id for o in self.instance.options if o.model == model]
        return self.dice.choice([a for a in mine if {Role.PREFILL, Role.DECODE} <= roles[a]])

    def _pools(self) -> list[Pool]:
        found = []
        for option in self.options.values():
            mine = [pool for pool in self.instance.pools if pool.option == option]
            for role in (Role.PREFILL, Role.DECODE):
                found.append(self.dice.choice([pool for pool in mine if pool.role is role]))
            found += self.dice.sample(mine, min(2, len(mine)))
        return found

    def _servers(self) -> tuple[ServerRow, ...]:
        rows: list[tuple[Build, int]] = []
        for sku in self.instance.skus:
            charged = sum(p.gpus_charged * self.running[p.id] for p in self.kept if p.sku == sku.id)
            need = math.ceil(charged / sku.gpus - 1e-9) + self.dice.randint(0, 1)
            builds = [b for b in self.instance.builds if b.sku == sku.id]
            two = self.dice.sample(builds, 2)
            rows += [
                (build, n) for n, build in zip((need // 2, need - need // 2), two, strict=True) if n
            ]
        nodes = [b for b in self.instance.builds if b.sku is None]
        rows += [(build, self.dice.randint(1, 2)) for build in nodes[:4]]
        spare = self.instance.limits.spares
        return tuple(ServerRow(build.id, n + spare, spare, 0.0, 0.0) for build, n in rows)

    def _cxl(self, servers: tuple[ServerRow, ...]) -> list[CxlRow]:
        rows = []
        free = {
            s.id: sum(r.count - r.spare for r in servers if r.build.startswith(f"{s.id}/"))
            for s in self.instance.skus
        }
        for kind in self.instance.enclosures:
            hosts = []
            for sku in self.instance.skus:
                count = self.dice.randint(0, free[sku.id]) if sku.free_x16_slots else 0
                free[sku.id] -= count
                if count:
                    adapters = self.dice.randint(count, count * sku.free_x16_slots)
                    hosts.append(CxlHostRow(sku.id, count, count * sku.free_x16_slots, adapters))
            boxes = self.dice.randint(0, sum(h.adapters for h in hosts))
            if boxes:
                modules = self.dice.randint(1, boxes * kind.module_slots)
                rows.append(CxlRow(kind.id, boxes, modules, tuple(hosts), 0.0))
        return rows

    def _decodes(self) -> list[DecodeRow]:
        rows = []
        for bucket in self.instance.buckets:
            able = [d for d in self.instance.decodes if d.bucket == bucket.id and d.pool in self.running]
            shares = [self.dice.random() for _ in able]
            for d, weight in zip(able, shares, strict=True):
                share = weight / sum(shares)
                rows.append(DecodeRow(bucket.id, d.pool, share, d.sequences * share))
        return rows

    def _placements(self) -> list[PlacementRow]:
        shapes = {f"hbm@{pool.shape}" for pool in self.kept if pool.role is not Role.DECODE}
        hbm = (loc for loc in self.instance.locations if loc.tier is Tier.HBM)
        elsewhere = {loc.id for loc in hbm if loc.store not in shapes}
        rows = []
        for bucket in self.instance.buckets:
            mine = [
                h for h in self.instance.holdings
                if h.bucket == bucket.id and h.option == self.options[bucket.model]
                and {h.serve, h.home}.isdisjoint(elsewhere)
            ]  # fmt: skip
            chosen = self.dice.sample(mine, min(3, len(mine)))
            rows += [
                PlacementRow(h.option, h.bucket, 1, h.serve, h.home, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0)
                for h in chosen
            ]
        return rows

    def _paths(self) -> list[PathRow]:
        places = {loc.id: loc for loc in self.instance.locations}
        hosts = {(f"cxl@{row.enclosure}", host.sku) for row in self.pools_of_memory for host in row.hosts}
        skus = {pool.id: pool.sku for pool in self.kept}
        mine = [
            path for path in self.instance.paths
            if path.pool in self.running and (
                path.location is None or places[path.location].tier is not Tier.CXL
                or (places[path.location].store, skus[path.pool]) in hosts
            )
        ]  # fmt: skip
        chosen = self.dice.sample(mine, len(mine) // 3)
        rates = [0.1 * self.dice.random() for _ in chosen]
        return [
            PathRow(p.stream, p.option, p.case.value, p.location or "", p.pool, rate, 0.0, 0.0)
            for p, rate in zip(chosen, rates, strict=True)
        ]

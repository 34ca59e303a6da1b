"""The way back: what is solved comes home as a layout that holds exactly, in order, without empty rows."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from optimizer.design.explain import row_name
from optimizer.design.rounds import Candidate, settle
from optimizer.formulation import read_back, write
from optimizer.instance import CostLine, Instance, Layout, Tier, UserRow
from optimizer.solver import SolveOptions, compile, solve
from tests.formulation.small import POOLED, WRITE_THROUGH
from tests.oracle.random_instances import NAMES, random_instance

OPTIONS = SolveOptions(gap=0.0, time_limit=60.0)
SMALL = {"write-through": WRITE_THROUGH, "pooled": POOLED}
ABOUT = (
    "tier_capacity:dram", "tier_capacity:exclusive", "context_entry", "one_age_per_lru_tier", "cxl_read",
    "cxl_attached", "tier_capacity:pooled", "tier_capacity:codec", "tier_capacity:affinity", "hbm_room",
    "running_kv_fits_hbm", "ttft_attainment", "spare_servers", "minimum_order", "drives_replaced",
    "network_in", "user",
)  # fmt: skip
FAST = [*SMALL, *(NAMES.index(name) for name in ABOUT), NAMES.index("anything") + len(NAMES)]
SLOW = [seed for seed in range(3 * len(NAMES)) if seed not in FAST]


def problem(case: str | int) -> Instance:
    """A hand-made instance by its name, a random one by its seed."""
    return SMALL[case] if isinstance(case, str) else random_instance(case)


def solved(instance: Instance) -> Candidate | None:
    """The cheapest layout, as the planner gets it; None where there is none."""
    model = write(instance)
    compiled = compile(model.pyomo)
    outcome = solve(compiled.lp, OPTIONS)
    return settle(model, compiled, outcome, OPTIONS) if outcome.has_solution else None


@cache
def candidate(case: str | int) -> Candidate:
    """The cheapest layout of a case, solved once."""
    found = solved(problem(case))
    if found is None:
        pytest.skip("this instance has no layout")
    return found


def label(case: str | int) -> str:
    """What a case is about."""
    return case if isinstance(case, str) else f"{case}-{NAMES[case % len(NAMES)]}"


each_case = pytest.mark.parametrize(
    "case",
    [
        *(pytest.param(case, id=label(case)) for case in FAST),
        *(pytest.param(case, id=label(case), marks=pytest.mark.slow) for case in SLOW),
    ],
)


@each_case
def test_settled_layout_holds_exactly(case: str | int) -> None:
    found = candidate(case)
    assert found.certificate.passed, str(found.certificate)
    assert found.layout.objective_usd == pytest.approx(found.outcome.objective, rel=1e-7)


def in_order(layout: Layout, instance: Instance, tolerance: float = 1e-9) -> None:
    """Placements and paths stand in the instance's order, once each; nothing is zero, no share is above 1."""
    holdings = {(h.option, h.bucket, h.serve, h.home): n for n, h in enumerate(instance.holdings)}
    placed = [(holdings[p.option, p.bucket, p.serve, p.home], p.slot) for p in layout.placements]
    assert placed == sorted(set(placed))
    paths = {
        (p.stream, p.option, p.case.value, p.location or "", p.pool): n for n, p in enumerate(instance.paths)
    }
    routed = [paths[p.stream, p.option, p.case, p.location, p.pool] for p in layout.paths]
    assert routed == sorted(set(routed))
    for row in (*layout.placements, *layout.decodes, *layout.lru):
        assert 0 < row.share <= 1 + tolerance
    assert all(0 <= p.entry <= 1 for p in layout.placements)
    assert all(p.rate > 0 for p in layout.paths)
    assert all(s.count > 0 for s in layout.servers)
    assert all(p.instances > 0 for p in layout.pools)
    assert all(s.installed_bytes > 0 for s in layout.stores)
    assert all(o.used > 0 for o in layout.owned)
    assert all(c.enclosures or c.modules or c.hosts for c in layout.cxl)
    assert all(c.usd for c in layout.costs)


@each_case
def test_layout_is_in_order(case: str | int) -> None:
    in_order(candidate(case).layout, problem(case))


@each_case
def test_reading_back_twice_changes_nothing(case: str | int) -> None:
    found = candidate(case)
    assert read_back(found.model) == found.layout


@each_case
def test_noise_of_the_solver_leaves_no_trace(case: str | int) -> None:
    """Counts come back whole and nothing negative, however a solver misses rows by its tolerance."""
    found = candidate(case)
    model = write(problem(case))
    compiled = compile(model.pyomo)
    x, lp = found.priced.x, compiled.lp
    assert x is not None
    noise = np.random.default_rng(0).uniform(-1e-7, 1e-7, len(x)) * np.maximum(1.0, np.abs(x))
    compiled.read_back(np.clip(x + noise, lp.col_lower, lp.col_upper))
    layout = read_back(model)
    in_order(layout, problem(case), tolerance=1e-6)
    assert [(s.build, s.count) for s in layout.servers] == [(s.build, s.count) for s in found.layout.servers]
    assert layout.options == found.layout.options


@each_case
def test_check_sees_the_slack_that_was_solved(case: str | int) -> None:
    """Every inequality has the same distance to its limit in the arrays and in the exact check."""
    found = candidate(case)
    lp, values = found.compiled.lp, np.array([v.value for v in found.compiled.variables])
    left = lp.row_upper - lp.A @ values
    scales = abs(lp.A) @ np.abs(values) + np.abs(np.where(np.isfinite(lp.row_upper), lp.row_upper, 0.0))
    stated = {a.name: a.slack for a in found.certificate.activities}
    compared = 0
    for number, constraint in enumerate(found.compiled.constraints):
        family, name = constraint.parent_component().local_name, row_name(constraint)
        if name in stated and family != "contexts_only_sink" and lp.row_lower[number] < lp.row_upper[number]:
            size = found.model.units[family][constraint.index()]
            scale = max(1.0, scales[number])
            assert stated[name] / size == pytest.approx(left[number], rel=1e-6, abs=1e-7 * scale), name
            compared += 1
    assert compared > 10


# ---- what is installed is one quantity -------------------------------------------------------------------


def least(instance: Instance) -> Candidate:
    """The cheapest layout of an instance that has one."""
    found = solved(instance)
    assert found is not None
    return found


def pooled(**bounds: float) -> Instance:
    """The pooled facility with a bound on the pool, and servers to be had with less DRAM for more money.

    Without a bound 12 TB are installed in servers and 6 TB in a node.
    """
    bounded = (replace(s, **bounds) if s.tier is Tier.DRAM_POOL else s for s in POOLED.stores)
    usual = next(b for b in POOLED.builds if b.id == "s/0")
    lean = replace(usual, id="s/lean", dram_bytes=1e12, dram_usable=0.9e12, cost=(CostLine("server", 285e3),))
    return replace(POOLED, stores=tuple(bounded), builds=(*POOLED.builds, lean))


def test_ceiling_of_pooled_dram_counts_servers() -> None:
    found = least(pooled(max_bytes=13e12))
    assert found.certificate.passed
    assert [s.build for s in found.layout.servers] == ["dram-node", "s/lean"]


def test_floor_of_pooled_dram_counts_servers() -> None:
    free = least(pooled())
    assert sum(s.installed_bytes for s in free.layout.stores if s.store == "dram_pool") == 18e12
    assert least(pooled(min_bytes=15e12)).layout.objective_usd == free.layout.objective_usd


def test_dram_of_a_user_row_is_one_quantity() -> None:
    """That of storage nodes counts: with 22 TB in servers and DRAM nodes, 23 TB allow two of half a TB."""
    nodes = tuple(
        replace(b, dram_bytes=0.5e12) if b.tier is Tier.STORAGE else b for b in WRITE_THROUGH.builds
    )

    def allowed(most: float) -> Instance:
        row = UserRow("memory", (("dram", 1e-12),), None, most)
        return replace(WRITE_THROUGH, builds=nodes, user_rows=(row,))

    found = least(allowed(23.0))
    assert found.certificate.passed
    dram = {b.id: b.dram_bytes for b in nodes}
    assert sum(s.count * dram[s.build] for s in found.layout.servers) == 23e12
    assert ("storage-node", 2) in [(s.build, s.count) for s in found.layout.servers]
    assert solved(allowed(22.9)) is None

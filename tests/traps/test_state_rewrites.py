"""Trap 3: K3's state is rewritten in HBM with every token, and drives never see it.

A tier is written by growth and by snapshots, one a turn. Twenty turns a second write 777 TB of snapshots a
day, the endurance of 25 drives of 30.72 TB: that is real. Charged per decoded token it would be ten thousand
drives, and no plan would keep K3 on flash (docs/physics.md section 5).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from optimizer.design.rounds import Candidate, improve
from optimizer.design.search import Clock
from optimizer.instance import Instance, Tier
from optimizer.physics.memory import growth_bytes_per_token, hbm_rewrite_per_decoded_token, snapshot_bytes

from .market import OPTIONS, SHIPPED, built

TURNS = 20.0  # a second
DRIVE, DAY = 30.72e12, 86_400.0
K3 = (
    "classes.agents.model=kimi-k3",
    "options={kimi-k3: {only: [bf16]}}",
    f"classes.agents.peak_rate={TURNS} req/s",
    "classes.agents.peak_to_mean=1",
    "classes.agents.slo={ttft: 20 s, tpot: 50 ms, attainment: 0.9}",
    "hardware.dimms=[RDIMM-32]",
    "hardware.drives=[TLC-30.72]",
    "hardware.drive_counts=[2, 4, 8]",
    "hardware.max_builds=2",
)
PARTS = SHIPPED.model("kimi-k3").components


def rewritten() -> float:
    """Bytes that HBM rewrites per decoded token."""
    return hbm_rewrite_per_decoded_token(PARTS, "bf16")


@cache
def shipped() -> Instance:
    """Twenty turns of K3 a second."""
    return built(*K3)


def on_flash(instance: Instance) -> set[str]:
    """The locations on drives."""
    return {place.id for place in instance.locations if place.tier is Tier.NVME}


def trapped() -> Instance:
    """Trap on: each decoded token writes the state to the drive that holds the context."""
    instance = shipped()
    (cls,) = instance.classes
    more, drives = rewritten() * cls.output_tokens, on_flash(instance)
    stored = tuple(
        replace(s, new=s.new + more, first=s.first + more) if s.location in drives else s
        for s in instance.stored
    )
    return replace(instance, stored=stored)


def drives_worn(instance: Instance) -> float:
    """Drives of one write a day that the turns of a day wear out, uncompressed."""
    (new,) = {s.new for s in instance.stored if s.location in on_flash(instance) and "+" not in s.location}
    return TURNS * new * DAY / DRIVE


@cache
def solved(instance: Instance) -> Candidate:
    """The cheapest layout, checked exactly."""
    best, _, _ = improve(instance, OPTIONS, Clock.start(OPTIONS.time_limit))
    assert best is not None
    assert best.certificate.passed
    return best


def drives(best: Candidate) -> float:
    """Drives bought and replaced."""
    of = {b.id: b.drives for b in best.model.instance.builds}
    return sum(row.count * of[row.build] + row.replaced for row in best.layout.servers)


def test_trap_on_flash_is_given_up() -> None:
    """Ten thousand drives' worth of writes: the order has no drive and more GPU servers instead."""
    assert drives_worn(trapped()) > 10_000
    wrong, right = solved(trapped()), solved(shipped())
    assert drives(wrong) == 0
    machines = [sum(row.count for row in best.layout.servers) for best in (wrong, right)]
    assert machines[0] > machines[1]
    assert right.layout.objective_usd < wrong.outcome.bound


def test_shipped_turns_write_growth_and_one_snapshot() -> None:
    """25 drives a day by snapshots, four more by what the turn adds; nothing per decoded token."""
    (cls,) = shipped().classes
    snapshots = TURNS * snapshot_bytes(PARTS, "bf16") * DAY
    assert snapshots == pytest.approx(777e12, rel=0.001)
    assert snapshots / DRIVE == pytest.approx(25, abs=0.5)
    grown = growth_bytes_per_token(PARTS, "bf16") * (cls.new_tokens + cls.output_tokens)
    assert drives_worn(shipped()) == pytest.approx((snapshots + TURNS * grown * DAY) / DRIVE, rel=1e-9)
    assert rewritten() == pytest.approx(449.4e6, rel=1e-3)


def test_shipped_plan_keeps_k3_on_flash() -> None:
    """And pays the wear of its snapshots in replacement drives."""
    best = solved(shipped())
    assert drives(best) > 2
    held = {row.store: row.used_bytes for row in best.layout.stores}
    assert held["nvme@HGX-B300-8"] > 1e12
    assert any(row.replaced > 0 for row in best.layout.servers)

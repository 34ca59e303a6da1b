"""Derived quantities against numbers worked out by hand from docs/formulation.md."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimizer.instance import Instance, Policy, Tier
from optimizer.verify import check
from optimizer.verify.plan import Plan
from optimizer.verify.reading import Decisions
from optimizer.verify.tables import Tables
from tests.verify.bookkeeping import book
from tests.verify.samples import Choices, choices, instance

CHAT = ("kimi:fp8", "chat:10k")  # 0.7 GB a context; 6/s (3/s on average), 4.2/s of them returns (2.15/s)


def plan(problem: Instance, **changed: object) -> Plan:
    made: Choices = replace(choices(problem), **changed)
    tables = Tables(problem)
    return Plan(tables, Decisions(tables, book(problem, made)))


def only(
    policy: Policy, serve: str, home: str, *by_slot: float, entry: tuple[float, ...] = (0.0, 0.0, 0.0)
) -> Plan:
    """The sample with one holding."""
    key = (*CHAT, serve, home)
    return plan(instance(policy), share={key: by_slot}, entry={key: entry})


def test_write_through_keeps_both_copies_while_the_request_runs() -> None:
    """0.5 x (6 x 45 + 6 x 20) + 0.25 x 6 x 200 = 495 contexts of 0.7 GB in DRAM and as many on drives."""
    made = only(Policy.WRITE_THROUGH, "dram@h200", "nvme@h200", 0.5, 0.25, 0.0)
    for store in ("dram@h200", "nvme@h200"):
        mean, variance = made.occupancy[store]
        assert float(mean.value) == pytest.approx(495 * 0.7e9)
        assert float(variance.value) == pytest.approx(1.5 * 495 * 1.25 * 0.7e9**2)


def test_hbm_counts_idle_contexts_only() -> None:
    """0.5 x 6 x 45 contexts in HBM; the running one is in running KV. Its home copy runs too."""
    made = only(Policy.WRITE_THROUGH, "hbm@kimi:fp8@h200/dp8", "dram@h200", 0.5, 0.0, 0.0)
    assert float(made.occupancy["hbm@kimi:fp8@h200/dp8"][0].value) == pytest.approx(135 * 0.7e9)
    assert float(made.occupancy["dram@h200"][0].value) == pytest.approx(195 * 0.7e9)


def test_write_through_home_rewrites_only_what_nobody_finds() -> None:
    """DRAM before storage: found 0.9 there and 0.1 at the home. Slot 1 only, share 0.5.

    new 0.07, first 0.42, prefix 0.595 GB at both. Turns: 0.5 (4.2 x 0.07 + 1.8 x 0.42) = 0.525 GB/s.
    Prefixes, at DRAM 0.595 (2.1 - 0.9 x 1.2) = 0.6069, at the home 0.595 (2.1 - 1.2) = 0.5355 GB/s.
    """
    made = only(Policy.WRITE_THROUGH, "dram@h200", "storage@facility", 0.5, 0.0, 0.0)
    assert float(made.writes_to("dram@h200").value) == pytest.approx(1.1319e9)
    assert float(made.writes_to("storage@facility").value) == pytest.approx(1.0605e9)


def test_mean_writes_take_the_mean_rates() -> None:
    """Turns 0.5 (2.15 x 0.07 + 0.85 x 0.42) = 0.25375, prefixes 0.595 (1.075 - 0.6) = 0.282625 GB/s."""
    made = only(Policy.WRITE_THROUGH, "storage@facility", "storage@facility", 0.5, 0.0, 0.0)
    assert float(made.writes_to("storage@facility", mean=True).value) == pytest.approx(0.536375e9)


def test_home_finds_at_its_own_place_count_twice_found() -> None:
    """A remote hit that affinity misses: 6 x 0.4 x 0.5 = 1.2/s, 0.9 at DRAM and 0.1 at the home."""
    made = only(Policy.WRITE_THROUGH, "dram@h200", "storage@facility", 0.5, 0.0, 0.0)
    assert float(made.found[(*CHAT, "dram@h200")].value) == pytest.approx(1.08)
    assert float(made.found[(*CHAT, "storage@facility")].value) == pytest.approx(0.12)


def test_exclusive_writes_whole_contexts_where_they_enter() -> None:
    """Fresh 6 x 0.2 and at one minute 6 x (1 - 0.4) x 0.3 contexts/s of 0.7 GB; on average 3 for 6."""
    made = only(Policy.EXCLUSIVE, "nvme@h200", "h200", 0.2, 0.5, 0.0, entry=(0.0, 0.3, 0.0))
    assert float(made.writes_to("nvme@h200").value) == pytest.approx(2.28 * 0.7e9)
    assert float(made.writes_to("nvme@h200", mean=True).value) == pytest.approx(1.14 * 0.7e9)
    assert float(made.occupancy["nvme@h200"][0].value) == pytest.approx((0.2 * 270 + 0.5 * 1200) * 0.7e9)


def test_margin_is_the_tangent_of_the_root() -> None:
    """At r = sqrt(n/V) the margin is z sqrt(n V); elsewhere it is larger."""
    made = plan(instance())
    variance, count = made.occupancy["nvme@h200"][1], made.sku_in_use("h200")
    root = (float(count) * float(variance.value)) ** 0.5
    touching = float(count) / root
    assert float(made.margin(variance, count, touching).value) == pytest.approx(2.33 * root)
    assert float(made.margin(variance, count, 2 * touching).value) > 2.33 * root
    assert made.margin(variance, count, 0.0).value == 0


def test_host_tables_and_offloaded_sequences_take_dram() -> None:
    """Three instances x 100 GB, and 5 x 400 x 0.05 / 2 = 50 sequences x 0.1 GB."""
    made = plan(instance(), share={}, entry={})
    assert float(made.accounts["dram@b200"].used.value) == pytest.approx(3 * 100e9 + 50 * 0.1e9)


def test_pooled_dram_belongs_to_the_facility() -> None:
    """Pooled, the servers' DRAM joins the nodes': installed 7 x 2 + 4 x 4 + 4 x 6 TB, spares not usable."""
    problem = replace(instance(), dram_pooled=True)
    account = plan(problem).accounts["dram_pool@facility"]
    assert float(account.installed.value) == pytest.approx(54e12)
    assert float(account.usable.value) == pytest.approx(0.9 * (6 * 2 + 3 * 4 + 3 * 6) * 1e12)


def test_cost_is_recomputed_from_price_lines() -> None:
    """x (1 + 1/7 - 1/11) of the prices, replaced drives at 2,500, less two owned servers at 250,000."""
    problem = instance()
    prices = 7 * 300e3 + 4 * 500e3 + 4 * 80e3 + 3 * 90e3 + 2 * 30e3 + 18 * 3e3 + 7 * 1e3
    usd = prices * (1 + 1 / 7 - 1 / 11) + 13.5 * 2500 - 500e3
    assert check(problem, book(problem, choices(problem))).recomputed_usd == pytest.approx(usd)


def test_stores_of_every_tier_are_in_use() -> None:
    """The samples would prove little otherwise."""
    for policy in Policy:
        problem = instance(policy)
        used = {row.store.split("@")[0] for row in book(problem, choices(problem)).stores if row.used_bytes}
        assert used == {tier.value for tier in Tier}

"""The oracle's own checks: cases solved on paper, two ways of enumerating, laws of nature, and coverage."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import sqrt

import pytest
from hypothesis import HealthCheck, given, settings

from optimizer.instance.types import Case, Holding, Instance, Location, Policy, Slot, Store, Stored, Tier

from . import by_hand
from .book import Book
from .enumerate import Best, binding_laws, exhaustive, integer_points, optimum, relaxed
from .linear import arrays, column
from .random_instances import NAMES, instances, random_instance, target
from .system import LAWS, system

SEEDS = range(3 * len(NAMES))
EQUALITIES = {
    "route_returns", "route_first", "serve_all_decode", "decode_where_prefilled", "one_age_per_lru_tier",
    "one_option",
}

UNDECIDING = {
    "anything",
    "spare_servers",  # fewer servers than spares are never of use, law or no law
}


@cache
def solved(seed: int) -> Best | None:
    """The optimum of a seed."""
    return optimum(random_instance(seed))


def usd(instance: Instance) -> float | None:
    """The least cost."""
    best = optimum(instance)
    return None if best is None else best.objective


# --- on paper ---------------------------------------------------------------------------------------


def test_without_a_cache_every_return_is_recomputed() -> None:
    """0.5 + 1 busy seconds a second at 0.25 a server: 6 servers."""
    assert usd(by_hand.instance(builds=(by_hand.server(dram_usable=0.0),))) == pytest.approx(60.0)


def test_memory_replaces_servers() -> None:
    """1.5 - 0.9 share <= 0.25 n and 220 share <= 100 n: 3 servers, of which 2 would need a share of 1.1."""
    best = optimum(by_hand.instance())
    assert best is not None
    assert best.objective == pytest.approx(30.0)
    assert best.integers["instances", "p"] == 3


def test_too_little_memory_costs_a_server() -> None:
    """At 50 bytes a server, 3 hold a share of 0.68 and need 0.83; 4 hold 0.91 and need 0.56."""
    assert usd(by_hand.instance(builds=(by_hand.server(dram_usable=50.0),))) == pytest.approx(40.0)


def test_margin_costs_a_server() -> None:
    """r = 0.1, z = 2: each server loses 1/r = 10 bytes, each held byte counts 1.1. At 70 bytes a server, 3
    hold 210 >= 183.3 without margin; with it 3 x 60 = 180 < 1.1 x 183.3, and 4 x 60 = 240 >= 1.1 x 122.2."""
    plain = by_hand.instance(builds=(by_hand.server(dram_usable=70.0),))
    assert usd(plain) == pytest.approx(30.0)
    assert usd(plain.with_slopes({"dram@s": 0.1}, {})) == pytest.approx(40.0)


def test_spare_servers_hold_and_compute_nothing() -> None:
    """3 in use and 2 spare."""
    case = by_hand.instance()
    assert usd(replace(case, limits=replace(case.limits, spares=2))) == pytest.approx(50.0)


def test_too_few_servers_are_infeasible() -> None:
    """2 servers cannot serve."""
    case = by_hand.instance()
    assert optimum(replace(case, skus=(replace(case.skus[0], maximum=2),))) is None
    assert relaxed(replace(case, skus=(replace(case.skus[0], maximum=2),))) is None


def test_a_minimum_order_is_of_what_is_bought() -> None:
    """3 servers, 2 owned at 6 USD each, orders of at least 2: own 1 and buy 2 (24), not own 2 and buy 1."""
    case = by_hand.instance()
    sku = replace(case.skus[0], owned=2, owned_saving_usd=6.0, minimum_order=2)
    assert usd(replace(case, skus=(sku,))) == pytest.approx(24.0)
    assert usd(replace(case, skus=(replace(sku, minimum_order=1),))) == pytest.approx(18.0)


def test_an_owned_server_is_not_in_the_budget() -> None:
    """3 servers at 10 USD of capex, one owned: a budget of 20 is enough, one of 19 is not."""
    case = by_hand.instance()
    case = replace(case, skus=(replace(case.skus[0], owned=1, owned_saving_usd=10.0),))
    assert usd(replace(case, limits=replace(case.limits, budget_usd=20.0))) == pytest.approx(20.0)
    assert optimum(replace(case, limits=replace(case.limits, budget_usd=19.0))) is None


def test_drives_are_replaced_for_what_is_written() -> None:
    """3 servers must hold a share of 5/6. A whole one writes 0.2 + 0.5 + 0.8 x (1 - 1) = 0.7 bytes/s: 0.7 x
    5/6 x 1000 s x 2 (amplification) = 1166.7 bytes. 3 x 300 bytes of endurance, 100 a drive: 2.667 drives."""
    drives = {"drives": 3, "drive": "d", "nvme_usable": 100.0, "nvme_read": 1e6, "nvme_write": 1e6}
    build = by_hand.server(**drives, nvme_endurance=300.0, replacement_usd=0.5)
    best = optimum(by_hand.instance(Tier.NVME, builds=(build,)))
    assert best is not None
    assert best.values["replaced", "s/a"] == pytest.approx(8.0 / 3.0)
    assert best.objective == pytest.approx(30.0 + 4.0 / 3.0)


def test_what_sinks_is_written_again() -> None:
    """Exclusive: 40% of the contexts return within 30 s, 10% within 120 s. 3 servers x 20 bytes of DRAM
    hold the first slot (2 x 30 bytes); the second sinks to NVMe: 1.2 contexts/s are still idle at 30 s, and
    what of them must be held is written."""
    case = by_hand.instance(Tier.NVME, policy=Policy.EXCLUSIVE)
    slots = (Slot(0.0, 30.0, 2.0, 0.4, 30.0), Slot(30.0, 120.0, 2.0, 0.1, 45.0))
    stored = tuple(Stored(
        option="o", bucket="w", location=x, bytes=1.0, square=1.0, new=0.2, first=0.5, prefix=0.8,
    ) for x in ("fast", "place"))
    build = by_hand.server(
        dram_usable=20.0, drives=1, drive="d", nvme_usable=100.0, nvme_read=1e6, nvme_write=1e6,
        nvme_endurance=100.0, replacement_usd=0.5,
    )
    case = replace(
        case,
        buckets=(replace(case.buckets[0], slots=slots),),
        builds=(build,),
        locations=(Location(
            id="fast", store="dram@s", tier=Tier.DRAM, codec="plain", order=1,
        ), *case.locations),
        stored=stored,
        holdings=tuple(Holding(
            id=x, option="o", bucket="w", serve=x, home="s", found=1.0, found_home=0.0,
        ) for x in ("fast", "place")),
        paths=(*case.paths, by_hand.path("w", Case.HIT, 0.1, "fast")),
    )
    best = optimum(case)
    assert best is not None
    # hits h with 0.5 + (1 - h) + 0.1 h <= 0.75: h = 5/6 = 0.8 (all of the first slot) + 1/6 of 0.2
    entry = (5.0 / 6.0 - 0.8) / 0.2
    written = 2.0 * 0.6 * entry * 1000.0 * 2.0
    assert best.values["entry", "place", "2"] == pytest.approx(entry)
    assert best.objective == pytest.approx(30.0 + (written - 3 * 100.0) / 100.0 * 0.5)


def test_margin_is_a_tangent_from_above() -> None:
    """(z/2)(V r + n/r) >= z sqrt(n V), with equality at r = sqrt(n/V)."""
    book = Book(by_hand.instance())
    for r in (0.01, 0.1, 0.5, 3.0):
        at = {("v",): 9.0, ("n",): 4.0}
        margin = book.margin(r, column("v"), column("n")).at(at)
        assert margin >= 2.0 * sqrt(36.0) - 1e-12
    assert book.margin(sqrt(4.0 / 9.0), column("v"), column("n")).at(at) == pytest.approx(12.0)


def test_an_exchange_is_charged_to_its_second() -> None:
    """`exchange_bytes` is per second of the whole bucket: 30 bytes/s need 30 at the NICs."""
    case = by_hand.instance()
    busy = replace(case.decodes[0], exchange_bytes=30.0)
    narrow = replace(case, decodes=(busy,), skus=(replace(case.skus[0], nic_bytes_s=7.0),))
    assert usd(narrow) == pytest.approx(50.0)


def test_a_store_of_unknown_scope_is_refused() -> None:
    """A local store names its SKU."""
    case = by_hand.instance(stores=(Store(
        id="dram@x", tier=Tier.DRAM, scope="x", utilisation=1.0, shared_bandwidth=True, lru=False,
        min_bytes=0.0, max_bytes=None,
    ),))
    with pytest.raises(ValueError, match="is no SKU"):
        system(case)


# --- two ways of enumerating ------------------------------------------------------------------------


def test_bounds_lose_no_point() -> None:
    """Where every integer point can be tried, that gives the same optimum as dividing by bounds."""
    tried = 0
    for seed in SEEDS[::2]:
        instance = random_instance(seed)
        if integer_points(arrays(system(instance))) > 20_000:
            continue
        every, best = exhaustive(instance), solved(seed)
        assert (every is None) == (best is None), seed
        if every is not None and best is not None:
            assert every.objective == pytest.approx(best.objective, rel=1e-9), seed
        tried += 1
    assert tried >= 30


# --- laws of nature ---------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(instances())
def test_relaxing_is_never_dearer(instance: Instance) -> None:
    """Integers cost, laws cost, and an optimum keeps every law."""
    best, loose = optimum(instance), relaxed(instance)
    if best is None:
        return
    assert loose is not None
    assert loose <= best.objective * (1 + 1e-9)
    for row in system(instance).rows:
        difference = row.difference()
        scale = max((abs(a) for a in difference.terms.values()), default=1.0)
        over = difference.at(best.values) / scale
        assert over <= 1e-6, row
        assert not row.equal or over >= -1e-6, row
    for law in ("tier_capacity", "prefill_time", "ttft_attainment"):
        without = optimum(instance, without=[law])
        assert without is not None
        assert without.objective <= best.objective * (1 + 1e-9)


@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(instances(targets=("anything",)))
def test_double_prices_double_the_cost(instance: Instance) -> None:
    """The optimum scales with its prices."""
    best = optimum(instance)
    twice = replace(
        instance,
        builds=tuple(
            replace(
                u,
                cost=tuple(replace(line, usd=2 * line.usd) for line in u.cost),
                replacement_usd=2 * u.replacement_usd,
            )
            for u in instance.builds
        ),
        enclosures=tuple(
            replace(
                e,
                **{
                    name: tuple(replace(line, usd=2 * line.usd) for line in getattr(e, name))
                    for name in ("enclosure_cost", "module_cost", "adapter_cost")
                },
            )
            for e in instance.enclosures
        ),
        skus=tuple(replace(s, owned_saving_usd=2 * s.owned_saving_usd) for s in instance.skus),
    )
    again = optimum(twice)
    assert (best is None) == (again is None)
    if best is not None and again is not None:
        assert again.objective == pytest.approx(2 * best.objective)


# --- coverage ---------------------------------------------------------------------------------------


def test_seeds_are_the_same_everywhere() -> None:
    """A seed is a seed, and targets are known laws."""
    assert random_instance(7) == random_instance(7)
    laws = {law.__name__ for law in LAWS}
    assert {name.split(":")[0] for name in NAMES} - {"anything"} <= laws
    assert laws - EQUALITIES <= {name.split(":")[0] for name in NAMES}


def test_every_inequality_binds_somewhere() -> None:
    """Over the seeds every inequality law holds with equality, not trivially, at some optimum."""
    bound: set[str] = set()
    for seed in SEEDS:
        if (best := solved(seed)) is not None:
            bound |= binding_laws(random_instance(seed), best)
    assert {law.__name__ for law in LAWS} - bound == EQUALITIES


@pytest.mark.parametrize("name", [n for n in NAMES if n.split(":")[0] not in UNDECIDING])
def test_every_law_decides_somewhere(name: str) -> None:
    """Without its law, the first seed of a target is cheaper: a wrong law would be noticed."""
    seed = NAMES.index(name)
    best = solved(seed)
    free = optimum(random_instance(seed), without=[name.split(":", maxsplit=1)[0]])
    assert best is not None
    assert free is not None
    assert target(seed) == name
    assert free.objective < best.objective * (1 - 1e-6)

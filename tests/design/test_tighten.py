"""What a replay asks for: never cheaper, nothing where nothing failed, and bounded in one round."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.design.tighten import (
    LEAST,
    MOST,
    Tightening,
    alike,
    fed_back,
    harder,
    known,
    tighten,
    tightened,
)
from optimizer.formulation import write
from optimizer.instance import Instance
from optimizer.simulator.types import Failing, Law
from optimizer.solver import SolveOptions, compile, relaxation
from tests.design.beside import solved


def failing(law: Law, resource: str, have: float = 1.0, need: float = 1.2) -> Failing:
    return Failing(law, resource, "because", have, need)


@cache
def tiny() -> Instance:
    """The problem at the touching points of its best layout."""
    return solved("tiny").model.instance


@cache
def least(instance: Instance) -> float:
    """The least cost where machines come in fractions, so that a little more of anything is paid for."""
    outcome = relaxation(compile(write(instance).pyomo).lp, SolveOptions(time_limit=60.0))
    return outcome.objective if outcome.x is not None else math.inf


@cache
def resources() -> list[tuple[Law, str]]:
    """Everything that the layout of tiny can fail in."""
    layout = solved("tiny").layout
    prefills = [row.pool for row in layout.pools if row.prefill_busy]
    decodes = [row.pool for row in layout.pools if row.sequences]
    stores = [row.store for row in layout.stores if row.used_bytes]
    below = [store for store in stores if not store.startswith("hbm")]
    skus = [s.id for s in tiny().skus]
    return [
        *((Law.PREFILL_TIME, pool) for pool in prefills),
        *((law, pool) for law in (Law.DECODE_TIME, Law.RUNNING_KV) for pool in decodes),
        *((Law.HBM_ROOM, store) for store in stores if store.startswith("hbm")),
        *((law, store) for law in (Law.TIER_CAPACITY, Law.TIER_READ, Law.TIER_WRITE) for store in below),
        *((Law.HOST_LINK, pool) for pool in prefills),
        *((law, sku) for law in (Law.HOST_LINK, Law.NETWORK) for sku in skus),
    ]


def test_nothing_failing_is_the_problem_itself():
    assert tighten(tiny(), []) == tiny()
    assert tighten(tiny(), []).digest() == tiny().digest()
    assert tightened(tiny(), harder(Tightening(), [], {"any": 1.0})) == tiny()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 999), st.floats(1.0, 3.0)), min_size=1, max_size=3))
def test_tightening_never_makes_a_plan_cheaper(drawn):
    found = resources()
    failures = [failing(*found[k % len(found)], need=need) for k, need in drawn]
    assert least(tighten(tiny(), failures)) >= least(tiny()) * (1 - 1e-9)


@pytest.mark.parametrize("law", [Law.PREFILL_TIME, Law.DECODE_TIME, Law.RUNNING_KV, Law.TIER_CAPACITY])
def test_what_binds_costs_more_when_it_counts_more(law):
    """Wherever it can be had: pools that were not bought would do instead."""
    pools = {(p.option, p.sku, p.role): p.id for p in tiny().pools}
    everywhere = {law: pools.values(), Law.TIER_CAPACITY: [r for blamed, r in resources() if blamed is law]}
    much = Tightening({(law, resource): 10.0 for resource in everywhere[law]})
    assert least(tightened(tiny(), much)) > least(tiny()) * 1.001


@pytest.mark.parametrize("law", [law for law in Law if law is not Law.ENDURANCE])
def test_every_law_that_a_replay_blames_can_be_asked_for_more(law):
    mine = [resource for blamed, resource in resources() if blamed is law]
    assert mine
    for resource in mine:
        moved = tighten(tiny(), [failing(law, resource)])
        assert moved != tiny(), resource
        assert known(tiny(), failing(law, resource))
    assert not known(tiny(), failing(law, "nowhere"))


def test_wear_is_asked_for_in_the_drives_of_its_store():
    instance = solved("tests/metamorphic/workloads/tier-prices.yaml").model.instance
    store = next(s.id for s in instance.stores if s.tier.value == "nvme")
    scope = store.partition("@")[2]
    moved = tighten(instance, [failing(Law.ENDURANCE, store, 1.0, 1.25)])
    for before, after in zip(instance.builds, moved.builds, strict=True):
        factor = 1.25 if before.sku == scope else 1.0
        assert after.nvme_endurance == pytest.approx(before.nvme_endurance / factor)


def test_a_store_alone_is_counted_more_with_the_square_of_what_it_holds():
    store = "dram@HGX-B300-8"
    moved = tighten(tiny(), [failing(Law.TIER_CAPACITY, store, 100.0, 110.0)])
    here = {loc.id for loc in tiny().locations if loc.store == store}
    assert here
    for before, after in zip(tiny().stored, moved.stored, strict=True):
        factor = 1.1 if before.location in here else 1.0
        assert after.bytes == pytest.approx(before.bytes * factor)
        assert after.square == pytest.approx(before.square * factor**2)
        assert (after.new, after.first, after.prefix) == (before.new, before.first, before.prefix)


def test_pools_of_the_same_kind_are_meant_too():
    pool = next(p for p in tiny().pools if p.role.value == "decode")
    meant = alike(tiny(), pool.id)
    assert meant == {
        p.id for p in tiny().pools if (p.option, p.sku, p.role) == (pool.option, pool.sku, pool.role)
    }
    assert len(meant) > 1


@pytest.mark.parametrize(("have", "need", "factor"), [
    (1.0, 1.2, 1.2), (1.0, 1.0001, LEAST), (1.0, 0.5, LEAST), (1.0, 50.0, MOST), (0.0, 1.0, MOST),
    (1.0, float("inf"), MOST), (1.0, float("nan"), MOST),
])
def test_one_round_asks_for_a_bounded_step(have, need, factor):
    by = harder(Tightening(), [failing(Law.TIER_READ, "dram@HGX-B300-8", have, need)])
    assert by.factors == {(Law.TIER_READ, "dram@HGX-B300-8"): pytest.approx(factor)}


def test_rounds_add_up():
    first = harder(Tightening(), [failing(Law.TIER_READ, "s", 1.0, 1.5)])
    assert first.factors == {(Law.TIER_READ, "s"): MOST}
    second = harder(first, [failing(Law.TIER_READ, "s", 1.0, 1.2), failing(Law.TIER_WRITE, "s")])
    assert second.factors[Law.TIER_READ, "s"] == pytest.approx(1.25 * 1.4)  # twice the 20% that are missing
    assert second.factors[Law.TIER_WRITE, "s"] == pytest.approx(1.2)
    store = "dram@HGX-B300-8"
    by = Tightening({(Law.TIER_READ, store): 1.8})
    before = next(s for s in tiny().stores if s.id == store)
    after = next(s for s in tightened(tiny(), by).stores if s.id == store)
    assert after.utilisation == pytest.approx(before.utilisation / 1.8)


def test_a_pool_that_waits_longer_gets_its_wait_and_one_that_does_not_gets_room():
    blamed = [failing(Law.PREFILL_TIME, "slow"), failing(Law.PREFILL_TIME, "quick")]
    by = harder(Tightening(), blamed, {"slow": 1.7, "quick": 0.25, "other": 0.25})
    assert by.waits == {"slow": 1.7, "other": 0.5}
    assert by.factors == {(Law.PREFILL_TIME, "quick"): pytest.approx(1.2)}
    again = harder(by, [failing(Law.PREFILL_TIME, "slow")], {"slow": 1.7})
    assert again.factors[Law.PREFILL_TIME, "slow"] == pytest.approx(1.2)


@given(st.floats(0.01, 0.999999), st.floats(1.0, 9.0))
@settings(max_examples=50, deadline=None)
def test_waits_fed_back_are_those_of_the_stretched_bound(alpha, factor):
    path = tiny().paths[0]
    one = replace(tiny(), paths=(replace(path, attained=alpha),))
    longer = fed_back(one, {path.pool: factor}).paths[0].attained
    shorter = fed_back(one, {path.pool: 1 / factor}).paths[0].attained
    assert longer == pytest.approx(1 - (1 - alpha) ** (1 / factor))
    assert shorter == pytest.approx(1 - (1 - alpha) ** factor)
    assert longer <= alpha * (1 + 1e-12) <= shorter * (1 + 1e-11)


@pytest.mark.parametrize(("factors", "waits", "beyond"), [
    ({}, {}, False), ({}, {"p": 0.5}, False), ({}, {"p": 1.5}, True), ({}, {"q": 2.0}, False),
    ({(Law.TIER_READ, "s"): 1.1}, {}, False), ({(Law.TIER_READ, "s"): 1.2}, {}, True),
    ({(Law.TIER_WRITE, "s"): 1.02}, {}, True),
])
def test_shorter_waits_alone_ask_for_nothing(factors, waits, beyond):
    before = Tightening({(Law.TIER_READ, "s"): 1.1}, {"q": 2.0})
    assert Tightening({**before.factors, **factors}, {**before.waits, **waits}).asks_beyond(before) is beyond


def test_certainties_stay():
    for alpha in (0.0, 1.0):
        path = replace(tiny().paths[0], attained=alpha)
        one = replace(tiny(), paths=(path,))
        assert fed_back(one, {path.pool: 3.0}).paths[0].attained == alpha

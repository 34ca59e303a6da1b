"""Late loads are laid at the part of their way that made them late."""

from __future__ import annotations

import numpy as np
import pytest

from optimizer.instance import Tier
from optimizer.simulator.facility.plans import Life
from optimizer.simulator.types import Law, Names
from optimizer.simulator.verdict.judge import late_for
from optimizer.simulator.verdict.loaded import Part, longest
from optimizer.simulator.verdict.observed import Observed, first_tokens
from tests.simulator.handmade import Bucket, Cls, Pool, Scene, Store, demand, run

SECONDS = 4_000.0
SIZE = 1_000.0  # bytes of a load, one of which comes every second
BUSY, QUIET = SIZE / 0.8, SIZE / 0.5  # bytes/s that are in use for 80% and for half of the time
LIMIT = 2.0  # seconds
NVME = Store(Tier.NVME, reached=((0, 1),), read=QUIET)


def returns(*pools: Pool, store: Store = NVME, nic: float = np.inf) -> Observed:
    """Contexts that lie in a store and come back, one a second and in no order."""
    kept = Bucket(SIZE, 0.0, (Life(1.0, 0, 1e9, ()),), 1.0)
    scene = Scene(pools, (store,), (Cls(buckets=(kept,)),), servers=2, nic=nic)
    dice = np.random.Generator(np.random.PCG64(5))
    back = np.sort(dice.uniform(0.0, SECONDS, int(SECONDS)))
    traffic = demand(SECONDS, idle=[(0, 1.0, float(at)) for at in back], dice=dice.random(9_973))
    seen = run(scene, traffic, count=len(back))
    names = Names(("first", "second")[: len(pools)], ("there",), ("store",), ("w",), ("c",), ("kind",))
    return Observed(seen.facility, names, seen.state, seen.samples, SECONDS)


def pool(link: float, server: int = 0) -> Pool:
    """Prefill takes next to nothing; one load draws as much as there is."""
    return Pool(servers=(server,), wall=1e-6, link=link)


def blamed(seen: Observed) -> tuple[Law, str]:
    """What is to blame for first tokens over the limit."""
    rows = seen.of_class(0)
    late = rows[first_tokens(rows) > LIMIT]
    assert len(late) > 100
    return late_for(seen, late)


@pytest.mark.parametrize(
    ("seen", "law", "resource"),
    [
        (lambda: returns(pool(BUSY)), Law.HOST_LINK, "first"),
        (lambda: returns(pool(QUIET), store=Store(Tier.NVME, reached=((0, 1),), read=BUSY)),
         Law.TIER_READ, "store"),
        (lambda: returns(pool(SIZE * 0.8), store=Store(Tier.NVME, reached=((0, 1),), read=SIZE * 0.9)),
         Law.HOST_LINK, "first"),
        (lambda: returns(pool(QUIET), store=Store(read=QUIET, remote=True), nic=BUSY), Law.NETWORK, "kind"),
        (lambda: returns(pool(QUIET), store=Store(read=BUSY, remote=True), nic=QUIET),
         Law.TIER_READ, "store"),
    ],
    ids=["links", "device", "links, of two that are overloaded", "NICs", "device behind NICs"],
)  # fmt: skip
def test_the_part_that_keeps_loads_is_blamed(seen, law, resource):
    assert blamed(seen()) == (law, resource)


def test_a_lane_is_late_for_its_own_links():
    """Half of the loads come to each lane; what the other's links could carry besides does not help."""
    seen = returns(pool(BUSY / 2), pool(1e9, server=1))
    assert blamed(seen) == (Law.HOST_LINK, "first")


def test_writes_make_a_shared_device_the_longer_part():
    """Every turn adds 101 bytes: a quarter of a second of the device, which then is busy for 75%."""
    alone = Store(Tier.NVME, reached=((0, 1),), read=QUIET, write=101 / 0.25)
    shared = Store(Tier.NVME, reached=((0, 1),), read=QUIET, write=101 / 0.25, shared=True)
    links = SIZE / 0.6
    assert blamed(returns(pool(links), store=alone)) == (Law.HOST_LINK, "first")
    assert blamed(returns(pool(links), store=shared)) == (Law.TIER_READ, "store")


def test_what_lies_in_the_hbm_of_another_lane_is_late_for_the_nics():
    there = Store(Tier.HBM, sizes=(np.inf, np.inf), reached=((), ()))
    seen = returns(pool(1.0), pool(1.0, server=1), store=there, nic=BUSY / 4)
    assert blamed(seen) == (Law.NETWORK, "kind")


def test_a_slow_part_that_waits_for_nobody_is_longer_than_a_quick_and_busier_one():
    """8 s alone and idle for 90% of the time against 1 s, busy for 80%: 8.9 s against 5 s with the wait."""
    slow, busy = Part(Law.TIER_READ, "slow", 8.0, 0.1), Part(Law.HOST_LINK, "busy", 1.0, 0.8)
    assert longest(iter((busy, slow))) == (Law.TIER_READ, "slow")
    assert longest(iter((slow, busy._replace(busy=0.9)))) == (Law.HOST_LINK, "busy")

"""One or two requests at a time, and what each of them must take, write and find, computed on paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

from optimizer.instance import Role, Tier
from optimizer.simulator.engine.state import ARRIVED, MISS
from optimizer.simulator.facility.plans import Life
from optimizer.simulator.types import Outage
from tests.simulator.handmade import Bucket, Cls, Pool, Scene, Store, demand, run

TOKENS, NEW, OUTPUT = 1000.0, 60.0, 40.0
WALL = 0.001  # seconds a token
PER_TOKEN = 8.0  # bytes


def turns(store, pool=None, nic=math.inf, gap=50.0, lives=None, exclusive=False, longer=1.0):
    """One session whose context is kept in a store between its turns, of which there are about twenty."""
    kept = Bucket(TOKENS, 0.0, lives or (Life(1.0, 0, 1e6, ()),), PER_TOKEN)
    scene = Scene(
        pools=(pool or Pool(wall=WALL),), nic=nic, exclusive=exclusive,
        stores=store if isinstance(store, tuple) else (store,),
        classes=(Cls(buckets=(kept,), new=NEW, output=OUTPUT, first_prompt=TOKENS - OUTPUT),),
    )  # fmt: skip
    return run(scene, demand(1000.0, [0.0], gaps=[[gap]], scales=[[longer]]))


def rows(seen):
    """The requests."""
    return seen.state.request[: seen.state.counts[ARRIVED]]


SIZE = TOKENS * PER_TOKEN
ROADS = {
    "device": (Store(Tier.DRAM, (1e9,), ((0,),), read=1e4), Pool(wall=WALL), math.inf, SIZE / 1e4),
    "link": (Store(Tier.DRAM, (1e9,), ((0,),)), Pool(wall=WALL, link=2e4), math.inf, SIZE / 2e4),
    "pace of one load": (Store(Tier.DRAM, (1e9,), ((0,),)), Pool(wall=WALL, rate=4e4), math.inf, SIZE / 4e4),
    "NIC": (Store(Tier.STORAGE, (1e9,), remote=True), Pool(wall=WALL), 5e4, SIZE / 5e4),
    "local, no NIC": (Store(Tier.DRAM, (1e9,), ((0,),)), Pool(wall=WALL), 5e4, 0.0),
    "another server's": (Store(Tier.DRAM, (1e9,), ((),)), Pool(wall=WALL), 5e4, SIZE / 5e4),
    "the slowest of all": (
        Store(Tier.STORAGE, (1e9,), read=1e5, remote=True), Pool(wall=WALL, link=2e5, rate=4e5), 1e4,
        SIZE / 1e4,
    ),
    "latency, unpacking": (
        Store(Tier.DRAM, (1e9,), ((0,),), read=1e4, latency=0.25), Pool(wall=WALL, unpack=1e-5), math.inf,
        SIZE / 1e4 + 0.25 + SIZE * 1e-5,
    ),
    "HBM": (Store(Tier.HBM, (1e9,), ((),), read=1.0), Pool(wall=WALL), 1.0, 0.0),
}  # fmt: skip


@pytest.mark.parametrize(("store", "pool", "nic", "seconds"), ROADS.values(), ids=ROADS)
@pytest.mark.parametrize("layers", [1.0, 10.0])
def test_a_load_takes_what_its_slowest_part_takes(store, pool, nic, seconds, layers):
    """With L layers, prefill begins when the first is there, and ends no sooner than the last is:
    TTFT = max(load / L, load - wall) + wall (docs/physics.md).
    """
    seen = turns(store, pool=Pool(**{**vars(pool), "layers": layers}), nic=nic)
    q, wall = rows(seen)[1:-1], WALL * NEW
    assert len(q) > 10
    assert (q["found"] == 0).all()
    assert q["load"] == pytest.approx(seconds, abs=1e-9)
    first = max(seconds / layers, seconds - wall) + wall
    assert q["first_token"] - q["arrival"] == pytest.approx(first, abs=1e-9)


def test_a_longer_context_is_loaded_and_kept_at_its_own_length():
    """Half as long again as its bucket's: half as many bytes more to load and to keep."""
    store = Store(Tier.NVME, (1e9,), ((0,),), read=1e4)
    seen, nominal = turns(store, longer=1.5), turns(store)
    assert rows(seen)["load"][1:-1] == pytest.approx(1.5 * SIZE / 1e4)
    assert seen.samples.domain["used"].max() == pytest.approx(1.5 * SIZE)
    assert nominal.samples.domain["used"].max() == pytest.approx(SIZE)


def test_loads_of_one_device_follow_each_other():
    """Three sessions return at the same time: the device serves one after another, at its full rate."""
    kept = Bucket(TOKENS, 0.0, (Life(1.0, 0, 1e6, ()),), PER_TOKEN)
    scene = Scene(
        pools=(Pool(wall=WALL, ranks=3),), stores=(Store(read=1e4),),
        classes=(Cls(buckets=(kept,), new=NEW, output=OUTPUT),),
    )  # fmt: skip
    seen = run(scene, demand(100.0, idle=[(0, 5.0, 10.0)] * 3))
    assert rows(seen)["load"] == pytest.approx([0.8, 1.6, 2.4])
    assert seen.state.device["read_busy"][0] == pytest.approx(2.4)


def test_writing_through_writes_what_a_turn_adds():
    """The first turn its prompt and answer, each later one what is new; loads do not change that."""
    seen = turns(Store(Tier.NVME, (1e9,), ((0,),)))
    served = int(np.isfinite(rows(seen)["done"]).sum())
    first, later = TOKENS * PER_TOKEN, (NEW + OUTPUT) * PER_TOKEN
    assert seen.state.device["written"][0] == pytest.approx(first + (served - 1) * later)


def test_writing_through_writes_all_again_where_the_copy_was_gone():
    """Kept for 40 s, asked for every 50: each turn finds nothing and writes everything."""
    seen = turns(Store(Tier.NVME, (1e9,), ((0,),)), lives=(Life(1.0, 0, 40.0, ()),))
    q = rows(seen)
    assert (q["found"][1:] == MISS).all()
    assert seen.state.device["written"][0] == pytest.approx(np.isfinite(q["done"]).sum() * SIZE)


def test_exclusive_contexts_are_written_whole_each_time_and_sink():
    """10 s in DRAM, then NVMe until 1,000 s: asked for after 50, found in NVMe, written to both each turn."""
    stores = (Store(Tier.DRAM, (1e9,), ((0,),)), Store(Tier.NVME, (1e9,), ((0,),)))
    chain = (Life(1.0, -1, 0.0, ((0, 10.0), (1, 1000.0))),)
    seen = turns(stores, lives=chain, exclusive=True)
    q = rows(seen)
    ended = q["done"][np.isfinite(q["done"])]
    assert (q["found"][1:] == 1).all()
    dram, nvme = seen.state.device["written"]
    assert dram == pytest.approx(len(ended) * SIZE)
    assert nvme == pytest.approx((ended < seen.demand.horizon - 10).sum() * SIZE)


def test_a_faster_copy_serves_until_its_time_and_the_home_after_it():
    """In DRAM for 40 s beside NVMe for ever: gaps of 30 s hit DRAM, of 60 s NVMe."""
    stores = (Store(Tier.DRAM, (1e9,), ((0,),)), Store(Tier.NVME, (1e9,), ((0,),)))
    for gap, place in ((30.0, 0), (60.0, 1)):
        seen = turns(stores, lives=(Life(1.0, 1, 1e6, ((0, 40.0),)),), gap=gap)
        assert (rows(seen)["found"][1:] == place).all()


def test_a_failed_server_loses_what_it_held_and_comes_back_empty():
    """Two servers, sessions on both; one fails for 200 s. Its sessions miss once, the others never."""
    kept = Bucket(TOKENS, 0.0, (Life(1.0, 0, 1e6, ()),), PER_TOKEN)
    scene = Scene(
        pools=(Pool(wall=WALL, servers=(0, 1)),), servers=2,
        stores=(Store(Tier.DRAM, (1e9, 1e9), ((0,), (1,))),),
        classes=(Cls(buckets=(kept,), new=NEW, output=OUTPUT),),
    )  # fmt: skip
    traffic = demand(1000.0, [0.0, 10.0], gaps=[[50.0]], dice=[0.1, 0.5, 0.9, 0.5])
    seen = run(scene, traffic, outage=Outage(0, 330.0, 200.0))
    q = rows(seen)
    where = seen.state.session["where"][q["session"]] < 0.5
    assert set(where) == {True, False}
    down = (q["arrival"] > 330) & (q["arrival"] < 530)
    assert (q["found"][~where][1:] == 0).all()
    assert (q["found"][where & down] == MISS).all()
    back = q["found"][where & (q["arrival"] > 530)]
    assert back[0] == MISS  # what was computed meanwhile had nowhere to go
    assert (back[1:] == 0).all()
    assert (q["instance"][down] == 1).all()


def test_what_waits_to_be_decoded_is_called_when_its_server_is_back():
    """The only server that decodes fails with one sequence running, one waiting: both end when it is back."""
    pools = (
        Pool(Role.PREFILL, servers=(0,), wall=WALL),
        Pool(Role.DECODE, servers=(1,), overhead=0.1, room=1500.0, running=(0.0, 1.0)),
    )
    scene = Scene(pools=pools, servers=2, classes=(Cls(output=OUTPUT),))
    seen = run(scene, demand(100.0, [1.0, 1.5]), outage=Outage(1, 3.0, 20.0))
    q = rows(seen)
    assert seen.state.pool["short_kv"][1] >= 1
    assert np.isfinite(q["done"]).all()
    assert (q["done"] > 23.0).all()

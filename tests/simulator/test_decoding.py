"""Running sequences live in HBM: memory elsewhere, however much, runs none more."""

from __future__ import annotations

import numpy as np
import pytest

from optimizer.instance import Role, Tier
from optimizer.simulator.engine.state import ARRIVED
from optimizer.simulator.facility.plans import Life
from tests.simulator.handmade import Bucket, Cls, Pool, Scene, Store, demand, run

TOKENS, ROOM = 1000.0, 10_400.0  # ten contexts of a byte a token, and less than one more
STEP, OUTPUT = 0.01, 100.0
COMES_EVERY = 0.05  # seconds: an instance of ten takes one in every 0.1


def decoded(dram, room=ROOM, limit=np.inf, memory=0.0, instances=1):
    """Twice as many requests as ten places can decode, with all contexts kept in DRAM of this size."""
    kept = Bucket(tokens=TOKENS, lives=(Life(1.0, 0, 1e6, ()),))
    decoding = Pool(
        Role.DECODE, (0,) * instances, overhead=STEP, room=room, running=(0.0, 1.0), limit=limit,
        memory=(memory, 0.0),
    )  # fmt: skip
    scene = Scene(
        pools=(Pool(Role.PREFILL, wall=1e-9), decoding),
        stores=(Store(Tier.DRAM, (dram,), ((0,),)),),
        classes=(Cls(buckets=(kept,), output=OUTPUT, first_prompt=900.0),),
    )
    times = np.arange(1000) * COMES_EVERY
    return run(scene, demand(50.0, times, gaps=[[0.5, np.inf]]), count=4000)


def test_sequences_are_bounded_by_hbm_though_there_is_dram_for_all():
    """Ten at once and never more, at every sample and at their peaks; the rest waits, and HBM is to blame."""
    seen = decoded(dram=1e12)
    samples = seen.samples.instance[:, 1]
    assert samples["kv_peak"].max() == pytest.approx(10 * TOKENS, rel=1e-12)
    assert samples["sequences"].max() == 10
    assert seen.state.instance["kv_peak"].max() <= ROOM
    assert seen.state.pool["waiting"][1] > 100
    assert seen.state.pool["short_kv"][1] > 100
    assert seen.state.pool["short_time"][1] == 0


def test_dram_changes_nothing_for_decoding_and_hbm_does():
    """Ten thousand times the DRAM: the same peaks, as many done. Twice the HBM: twice as many done."""
    plenty, more, wider = decoded(dram=1e8), decoded(dram=1e12), decoded(dram=1e8, room=2 * ROOM)
    assert (plenty.samples.instance["kv_peak"] == more.samples.instance["kv_peak"]).all()
    ended = [seen.state.counts[1] for seen in (plenty, more, wider)]
    assert ended[0] == ended[1]
    assert ended[2] == pytest.approx(2 * ended[0], rel=0.03)


def test_sequences_are_bounded_by_the_pace_as_well():
    """An iteration of 10 ms with 1 ms for each sequence, and 15 ms at most: five at once."""
    seen = decoded(dram=1e9, room=1e9, limit=0.0155, memory=0.001)
    assert seen.samples.instance[:, 1]["sequences"].max() == 5
    assert seen.samples.instance[:, 1]["step_peak"].max() == pytest.approx(0.015 / 0.0155)
    assert seen.state.pool["short_time"][1] > 100


def test_one_that_needs_longer_than_the_pace_runs_alone():
    """Longer than an iteration may take by itself: it is decoded, late, and does not block the others."""
    seen = decoded(dram=1e9, room=1e9, limit=0.005)
    q = seen.state.request[: seen.state.counts[ARRIVED]]
    done = np.sort(q["done"][np.isfinite(q["done"])])
    assert seen.samples.instance[:, 1]["sequences"].max() == 1
    assert np.diff(done) == pytest.approx(OUTPUT * STEP)


def test_a_sequence_too_long_for_any_instance_is_turned_away_and_leaves_nothing():
    seen = decoded(dram=1e9, room=0.9 * TOKENS)
    assert seen.state.counts[2] == seen.state.counts[ARRIVED] > 0
    assert seen.state.cache.domain["used"].max() == 0


def test_each_of_two_instances_has_its_own_room():
    """The pool's bytes are not one: ten at each, though there is room for twenty and a half in both."""
    seen = decoded(dram=1e9, room=1.025 * ROOM, instances=2)
    assert seen.samples.instance[:, 1:]["sequences"].max() == 10
    assert seen.samples.instance[:, 1:]["sequences"].sum(axis=1).max() == 20

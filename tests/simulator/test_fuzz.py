"""Random facilities and traffic keep every law, and meet everything that can happen to a request."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from optimizer.simulator.engine.state import ENDED, NONE, REFUSED, REJECTED, SERVED
from tests.simulator.fuzz import LAYOUTS, play
from tests.simulator.laws import LAWS, broken, nothing_is_in_the_way, rows

FEW, MANY = range(1, 61), range(61, 1061)


@cache
def played(seed):
    """A run, once for all laws."""
    return play(seed)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law(law):
    found = {seed: list(law(played(seed))) for seed in FEW}
    assert not {seed: what for seed, what in found.items() if what}


@pytest.mark.slow
def test_a_thousand_facilities():
    found = {seed: broken(play(seed)) for seed in MANY}
    assert not {seed: what for seed, what in found.items() if what}


def test_the_same_seed_is_the_same_run():
    for seed in (3, LAYOUTS):
        one, other = play(seed), play(seed)
        assert rows(one).tobytes() == rows(other).tobytes()


def test_everything_happens_in_some_of_them():
    """Laws that nothing tries are no tests: how often each of these is met in the sixty."""
    runs = [played(seed) for seed in FEW]
    q = [rows(seen) for seen in runs]
    served = [each[each["state"] == SERVED] for each in q]
    late = [each[np.isfinite(each["first_token"])] for each in q]
    domains = [seen.state.cache.domain for seen in runs]
    met = {
        "served": sum(seen.state.counts[ENDED] > 0 for seen in runs),
        "rejected": sum(seen.state.counts[REFUSED] > 0 for seen in runs),
        "hits below HBM": sum((each["load"] > 0).any() for each in q),
        "waits for a rank": sum((each["wait"] > 0).any() for each in q),
        "waits for HBM": sum(seen.state.pool["short_kv"].sum() > 0 for seen in runs),
        "waits for time": sum(seen.state.pool["short_time"].sum() > 0 for seen in runs),
        "ten at once": sum(seen.samples.instance["sequences"].max() >= 10 for seen in runs),
        "evictions": sum(each["evicted"].sum() > 0 for each in domains),
        "no room": sum(each["refused"].sum() > 0 for each in domains),
        "lost": sum(((each["due"] != NONE) & (each["found"] != each["due"])).any() for each in q),
        "found as planned": sum(
            nothing_is_in_the_way(seen) and (each["due"] != NONE).any()
            for seen, each in zip(runs, q, strict=True)
        ),
        "restarts": sum(seen.outage.time + seen.outage.restart < seen.demand.horizon for seen in runs),
        "servers down": sum((~seen.state.instance["up"]).any() for seen in runs),
        "recorded hits": sum(((each["recorded"] != NONE) & (each["cached"] > 0)).any() for each in q),
        "handed over": sum((each["pool"] != each["prefill_pool"]).any() for each in served),
        "begun again": sum((each["epoch"] > 0).any() for each in q),
        "rejected later": sum((each["state"] == REJECTED).any() for each in late),
    }
    assert {what: count for what, count in met.items() if count < 3} == {}


def test_laws_notice():
    """A byte, a request, a copy more or less is seen: every law but those on times, by what breaks it."""
    seen = played(2)
    for change in (
        lambda s: s.counts.__setitem__(ENDED, s.counts[ENDED] + 1),
        lambda s: s.area.__setitem__(0, s.area[0] * (1 + 1e-8) + 1e-6),
        lambda s: s.instance["kv_peak"].__setitem__(0, s.pool["room"].max() * 1.001),
        lambda s: s.cache.domain["used"].__setitem__(0, s.cache.domain["used"][0] + 1e4),
        lambda s: s.cache.domain["newest"].__setitem__(0, NONE),
        lambda s: s.instance["steps"].__setitem__(s.instance["sequences"] > 0, 1e9),
    ):
        state = type(seen.state)(*(_copied(part) for part in seen.state))
        change(state)
        assert broken(type(seen)(**{**vars(seen), "state": state}))


def _copied(part):
    return part.copy() if isinstance(part, np.ndarray) else type(part)(*(array.copy() for array in part))

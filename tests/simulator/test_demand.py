"""Drawn traffic is what the workload declares, in the planned steady state from beginning to end."""

from __future__ import annotations

import heapq
import itertools
import math

import numpy as np
import pytest

from optimizer.instance import Bucket
from optimizer.simulator.traffic.demand import declarations, draw, faded, past
from optimizer.simulator.traffic.sampling import beyond, lengths, points, sample, tails
from optimizer.workload import slots, survival, tail_returns
from optimizer.workload.gaps import distribution
from optimizer.workload.schema import Gaps
from tests.instance.shipped import built, workload

FORMS = {
    "exponential": Gaps(exponential={"mean": "60 s"}),
    "lognormal": Gaps(lognormal={"median": "40 s", "p90": "900 s"}),
    "mixture": Gaps(
        mixture=(
            {"weight": 0.7, "lognormal": {"median": "10 s", "p90": "40 s"}},
            {"weight": 0.2, "exponential": {"mean": "2000 s"}},
            {"weight": 0.1, "lognormal": {"median": "2 h", "p90": "20 h"}},
        )
    ),
    "table": Gaps(
        table=(
            {"within": "20 s", "share": 0.3},
            {"within": "300 s", "share": 0.8},
            {"within": "2 h", "share": 1},
        )
    ),
    "open table": Gaps(table=({"within": "20 s", "share": 0.5}, {"within": "300 s", "share": 0.8})),
}
AGES = (0.0, 20.0, 120.0, 600.0, 3600.0, 7200.0)
FAR = 4.0
"""Standard errors: a right count is further off once in 16,000."""
KOLMOGOROV = math.sqrt(-math.log(0.001 / 2) / 2)
"""The largest distance of distribution functions, times the root of the count, passes this once in 1,000."""


def generator(seed=0):
    return np.random.Generator(np.random.PCG64(seed))


def made(gaps, back=0.9, rate=40.0, peak_to_mean=1.0, ages=AGES):
    """A bucket and its curve."""
    curve = survival(gaps, back)
    mean = rate / peak_to_mean
    cut = slots(curve, ages, rate, mean)
    returns = sum(s.rate * s.drop for s in cut) + tail_returns(curve, ages, mean)
    return Bucket("b", "c", "m", 1e4, 1e4, rate, mean, returns, 0.0, 10.0, cut), curve


# ---- samples ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gaps", FORMS.values(), ids=FORMS)
def test_tails_of_arrays_are_those_of_numbers(gaps):
    gap = distribution(gaps)
    ages = np.array([0.0, 1e-3, 5.0, 20.0, 150.0, 300.0, 7200.0, 1e5])
    assert tails(gap, ages) == pytest.approx([gap.tail(t) for t in ages], rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("age", [0.0, 25.0, 290.0])
@pytest.mark.parametrize("gaps", FORMS.values(), ids=FORMS)
def test_samples_have_the_declared_tail(gaps, age):
    """Kolmogorov and Smirnov's test against the distribution itself, of gaps longer than the age."""
    gap, count = distribution(gaps), 20_000
    found = np.sort(beyond(gap, np.full(count, age), generator(5)))
    assert found[0] >= age
    known = found[np.isfinite(found)]
    theory = np.array([1 - gap.tail(t) / gap.tail(age) for t in known])
    above, below = np.arange(1, len(known) + 1) / count, np.arange(len(known)) / count
    distance = max(np.max(above - theory), np.max(theory - below))
    assert distance * math.sqrt(count) < KOLMOGOROV


def test_what_a_table_leaves_open_never_comes():
    found = sample(distribution(FORMS["open table"]), 20_000, generator())
    assert np.mean(np.isinf(found)) == pytest.approx(0.2, abs=FAR * math.sqrt(0.2 * 0.8 / 20_000))


def test_deep_in_a_lognormal_tail_gaps_are_still_longer_than_the_age():
    gap = distribution(Gaps(lognormal={"median": "1 s", "p90": "2 s"}))
    assert gap.tail(1e12) == 0.0
    found = beyond(gap, np.full(1000, 1e12), generator())
    assert np.all(found >= 1e12)
    assert np.all(found < 1.2e12)


def test_points_follow_their_density_within_a_cell():
    """exp(-5t) on one cell: what is left of it at the end is a hundredth of the beginning."""
    found = np.sort(points(np.array([0.0, 1.0]), np.array([20_000.0]), lambda t: np.exp(-5 * t), generator()))
    theory, steps = (1 - np.exp(-5 * found)) / (1 - math.exp(-5)), np.arange(len(found) + 1) / len(found)
    distance = max(np.max(steps[1:] - theory), np.max(theory - steps[:-1]))
    assert distance * math.sqrt(len(found)) < KOLMOGOROV


# ---- the steady state at time 0 ---------------------------------------------------------------------------


def counts(values, edges):
    return np.histogram(values, edges)[0]


@pytest.mark.parametrize("peak_to_mean", [1.0, 4.0])
@pytest.mark.parametrize("gaps", FORMS.values(), ids=FORMS)
def test_contexts_of_every_age_are_met(gaps, peak_to_mean):
    """rate_j * integral of S over every slot, which is what the plan holds."""
    bucket, curve = made(gaps, peak_to_mean=peak_to_mean)
    runs = 8
    ages = [past(bucket, curve, 7200.0, 60.0, generator(n)).age for n in range(runs)]
    found = sum(counts(age[age < 7200.0], AGES) for age in ages)
    expected = runs * np.array([s.rate * s.integral for s in bucket.slots])
    assert np.all(np.abs(found - expected) < FAR * np.sqrt(expected)), (found, expected)


@pytest.mark.parametrize("oldest", [0.0, 120.0, 7200.0])
@pytest.mark.parametrize("gaps", FORMS.values(), ids=FORMS)
def test_returns_begin_at_their_planned_rate(gaps, oldest):
    """In the first second: rate_j * drop of S over every slot, and mean_rate * S(tau_J) beyond the last.

    That is so too of contexts too old to be kept: they come, and find nothing.
    """
    bucket, curve = made(gaps, rate=500.0, peak_to_mean=4.0)
    window, runs, edges = 1.0, 4, (*AGES, np.inf)
    found = np.zeros(len(AGES))
    for n in range(runs):
        met = past(bucket, curve, oldest, window, generator(n))
        assert np.all(met.comes[met.age >= oldest] <= window)
        soon = met.comes < window
        age = met.age[soon] + met.comes[soon]
        found += counts(age, edges)
    late = tail_returns(curve, AGES, bucket.mean_rate)
    expected = np.array([*(s.rate * s.drop for s in bucket.slots), late])
    expected *= runs * window
    expected[0] -= runs * bucket.rate * (window - curve.integral(0, window))  # of contexts born meanwhile
    assert np.all(np.abs(found - expected) <= FAR * np.sqrt(expected) + 1e-9), (found, expected)


# ---- and ever after ---------------------------------------------------------------------------------------


def live(demand):
    """Columns (bucket, turn, idle age at it, gap, kept) of every context, as if requests took no time."""
    events = [(time, b, 0.0) for time, b in zip(demand.first_time, demand.first_bucket, strict=True)]
    turns = []
    for row in zip(demand.idle_bucket, demand.idle_age, demand.idle_return, demand.idle_kept, strict=True):
        bucket, age, comes, kept = row
        turns.append((bucket, -age, 0.0, age + comes, kept))
        if comes < demand.horizon:
            events.append((comes, bucket, age + comes))
    heapq.heapify(events)
    used = demand.gap[:-1].copy()
    while events:
        time, bucket, age = heapq.heappop(events)
        gap, kept = demand.gap_seconds[used[bucket]], demand.gap_kept[used[bucket]]
        used[bucket] += 1
        turns.append((bucket, time, age, gap, kept))
        if time + gap < demand.horizon:
            heapq.heappush(events, (time + gap, bucket, gap))
    assert np.all(used <= demand.gap[1:]), "gaps were used twice"
    return np.array(turns).T


HALF = ("small", "classes.agents.reuse.return_probability=0.5", "classes.chat.reuse.return_probability=0.5")


@pytest.mark.slow
def test_the_steady_state_stays_while_the_peak_outlasts_its_hour():
    """Three hours of peak at four times the mean: contexts and returns of every age are as planned."""
    instance, runs, hour = built(*HALF), 6, 3600.0
    horizon = 3 * hour
    rate = sum(c.rate for c in instance.classes)
    ends = [b.slots[-1].end for b in instance.buckets]
    held = [np.zeros((3, len(b.slots))) for b in instance.buckets]
    came = [np.zeros((3, len(b.slots))) for b in instance.buckets]
    for seed in range(runs):
        demand = draw(instance, workload(*HALF), round(rate * horizon), seed, oldest=ends)
        bucket, turn, age, gap, kept = live(demand)
        for b, row in itertools.product(range(len(ends)), range(3)):
            time = (row + 1) * hour
            edges = [0.0, *(s.end for s in instance.buckets[b].slots)]
            idle = (time - turn)[bucket == b]
            here = (idle >= 0) & (idle < np.minimum(gap, kept)[bucket == b])
            held[b][row] += counts(idle[here], edges)
            recent = (bucket == b) & (turn > time - hour) & (turn <= time) & (age > 0)
            came[b][row] += counts(age[recent], edges)
    for b, bucket in enumerate(instance.buckets):
        planned = runs * np.array([s.rate * s.integral for s in bucket.slots])
        assert np.all(np.abs(held[b] - planned) < FAR * np.sqrt(planned)), (bucket.id, held[b], planned)
        planned = runs * hour * np.array([s.rate * s.drop for s in bucket.slots])
        # sessions of a geometric number of returns, one on average: E[N^2] = 3 E[N] is the most they cluster
        assert np.all(np.abs(came[b] - planned) < FAR * np.sqrt(3 * planned)), (bucket.id, came[b], planned)


def test_without_a_mean_below_the_peak_nothing_is_forgotten():
    bucket, curve = made(FORMS["mixture"])
    met = past(bucket, curve, 7200.0, 60.0, generator())
    assert np.all(np.isinf(met.kept))
    bucket, curve = made(FORMS["mixture"], peak_to_mean=2.0)
    gap, kept = faded(bucket, np.zeros(10_000), np.full(10_000, 4000.0), generator())
    gone = np.isfinite(kept)
    assert np.mean(gone) == pytest.approx(0.5, abs=FAR * 0.005)
    assert np.all(kept[gone] == 3600.0)
    assert np.all(np.isinf(gap) == gone)


# ---- the whole draw ---------------------------------------------------------------------------------------


def drawn(seed=1, requests=20_000, **changed):
    instance = built("small")
    return draw(instance, workload("small"), requests, seed, **{"oldest": [600.0] * 5, **changed})


def test_first_requests_are_poisson_at_their_rate():
    instance, demand = built("tiny"), draw(built("tiny"), workload("tiny"), 40_000, 3, oldest=[600.0] * 2)
    assert demand.horizon == pytest.approx(40_000 / sum(c.rate for c in instance.classes))
    assert np.all(np.diff(demand.first_time) >= 0)
    for b, bucket in enumerate(instance.buckets):
        mine = demand.first_time[demand.first_bucket == b]
        expected = bucket.firsts * demand.horizon
        assert abs(len(mine) - expected) < FAR * math.sqrt(expected)
        theory, steps = mine / demand.horizon, np.arange(len(mine) + 1) / len(mine)
        distance = max(np.max(steps[1:] - theory), np.max(theory - steps[:-1]))
        assert distance * math.sqrt(len(mine)) < KOLMOGOROV


def test_a_seed_says_it_all():
    one, again, other = drawn(), drawn(), drawn(seed=2)
    assert all(np.array_equal(a, b) for a, b in zip(one, again, strict=True))
    for name in ("first_time", "gap_seconds", "dice", "idle_age", "scale_factor"):
        assert not np.array_equal(getattr(one, name), getattr(other, name)), name


def test_what_is_kept_of_one_bucket_does_not_change_what_is_drawn_of_another():
    one, other = drawn(), drawn(oldest=[60.0, *[600.0] * 4])
    assert len(one.idle_age) > len(other.idle_age)
    for b in range(1, 5):
        for values, which in ((one, one.idle_bucket == b), (other, other.idle_bucket == b)):
            assert np.sum(which)
            assert np.array_equal(values.idle_age[which], one.idle_age[one.idle_bucket == b])


def test_buckets_are_drawn_independently():
    demand = drawn(seed=4)
    gaps = [demand.gap_seconds[a:b] for a, b in zip(demand.gap[:3], demand.gap[1:4], strict=True)]
    finite = [np.isfinite(gap) for gap in gaps]  # of one distribution, in three buckets of the same class
    for one, other in itertools.combinations(range(3), 2):
        count = min(len(finite[one]), len(finite[other]))
        agree = np.mean(finite[one][:count] == finite[other][:count])
        share = np.mean(finite[one]) * np.mean(finite[other])
        share += np.mean(~finite[one]) * np.mean(~finite[other])
        assert agree == pytest.approx(share, abs=FAR * math.sqrt(share * (1 - share) / count))
        assert not np.intersect1d(gaps[one][finite[one]], gaps[other][finite[other]]).size


def test_a_replayed_class_is_not_drawn():
    instance, demand = built("small"), drawn(without={"agents"})
    chat = [b for b, bucket in enumerate(instance.buckets) if bucket.cls == "chat"]
    assert set(demand.first_bucket) == set(chat) == set(demand.idle_bucket)
    assert demand.horizon == drawn().horizon


OTHER = "classes.agents.contexts=[" + ", ".join(f"{{tokens: {n} ktok, share: {s}}}" for n, s in
                                               ((49, 0.25), (98, 0.5), (212, 0.25))) + "]"  # fmt: skip


def test_an_endless_past_and_another_workload_are_refused():
    with pytest.raises(ValueError, match="finite"):
        drawn(oldest=[math.inf] * 5)
    with pytest.raises(ValueError, match="another workload"):
        declarations(built("small"), workload("small", OTHER))


# ---- lengths ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0.05, 0.3, 0.73, 2.0])
def test_lengths_have_mean_one_and_the_declared_spread(spread):
    found = lengths(spread, 0.0, math.inf, 100_000, generator(7))
    assert np.mean(found) == pytest.approx(1.0, rel=1e-9)
    # variance of the sample's CV^2 for a gamma: (2 + 6 cv^2) cv^4 / n, to first order
    assert np.var(found) == pytest.approx(spread**2, rel=FAR * math.sqrt((2 + 6 * spread**2) / 100_000))


def test_lengths_that_do_not_fit_are_held_and_the_mean_stays():
    found = lengths(0.73, 0.2, 1.5, 100_000, generator(7))
    assert (found.min(), found.max()) == (0.2, 1.5)
    assert np.mean(found) == pytest.approx(1.0, rel=1e-9)
    assert 0.01 < np.mean(found == 1.5) < 0.5


@pytest.mark.parametrize(("spread", "low", "high"), [(0.0, 0.1, 9.0), (0.5, 1.0, 9.0), (0.5, 0.1, 1.0)])
def test_without_a_spread_or_room_for_one_every_length_is_nominal(spread, low, high):
    assert np.all(lengths(spread, low, high, 10, generator()) == 1.0)


def test_no_context_is_shorter_than_its_shared_prefix_and_its_last_turn():
    """Shorter ones would hold fewer than no private bytes."""
    instance, demand, declared = built("small"), drawn(), workload("small")
    for b, (bucket, cls, _) in enumerate(declarations(instance, declared)):
        prefix = cls.shared_prefix.tokens if cls.shared_prefix else 0.0
        shortest = demand.scale_factor[demand.scale[b] : demand.scale[b + 1]].min() * bucket.tokens
        assert shortest >= (prefix + cls.new_tokens + cls.output_tokens) * (1 - 1e-12)


def test_lengths_of_a_draw_keep_within_what_a_rank_holds():
    instance, longest = built("small"), np.array([60e3, 120e3, 230e3, 9e3, 30e3])
    demand = drawn(longest=longest)
    for b, bucket in enumerate(instance.buckets):
        mine = demand.scale_factor[demand.scale[b] : demand.scale[b + 1]]
        assert mine.max() * bucket.tokens <= longest[b] * (1 + 1e-12)
        assert np.mean(mine) == pytest.approx(1.0, rel=1e-6)

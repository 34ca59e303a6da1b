"""Rows of lives, measured again, are the layout's shares."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from optimizer.errors import InputError
from optimizer.instance import Layout, PlacementRow, Slot
from optimizer.simulator.facility.plans import oldest_ages, plans
from tests.formulation import small

ENDS = (30.0, 60.0, 300.0, 3600.0)
SLOTS = tuple(
    Slot(start, end, 10.0, 0.1, 1.0) for start, end in zip((0.0, *ENDS[:-1]), ENDS, strict=True)
)
SINKING = replace(
    small.WRITE_THROUGH,
    buckets=(replace(small.SHORT, slots=SLOTS), replace(small.LONG, slots=SLOTS)),
    stores=tuple(replace(s, lru=False) for s in small.STORES),
)
CHAINED = replace(SINKING, policy=small.EXCLUSIVE.policy)
PLACES = {place.id: place.order for place in small.LOCATIONS}
INDEX = {name: 3 * n for n, name in enumerate(PLACES)}
BUCKETS = {"50k": 0, "10k": 1}
FAST = ("hbm", "dram", "cxl")
CHAIN = ("hbm", "dram", "cxl", "nvme")

shares = st.one_of(st.sampled_from((0.0, 0.2, 0.5, 1.0)), st.floats(0, 1, allow_subnormal=False))


@st.composite
def write_through_tables(draw):
    """Shares by (serve, home): those of (k, d) and the total of d never grow; all together at most 1."""
    tables = {}
    for home in draw(st.sampled_from((("storage",), ("nvme", "storage"), ("nvme", "storage", "zip")))):
        fast = np.minimum.accumulate(draw(arrays(float, (len(FAST), len(ENDS)), elements=shares)), axis=1)
        more = draw(arrays(float, len(ENDS), elements=shares))
        total = np.maximum.accumulate(fast.sum(axis=0)[::-1] + more[::-1])[::-1]
        tables |= {(k, home): row for k, row in zip(FAST, fast, strict=True)}
        tables[home, home] = total - fast.sum(axis=0)
    return scaled(tables, draw(shares))


@st.composite
def exclusive_tables(draw):
    """Shares by (serve, chain): cumulative from fast to slow they never grow with age."""
    tables = {}
    for chain in draw(st.sampled_from((("s",), ("r", "s")))):
        raw = draw(arrays(float, (len(CHAIN), len(ENDS)), elements=shares))
        cumulative = np.maximum.accumulate(np.minimum.accumulate(raw, axis=1), axis=0)
        rows = np.diff(cumulative, axis=0, prepend=0)
        tables |= {(k, chain): row for k, row in zip(CHAIN, rows, strict=True)}
    return scaled(tables, draw(shares))


def scaled(tables, share):
    total = sum(row[0] for row in tables.values())
    return {key: np.maximum(row, 0.0) * share / max(total, 1.0) for key, row in tables.items()}


def layout(tables, bucket="10k"):
    rows = tuple(
        PlacementRow("a", bucket, j, serve, home, float(share), 0, 0, 0, 0, 0)
        for (serve, home), row in tables.items()
        for j, share in enumerate(row, 1)
        if share
    )
    return Layout((), (), (), (), (), (), rows, (), (), (), (), 0.0)


def measured(found, bucket="10k"):
    """The share that each (serving location, home) has in each slot, by following every row through time."""
    where = {index: name for name, index in INDEX.items()} | {-1: None}
    tables = {}
    before = 0.0
    for r in range(found.row[BUCKETS[bucket]], found.row[BUCKETS[bucket] + 1]):
        share, before = found.cum[r] - before, found.cum[r]
        stages = range(found.stage[r], found.stage[r + 1])
        for j, (start, end) in enumerate(zip((0.0, *ENDS[:-1]), ENDS, strict=True)):
            age = (start + end) / 2
            at = [found.stage_location[s] for s in stages if age < found.stage_until[s]]
            if not at and age < found.home_until[r]:
                at = [found.home[r]]
            if at:
                key = where[at[0]], where[found.home[r]]
                tables.setdefault(key, np.zeros(len(ENDS)))[j] += share
    return tables


def same(one, other):
    nothing = np.zeros(len(ENDS))
    for key in one.keys() | other.keys():
        assert one.get(key, nothing) == pytest.approx(other.get(key, nothing), abs=1e-9), key


@given(write_through_tables())
@settings(deadline=None)
def test_write_through_rows_give_back_every_share(tables):
    found = plans(SINKING, layout(tables), INDEX, BUCKETS)
    same(measured(found), tables)


@given(write_through_tables())
@settings(deadline=None)
def test_copies_at_home_outlive_the_faster_ones_and_those_served_fast_longest_are_kept_longest(tables):
    found = plans(SINKING, layout(tables), INDEX, BUCKETS)
    lived = {}
    for r in range(found.row[1], found.row[2]):
        assert found.stage[r + 1] - found.stage[r] <= 1
        fast = found.stage_until[found.stage[r]] if found.stage[r + 1] > found.stage[r] else 0.0
        assert fast <= found.home_until[r]
        lived.setdefault(found.home[r], []).append((fast, found.home_until[r]))
    for pairs in lived.values():
        assert [home for _, home in sorted(pairs)] == sorted(home for _, home in pairs)


@given(exclusive_tables())
@settings(deadline=None)
def test_exclusive_rows_give_back_every_share(tables):
    found = plans(CHAINED, layout(tables), INDEX, BUCKETS)
    assert np.all(found.home == -1)
    together = {}
    for (serve, _), row in tables.items():  # a life does not say whose chain it sinks through
        together[serve, None] = together.get((serve, None), 0.0) + row
    same(measured(found), together)


@given(exclusive_tables())
@settings(deadline=None)
def test_exclusive_lives_only_sink(tables):
    found = plans(CHAINED, layout(tables), INDEX, BUCKETS)
    order = {INDEX[name]: order for name, order in PLACES.items()}
    for r in range(len(found.home)):
        mine = slice(found.stage[r], found.stage[r + 1])
        assert np.all(np.diff([order[at] for at in found.stage_location[mine]]) > 0)
        assert np.all(np.diff(found.stage_until[mine]) > 0)


def test_a_layout_by_hand():
    """Half is served from HBM for a minute; all is at home in storage for an hour, but a tenth only 5 min."""
    tables = {
        ("hbm", "storage"): np.array([0.5, 0.5, 0.0, 0.0]),
        ("storage", "storage"): np.array([0.5, 0.5, 1.0, 0.9]),
    }
    found = plans(SINKING, layout(tables), INDEX, BUCKETS)
    assert found.row.tolist() == [0, 0, 3]
    assert found.cum == pytest.approx([0.5, 0.9, 1.0])
    assert found.home.tolist() == [INDEX["storage"]] * 3
    assert found.home_until.tolist() == [3600.0, 3600.0, 300.0]
    assert found.stage.tolist() == [0, 1, 1, 1]
    assert (found.stage_location.tolist(), found.stage_until.tolist()) == ([INDEX["hbm"]], [60.0])


def test_where_the_least_recently_used_goes_first_no_time_limits():
    tables = {
        ("dram", "storage"): np.array([0.9, 0.9, 0.4, 0.0]),
        ("storage", "storage"): np.array([0.1, 0.1, 0.6, 0.5]),
    }
    rules = replace(SINKING, stores=tuple(replace(s, lru=s.id == "dram") for s in SINKING.stores))
    found = plans(rules, layout(tables), INDEX, BUCKETS)
    assert found.stage_until.tolist() == [math.inf] * 2
    assert sorted(found.home_until) == [300.0, 300.0, 3600.0]
    assert found.cum[-1] == pytest.approx(1.0)


def test_a_home_without_time_limits_keeps_all_that_ever_came_there():
    tables = {("nvme", "nvme"): np.array([0.9, 0.6, 0.6, 0.1])}
    rules = replace(SINKING, stores=tuple(replace(s, lru=s.id == "nvme") for s in SINKING.stores))
    found = plans(rules, layout(tables), INDEX, BUCKETS)
    assert (found.cum.tolist(), found.home_until.tolist()) == ([pytest.approx(0.9)], [math.inf])


def test_a_rest_of_rounding_needs_no_place_that_was_bought():
    """1e-16 of the contexts at home where no machine is: the solver's rounding, and no context's life."""
    tables = {
        ("hbm", "storage"): np.array([8e-17, 8e-17, 0.0, 0.0]),
        ("nvme", "nvme"): np.array([1.0, 1.0, 0.0, 0.0]),
    }
    bought = {name: number for name, number in INDEX.items() if name != "storage"}
    found = plans(SINKING, layout(tables), bought, BUCKETS)
    assert found.home.tolist() == [INDEX["nvme"]]


def test_growth_of_rounding_is_no_growth():
    found = plans(SINKING, layout({("nvme", "nvme"): np.array([0.5, 0.5, 0.5 + 1e-10, 0.0])}), INDEX, BUCKETS)
    assert (found.cum.tolist(), found.home_until.tolist()) == ([0.5], [300.0])


@pytest.mark.parametrize(
    ("rules", "tables", "words"),
    [
        (SINKING, {("hbm", "nvme"): [0.2, 0.3, 0, 0], ("nvme", "nvme"): [0.8, 0.7, 0, 0]}, "grows with age"),
        (SINKING, {("nvme", "nvme"): [0.2, 0.3, 0, 0]}, "grows with age"),
        (SINKING, {("nvme", "nvme"): [0.6, 0, 0, 0], ("zip", "zip"): [0.6, 0, 0, 0]}, "1.2 of its contexts"),
        (CHAINED, {("hbm", "s"): [0.2, 0.3, 0, 0], ("nvme", "s"): [0.8, 0.7, 0, 0]}, "grows with age"),
    ],
)
def test_what_no_context_can_do_is_refused(rules, tables, words):
    with pytest.raises(InputError, match=words):
        plans(rules, layout(tables), INDEX, BUCKETS)


def test_the_oldest_age_is_that_of_each_bucket():
    tables = {("nvme", "nvme"): np.array([0.5, 0.5, 1e-15, 0.0])}
    assert oldest_ages(SINKING, layout(tables)).tolist() == [60.0, 0.0]

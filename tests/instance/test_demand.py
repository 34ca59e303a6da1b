"""Headroom is on every rate and on nothing else."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from optimizer.instance import Bucket, TrafficClass
from tests.instance.shipped import ALL_TIERS, built

RATES = {
    TrafficClass: ("rate", "mean_rate", "first_rate"),
    Bucket: ("rate", "mean_rate", "returns", "mean_returns"),
}

SWINGS = ("memory_swing", "flops_swing", "network_swing")


def scaled(record: TrafficClass | Bucket, by: float) -> TrafficClass | Bucket:
    """A record with its rates times a factor."""
    found = replace(record, **{name: getattr(record, name) * by for name in RATES[type(record)]})
    if isinstance(found, Bucket):
        found = replace(found, slots=tuple(replace(s, rate=s.rate * by) for s in found.slots))
    return found


def same(one: object, other: object) -> None:
    """Field by field the same, numbers to rounding."""
    for name, value in vars(one).items():
        wanted = vars(other)[name]
        if name == "slots":
            for slot, its in zip(value, wanted, strict=True):
                same(slot, its)
        else:
            assert value == (pytest.approx(wanted, rel=1e-12) if isinstance(wanted, float) else wanted), name


@pytest.mark.parametrize("name", [("tiny",), ALL_TIERS], ids=["tiny", "all tiers"])
@pytest.mark.parametrize("headroom", [0.25, 0.5])
def test_headroom_is_on_every_rate(name: tuple[str, ...], headroom: float) -> None:
    base, more = built(*name), built(*name, f"headroom={headroom}")
    for field in ("classes", "buckets"):
        for before, after in zip(getattr(base, field), getattr(more, field), strict=True):
            same(after, scaled(before, 1 + headroom))
    for old, new in zip(base.decodes, more.decodes, strict=True):
        moved = {key: getattr(old, key) * (1 + headroom) for key in ("rate", "sequences", "exchange_bytes")}
        for key in SWINGS:  # more sequences fluctuate less, each: at most as the root of their number
            least, most = getattr(old, key) / (1 + headroom), getattr(old, key) / math.sqrt(1 + headroom)
            assert least * (1 - 1e-12) <= getattr(new, key) <= most * (1 + 1e-12)
        same(new, replace(old, **moved, **{key: getattr(new, key) for key in SWINGS}))
    for before, after in zip(base.pools, more.pools, strict=True):
        same(after, before)
    for table in ("builds", "stored", "holdings", "paths", "stores"):
        assert getattr(more, table) == getattr(base, table)


def test_peak_to_mean_moves_the_mean_alone() -> None:
    base, calmer = built("tiny"), built("tiny", "classes.flash-chat.peak_to_mean=4.0")
    for before, after in zip(base.classes, calmer.classes, strict=True):
        assert after.rate == before.rate
        assert after.mean_rate == before.mean_rate / (2 if after.id == "flash-chat" else 1)


def test_a_limit_nobody_uses_makes_no_request_run_longer() -> None:
    """A looser TPOT is never dearer: beyond the slowest pace that is planned for it changes nothing."""
    slowest, patient = (
        built("tiny", f"classes.flash-chat.slo.tpot={tpot}", f"classes.k2-agentic.slo.tpot={tpot}")
        for tpot in ("250 ms", "10 s")
    )
    assert [p.iteration for p in patient.pools] == [p.iteration for p in slowest.pools]
    assert [b.run_seconds for b in patient.buckets] == [b.run_seconds for b in slowest.buckets]


def test_a_class_twice_as_patient_leaves_the_other_its_own_pace() -> None:
    """Half the loosest iteration is the tightest class's own here, and must not be left out for it."""
    paces = {
        round(p.iteration * 1e3)
        for p in built("small", "classes.chat.slo.tpot=100 ms").pools
        if p.iteration
    }
    assert paces == {25, 50, 100}

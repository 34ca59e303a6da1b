"""A measured throughput overrides the roofline: coefficients move by exactly its ratio, and no others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from optimizer.instance import Decode, Instance, Path, Pool, Role
from optimizer.physics.flops import extend_flops
from optimizer.physics.memory import read
from optimizer.physics.roofline import decode_step, prefill_flops_per_second
from tests.instance.shipped import CATALOG, built

MODEL, ACCELERATOR, OPTION = "kimi-k2", "B300-SXM", "kimi-k2:int4-bf16"
CARD, GPU = CATALOG.model(MODEL), CATALOG.accelerator(ACCELERATOR)
WEIGHTS = CARD.weight("int4")
BASE = (
    "tiny",
    "options.kimi-k2={only: [int4-bf16]}",
    "classes.k2-agentic.slo={ttft: 60 s, tpot: 60 ms}",
    "grid.mixed_share=0.5",
)
CONTEXT, SEQUENCES, GPUS = 8000.0, 64, 8
SHAPE = next(s for s in CARD.shapes if s.accelerator == ACCELERATOR and s.gpus == GPUS)


def predicted_prefill() -> float:
    """Prompt tokens per second and GPU by the roofline."""
    rate = prefill_flops_per_second(GPU, WEIGHTS, CARD.efficiency_family)
    return rate * CONTEXT / extend_flops(CARD, 0.0, CONTEXT, index_reuse=1)


def predicted_decode() -> float:
    """Output tokens per second and GPU by the roofline."""
    step = decode_step(
        GPU, CARD, WEIGHTS, SHAPE, CATALOG.devices.facility, sequences=SEQUENCES,
        kv_read=read(CARD.components, "bf16", CONTEXT), context=CONTEXT, tokens_per_step=1, index_reuse=1,
    ).total  # fmt: skip
    return SEQUENCES / step / GPUS


def measured(phase: str, rate: float, **changes: str) -> Instance:
    """The base with one measurement."""
    row = {
        "model": MODEL, "accelerator": ACCELERATOR, "phase": phase, "context": f"{CONTEXT!r} tok",
        "tokens_per_second_per_gpu": f"{rate!r} tok/s", "source": "us", **changes,
    }  # fmt: skip
    if phase == "decode":
        row |= {"sequences": str(SEQUENCES), "gpus": str(GPUS)}
    text = ", ".join(f"{key}: {value}" for key, value in row.items())
    return built(*BASE, f"measured=[{{{text}}}]")


def pools(instance: Instance) -> dict[str, Pool]:
    """Pools by name."""
    return {p.id: p for p in instance.pools}


def own(record: Path | Decode) -> bool:
    """Whether a record is of the measured model."""
    return record.pool.startswith(f"{OPTION}@")


@pytest.mark.parametrize("ratio", [1.0, 1.25, 0.8])
def test_prefill_takes_the_measured_time(ratio: float) -> None:
    """Instance-seconds of every path of the model, whatever its length, by the ratio of the rates."""
    base, changed = built(*BASE), measured("prefill", ratio * predicted_prefill())
    assert changed.decodes == base.decodes
    seen = 0
    for before, after in zip(base.paths, changed.paths, strict=True):
        assert (before.stream, before.location, before.pool) == (after.stream, after.location, after.pool)
        if own(before):
            assert after.busy == pytest.approx(before.busy / ratio, rel=1e-12)
            assert (after.load, after.link, after.sent) == (before.load, before.link, before.sent)
            assert (after.attained >= before.attained) if ratio >= 1 else (after.attained <= before.attained)
            seen += 1
        else:
            assert after == before
    assert seen


@pytest.mark.parametrize("ratio", [1.0, 1.1, 0.9])
def test_decode_takes_the_measured_time(ratio: float) -> None:
    """Overhead, KV, FLOPs and all weights of an iteration by the ratio; bytes and the network stay.

    A decode pool reads the weights that its largest batch touches, and that follows the time: see below.
    """
    base, changed = built(*BASE), measured("decode", ratio * predicted_decode())
    before, after = pools(base), pools(changed)
    both = before.keys() & after.keys()
    assert {after[name].role for name in both if after[name].option == OPTION} >= {Role.PREFILL, Role.DECODE}
    for name in both:
        by = ratio if before[name].option == OPTION and before[name].role is not Role.PREFILL else 1.0
        if by == 1.0 or before[name].role is Role.MIXED:
            assert after[name].weights_seconds == pytest.approx(before[name].weights_seconds / by, rel=1e-12)
        assert after[name].overhead == pytest.approx(before[name].overhead / by, rel=1e-12)
        still = {"weights_seconds": 0.0, "overhead": 0.0, "memory_idle": 0.0, "flops_idle": 0.0}
        assert replace(after[name], **still) == replace(before[name], **still)
    assert [p for p in changed.paths if p.pool in both] == [p for p in base.paths if p.pool in both]
    decodes = {(d.bucket, d.pool): d for d in changed.decodes}
    for old in (d for d in base.decodes if d.pool in both):
        by, new = ratio if own(old) else 1.0, decodes[old.bucket, old.pool]
        assert new.memory_seconds == pytest.approx(old.memory_seconds / by, rel=1e-12)
        assert new.flops_seconds == pytest.approx(old.flops_seconds / by, rel=1e-12)
        times = ("memory_seconds", "flops_seconds", "memory_swing", "flops_swing")
        assert old == replace(new, **{name: getattr(old, name) for name in times})


def decode_pools(instance: Instance) -> dict[tuple[str, Role, float], Pool]:
    """The measured model's decoding pools, by how much of the longest iteration theirs takes."""
    mine = [p for p in instance.pools if p.option == OPTION and p.role is not Role.PREFILL]
    longest = max(p.iteration for p in mine)
    found = {(p.shape, p.role, round(p.iteration / longest, 6)): p for p in mine}
    assert len(found) == len(mine)
    return found


@pytest.mark.parametrize("ratio", [1.1, 0.9])
def test_faster_decoding_is_as_good_as_more_time(ratio: float) -> None:
    """The same pools are admitted with the same batch as if every token might take so much longer."""
    changed = decode_pools(measured("decode", ratio * predicted_decode()))
    longer = decode_pools(built(*BASE, f"classes.k2-agentic.slo={{ttft: 60 s, tpot: {60 * ratio!r} ms}}"))
    assert changed.keys() == longer.keys()
    for name, pool in changed.items():
        for seconds in ("iteration", "weights_seconds", "overhead"):
            assert getattr(pool, seconds) == pytest.approx(getattr(longer[name], seconds) / ratio, rel=1e-9)
        assert pool.room == longer[name].room


def test_slower_decoding_admits_fewer_pools() -> None:
    """An iteration too short for the measured weights is no pool."""
    slow, fast = (pools(measured("decode", by * predicted_decode())) for by in (0.9, 1.1))
    assert slow.keys() < fast.keys()
    assert all(fast[name].option == OPTION for name in fast.keys() - slow.keys())


OTHERS: dict[str, dict[str, str]] = {
    "accelerator": {"accelerator": "B200-SXM"},
    "model": {"model": "deepseek-v4-flash", "accelerator": "B200-SXM"},
    "option": {"option": "fp8-bf16"},
}


@pytest.mark.parametrize("phase", ["prefill", "decode"])
@pytest.mark.parametrize("changes", OTHERS.values(), ids=OTHERS)
def test_measurement_of_something_else_changes_nothing(phase: str, changes: dict[str, str]) -> None:
    assert measured(phase, 10.0, **changes).digest() == built(*BASE).digest()


PREDICTED: dict[str, Callable[[], float]] = {"prefill": predicted_prefill, "decode": predicted_decode}


@pytest.mark.parametrize("phase", PREDICTED)
def test_measurement_of_the_option_itself_counts(phase: str) -> None:
    rate = 0.9 * PREDICTED[phase]()
    one = measured(phase, rate, option="int4-bf16")
    assert one.digest() == measured(phase, rate).digest() != built(*BASE).digest()

"""Classes and buckets of the problem: rates at the peak with headroom, reuse cut into age slots."""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.instance.types import Bucket, Slot, TrafficClass
from optimizer.workload import Survival, Workload, bucket_survival, knees, slots, tail_returns
from optimizer.workload.schema import TierPolicy
from optimizer.workload.schema import TrafficClass as Declared

SLOWEST_PACE = 0.25
"""Seconds a token: no pool decodes slower, whatever its classes would bear. By then a batch fills any HBM,
and a limit that nobody uses must not make requests run, and hold their bytes, for longer."""


@dataclass(frozen=True)
class Traffic:
    """Everything about demand."""

    classes: tuple[TrafficClass, ...]
    buckets: tuple[Bucket, ...]


def traffic(workload: Workload) -> Traffic:
    """Cut the declared classes into buckets and age slots.

    Age breakpoints lie at the knees of each class's own curve; an LRU tier needs one grid for all.
    """
    curves = {
        name: [bucket_survival(c, bucket) for bucket in c.contexts] for name, c in workload.classes.items()
    }
    weights = {name: [b.share * c.peak_rate for b in c.contexts] for name, c in workload.classes.items()}
    common = any(policy.eviction == "lru" for policy in _policies(workload))
    if common:
        everything = [s for name in curves for s in curves[name]]
        ages = knees(everything, [w for name in weights for w in weights[name]], workload.grid.ages)
        grid = dict.fromkeys(curves, ages)
    else:
        grid = {name: knees(curves[name], weights[name], workload.grid.ages) for name in curves}
    classes, buckets = [], []
    for name, declared in workload.classes.items():
        mine = [
            _bucket(workload, name, declared, i, survival, grid[name])
            for i, survival in enumerate(curves[name])
        ]
        buckets += mine
        rate = declared.peak_rate * (1 + workload.headroom)
        classes.append(
            TrafficClass(
                id=name,
                model=declared.model,
                rate=rate,
                mean_rate=rate / declared.peak_to_mean,
                first_rate=max(0.0, rate - sum(b.returns for b in mine)),
                attainment=declared.slo.attainment,
                ttft=declared.slo.ttft,
                tpot=declared.slo.tpot,
                output_tokens=declared.output_tokens,
                new_tokens=declared.new_tokens,
                first_prompt=declared.first_prompt,
                quality_floor=declared.quality_floor,
            )
        )
    return Traffic(tuple(classes), tuple(buckets))


def _policies(workload: Workload) -> list[TierPolicy]:
    tiers = workload.tiers
    return [tiers.hbm, tiers.dram, tiers.cxl, tiers.dram_pool, tiers.nvme, tiers.storage]


def _bucket(
    workload: Workload, name: str, declared: Declared, index: int, survival: Survival, ages: tuple[float, ...]
) -> Bucket:
    bucket = declared.contexts[index]
    rate = declared.peak_rate * (1 + workload.headroom) * bucket.share
    mean = rate / declared.peak_to_mean
    cut = tuple(Slot(s.start, s.end, s.rate, s.drop, s.integral) for s in slots(survival, ages, rate, mean))
    tail = tail_returns(survival, ages, mean)
    return Bucket(
        id=f"{name}:{_label(declared, index)}",
        cls=name,
        model=declared.model,
        tokens=bucket.tokens,
        reusable=bucket.tokens - declared.reuse.discarded,
        rate=rate,
        mean_rate=mean,
        returns=sum(s.rate * s.drop for s in cut) + tail,
        mean_returns=sum(min(s.rate, mean) * s.drop for s in cut) + tail,
        run_seconds=declared.output_tokens * min(declared.slo.tpot, SLOWEST_PACE),
        slots=cut,
    )


def _label(declared: Declared, index: int) -> str:
    """A bucket by its length, and by its place where two have the same."""
    label = _tokens(declared.contexts[index].tokens)
    same = sum(_tokens(c.tokens) == label for c in declared.contexts)
    return label if same == 1 else f"{label}#{index + 1}"


def _tokens(count: float) -> str:
    return f"{count / 1000:g}k" if count >= 1000 else f"{count:g}"

"""Pools (identical instances in one role) and what decoding a bucket on them takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from optimizer.instance.deployment import Deployment, charged
from optimizer.instance.traffic import SLOWEST_PACE
from optimizer.instance.types import Bucket, Decode, Pool, Role, TrafficClass
from optimizer.physics.fluctuation import fill_alone, margin, part, sized, slack_counted
from optimizer.physics.memory import held
from optimizer.workload.schema import Grid

HALVES = (1.0, 0.5)  # the iteration times worth trying, as parts of the tightest TPOT x accepted tokens


def iterations(classes: Iterable[TrafficClass], accepted: float) -> list[float]:
    """Iteration times, TPOT x accepted: one and one half of the tightest class's, and the loosest one's
    (seconds); a TPOT of more than the slowest pace counts as that."""
    limits = sorted({min(c.tpot, SLOWEST_PACE) * accepted for c in classes})
    return sorted({*(limits[0] * part for part in HALVES), limits[-1]}, reverse=True)


def pools(d: Deployment, classes: list[TrafficClass], buckets: list[Bucket], grid: Grid) -> Iterator[Pool]:
    """Every pool of one deployment worth a column; `longest_job` is set once its jobs are known."""
    shortest = min(b.tokens for b in buckets)
    if (room := d.room(prefills=True)) * d.one_rank > d.idle(shortest):
        for lane in ("short", "long") if grid.lanes == 2 else ("all",):
            yield _pool(d, Role.PREFILL, lane, 0.0, 1.0, room, 0.0, 0.0, grid)
    for seconds in iterations(classes, d.card.speculation.accepted_per_step):
        roles = [(Role.DECODE, 0.0), *([(Role.MIXED, grid.mixed_share)] if grid.mixed_share else [])]
        for role, share in roles:
            room = d.room(prefills=role is Role.MIXED)
            if room * d.one_rank <= d.running(shortest):
                continue
            batch = d.batch(room, shortest, seconds * (1 - share))
            weights = d.weights_seconds(batch, everything=share > 0)
            overhead = d.overhead(batch)
            budget = seconds * (1 - share)
            if weights + overhead < budget and d.decodes_one(shortest, budget):
                yield _pool(d, role, "all", seconds, share, room, weights, overhead, grid)


def _pool(
    d: Deployment,
    role: Role,
    lane: str,
    seconds: float,
    share: float,
    room: float,
    weights: float,
    overhead: float,
    grid: Grid,
) -> Pool:
    tag = {"all": "", "short": "-short", "long": "-long"}[lane]
    beat = f"-{seconds * 1e3:.3g}ms" if seconds else ""
    link = d.accelerator.host_link
    host = d.weights.host_bytes.value if d.weights.host_bytes else 0.0
    spanned = charged(d.gpus, d.sku.gpus) / d.sku.gpus
    return Pool(
        id=f"{d.id}/{role.value}{tag}{beat}",
        option=d.option_id,
        model=d.card.id,
        sku=d.sku.id,
        shape=d.id,
        role=role,
        lane=lane,
        gpus=d.gpus,
        gpus_charged=charged(d.gpus, d.sku.gpus),
        nodes=spanned,
        iteration=seconds,
        prefill_share=share,
        design_load=grid.design_load,
        longest_job=0.0,
        weights_seconds=weights,
        overhead=overhead,
        room=room,
        host_bytes=host * max(1.0, spanned),
        link_read=link.read.value * d.gpus,
        link_write=link.write.value * d.gpus,
        link_both=link.both.value * d.gpus,
    )


def decodes(
    d: Deployment,
    pool: Pool,
    classes: dict[str, TrafficClass],
    buckets: list[Bucket],
    spreads: dict[str, float],
) -> Iterator[Decode]:
    """The buckets a pool may decode: its iteration meets their TPOT, and one longest request fits a rank."""
    if pool.role is Role.PREFILL:
        return
    accepted = d.card.speculation.accepted_per_step
    for b in buckets:
        cls = classes[b.cls]
        too_long = d.running(b.tokens) > pool.room * d.one_rank
        if pool.iteration > cls.tpot * accepted * (1 + 1e-12) or too_long:
            continue
        context = b.tokens - cls.output_tokens / 2
        if not d.decodes_one(context, pool.iteration * (1 - pool.prefill_share)):
            continue
        hbm = d.running(b.tokens)
        yield Decode(
            bucket=b.id,
            pool=pool.id,
            rate=b.rate,
            sequences=b.rate * cls.output_tokens * pool.iteration / accepted,
            memory_seconds=d.decode_memory(context),
            flops_seconds=d.decode_compute(context),
            network_seconds=d.decode_network(),
            hbm=hbm,
            square=hbm**2 + (d.growth() * b.tokens * spreads[b.id]) ** 2,
            dram=d.offloaded(b.tokens),
            transfer=0.0 if pool.role is Role.MIXED else handed_over(d, b.tokens - cls.output_tokens),
            exchange_bytes=b.rate * cls.output_tokens * d.exchange(1.0),
        )


def with_margins(
    d: Deployment,
    pool: Pool,
    decoded: list[Decode],
    buckets: list[Bucket],
    spreads: dict[str, float],
    psi: float,
) -> tuple[Pool, list[Decode]]:
    """The pool and its decoding with what must stay free of an iteration, since sequences come and go.

    Reckoned as if the pool decoded all that it may; `psi` is the dispersion of the arrivals, and without any
    there is nothing to keep free.
    """
    if not decoded or not psi:
        return pool, decoded
    tokens = {b.id: b.tokens for b in buckets}
    z = d.facility.safety_quantile.value
    for what, seconds_of in _SECONDS.items():
        seconds = [getattr(x, f"{what}_seconds") for x in decoded]
        squares = [
            one**2 + _deviation(seconds_of, d, tokens[x.bucket], spreads[x.bucket]) ** 2
            for x, one in zip(decoded, seconds, strict=True)
        ]
        fixed = pool.overhead + (pool.weights_seconds if what == "memory" else 0.0)
        budget = pool.iteration * (1 - pool.prefill_share) - fixed
        variance = sum(x.sequences * square for x, square in zip(decoded, squares, strict=True))
        mean = sum(x.sequences * one for x, one in zip(decoded, seconds, strict=True))
        one = min(budget, sized(variance, mean))
        lost = slack_counted(fixed, budget, fill_alone(z, one / budget))
        whole = margin(z, psi * variance, psi * one, lost)
        pool = _with(pool, f"{what}_idle", min(lost * one, budget - one))  # an instance holds one sequence
        decoded = [
            _with(x, f"{what}_swing", part(square, variance, whole))
            for x, square in zip(decoded, squares, strict=True)
        ]
    return pool, decoded


_SECONDS: dict[str, Callable[[Deployment, float], float] | None] = {
    "memory": Deployment.decode_memory,
    "flops": Deployment.decode_compute,
    "network": None,  # the same for every length
}


def _deviation(
    seconds: Callable[[Deployment, float], float] | None, d: Deployment, tokens: float, spread: float
) -> float:
    """By how much the seconds of a sequence vary with the lengths within its bucket."""
    return seconds(d, tokens * (1 + spread)) - seconds(d, tokens) if seconds else 0.0


Record = TypeVar("Record", Pool, Decode)


def _with(record: Record, name: str, value: float) -> Record:
    changed: dict[str, Any] = {name: value}
    return replace(record, **changed)


def handed_over(d: Deployment, tokens: float) -> float:
    """Bytes of one whole context that a prefill instance hands to a decode instance: one copy."""
    return held(d.card.components, d.option.profile, tokens).one_copy

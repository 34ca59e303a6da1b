"""What requests cost on each pool, as tables over token axes that hold every nominal length.

A model is evaluated at its own nominal lengths and on a grid; the lengths of other models are filled in by
interpolation, so that every table is exact where its own classes are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from optimizer.instance import Role
from optimizer.instance.deployment import Deployment
from optimizer.instance.pools import handed_over
from optimizer.simulator.facility.arrays import floats
from optimizer.simulator.facility.bought import Bought
from optimizer.simulator.types import Floats, Work

BEYOND = 4.0  # axes end at so many times the longest nominal length: lengths are drawn round their means
FINEST = 256.0  # tokens: where the grid begins
CONTEXT_STEP, FRESH_STEP = 1.6, 1.3  # cost is about affine in the context, about quadratic in new tokens


@dataclass(frozen=True)
class Axes:
    """Tokens cached, and tokens to compute."""

    context: Floats
    fresh: Floats


def work(bought: Bought) -> Work:
    """The tables of every pool."""
    nominal = {model: nominal_lengths(bought, model) for model in bought.instance.models}
    longest = BEYOND * max(max(mine.context.max(), mine.fresh.max()) for mine in nominal.values())
    grid = Axes(_grid(CONTEXT_STEP, longest), _grid(FRESH_STEP, longest))
    own = {model: _union([grid, mine]) for model, mine in nominal.items()}
    axes = _union(list(own.values()))
    walls = _walls(bought, own, axes)
    deployments = bought.deployments

    def table(cost: Callable[[Deployment, float], float]) -> Floats:
        rows = [
            np.interp(axes.context, own[d.card.id].context, [cost(d, t) for t in own[d.card.id].context])
            for d in deployments
        ]
        return floats(rows)

    hands_over = floats([pool.role is Role.PREFILL for pool in bought.pools])
    return Work(
        context=axes.context,
        fresh=axes.fresh,
        wall=walls,
        idle=table(Deployment.idle),
        running=table(Deployment.running),
        memory=table(Deployment.decode_memory),
        flops=table(Deployment.decode_compute),
        network=floats([d.decode_network() for d in deployments]),
        handed=table(handed_over) * hands_over[:, None],
        handed_rate=floats([d.accelerator.nic.value * d.tp for d in deployments]),
        exchange=floats([d.exchange(1.0) for d in deployments]),
        replay=floats([d.option.snapshot.replay for d in deployments]),
    )


def nominal_lengths(bought: Bought, model: str) -> Axes:
    """Every length at which the layout's coefficients of a model are taken."""
    replays = {d.option.snapshot.replay for d in bought.deployments if d.card.id == model}
    context, fresh = {0.0}, {0.0}
    for b in bought.buckets_of(model):
        cls = bought.classes[b.cls]
        shared, total = bought.offer.shared[b.cls], b.reusable + cls.new_tokens
        hits = [max(b.reusable - replay, 0.0) for replay in replays]
        context |= {shared, cls.first_prompt, b.tokens, b.reusable, total, *hits}
        context |= {max(0.0, b.tokens - cls.output_tokens / 2), max(0.0, b.tokens - cls.output_tokens)}
        fresh |= {cls.first_prompt - shared, cls.new_tokens, total - shared, *(total - kept for kept in hits)}
    return Axes(floats(sorted(context)), floats(sorted(length for length in fresh if length >= 0)))


def _grid(step: float, longest: float) -> Floats:
    """0, then lengths that grow by a factor up to the longest."""
    count = int(np.ceil(np.log(max(longest / FINEST, step)) / np.log(step)))
    return floats([0.0, *np.geomspace(FINEST, max(longest, FINEST * step), count + 1)])


def _union(several: Iterable[Axes]) -> Axes:
    every = list(several)
    return Axes(
        floats(np.unique(np.concatenate([axes.context for axes in every]))),
        floats(np.unique(np.concatenate([axes.fresh for axes in every]))),
    )


def _walls(bought: Bought, own: dict[str, Axes], axes: Axes) -> Floats:
    """Seconds on one rank, for every pool: FLOPs once for an option, seconds once for a deployment."""
    flops: dict[str, list[list[float]]] = {}
    seconds: dict[str, Floats] = {}
    for d in bought.deployments:
        mine = own[d.card.id]
        if d.option_id not in flops:
            flops[d.option_id] = [[d.extend(a, a + n) for n in mine.fresh] for a in mine.context]
        if d.id not in seconds:
            rows = [
                [d.wall(f, n, 1.0) for f, n in zip(row, mine.fresh, strict=True)]
                for row in flops[d.option_id]
            ]
            seconds[d.id] = _filled(floats(rows), mine, axes)
    shares = [pool.prefill_share if pool.prefill_share > 0 else np.inf for pool in bought.pools]
    none = np.zeros((len(axes.context), len(axes.fresh)))
    return floats(
        [
            none if np.isinf(share) else seconds[pool.shape] / share
            for pool, share in zip(bought.pools, shares, strict=True)
        ]
    )


def _filled(table: Floats, mine: Axes, axes: Axes) -> Floats:
    """A table on finer axes, bilinear between its own points and the same at them."""
    wide = np.array([np.interp(axes.fresh, mine.fresh, row) for row in table])
    return floats(np.array([np.interp(axes.context, mine.context, column) for column in wide.T]).T)

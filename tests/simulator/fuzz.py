"""Random small facilities and traffic: `python -m tests.simulator.fuzz --count 1000 --seed 1`.

Nothing here is reasonable: tiers of a few contexts, pools that cannot hold what comes, servers that fail.
What must hold is what holds of every facility (`laws.py`). One in eight is a random layout of the shipped
`small` instead, with the traffic of its workload.
"""

from __future__ import annotations

import argparse
import itertools
import math
from dataclasses import dataclass
from functools import partial
from random import Random

import numpy as np

from optimizer.instance import Role, Tier
from optimizer.instance.stores import WIDTH
from optimizer.simulator.engine.state import ARRIVED
from optimizer.simulator.facility.arrays import flags, floats, ints, starts
from optimizer.simulator.facility.plans import Life, oldest_ages
from optimizer.simulator.simulation import longest
from optimizer.simulator.traffic.demand import draw as workload_demand
from optimizer.simulator.traffic.stretches import joined
from optimizer.simulator.traffic.under_way import Busy, under_way
from optimizer.simulator.types import Demand, Outage, Replay
from tests.simulator.bought import drawn
from tests.simulator.handmade import NO_OUTAGE, NOBODY, Bucket, Cls, Pool, Run, Scene, Store, demand, run
from tests.simulator.laws import broken

BELOW = (Tier.DRAM, Tier.CXL, Tier.DRAM_POOL, Tier.NVME, Tier.STORAGE)
BLOCK = 16.0
LAYOUTS, FEW = 8, 1500


@dataclass(frozen=True)
class Drawn:
    """A facility and everything that is done to it."""

    scene: Scene
    traffic: Demand
    recorded: Replay | None
    outage: Outage
    hits: float
    block: float
    busy: Busy
    requests: int


def play(seed: int) -> Run:
    """The run of a seed."""
    dice = Random(seed)
    if seed % LAYOUTS == 0:
        return play_layout(seed, dice)
    d = draw(dice)
    return run(
        d.scene, d.traffic, d.recorded, outage=d.outage, hits=d.hits, block=d.block, busy=d.busy,
        count=d.requests,
    )  # fmt: skip


def play_layout(seed: int, dice: Random) -> Run:
    """A random layout of a shipped problem."""
    case = drawn(seed, "small")
    built, _ = case.built
    traffic = workload_demand(
        case.instance, case.workload, FEW, seed,
        oldest=oldest_ages(case.instance, case.layout), longest=longest(built),
    )  # fmt: skip
    busy = under_way(built, case.instance, seed)
    outage = _outage(dice, len(built.machines.server_sku), traffic.horizon)
    return run(built, traffic, outage=outage, busy=busy, count=FEW)


def _outage(dice: Random, servers: int, horizon: float) -> Outage:
    if dice.random() < 0.7:
        return NO_OUTAGE
    restart = dice.choice((math.inf, dice.random() * horizon))
    return Outage(dice.randrange(servers), dice.random() * horizon, restart)


def draw(dice: Random) -> Drawn:
    """A facility of up to four servers and three tiers below HBM, about a thousand requests."""
    servers = dice.randint(1, 4)
    exclusive = dice.random() < 0.5
    stores = _stores(dice, servers)
    classes = tuple(_class(dice, stores, exclusive) for _ in range(dice.randint(1, 2)))
    prefilling = dice.randint(1, 2)
    apart = dice.random() < 0.5
    roles = [dice.choice((Role.PREFILL, Role.MIXED)) if apart else Role.MIXED for _ in range(prefilling)]
    pools = tuple(_pool(dice, role, servers) for role in [*roles, *([Role.DECODE] if apart else [])])
    instances = sum(len(pool.servers) for pool in pools if pool.role is not Role.DECODE)
    if dice.random() < 0.7:
        room = tuple(dice.uniform(100, 20_000) for _ in range(instances))
        hbm = Store(Tier.HBM, room, ((),) * instances, affinity=dice.choice((1.0, 1.0, 0.7)))
        stores = (hbm, *stores)
        classes = tuple(_class(dice, stores, exclusive) for _ in classes)
    scene = Scene(
        pools=pools, stores=stores, classes=classes, servers=servers,
        nic=dice.choice((math.inf, 10 ** dice.uniform(3, 6))), exclusive=exclusive,
        again=dice.choice((0.0, 0.0, 0.3)),
    )  # fmt: skip
    horizon = 10 ** dice.uniform(1, 3.5)
    buckets = [(c, b) for c in classes for b in c.buckets]
    recorded = _recorded(dice, len(buckets), horizon) if dice.random() < 0.5 else None
    traffic = _traffic(dice, buckets, horizon)
    busy = [dice.randrange(len(buckets)) for _ in range(dice.choice((0, 0, 5)))]
    return Drawn(
        scene=scene,
        traffic=traffic,
        recorded=recorded,
        outage=_outage(dice, servers, horizon),
        hits=dice.choice((1.0, 1.0, 0.5)),
        block=dice.choice((0.0, BLOCK)),
        busy=Busy(ints(busy), floats([dice.random() for _ in busy])) if busy else NOBODY,
        requests=200_000,
    )  # fmt: skip


def _stores(dice: Random, servers: int) -> tuple[Store, ...]:
    """Some tiers, fast to slow."""
    found = []
    for tier in sorted(dice.sample(BELOW, dice.randint(0, 3)), key=list(Tier).index):
        if WIDTH[tier] == 0:
            holders = dice.randint(1, servers)
            reached = tuple((v,) for v in range(holders))
        elif WIDTH[tier] == 1:
            cut = dice.randint(1, servers)
            reached = tuple(r for r in (tuple(range(cut)), tuple(range(cut, servers))) if r)
        else:
            reached = ((),)
        size = 10 ** dice.uniform(1.5, 5)
        found.append(
            Store(
                tier, tuple(size * dice.uniform(0.5, 2) for _ in reached), reached,
                read=10 ** dice.uniform(2, 7), write=10 ** dice.uniform(2, 7), shared=dice.random() < 0.5,
                lru=dice.random() < 0.4, affinity=dice.choice((1.0, 1.0, 0.6)),
                latency=dice.choice((0.0, 0.01)), remote=WIDTH[tier] == 2,
            )
        )  # fmt: skip
    return tuple(found)


def _class(dice: Random, stores: tuple[Store, ...], exclusive: bool) -> Cls:
    new, output = dice.uniform(1, 50), dice.uniform(1, 50)
    per_token, state = dice.choice((0.0, 1.0, 2.5)), dice.choice((0.0, 0.0, 100.0))
    buckets = tuple(
        Bucket(
            tokens=tokens,
            unused=dice.choice((0.0, output)),
            lives=_lives(dice, stores, exclusive),
            per_token=per_token,
            state=state,
        )
        for tokens in (new + output + dice.uniform(1, 500) for _ in range(dice.randint(1, 2)))
    )
    first = max(1.0, dice.uniform(0.2, 1) * min(b.tokens for b in buckets) - output)
    return Cls(buckets, new, output, first, shared=dice.choice((0.0, 0.3 * first)))


def _lives(dice: Random, stores: tuple[Store, ...], exclusive: bool) -> tuple[Life, ...]:
    """Ways to age: a home and perhaps a faster copy, or a chain of stages."""
    found, left = [], 1.0
    for _ in range(dice.randint(0, 3) if stores else 0):
        share = left * dice.uniform(0.2, 1)
        left -= share
        chosen = sorted(dice.sample(range(len(stores)), dice.randint(1, len(stores))))
        ages = sorted(10 ** dice.uniform(-1, 3) for _ in chosen)
        until = [math.inf if stores[k].lru else age for k, age in zip(chosen, ages, strict=True)]
        if exclusive:
            found.append(Life(share, -1, 0.0, tuple(zip(chosen, until, strict=True))))
        else:
            stage = ((chosen[0], until[0]),) if len(chosen) > 1 else ()
            found.append(Life(share, chosen[-1], until[-1], stage))
    return tuple(found)


def _pool(dice: Random, role: Role, servers: int) -> Pool:
    def pair(low: float, high: float) -> tuple[float, float]:
        return dice.choice((0.0, 10 ** dice.uniform(low, high))), 10 ** dice.uniform(low, high)

    overhead = 10 ** dice.uniform(-4, -2)
    bytes_of = pair(-1, 0.5)
    return Pool(
        role=role, servers=tuple(dice.randrange(servers) for _ in range(dice.randint(1, 3))),
        ranks=dice.randint(1, 3), wall=10 ** dice.uniform(-5, -1.5),
        wall_context=dice.choice((0.0, 1e-7)), share=dice.choice((0.0, 0.5)), fixed=overhead,
        overhead=dice.choice((1e-6, overhead)), limit=overhead * dice.choice((1.5, 4, 50)),
        accepted=dice.choice((1.0, 2.7)), room=10 ** dice.uniform(2, 5), layers=dice.choice((1.0, 61.0)),
        link=10 ** dice.uniform(4, 7), idle=bytes_of, running=bytes_of, memory=pair(-8, -5),
        flops=pair(-9, -6), network=dice.choice((0.0, 1e-4)),
        handed=1.0 if role is Role.PREFILL else 0.0, handed_rate=10 ** dice.uniform(3, 6),
        replay=dice.choice((0.0, 20.0)), rate=10 ** dice.uniform(3, 7), unpack=dice.choice((0.0, 1e-6)),
    )  # fmt: skip


def _traffic(dice: Random, buckets: list[tuple[Cls, Bucket]], horizon: float) -> Demand:
    """Sessions that begin, return or not, and some idle ones; lengths spread or not."""
    firsts = sorted(dice.random() * horizon for _ in range(dice.randint(0, 200)))
    numbers = partial(dice.randrange, len(buckets))
    gaps = [
        [
            math.inf if dice.random() < 0.2 else horizon * 10 ** dice.uniform(-3, 0)
            for _ in range(dice.randint(1, 40))
        ]
        for _ in range(len(buckets))
    ]
    scales = [  # no context is shorter than what its last turn brought
        [dice.uniform((c.new + c.output) / b.tokens, 3) for _ in range(dice.choice((0, 7)))] or [1.0]
        for c, b in buckets
    ]
    idle = [
        (numbers(), 10 ** dice.uniform(-2, 3), dice.choice((math.inf, dice.random() * horizon)))
        for _ in range(dice.choice((0, 0, 60)))
    ]
    found = demand(
        horizon, firsts, first_bucket=[numbers() for _ in firsts], gaps=gaps, scales=scales,
        dice=[dice.random() for _ in range(997)], idle=idle,
    )  # fmt: skip
    kept = np.where(
        np.isinf(found.gap_seconds), [dice.choice((math.inf, 5.0)) for _ in found.gap_seconds], np.inf
    )
    return found._replace(gap_kept=floats(kept))


def _recorded(dice: Random, buckets: int, horizon: float) -> Replay:
    """Sessions whose chains grow, and share their beginnings; in a closed loop, an open one, or both."""
    tokens: list[float] = []
    lines: list[tuple[float, int, list[int], float, float]] = []  # time, session, chain, think, output

    def node() -> int:
        tokens.append(BLOCK * dice.randint(1, 12))
        return len(tokens) - 1

    common = [node() for _ in range(dice.randint(1, 3))]
    for session in range(dice.randint(1, 40)):
        chain, time = common[: dice.randint(0, len(common))], dice.random() * horizon
        for _ in range(dice.randint(1, 12)):
            if chain and dice.random() < 0.1:
                chain = chain[: dice.randint(1, len(chain))]
            chain = [*chain, *(node() for _ in range(dice.randint(1, 3)))]
            think = dice.choice((math.nan, 10 ** dice.uniform(-2, 2)))
            lines.append((time, session, chain, think, dice.uniform(1, 20)))
            time += 10 ** dice.uniform(-2, math.log10(horizon))
    lines.sort(key=lambda line: line[0])
    last: dict[int, int] = {}
    after = []
    for i, (_, session, *_) in enumerate(lines):
        after.append(last.get(session, -1))
        last[session] = i
    sums = [sum(tokens[n] for n in chain) for _, _, chain, _, _ in lines]
    by_node = Replay(
        time=floats([time for time, *_ in lines]),
        bucket=ints([dice.randrange(buckets)] * len(lines)),
        input=floats([dice.uniform(0.5, 1) * total for total in sums]),
        output=floats([output for *_, output in lines]),
        after=ints(after),
        think=floats([think if a >= 0 else math.nan for (*_, think, _), a in zip(lines, after, strict=True)]),
        first=flags([a < 0 for a in after]),
        node=starts(len(chain) for _, _, chain, _, _ in lines),
        node_id=ints(list(itertools.chain.from_iterable(chain for _, _, chain, _, _ in lines))),
        node_count=ints(np.ones(sum(len(chain) for _, _, chain, _, _ in lines))),
        node_tokens=floats(tokens),
    )
    return joined(by_node)


def main() -> None:
    """Play many, and print what any of them breaks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    told = parser.parse_args()
    requests = faulty = 0
    for seed in range(told.seed, told.seed + told.count):
        try:
            seen = play(seed)
            found, arrived = broken(seen), int(seen.state.counts[ARRIVED])
        except Exception as error:
            found, arrived = [f"{type(error).__name__}: {error}"], 0
        requests += arrived
        faulty += bool(found)
        for what in found:
            print(f"seed {seed}: {what}", flush=True)
    print(f"{told.count} facilities, {requests} requests, {faulty} of them with something wrong")


if __name__ == "__main__":
    main()

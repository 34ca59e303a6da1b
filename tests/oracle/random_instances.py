"""Random tiny instances: `random_instance(seed)` for the seeded runs, `instances()` for hypothesis."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import strategies as st

from optimizer.instance.types import Instance, Period, Policy, SharedPrefix

from .dice import Dice, short
from .picked import PICKED
from .plans import TARGETS, Plan
from .random_compute import attainment, decodes, finished, frames, paths, work
from .random_machines import AMPLIFICATION, HORIZON, bounded, limits, machines, market, user_rows
from .random_places import Places, places
from .random_traffic import Traffic, traffic

NAMES = tuple(TARGETS)


def target(seed: int) -> str:
    """What a seed is about: `law`, or `law:variant`."""
    return NAMES[seed % len(NAMES)]


def random_instance(seed: int) -> Instance:
    """The instance of a seed, the same on every machine: the first few of each target are draws in which
    the law is known to matter, later ones are any."""
    name, turn = target(seed), seed // len(NAMES)
    picked = PICKED.get(name, ())
    return drawn(name, picked[turn] if turn < len(picked) else seed)


def drawn(name: str, draw: int) -> Instance:
    """The instance of one draw of a target."""
    rng = Random(f"{name}/{draw}")
    return from_plan(f"{name}/{draw}", rng, TARGETS[name](rng))


@st.composite
def instances(draw: st.DrawFn, targets: tuple[str, ...] = NAMES) -> Instance:
    """Instances about any of some targets, drawn and shrunk by hypothesis."""
    name = draw(st.sampled_from(targets))
    rng = draw(st.randoms(use_true_random=False))
    return from_plan(name, rng, TARGETS[name](rng))


def from_plan(name: str, rng: Random, plan: Plan) -> Instance:
    """An instance with the features of a plan."""
    dice = Dice(rng, plan)
    wanted = traffic(dice)
    skus = [f"s{n}" for n in range(plan.skus)]
    gpus = rng.choice((4, 4, 8))
    pools = frames(dice, wanted, skus, gpus)
    found = places(dice, wanted, pools, skus)
    works = {o.id: work(dice, wanted, o) for o in wanted.options}
    running = decodes(dice, wanted, pools)
    pools = finished(dice, wanted, found, pools, running)
    every = paths(dice, wanted, found, pools, works)
    m = machines(dice, wanted, found, pools, running, gpus)
    classes = tuple(replace(c, attainment=attainment(dice, wanted, every, c)) for c in wanted.classes)
    return Instance(
        name=name,
        policy=Policy.EXCLUSIVE if plan.exclusive else Policy.WRITE_THROUGH,
        periods=(Period("t1", HORIZON),),
        models=tuple(dict.fromkeys(o.model for o in wanted.options)),
        options=wanted.options,
        classes=classes,
        buckets=wanted.buckets,
        skus=market(dice, m.skus),
        builds=m.builds,
        enclosures=m.enclosures,
        stores=bounded(dice, found.stores, m.builds, m),
        locations=found.locations,
        stored=found.stored,
        holdings=found.holdings,
        pools=tuple(pools),
        decodes=tuple(running),
        paths=tuple(every),
        shared_prefixes=shared(dice, wanted, found),
        user_rows=user_rows(dice, m),
        limits=limits(dice, m),
        dram_pooled=plan.pooled,
        quantile=2.33,
        dispersion=rng.choice((1.0, 1.0, 2.0)),
        write_amplification=AMPLIFICATION,
        network_utilisation=0.7,
        link_utilisation=rng.choice((0.7, 0.8)),
    )


def shared(dice: Dice, wanted: Traffic, found: Places) -> tuple[SharedPrefix, ...]:
    """A shared prefix of every class where the plan keeps them."""
    per = dice.plan.shared
    if per is None:
        return ()
    fitting = {"instances": ("hbm",), "nodes": ("dram", "nvme"), "once": ("cxl", "dram_pool", "storage")}[per]
    result = []
    for cls in wanted.classes:
        for o in (o for o in wanted.options if o.model == cls.model):
            size = max(v for (a, _), v in wanted.size.items() if a == o.id)
            used = {x.store for x in found.locations if x.tier in fitting and x.option in (None, o.id)}
            read = 0.0 if per == "instances" else size * dice.rng.choice((0.0, 0.2, 0.5))
            for store in sorted(used):
                result.append(
                    SharedPrefix(
                        cls=cls.id, option=o.id, store=store, bytes=short(size * dice.rng.uniform(0.3, 1.0)),
                        per=per, reads=short(read),
                    )
                )
    return tuple(result)


__all__ = ["NAMES", "drawn", "instances", "random_instance", "target"]

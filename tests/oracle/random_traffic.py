"""Random classes, their buckets of contexts, the options of their models and what a context weighs."""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.instance.types import Bucket, Option, Slot, TrafficClass

from .dice import Dice, short

AGES = ((0.0, 30.0, 120.0, 600.0), (0.0, 60.0, 300.0, 900.0), (0.0, 20.0, 200.0, 400.0))
LATE_AGES = ((0.0, 300.0, 360.0, 400.0), (0.0, 200.0, 300.0, 400.0))


@dataclass(frozen=True)
class Traffic:
    """`size` is the bytes of a context of (option, bucket) in HBM format."""

    classes: tuple[TrafficClass, ...]
    buckets: tuple[Bucket, ...]
    options: tuple[Option, ...]
    size: dict[tuple[str, str], float]

    def options_of(self, bucket: Bucket) -> list[Option]:
        """The options that can hold a bucket."""
        return [o for o in self.options if o.model == bucket.model]

    def buckets_of(self, option: Option) -> list[Bucket]:
        """The buckets of an option's model."""
        return [b for b in self.buckets if b.model == option.model]


def traffic(dice: Dice) -> Traffic:
    """One class a model. Attainment is set later, when the paths are known."""
    plan, rng = dice.plan, dice.rng
    ages = rng.choice(LATE_AGES if plan.late else AGES)[: plan.slots + 1]
    classes, buckets, options = [], [], []
    size: dict[tuple[str, str], float] = {}
    for m in range(plan.models):
        model = f"m{m}"
        mine = [_bucket(dice, f"c{m}/b{b}", f"c{m}", model, ages) for b in range(plan.buckets)]
        own = [Option(f"{model}/o{o}", model, f"o{o}", rng.choice((1.0, 1.8))) for o in range(plan.options)]
        rate = sum(b.rate for b in mine)
        classes.append(
            TrafficClass(
                id=f"c{m}", model=model, rate=rate, mean_rate=sum(b.mean_rate for b in mine),
                first_rate=rate - sum(b.returns for b in mine), attainment=0.0, ttft=2.0, tpot=0.05,
                output_tokens=float(rng.choice((100, 200, 300))), new_tokens=500.0, first_prompt=2000.0,
                quality_floor=0.0,
            )
        )
        for b in mine:
            bytes_ = rng.choice((1e9, 2e9, 3e9, 5e9))
            for n, o in enumerate(own):
                size[o.id, b.id] = dice.near(bytes_ * (1.0, 0.5)[n])
        buckets += mine
        options += own
    return Traffic(tuple(classes), tuple(buckets), tuple(options), size)


def _bucket(dice: Dice, name: str, cls: str, model: str, ages: tuple[float, ...]) -> Bucket:
    plan, rng = dice.plan, dice.rng
    rate = rng.choice((0.5, 1.0, 1.5, 2.0, 3.0, 4.0))
    mean = short(rate * rng.choice((1.0, 0.7, 0.4)))
    drops = [rng.choice((0.15, 0.2, 0.25, 0.3)) for _ in ages[1:]]
    if plan.late:
        drops = [0.05] * (len(drops) - 1) + [rng.choice((0.5, 0.6))]
    elif plan.lru:
        drops = rng.choice(([0.5, 0.02, 0.02], [0.02, 0.02, 0.5]))[-len(drops) :]
    slots, alive = [], 1.0
    for j, drop in enumerate(drops):
        start, end = ages[j], ages[j + 1]
        integral = short((end - start) * (alive - drop / 2.0), 6)
        last = j == len(drops) - 1
        slots.append(Slot(start, end, short(rate * 0.8) if last else rate, drop, integral))
        alive -= drop
    past = rng.choice((0.0, 0.04)) * rate
    returns = sum(s.rate * s.drop for s in slots) + past
    mean_returns = sum(min(s.rate, mean) * s.drop for s in slots) + past * mean / rate
    tokens = float(rng.choice((8000, 16000, 64000)))
    return Bucket(
        id=name, cls=cls, model=model, tokens=tokens, reusable=tokens, rate=rate, mean_rate=mean,
        returns=returns, mean_returns=mean_returns, run_seconds=float(rng.choice((2, 5, 10, 20))),
        slots=tuple(slots),
    )


def hits(bucket: Bucket) -> float:
    """Returns per second that a context held in every slot would catch."""
    return sum(s.rate * s.drop for s in bucket.slots)


def kept(bucket: Bucket) -> float:
    """Contexts held in every slot and while they run."""
    return sum(s.rate * s.integral for s in bucket.slots) + bucket.rate * bucket.run_seconds

"""What must stay free of an iteration: the formulas, and pools of sequences that come and go."""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.physics.fluctuation import fill_alone, margin, part, sized, slack_counted

Z = 2.33
IN_TIME = 0.95  # of the sequences keep their pace


@given(st.floats(0, 5), st.floats(0, 1))
def test_one_instance_alone_is_as_full_as_its_margin_lets_it_be(z: float, one: float) -> None:
    x = fill_alone(z, one)
    assert 0 <= x <= 1
    assert x + z * math.sqrt(x * one) + one == pytest.approx(1)


@given(st.floats(0, 1), st.floats(0.01, 1), st.floats(0, 1))
def test_faster_iterations_take_fewer_sequences(fixed: float, budget: float, fill: float) -> None:
    """The load that a mean fill of x carries at its own pace is the budget less the slack counted."""
    x = min(1.0, max(fill, 1e-6))
    unused = (1 - x) * budget
    load = x * budget * (fixed + budget) / (fixed + x * budget)  # at the pace of a full iteration
    assert budget - slack_counted(fixed, budget, x) * unused == pytest.approx(load)


@given(st.floats(0, 4), st.lists(st.floats(0.001, 10), min_size=1))
def test_parts_of_the_margin_add_up(z: float, squares: list[float]) -> None:
    total = sum(squares)
    whole = margin(z, total, 0.01, 0.5)
    assert sum(part(s, total, whole) for s in squares) == pytest.approx(whole)
    assert margin(z, total, 0.01, 1.0) == pytest.approx(z * math.sqrt(total))


def test_nothing_fluctuates_where_nothing_is() -> None:
    assert part(0.0, 0.0, margin(Z, 0.0, 0.0, 0.0)) == 0.0
    assert sized(0.0, 0.0) == 0.0
    assert slack_counted(0.0, 1.0, 0.0) == 0.0


@dataclass
class Instance:
    """One instance at work: iterations done, the sizes running, and the sequences by when they are done."""

    steps: float = 0.0
    since: float = 0.0
    load: float = 0.0
    running: list[tuple[float, float, int]] = field(default_factory=list)

    def advance(self, now: float, fixed: float) -> None:
        """Iterations take fixed + load seconds."""
        self.steps += (now - self.since) / (fixed + self.load) if self.running else 0.0
        self.since = now

    def next_end(self, fixed: float) -> float:
        """When the first of its sequences is done."""
        if not self.running:
            return math.inf
        return self.since + max(0.0, self.running[0][0] - self.steps) * (fixed + self.load)


def in_time(
    instances: int, size: float, spread: float, fixed: float, load: float, count: int = 50_000
) -> float:
    """The share of sequences that keep the pace of a full iteration, fixed + 1 seconds.

    Poisson arrivals, sizes of this mean and lognormal spread, outputs of exponential length; every sequence
    joins the emptiest instance once it fits there, and waits in line until then.
    """
    dice, sigma = random.Random(7), math.sqrt(math.log(1 + spread**2))
    mean_output, full = 500.0, fixed + 1.0
    sizes = [min(1.0, size * dice.lognormvariate(-(sigma**2) / 2, sigma)) for _ in range(count)]
    outputs = [max(1.0, dice.expovariate(1 / mean_output)) for _ in range(count)]
    rate = load * instances / (sum(sizes) / count * sum(outputs) / count * full)
    pool = [Instance() for _ in range(instances)]
    arrived, ends, waiting, now, came = [], [0.0] * count, [], 0.0, 0
    following = dice.expovariate(rate)
    while came < count:
        first = min(pool, key=lambda i: i.next_end(fixed))
        if (end := first.next_end(fixed)) < following:
            now = end
            first.advance(now, fixed)
            _, gone, number = heapq.heappop(first.running)
            first.load = first.load - gone if first.running else 0.0
            ends[number] = now
        else:
            now = following
            arrived.append(now)
            waiting.append(came)
            came += 1
            following = now + dice.expovariate(rate)
        while waiting:
            number = waiting[0]
            emptiest = min(pool, key=lambda i: i.load)
            if emptiest.running and emptiest.load + sizes[number] > 1.0:
                break
            waiting.pop(0)
            emptiest.advance(now, fixed)
            emptiest.load += sizes[number]
            heapq.heappush(emptiest.running, (emptiest.steps + outputs[number], sizes[number], number))
    judged = range(count // 4, count * 3 // 4)
    return sum(ends[k] > 0 and ends[k] - arrived[k] <= outputs[k] * full * (1 + 1e-9) for k in judged) / len(
        judged
    )


def allowed(instances: int, size: float, spread: float, fixed: float) -> float:
    """The load per instance that the law admits where one kind of sequence is all there is."""
    square = size**2 * (1 + spread**2)
    one = sized(square, size)
    lost = slack_counted(fixed, 1.0, fill_alone(Z, one))
    low, high = 0.0, 1.0
    while high - low > 1e-4:
        load = (low + high) / 2
        variance = instances * load / size * square
        used = instances * (load + lost * one) + margin(Z, variance, one, lost)
        low, high = (load, high) if used <= instances else (low, load)
    return low


CASES = [(n, c, f) for n in (1, 4, 16) for c in (16, 64) for f in (0.25, 1.0, 4.0)]


@pytest.mark.slow
@pytest.mark.parametrize(("instances", "sequences", "fixed"), CASES)
def test_what_the_law_admits_keeps_its_pace(instances: int, sequences: int, fixed: float) -> None:
    """Pools of 1 to 16 instances with 16 or 64 sequences each, of lengths that vary by 0.7."""
    assert (
        in_time(instances, 1 / sequences, 0.7, fixed, allowed(instances, 1 / sequences, 0.7, fixed))
        >= IN_TIME
    )


@pytest.mark.slow
@pytest.mark.parametrize(("instances", "sequences", "fixed"), CASES)
def test_a_pool_filled_on_average_does_not(instances: int, sequences: int, fixed: float) -> None:
    """Without the margin, at a load of one, most sequences are late: the law is needed."""
    assert in_time(instances, 1 / sequences, 0.7, fixed, 1.0) < IN_TIME


def test_a_pool_within_the_law_and_one_beyond_it() -> None:
    """One of the cases above, quickly."""
    load = allowed(2, 1 / 32, 0.7, 1.0)
    assert in_time(2, 1 / 32, 0.7, 1.0, load, 6_000) >= IN_TIME
    assert in_time(2, 1 / 32, 0.7, 1.0, 1.0, 6_000) < IN_TIME

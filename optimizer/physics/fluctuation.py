"""How much of a decode iteration must stay free on average, since sequences come and go.

A pool of N instances has N B seconds of an iteration for its sequences. What stands between its mean and N B:

- the number of running sequences varies as that of a Poisson stream's visitors, z standard deviations of it
  must fit (the instances of a pool, and the pools of an option, stand in for one another);
- a sequence is whole: an instance is full when the next one does not fit, with about one left unused;
- against both, an instance that is not full iterates faster, and its sequences leave the sooner: iterations
  without fixed time lose nothing, until a queue of geometric length finds all instances full.

docs/physics.md section 10; measured against simulated pools in tests/physics/test_fluctuation.py.
"""

from __future__ import annotations

import math

LATE = 0.05
"""The share of sequences that may find every instance full: how many may be late is a promise of each class,
and waits that are short against the answer are no delay."""


def fill_alone(z: float, one: float) -> float:
    """How full one instance alone may be on average: x of x + z sqrt(x one) + one = 1, in [0, 1].

    `one`: the size of one sequence as a share of the instance. More instances together may be fuller, so x is
    the least of any pool.
    """
    half = z * math.sqrt(one) / 2
    return (math.sqrt(half**2 + max(0.0, 1.0 - one)) - half) ** 2


def slack_counted(fixed: float, budget: float, fill: float) -> float:
    """The part of unused iteration time that is lost, in [0, 1]: fixed/(fixed + fill budget).

    Laws count sequences as if every iteration lasted fixed + budget seconds. With d seconds unused it lasts
    that much less, and as many tokens take fewer sequences: load <= (budget - d)(fixed + budget)/(fixed +
    budget - d), which is budget - d fixed/(fixed + budget - d). Iterations without fixed time lose nothing.
    """
    return fixed / (fixed + fill * budget) if fixed > 0 else 0.0


def margin(z: float, variance: float, one: float, lost: float) -> float:
    """What all need beyond their mean, in seconds: lost z sqrt(variance) + (1 - lost) one ln(1/LATE).

    `variance`: sum of E[size^2] over the running sequences; `one`: the size of one; `lost`: `slack_counted`.
    The first part is the normal quantile of their number at a fixed pace. The second is the geometric one of
    a processor that is shared: where an iteration is as long as it is full, P(n or more) = load^n, and load =
    1 - ln(1/LATE)/n leaves LATE beyond the n that fit (M/M/1 and, sharing being insensitive, M/G/1).
    """
    return lost * z * math.sqrt(variance) + (1 - lost) * one * math.log(1 / LATE)


def part(square: float, variance: float, whole: float) -> float:
    """One sequence's part of a margin, in proportion to its E[size^2]: parts add up to the whole.

    Every pool takes the parts of what it decodes, so the pools of an option stand in for one another.
    """
    return whole * square / variance if variance > 0 else 0.0


def sized(squares: float, sizes: float) -> float:
    """The size of the sequence that a random byte or second belongs to: sum of squares / sum of sizes."""
    return squares / sizes if sizes > 0 else 0.0

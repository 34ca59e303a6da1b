"""Exact sums that remember how large their terms were: a row is judged by the scale of what it adds up."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple


class Amount(NamedTuple):
    """A sum and the sum of its terms' absolute values."""

    value: Fraction
    scale: Fraction

    def times(self, factor: float | Fraction) -> Amount:
        """The same sum in another unit."""
        exact = Fraction(factor)
        return Amount(self.value * exact, self.scale * abs(exact))

    def plus(self, other: Amount) -> Amount:
        """Both sums as one."""
        return Amount(self.value + other.value, self.scale + other.scale)


NOTHING = Amount(Fraction(0), Fraction(0))


def total(terms: Iterable[Fraction]) -> Amount:
    """The sum of exact terms."""
    gains = losses = Fraction(0)
    for term in terms:
        if term.numerator > 0:
            gains += term
        elif term.numerator < 0:
            losses -= term
    return Amount(gains - losses, gains + losses)


def of(number: float | Fraction) -> Amount:
    """One number as a sum of itself. A float is an exact rational."""
    exact = Fraction(number)
    return Amount(exact, abs(exact))


def product(*factors: float | Fraction) -> Fraction:
    """The exact product; stops at the first zero."""
    above = below = 1
    for factor in factors:
        if not factor:
            return Fraction(0)
        numerator, denominator = factor.as_integer_ratio()
        above *= numerator
        below *= denominator
    return Fraction(above, below)


def together(amounts: Iterable[Amount]) -> Amount:
    """The sum of sums."""
    value = scale = Fraction(0)
    for amount in amounts:
        value += amount.value
        scale += amount.scale
    return Amount(value, scale)

"""What the check hands back: rows, the violated ones among them, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

from optimizer.verify.amounts import Amount

TOLERANCE = Fraction(1, 10**9)
SMALLEST_SCALE = Fraction(1, 10**30)


class Sense(StrEnum):
    """How `have` must stand to `need`."""

    AT_MOST = "<="
    AT_LEAST = ">="
    EQUAL = "="


@dataclass(frozen=True)
class Row:
    """One instance of one law, or one number of the layout beside its recomputation. `scale` is the sum
    of the absolute values of the row's terms."""

    name: str
    have: Fraction
    need: Fraction
    sense: Sense
    scale: Fraction

    @cached_property
    def excess(self) -> Fraction:
        """How far the row is beyond what it may be, in its own unit; never negative."""
        difference = self.have - self.need
        if self.sense is Sense.EQUAL:
            return abs(difference)
        if self.sense is Sense.AT_LEAST:
            difference = -difference
        return max(difference, Fraction(0))

    @property
    def relative_excess(self) -> Fraction:
        """Excess per scale of the row."""
        return self.excess / max(self.scale, SMALLEST_SCALE)

    @property
    def violated(self) -> bool:
        """Whether the excess is more than rounding explains."""
        return self.excess > TOLERANCE * max(self.scale, SMALLEST_SCALE)


def at_most(name: str, have: Amount, need: Amount) -> Row:
    """The row have <= need."""
    return Row(name, have.value, need.value, Sense.AT_MOST, have.scale + need.scale)


def at_least(name: str, have: Amount, need: Amount) -> Row:
    """The row have >= need."""
    return Row(name, have.value, need.value, Sense.AT_LEAST, have.scale + need.scale)


def equal(name: str, have: Amount, need: Amount) -> Row:
    """The row have = need."""
    return Row(name, have.value, need.value, Sense.EQUAL, have.scale + need.scale)


def stated(name: str, number: float, recomputed: Amount) -> Row:
    """A number of the layout against what the decisions make it. Without terms it must be exactly zero."""
    exact = Fraction(number)
    return Row(name, exact, recomputed.value, Sense.EQUAL, max(recomputed.scale, abs(exact)))


@dataclass(frozen=True)
class Violation:
    """A law that does not hold, or a row of the layout that cannot be read (then without numbers)."""

    name: str
    detail: str
    have: float | None = None
    need: float | None = None
    relative_excess: float | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.detail}"


@dataclass(frozen=True)
class Activity:
    """An inequality as it stands: what is used and what there is."""

    name: str
    have: float
    need: float

    @property
    def slack(self) -> float:
        """Distance to the limit, whichever side it is on."""
        return abs(self.need - self.have)


@dataclass(frozen=True)
class Certificate:
    """The verdict. `worst` is the largest excess over any row's scale; below 1e-9 it is rounding.
    `worst` is infinite where a row of the layout could not be read at all."""

    passed: bool
    rows_checked: int
    violations: tuple[Violation, ...]
    worst: float
    recomputed_usd: float
    activities: tuple[Activity, ...]

    def __str__(self) -> str:
        verdict = "passed" if self.passed else f"FAILED with {len(self.violations)} violations"
        head = (
            f"exact check {verdict}: {self.rows_checked} rows, worst relative excess {self.worst:.1e}, "
            f"cost recomputed ${self.recomputed_usd:,.2f}"
        )
        return "\n".join([head, *(f"  {violation}" for violation in self.violations)])


def violation_of(row: Row) -> Violation:
    """A violated row in words."""
    have, need, relative = float(row.have), float(row.need), float(row.relative_excess)
    detail = f"have {have:.12g} {row.sense} need {need:.12g} does not hold (by {relative:.2e} of the row)"
    return Violation(row.name, detail, have, need, relative)

"""Chance with a plan in mind."""

from __future__ import annotations

from random import Random

from .plans import Plan


def short(value: float, digits: int = 3) -> float:
    """A value of few digits."""
    return float(f"{value:.{digits}g}")


class Dice:
    """Random choices, and sizes that make a planned resource tight."""

    def __init__(self, rng: Random, plan: Plan) -> None:
        self.rng = rng
        self.plan = plan

    def need(self, resource: str, least: float = 1.15, most: float = 3.2) -> float:
        """How many units of a resource full demand takes: several if it is tight, a tenth if not.

        Some of the tight ones take a whole number of units, which then are full to the brim. `kind:tier`
        may be planned by itself or with all of its kind.
        """
        kind = resource.split(":", maxsplit=1)[0]
        planned = next((r for r in (resource, kind) if r in self.plan.tight), None)
        if planned is None:
            return self.rng.uniform(0.02, 0.2)
        least, most = self.plan.tight[planned] or (least, most)
        whole = [n for n in range(2, 6) if least <= n <= most]
        if whole and self.rng.random() < 0.3:
            return float(self.rng.choice(whole))
        return short(self.rng.uniform(least, most))

    def sized(self, demand: float, resource: str, least: float = 1.15, most: float = 3.2) -> float:
        """What one unit gives. Not rounded: a brimful unit must hold exactly its part."""
        return demand / self.need(resource, least, most)

    def near(self, value: float, by: float = 0.25) -> float:
        """A value within a share of the given one."""
        return short(value * self.rng.uniform(1.0 - by, 1.0 + by))

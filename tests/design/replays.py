"""Verdicts made by hand, and a replay that says them in turn: the loop is tested without a simulator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from optimizer.instance import Layout
from optimizer.simulator.types import (
    ClassReplay,
    Failing,
    Interval,
    Law,
    Quantiles,
    ResourceReplay,
    Verdict,
)


def seen(cls: str = "chat", attainment: float = 0.97, **changes: Any) -> ClassReplay:
    """One class, in time unless told otherwise."""
    content: dict[str, Any] = {
        "cls": cls, "requests": 10_000, "rate": 2.0,
        "predicted": {"hbm": 0.2, "dram": 0.5, "miss": 0.1, "first": 0.2},
        "simulated": {
            "hbm": Interval(0.21, 0.01), "dram": Interval(0.48, 0.01), "miss": Interval(0.11, 0.005),
            "first": Interval(0.2, 0.004),
        },
        "ttft_limit": 2.0, "tpot_limit": 0.05, "ttft": Quantiles(0.2, 0.9, 1.7), "ttft_predicted_p95": 1.4,
        "tpot": Quantiles(0.02, 0.03, 0.04), "required": 0.95, "attainment_predicted": 0.951,
        "attainment": Interval(attainment, 0.002), "tpot_attainment": Interval(1.0, 0.0),
    }
    return ClassReplay(**{**content, **changes})


def used(law: Law = Law.TIER_CAPACITY, resource: str = "dram@HGX-B300-8", **changes: Any) -> ResourceReplay:
    """One resource, half full."""
    content: dict[str, Any] = {
        "law": law, "resource": resource, "unit": "bytes", "capacity": 2e12, "predicted": 0.9e12,
        "mean": 1e12, "peak": 1.4e12, "short": 0.0,
    }
    return ResourceReplay(**{**content, **changes})


def broken(law: Law, resource: str, have: float = 1.0, need: float = 1.2) -> Failing:
    """A promise that does not hold."""
    return Failing(law, resource, f"{resource} is short", have, need)


def verdict(*failing: Failing, **changes: Any) -> Verdict:
    """A verdict that passes unless something fails."""
    content: dict[str, Any] = {
        "passed": not failing, "conclusive": True, "failing": failing,
        "reasons": tuple(f.reason for f in failing) or ("every promise held",),
        "classes": (seen(),), "resources": (used(),), "waits": {}, "arrived": 12_000, "served": 11_950,
        "rejected": 0, "in_flight": 50, "warmup_seconds": 600.0, "measured_seconds": 5_000.0, "seed": 0,
        "outage": "", "wall_seconds": 0.5,
    }
    return Verdict(**{**content, **changes})


class Says:
    """A replay that gives its verdicts in turn, the last one for ever, and remembers the layouts."""

    def __init__(self, *verdicts: Verdict) -> None:
        self.verdicts = list(verdicts)
        self.layouts: list[Layout] = []

    def __call__(self, layout: Layout) -> Verdict:
        self.layouts.append(layout)
        return self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]


def names(failing: Iterable[Failing]) -> list[tuple[Law, str]]:
    """Law and resource of each."""
    return [(f.law, f.resource) for f in failing]

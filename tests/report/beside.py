"""Comparisons made by hand for the page: every way a question can end, every number easy to recognise."""

from __future__ import annotations

from typing import Any

ANSWER, BOUND = 4_874_849.0, 4_850_000.0


def question(change: str, status: str, usd: float | None = None, bound: float | None = None, **other: Any):
    """A neighbour of the answer, with the dollars between as they follow from cost and bound."""
    found: dict[str, Any] = {"change": change, "status": status, "objective_usd": usd, "bound_usd": bound}
    if bound is not None:
        found["least_extra_usd"] = bound - ANSWER
    if usd is not None and bound is not None:
        found |= {"gap": (usd - bound) / usd, "extra_usd": usd - ANSWER, "most_extra_usd": usd - BOUND}
    return {**found, **other}


def machines(name: str, count: int, dram: float = 0.0) -> dict[str, Any]:
    """Machines of one kind."""
    return {"name": name, "count": count, "dram_bytes": dram}


def plan(name: str, cached: float, missed: float, output: float) -> dict[str, Any]:
    """A price plan of an API."""
    return {"plan": name, "cached_usd": cached, "missed_usd": missed, "output_usd": output, "source": "API",
            "date": "2026-12-01"}


def comparisons(**changes: Any) -> dict[str, Any]:
    """Everything that can stand beside a layout."""
    made: dict[str, Any] = {
        "budget_s": 60.0, "seconds": 41.2,
        "baseline": question(
            "baseline", "within_gap", 6_100_000.0, 6_050_000.0, seconds=9.0,
            machines=[machines("HGX-B300-8", 8, 3.072e12)], options={"flash": "fp8", "kimi-k3": "bf16"},
            notes=["HGX-B300-8: 2.05 TB of DRAM a server is the nearest on offer to the usual 3.07 TB"],
        ),
        "without": [
            question("without dram", "infeasible", reasons=[
                "power[now]: have 200, need 215.5 kW of IT load; raise facility.power by 15.5 kW", "and more",
            ]),
            question("without cxl", "limit", 5_400_000.0, 5_000_000.0, options={"kimi-k3": "bf16"},
                     machines=[machines("HGX-B300-8", 7, 1e12)]),
            question("without dram_pool", "not_offered"),
            question("without nvme", "same", ANSWER, BOUND),
            question("without storage", "within_gap", 4_870_000.0, 4_860_000.0, least_extra_usd=0.0),
        ],
        "error_band": {
            "low": question("low performance", "limit", None, 5_900_000.0,
                            reasons=["no layout was found in its part of the time"]),
            "high": question("high performance", "optimal", 3_900_000.0, 3_900_000.0),
            "bands": {"B300-SXM": 0.3},
            "factors": [
                {"accelerator": "B300-SXM", "factor": "hbm", "unit": "fraction", "low": 0.266, "base": 0.38,
                 "high": 0.494},
                {"accelerator": "B300-SXM", "factor": "step_overhead", "unit": "seconds", "low": 7.857e-3,
                 "base": 5.5e-3, "high": 4.231e-3},
            ],
        },
        "rent": {
            "lines": [{"accelerator": "B300-SXM", "accelerators": 48, "low_usd": 4_857_496.0,
                       "base_usd": 8_177_602.0, "high_usd": 13_084_164.0, "layout_usd": 4_400_000.0}],
            "without_quote": ["RUBIN-CPX"], "rule": "Every hour of the horizon.",
        },
        "api_bill": {
            "classes": [
                {"cls": "agents", "model": "flash", "layout_usd": 2_000_000.0,
                 "plans": [plan("off-peak", 2.0e6, 1.0e6, 4.0e6), plan("peak", 4.0e6, 2.0e6, 8.0e6)]},
                {"cls": "chat", "model": "flash", "layout_usd": 2_874_849.0,
                 "plans": [plan("off-peak", 2.0e5, 1.0e5, 4.0e5)]},
            ],
            "without_price": ["kimi-k3"], "rule": "Spread evenly.",
        },
    }
    return {**made, **changes}

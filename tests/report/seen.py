"""Replays made by hand for the page: every line of it filled, every number easy to recognise."""

from __future__ import annotations

from typing import Any

SERVER, POOL = "HGX-B300-8", "flash:fp8@HGX-B300-8/dp8/prefill-short"
DECODES = "flash:fp8@HGX-B300-8/dp8/decode-50ms"


def span(mean: float | None, half: float | None = 0.002) -> dict[str, float | None]:
    """A mean and its half-width."""
    return {"mean": mean, "half": half}


def three(p50: float | None, p95: float | None, p99: float | None) -> dict[str, float | None]:
    """Percentiles."""
    return {"p50": p50, "p95": p95, "p99": p99}


def agents(**changes: Any) -> dict[str, Any]:
    """A class that lives on its hits."""
    return {
        "cls": "agents", "requests": 8_000, "rate": 160.0,
        "predicted": {"hbm": 0.25, "dram": 0.5, "storage": 0.15, "miss": 0.0625, "first": 0.0375},
        "simulated": {
            "hbm": span(0.243), "dram": span(0.497), "storage": span(0.162), "miss": span(0.061),
            "first": span(0.037),
        },
        "ttft_limit_s": 10.0, "tpot_limit_s": 0.05, "ttft": three(0.41, 3.3, 6.1),
        "ttft_predicted_p95": 9.7, "ttft_fed_back_p95": 3.1, "tpot": three(0.031, 0.044, 0.049),
        "required": 0.95, "attainment_predicted": 0.951, "attainment": span(0.992, 0.003),
        "tpot_attainment": span(1.0, 0.0), **changes,
    }


def chat(**changes: Any) -> dict[str, Any]:
    """A class that keeps nothing."""
    return agents(**{
        "cls": "chat", "requests": 12_000, "rate": 240.0, "predicted": {"miss": 0.75, "first": 0.25},
        "simulated": {"miss": span(0.751), "first": span(0.249)}, "ttft_limit_s": 2.0,
        "ttft": three(0.081, 0.9, 1.5), "ttft_predicted_p95": 1.9, "ttft_fed_back_p95": 1.0,
        "required": 0.9, "attainment_predicted": 0.9125, "attainment": span(0.995, 0.001), **changes,
    })


def resource(law: str, name: str, unit: str, *amounts: float | None, short: float = 0.0) -> dict[str, Any]:
    """A resource: capacity, predicted, mean, peak."""
    capacity, predicted, mean, peak = amounts
    return {"law": law, "resource": name, "unit": unit, "capacity": capacity, "predicted": predicted,
            "mean": mean, "peak": peak, "short": short}


def replay(**changes: Any) -> dict[str, Any]:
    """A replay that found every promise kept."""
    return {
        "state": "passed", "reasons": ["every promise held"], "failing": [], "classes": [agents(), chat()],
        "resources": [
            resource("tier_capacity", f"dram@{SERVER}", "bytes", 4.9152e12, 4.1e12, 4.05e12, 4.7e12),
            resource("tier_read", f"dram@{SERVER}", "share of time", 1.0, None, 0.292, 0.875),
            resource("nvme_endurance", f"nvme@{SERVER}", "bytes a day and drive", 15.36e12, None, 2e12, None),
            resource("decode_time", DECODES, "share of the iteration", 1.0, None, 0.78, 0.98),
            resource("prefill_time", POOL, "busy instances", 3.0, 2.1, 2.08, 3.0, short=0.12),
        ],
        "waits": {POOL: 0.31}, "arrived": 20_000, "served": 19_900, "rejected": 0, "in_flight": 100,
        "warmup_s": 600.0, "measured_s": 5_400.0, "seed": 0, "outage": "", "seconds": 1.25, **changes,
    }


def case(
    name: str, factor: float, worst: str, in_time: float, hits: float, usd: float | None, **changes: Any
) -> dict[str, Any]:
    """A line of the table of bad times."""
    return {
        "case": name, "factor": factor, "worst_class": worst, "attainment": span(in_time, 0.006),
        "required": 0.95 if worst == "agents" else 0.9, "hit_share": hits, "usd_per_mtok": usd,
        "steady": True, "outage": "", "seconds": 0.4, **changes,
    }


def stress() -> dict[str, Any]:
    """How it does with one thing off."""
    return {
        "cases": [
            case("as planned", 1.0, "agents", 0.992, 0.361, 1.14),
            case("throughput", 0.5, "agents", 0.031, 0.361, 21.5, steady=False),
            case("demand", 1.25, "agents", 0.901, 0.352, 1.02),
            case("one node down", 1.0, "chat", 0.612, 0.31, 1.83, outage=f"{SERVER}@60 s"),
            case("hits collapse for a day", 0.2, "agents", 0.0, 0.07, None, steady=False),
        ],
        "requests": 4_000, "seconds": 4.6, "not_done": ["hits -50%"],
    }


def rejected() -> dict[str, Any]:
    """A cheaper layout that a replay refused."""
    return {
        "objective_usd": 4_700_000.0,
        "machines": [{"name": SERVER, "count": 5, "dram_bytes": 1.024e12}],
        "reasons": [f"dram@{SERVER}: 9.1% of what was to be held was let go before its time"],
        "failing": [{"law": "tier_capacity", "resource": f"dram@{SERVER}", "reason": "let go", "have": 4.9e12,
                     "need": 5.4e12}],
        "attainment": {"agents": span(0.93)},
        "tightened": [{"law": "tier_capacity", "resource": f"dram@{SERVER}", "factor": 1.1}],
        "waits": {POOL: 1.5, "other": 0.5}, "seconds": 1.2,
    }


def broken() -> dict[str, Any]:
    """A replay that found a promise broken."""
    return replay(
        state="failed",
        reasons=["agents: 93.1% in time, 95% required", f"dram@{SERVER} is short", "a third", "a fourth"],
        failing=rejected()["failing"], classes=[agents(attainment=span(0.931, 0.004)), chat()],
    )


def simulated(**changes: Any) -> dict[str, Any]:
    """A replay by itself."""
    return {
        "schema": "tierplan-replay/1", "name": "by-hand", "input_sha256": "ab" * 32,
        "instance_sha256": "cd" * 32, "traces": {"agents": "weka_60s"},
        "remarks": ["only money has changed since: HGX-B300-8.price was 1, is 2"], "replay": replay(),
        **changes,
    }

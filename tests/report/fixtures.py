"""Results made by hand: small, every section filled, every number chosen to be recognised on a page."""

from __future__ import annotations

from typing import Any

from optimizer.design.result import Result
from tests.report import seen
from tests.report.beside import comparisons

YEAR = 365 * 86400.0
GPU_SERVER, POOL, NODE = "HGX-B300-8", "XC50256-POOL", "STORAGE-NODE-24xE3S"
EMPTY_TIER = dict.fromkeys(
    ("installed_bytes", "usable_bytes", "used_bytes", "margin_bytes", "read_bytes_s", "write_bytes_s"), 0.0
)


def tier(*amounts: float) -> dict[str, float]:
    """One tier's account: bytes installed, usable, used and kept as margin; bytes/s read and written."""
    return dict(zip(EMPTY_TIER, amounts, strict=True))


def server(name: str, count: int, **other: Any) -> dict[str, Any]:
    """A row of machines without anything inside."""
    empty = {
        "build": name, "server": name, "accelerator": None, "accelerators": 0, "count": count, "spare": 0,
        "dimms": "fixed", "dram_bytes": 0.0, "drive": "", "drives": 0, "nvme_bytes": 0.0, "usd": 0.0,
    }
    return {**empty, **other}


def pool(model: str, option: str, role: str, instances: int, gpus: int, **other: Any) -> dict[str, Any]:
    """A pool on the GPU server."""
    empty = {
        "pool": f"{model}:{option}@{GPU_SERVER}/{role}{gpus}", "model": model, "option": option,
        "server": GPU_SERVER, "role": role, "lane": "all", "instances": instances, "gpus_per_instance": gpus,
        "iteration_ms": 0.0, "prefill_busy": 0.0, "sequences": 0.0, "running_bytes": 0.0,
    }
    return {**empty, **other}


def placed(
    cls: str, tokens: float, ages: tuple[float, float], where: str, home: str, share: float
) -> dict[str, Any]:
    """A share of the contexts of one length at one age; `where` and `home` are locations."""
    return {
        "cls": cls, "bucket": f"{cls}:{tokens / 1e3:g}k", "context_tokens": tokens, "age_from_s": ages[0],
        "age_to_s": ages[1], "tier": where.partition("@")[0], "home": home.partition("@")[0],
        "location": where, "home_location": home, "share": share, "bytes": 1e9,
    }


def flow(cls: str, case: str, where: str, rate: float, in_time: float) -> dict[str, Any]:
    """Requests of a class that meet the cache in one way."""
    return {"cls": cls, "case": case, "tier": where, "rate": rate, "in_time": in_time}


def limit(row: str, price: float, amount: float, unit: str, means: str) -> dict[str, Any]:
    """A binding limit that has what it needs."""
    law = row.partition("[")[0]
    return {
        "row": row, "law": law, "have": amount, "need": amount, "unit": unit,
        "price_usd": price, "long_run_price_usd": price,
        "price_means": means,
    }


def assumed(name: str, value: str, source: str, basis: str = "estimated") -> dict[str, str]:
    """A number to doubt."""
    return {"name": name, "value": value, "source": source, "basis": basis}


def layout() -> dict[str, Any]:
    """Six servers with everything, a CXL pool, a storage node."""
    dram, cxl, store = f"dram@{GPU_SERVER}", f"cxl@{POOL}", "storage@facility+lossless-ans/flash:fp8"
    hbm = f"hbm@flash:fp8@{GPU_SERVER}/dp8"
    return {
        "servers": [
            server(
                GPU_SERVER, 6, accelerator="B300-SXM", accelerators=48, spare=1, dimms="16 x RDIMM-64",
                dram_bytes=1.024e12, drive="9550-15.36", drives=4, nvme_bytes=61.44e12, usd=4_400_000.0,
            ),
            server(NODE, 1, dimms="12 x RDIMM-32", dram_bytes=3.84e11, drive="9550-15.36", drives=24,
                   nvme_bytes=368.64e12, usd=214_849.0),
        ],
        "owned_used": {GPU_SERVER: 2},
        "cxl": [{
            "enclosure": POOL, "enclosures": 1, "modules": 32, "module": "CMM-D-256", "bytes": 8.192e12,
            "hosts": {GPU_SERVER: 5}, "adapters": 10, "usd": 260_000.0,
        }],
        "tiers": {
            "hbm": tier(5.5e12, 5.5e12, 3.1e12, 0.4e12, 0.0, 0.0),
            "dram": tier(6.144e12, 4.9152e12, 4.1e12, 0.8152e12, 116.8e9, 54.6e9),
            "cxl": tier(8.192e12, 8.192e12, 6.0e12, 0.9e12, 31.2e9, 8.4e9),
            "dram_pool": EMPTY_TIER, "nvme": tier(368.64e12, 331.776e12, 0.0, 0.0, 0.0, 0.0),
            "storage": tier(368.64e12, 331.776e12, 22.7e12, 1.3e12, 60.1e9, 8.4e9),
        },
        "pools": [
            pool("flash", "fp8", "decode", 1, 8, iteration_ms=50.0, sequences=1234.0, running_bytes=0.9e12),
            pool("flash", "fp8", "prefill", 2, 4, lane="long", prefill_busy=1.4),
            pool("flash", "fp8", "prefill", 3, 4, lane="short", prefill_busy=2.1),
            pool("kimi-k3", "bf16-state16", "mixed", 1, 8, iteration_ms=68.25, prefill_busy=0.35,
                 sequences=41.0, running_bytes=83.5e9),
        ],
        "options": {"flash": "fp8", "kimi-k3": "bf16-state16"},
        "placement": [
            placed("agents", 98e3, (0.0, 30.0), hbm, dram, 0.25),
            placed("agents", 98e3, (0.0, 30.0), dram, dram, 0.75),
            placed("agents", 98e3, (30.0, 120.0), dram, dram, 1.0),
            placed("agents", 98e3, (120.0, 300.0), dram, dram, 1.0),
            placed("agents", 98e3, (300.0, 3600.0), store, store, 0.9),
            placed("agents", 212e3, (0.0, 120.0), cxl, cxl, 1.0),
            placed("agents", 212e3, (120.0, 300.0), cxl, cxl, 0.0001),
        ],
        "flows": [
            flow("agents", "hit", "dram", 80.0, 80.0), flow("agents", "hit", "hbm", 40.0, 40.0),
            flow("agents", "hit", "storage", 24.0, 20.0), flow("agents", "miss", "", 10.0, 6.0),
            flow("agents", "first", "", 6.0, 6.0), flow("chat", "miss", "", 30.0, 27.0),
            flow("chat", "first", "", 10.0, 9.5),
        ],
    }


def made(**changes: Any) -> Result:
    """A layout within its gap, with every section filled."""
    content: dict[str, Any] = {
        "schema": "tierplan-result/1", "name": "by-hand", "status": "within_gap",
        "objective_usd": 4_874_849.0, "bound_usd": 4_850_000.0, "gap": 0.0051,
        "seconds": 12.34, "horizon_s": 5 * YEAR,
        "classes": [
            {"cls": "agents", "model": "flash", "rate": 160.0, "mean_rate": 60.0, "ttft_s": 10.0,
             "tpot_s": 0.05, "attainment": 0.95},
            {"cls": "chat", "model": "flash", "rate": 240.0, "mean_rate": 90.0, "ttft_s": 2.0,
             "tpot_s": 0.05, "attainment": 0.9},
        ],
        "checks": {"exact": {
            "passed": True, "rows_checked": 1234, "worst_relative_excess": 2.5e-16,
            "recomputed_usd": 4_874_849.0, "violations": [],
        }, "replay": seen.replay()},
        "layout": layout(),
        "costs": [
            {"component": "accelerator servers", "usd": 3_100_000.0, "usd_per_month": 51_666.67},
            {"component": "space", "usd": 1_900_000.0, "usd_per_month": 31_666.67},
            {"component": "residual value", "usd": -125_151.0, "usd_per_month": -2_085.85},
        ],
        "per_million_tokens": [
            {"cls": "agents", "cached": 0.00109441, "missed": 0.15165, "output": 27.868,
             "cached_mtok": 1.0617e9, "missed_mtok": 43_961_590.8, "output_mtok": 4_154_215.9},
            {"cls": "chat", "cached": None, "missed": 0.0754, "output": 2.1485, "cached_mtok": 0.0,
             "missed_mtok": 3_083_160.0, "output_mtok": 108_168.0},
        ],
        "allocation_rule": "Everything goes to classes by busy instance-seconds. Sums to the total.",
        "binding": [
            limit("tier_capacity[cxl@XC50256-POOL]", 12.5, 8192.0, "GB usable",
                  "one more usable GB of this tier"),
            limit("power[now]", 2431.7, 120.0, "kW of IT load", "one more kW"),
            limit("ttft_attainment[agents]", -15_000.0, 152.0, "req/s in time",
                  "one more request per second within its TTFT"),
        ],
        "infeasible": [], "notes": ["tiers that do not pay here: dram_pool"],
        "warnings": ["the DRAM tier is smaller than the tier above it: it never helps"],
        "assumptions": [
            assumed(f"{GPU_SERVER}.price", "520000 USD (450000 to 620000)", "OWN (2026-06)"),
            assumed("facility.electricity", "2.36111e-08 USD/J (1.38889e-08 to 3.61111e-08)",
                    "EIA (2026): industrial 8.5"),
            assumed("HGX-H200-8.price", "345000 USD (100000 to 900000)", "OWN (2026-05)"),
            assumed("headroom", "0% on every rate", "workload file", "input"),
            assumed("flash.speculation", "no figure found", "OWN (2026): no figure found"),
            *(assumed(f"facility.part{i}", f"{i} count", "OWN (2026)") for i in range(1, 5)),
        ],
        "rounds": [{"what": "round 1", "status": "within the gap", "objective_usd": 4_874_849.0,
                    "bound_usd": 4_850_000.0, "gap": 0.0051, "seconds": 11.0}],
        "size": {
            "columns": 26_449, "rows": 3_631, "nonzeros": 211_798, "columns_by_family": {"path": 4_524},
        },
        "versions": {"tierplan": "0.1.0"}, "options": {"gap": 0.01, "time_limit": 60, "threads": 2},
        "seed": 7, "input_sha256": "60e169b0ae29" + "0" * 52, "instance_sha256": "1" * 64,
        "comparisons": comparisons(), "rejected": [seen.rejected()], "stress": seen.stress(),
    }
    return Result.model_validate({**content, **changes})


def rejected() -> Result:
    """A layout that the exact check refused."""
    return made(checks={"exact": {
        "passed": False, "rows_checked": 1234, "worst_relative_excess": 0.02, "recomputed_usd": 4_874_849.0,
        "violations": ["power[now]: 122.4 kW, limit 120 kW"],
    }})


def unverified() -> Result:
    """The best layout of several that a replay refused."""
    checks = {**made().checks.model_dump(), "replay": seen.broken(),
              "replay_ended": "solved again 5 times, as often as it is tried"}
    return made(checks=checks)


def bare() -> Result:
    """Contexts in HBM alone: no memory below it pays."""
    plain = layout()
    plain |= {
        "servers": [server(GPU_SERVER, 1, accelerator="B300-SXM", accelerators=8, usd=640_000.0)],
        "owned_used": {}, "cxl": [], "tiers": {"hbm": plain["tiers"]["hbm"], "dram": EMPTY_TIER},
        "pools": [plain["pools"][3]], "options": {"kimi-k3": "bf16-state16"}, "placement": [],
        "flows": [flow("chat", "miss", "", 30.0, 27.0)],
    }
    note = "no tier below HBM pays: keeping contexts in HBM or recomputing them is cheaper"
    checks = {"exact": made().checks.exact.model_dump()}
    return made(
        layout=plain, notes=[note], binding=[], comparisons=None, checks=checks, rejected=[], stress=None
    )


def without(status: str, **changes: Any) -> Result:
    """A result without a layout."""
    none: dict[str, Any] = {
        "status": status, "objective_usd": None, "bound_usd": None, "gap": None, "layout": None, "costs": [],
        "checks": {"exact": None}, "per_million_tokens": [], "binding": [], "notes": [], "warnings": [],
        "assumptions": [], "comparisons": None, "rejected": [], "stress": None,
    }
    return made(**{**none, **changes})


def infeasible() -> Result:
    """Two conflicts: a row with amounts, and one that only words describe."""
    return without("infeasible", infeasible=[
        {"row": "power[now]", "have": 200.0, "need": 1328.4928, "unit": "kW of IT load",
         "fix": "raise facility.power by 1,128 kW"},
        {"row": "mine.yaml:12:7 classes.chat.slo.tpot", "have": None, "need": None, "unit": "",
         "fix": "no allowed hardware decodes contexts of 8,000 tokens at 1 ms a token; raise tpot"},
    ])

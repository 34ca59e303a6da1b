"""The samples' demand and hardware: two classes, two server SKUs, nodes and a CXL pool."""

from __future__ import annotations

from optimizer.instance import Bucket, Build, CostLine, Enclosure, Sku, Slot, Tier, TrafficClass

GB, TB = 1e9, 1e12

# ---- demand --------------------------------------------------------------------------------------------


def bucket(
    cls: str, model: str, tokens: float, rate: float, mean: float, slots: tuple[Slot, ...], tail: float
) -> Bucket:
    """Stored contexts of one length; `tail` returns per second come after the last age."""
    return Bucket(
        id=f"{cls}:{tokens / 1000:g}k",
        cls=cls,
        model=model,
        tokens=tokens,
        reusable=0.95 * tokens,
        rate=rate,
        mean_rate=mean,
        returns=sum(s.rate * s.drop for s in slots) + tail,
        mean_returns=sum(min(s.rate, mean) * s.drop for s in slots) + tail / 2,
        run_seconds=20.0,
        slots=slots,
    )


def ages(rates: tuple[float, float, float], drops: tuple[float, float, float]) -> tuple[Slot, ...]:
    """Three slots: to a minute, to ten minutes, to an hour."""
    edges, integrals = ((0.0, 60.0), (60.0, 600.0), (600.0, 3600.0)), (45.0, 200.0, 900.0)
    return tuple(Slot(*edge, *rest) for edge, *rest in zip(edges, rates, drops, integrals, strict=True))


BUCKETS = (
    bucket("chat", "kimi", 10_000.0, 6.0, 3.0, ages((6.0, 6.0, 5.0), (0.4, 0.2, 0.1)), 0.1),
    bucket("chat", "kimi", 50_000.0, 4.0, 2.0, ages((4.0, 4.0, 3.0), (0.4, 0.2, 0.1)), 0.1),
    bucket("agent", "deep", 100_000.0, 5.0, 4.0, ages((5.0, 5.0, 4.5), (0.5, 0.3, 0.1)), 0.1),
)


def traffic_class(name: str, model: str, attainment: float) -> TrafficClass:
    """The class of the buckets above: first requests are what is no return."""
    mine = [b for b in BUCKETS if b.cls == name]
    rate, mean = sum(b.rate for b in mine), sum(b.mean_rate for b in mine)
    return TrafficClass(
        id=name,
        model=model,
        rate=rate,
        mean_rate=mean,
        first_rate=rate - sum(b.returns for b in mine),
        attainment=attainment,
        ttft=4.0,
        tpot=0.05,
        output_tokens=400.0,
        new_tokens=1000.0,
        first_prompt=5000.0,
        quality_floor=1.0,
    )


CLASSES = (traffic_class("chat", "kimi", 0.9), traffic_class("agent", "deep", 0.85))

# ---- hardware ------------------------------------------------------------------------------------------


def cost(name: str, usd: float) -> tuple[CostLine, ...]:
    """A price with upkeep and what it is worth at the end."""
    return CostLine(name, usd), CostLine("energy", usd / 7), CostLine("residual value", -usd / 11)


def machine(
    name: str, sku: str | None, tier: Tier | None, dram: float, drives: int, usd: float, maximum: int
) -> Build:
    """A server or node with `dram` bytes and so many drives."""
    return Build(
        id=name,
        sku=sku,
        server=sku or name.split("/", maxsplit=1)[0],
        tier=tier,
        dimms="32 x RDIMM",
        dram_bytes=dram,
        dram_usable=0.9 * dram,
        dram_bytes_s=400 * GB,
        drive="tlc" if drives else "",
        drives=drives,
        nvme_bytes=drives * 15 * TB,
        nvme_usable=drives * 14 * TB,
        nvme_read=drives * 10 * GB,
        nvme_write=drives * 5 * GB,
        nvme_endurance=drives * 5e16,
        replacement_usd=2500.0 if drives else 0.0,
        network_bytes_s=90 * GB,
        power_w=9000.0 if sku else 1200.0,
        rack_units=8.0 if sku else 2.0,
        capex_usd=usd,
        minimum=0,
        maximum=maximum,
        cost=cost("accelerator servers" if sku else "nodes", usd),
    )


BUILDS = (
    machine("h200/2T/4", "h200", None, 2 * TB, 4, 300_000.0, 20),
    machine("h200/4T/8", "h200", None, 4 * TB, 8, 340_000.0, 20),
    machine("b200/4T/4", "b200", None, 4 * TB, 4, 500_000.0, 20),
    machine("dram-node/6T", None, Tier.DRAM_POOL, 6 * TB, 0, 80_000.0, 8),
    machine("storage-node/24", None, Tier.STORAGE, 0.0, 24, 90_000.0, 8),
)
SKUS = (
    Sku("h200", "H200", 8, 1, 20, 10, 2, 250_000.0, 2, 90 * GB, 2),
    Sku("b200", "B200", 8, 0, 20, None, 0, 400_000.0, 2, 90 * GB, 2),
)
ENCLOSURE = Enclosure(
    id="switch",
    module="cxl-256",
    adapter="x16",
    module_slots=16,
    ports=8,
    module_bytes=256 * GB,
    module_bytes_s=25 * GB,
    enclosure_bytes_s=300 * GB,
    adapter_read=50 * GB,
    adapter_write=40 * GB,
    minimum=0,
    maximum=4,
    power_w=(800.0, 20.0, 30.0),
    rack_units=4.0,
    capex_usd=(30_000.0, 3_000.0, 1_000.0),
    enclosure_cost=cost("cxl", 30_000.0),
    module_cost=cost("cxl", 3_000.0),
    adapter_cost=cost("cxl", 1_000.0),
)

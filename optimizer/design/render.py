"""Layout -> the sections of result.json, in the planner's words."""

from __future__ import annotations

from collections import defaultdict

from optimizer.design.result import (
    CostOut,
    CxlPool,
    Flow,
    LayoutOut,
    Placement,
    PoolOut,
    Servers,
    TierAccount,
    TokenPrice,
)
from optimizer.design.tokens import bills
from optimizer.formulation import Model
from optimizer.instance import Layout, Tier

MONTH = 365 * 86400.0 / 12
MILLION = 1e6


def layout_out(model: Model, layout: Layout) -> LayoutOut:
    """Everything that is bought and how it runs."""
    return LayoutOut(
        servers=tuple(_servers(model, layout)),
        owned_used={o.sku: o.used for o in layout.owned},
        cxl=tuple(_cxl(model, layout)),
        tiers=_tiers(model, layout),
        pools=tuple(_pools(model, layout)),
        options={row.model: row.option.split(":", 1)[1] for row in layout.options},
        placement=tuple(_placement(model, layout)),
        flows=tuple(_flows(model, layout)),
    )


def _servers(model: Model, layout: Layout) -> list[Servers]:
    found = []
    for row in layout.servers:
        b = model.tables.builds[row.build]
        sku = model.tables.skus.get(b.sku or "")
        found.append(
            Servers(
                build=b.id,
                server=b.server,
                accelerator=sku.accelerator if sku else None,
                accelerators=sku.gpus * row.count if sku else 0,
                count=row.count,
                spare=row.spare,
                dimms=b.dimms,
                dram_bytes=b.dram_bytes,
                drive=b.drive,
                drives=b.drives,
                nvme_bytes=b.nvme_bytes,
                usd=row.usd,
            )
        )
    return found


def _cxl(model: Model, layout: Layout) -> list[CxlPool]:
    cards = {e.id: e for e in model.instance.enclosures}
    return [
        CxlPool(
            enclosure=row.enclosure,
            enclosures=row.enclosures,
            modules=row.modules,
            module=cards[row.enclosure].module,
            bytes=row.modules * cards[row.enclosure].module_bytes,
            hosts={h.sku: h.hosts for h in row.hosts},
            adapters=sum(h.adapters for h in row.hosts),
            usd=row.usd,
        )
        for row in layout.cxl
    ]


def _tiers(model: Model, layout: Layout) -> dict[str, TierAccount]:
    sums: dict[str, list[float]] = {tier.value: [0.0] * 6 for tier in Tier}
    for row in layout.stores:
        total = sums[model.tables.stores[row.store].tier.value]
        for k, number in enumerate(
            (
                row.installed_bytes,
                row.usable_bytes,
                row.used_bytes,
                row.margin_bytes,
                row.read_bytes_s,
                row.write_bytes_s,
            )
        ):
            total[k] += number
    for pool in layout.pools:  # running sequences of decode pools live in HBM that no idle context can use
        p = model.tables.pools[pool.pool]
        if p.role.value == "decode":
            sums["hbm"][0] += p.room * pool.instances
            sums["hbm"][1] += p.room * pool.instances
            sums["hbm"][2] += pool.running_bytes
    return {
        tier: TierAccount(
            installed_bytes=v[0],
            usable_bytes=v[1],
            used_bytes=v[2],
            margin_bytes=v[3],
            read_bytes_s=v[4],
            write_bytes_s=v[5],
        )
        for tier, v in sums.items()
    }


def _pools(model: Model, layout: Layout) -> list[PoolOut]:
    found = []
    for row in layout.pools:
        p = model.tables.pools[row.pool]
        found.append(
            PoolOut(
                pool=p.id,
                model=p.model,
                option=p.option.split(":", 1)[1],
                server=p.sku,
                role=p.role.value,
                lane=p.lane,
                instances=row.instances,
                gpus_per_instance=p.gpus,
                iteration_ms=p.iteration * 1e3,
                prefill_busy=row.prefill_busy,
                sequences=row.sequences,
                running_bytes=row.running_bytes,
            )
        )
    return found


def _placement(model: Model, layout: Layout) -> list[Placement]:
    found = []
    for p in layout.placements:
        bucket = model.tables.buckets[p.bucket]
        slot = bucket.slots[p.slot - 1]
        home = model.tables.locations.get(p.home)
        serve = model.tables.locations[p.serve]
        found.append(
            Placement(
                cls=bucket.cls,
                bucket=bucket.id,
                context_tokens=bucket.tokens,
                age_from_s=slot.start,
                age_to_s=slot.end,
                tier=serve.tier.value,
                home=(home or serve).tier.value,
                location=p.serve,
                home_location=p.home,
                share=p.share,
                bytes=p.serve_bytes + p.home_bytes,
            )
        )
    return found


def _flows(model: Model, layout: Layout) -> list[Flow]:
    sums: dict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    cls_of = {b.id: b.cls for b in model.instance.buckets}
    for row in layout.paths:
        tier = model.tables.locations[row.location].tier.value if row.location else ""
        total = sums[cls_of.get(row.stream, row.stream), row.case, tier]
        total[0] += row.rate
        total[1] += row.attained
    return [Flow(cls=c, case=case, tier=tier, rate=r, in_time=t) for (c, case, tier), (r, t) in sums.items()]


def costs_out(model: Model, layout: Layout) -> tuple[CostOut, ...]:
    """Components, dearest first; per month is the discounted total over the months of the horizon."""
    months = sum(p.seconds for p in model.instance.periods) / MONTH
    return tuple(
        CostOut(component=c.component, usd=c.usd, usd_per_month=c.usd / months)
        for c in sorted(layout.costs, key=lambda c: -abs(c.usd))
    )


def tokens_out(model: Model, layout: Layout) -> tuple[TokenPrice, ...]:
    """USD per million tokens by class and kind; None where the horizon brings no such token."""
    found = []
    for cls, bill in bills(model, layout).items():
        price = {
            kind: bill.usd[kind] / bill.tokens[kind] * MILLION if bill.tokens[kind] else None
            for kind in ("cached", "missed", "output")
        }
        found.append(
            TokenPrice(
                cls=cls,
                cached=price["cached"],
                missed=price["missed"],
                output=price["output"],
                cached_mtok=bill.tokens["cached"] / MILLION,
                missed_mtok=bill.tokens["missed"] / MILLION,
                output_mtok=bill.tokens["output"] / MILLION,
            )
        )
    return tuple(found)

"""The questions beside the one that was asked: the same workload and cards with one thing taken away or bent.

A change is made to what the planner and the cards say, never to coefficients, so that building the instance
stays the one place of physics. Taking away only restricts: what a changed question can buy or run, the
question itself can too, at the same coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from optimizer.catalog import Accelerator, Catalog, ModelCard, Server
from optimizer.errors import InputError, Problem
from optimizer.instance import Build, Tier
from optimizer.instance.deployment import supports
from optimizer.instance.hardware import Market
from optimizer.workload import Workload
from optimizer.workload.schema import OptionRules

NODES = {Tier.DRAM_POOL: "dram_node", Tier.STORAGE: "storage_node"}
BEYOND = (Tier.CXL, Tier.DRAM_POOL, Tier.NVME, Tier.STORAGE)
"""Every tier that a server does not have by itself."""
CHOSEN = (Tier.DRAM, *BEYOND)
"""The tiers a planner can do without; of DRAM, what goes beyond the smallest population."""
FIXED = "fixed"  # how a build names memory that comes with the server
SAME = 0.01  # a population that near to the usual one is the usual one
Size = Callable[[Server], float | None]


@dataclass(frozen=True)
class Note:
    """Something a reader of a change has to know, about a machine or a model ("" for all)."""

    about: str
    text: str


@dataclass(frozen=True)
class Change:
    """A changed question. `refused` says why it cannot be asked at all."""

    workload: Workload
    catalog: Catalog
    notes: tuple[Note, ...] = ()
    refused: tuple[Problem, ...] = ()


def baseline(workload: Workload, catalog: Catalog) -> Change:
    """What is bought where nobody plans memory: in each accelerator server the DIMM population nearest to
    what such machines carry, no tier besides it, each model's default option, contexts stored plain."""
    fixed, populated = _populations(workload, catalog, _typical)
    options, kept = _default_options(workload, fixed)
    cards = {name: card.model_copy(update={"codecs": ()}) for name, card in fixed.models.items()}
    bare = _without_tiers(workload, BEYOND)
    return Change(
        bare.model_copy(update={"options": options}), replace(fixed, models=cards), (*populated, *kept),
        _forced(workload, catalog, BEYOND),
    )  # fmt: skip


def without(workload: Workload, catalog: Catalog, tier: Tier) -> Change:
    """The question without one tier; DRAM comes with every server, so of that only what is beyond the
    smallest population goes."""
    if tier is Tier.DRAM:
        return Change(workload, *_populations(workload, catalog, lambda _: 0.0))
    return Change(_without_tiers(workload, [tier]), catalog, (), _forced(workload, catalog, [tier]))


def _without_tiers(workload: Workload, tiers: Iterable[Tier]) -> Workload:
    policies = {
        t.value: getattr(workload.tiers, t.value).model_copy(update={"enabled": False, "min_bytes": 0.0})
        for t in tiers
    }
    return workload.model_copy(update={"tiers": workload.tiers.model_copy(update=policies)})


def _forced(workload: Workload, catalog: Catalog, tiers: Iterable[Tier]) -> tuple[Problem, ...]:
    """What the planner insists on that a change would take away. Shared prefixes are checked by the build."""
    found: list[tuple[str, ...]] = []
    for tier in tiers:
        if getattr(workload.tiers, tier.value).min_bytes:
            found.append(("tiers", tier.value, "min_bytes"))
        if tier is Tier.CXL:
            boxes = workload.hardware.cxl_enclosures.items()
            found += [("hardware", "cxl_enclosures", name, "min") for name, choice in boxes if choice.min]
        for name, choice in workload.hardware.servers.items():
            if choice.min and catalog.server(name).kind == NODES.get(tier):
                found.append(("hardware", "servers", name, "min"))
    return tuple(
        Problem("", ".".join(keys), f"the workload insists on some {keys[-2]}", "lower it to 0", keys)
        for keys in found
    )


# ---- populations ----------------------------------------------------------------------------------------


def _typical(server: Server) -> float | None:
    return None if server.typical_dram is None else float(server.typical_dram)


def _populations(workload: Workload, catalog: Catalog, wanted: Size) -> tuple[Catalog, tuple[Note, ...]]:
    """The catalog with one size of DIMM population in each accelerator server: the nearest to what is
    wanted among those on offer. Where nothing is wanted of a server, all stay."""
    builds = Market(workload, catalog).builds()
    servers, notes = [], []
    for server in catalog.devices.servers:
        mine = [b for b in builds if b.sku == server.id]
        aim = wanted(server)
        if not mine or server.fixed_memory is not None:
            servers.append(server)
        elif aim is None:
            servers.append(server)
            notes.append(
                Note(server.id, "its card does not say what such machines carry: all its DRAM stays")
            )
        else:
            nearest = min(mine, key=lambda b: abs(b.dram_bytes - aim))
            kept = tuple(p for p in server.populations if _is(f"{p.count} x {p.dimm}", nearest, mine))
            servers.append(server.model_copy(update={"populations": kept}))
            if aim and abs(nearest.dram_bytes - aim) > SAME * aim:
                notes.append(Note(server.id, _nearest(nearest.dram_bytes, aim)))
    devices = catalog.devices.model_copy(update={"servers": tuple(servers)})
    return replace(catalog, devices=devices), tuple(notes)


def _is(dimms: str, nearest: Build, mine: list[Build]) -> bool:
    """Whether a population has the size of the nearest one; modules of other speeds come in the same size."""
    return any(b.dimms == dimms and b.dram_bytes == nearest.dram_bytes for b in mine)


def _nearest(size: float, usual: float) -> str:
    return f"{size / 1e12:.3g} TB of DRAM a server is the nearest on offer to the usual {usual / 1e12:.3g} TB"


# ---- options --------------------------------------------------------------------------------------------


def _default_options(workload: Workload, catalog: Catalog) -> tuple[dict[str, OptionRules], tuple[Note, ...]]:
    """Rules that leave each model its default option, or where that is excluded all others, with a note."""
    rules, notes = dict(workload.options), []
    for name in dict.fromkeys(c.model for c in workload.classes.values()):
        card = catalog.model(name)
        default = next(o for o in card.options if o.default)
        if why := _excluded(workload, catalog, card):
            notes.append(Note(name, f"its default option {default.id} is excluded {why}; the others stay"))
            continue
        asked = rules.get(name, OptionRules())
        rules[name] = asked.model_copy(update={"only": (default.id,)})
    return rules, tuple(notes)


def _excluded(workload: Workload, catalog: Catalog, card: ModelCard) -> str:
    """Why the default option cannot be had; nothing where it can."""
    default = next(o for o in card.options if o.default)
    rules = workload.options.get(card.id, OptionRules())
    floor = min(c.quality_floor for c in workload.classes.values() if c.model == card.id)
    if default.id in rules.exclude or (rules.only is not None and default.id not in rules.only):
        return "by the workload"
    if default.quality_loss is None and not rules.unpublished:
        return "for want of a published quality figure"
    if default.quality_loss is not None and default.quality_loss.value > floor:
        return f"by the quality floor of {floor:g} pt"
    there = [catalog.server(name).accelerator for name in workload.hardware.servers]
    if not any(a and supports(default.accelerators, catalog.accelerator(a)) for a in there):
        return "on every accelerator on offer"
    return ""


# ---- performance ----------------------------------------------------------------------------------------


def bent(workload: Workload, catalog: Catalog, end: int) -> Change:
    """The question with the performance factors of every accelerator at one end of its error band: -1 for
    the low end, +1 for the high end."""
    parts = tuple(_bent(a, end) for a in catalog.devices.accelerators)
    devices = catalog.devices.model_copy(update={"accelerators": parts})
    measured = (Note("", "measured throughputs stay as they are"),) if workload.measured else ()
    return Change(workload, replace(catalog, devices=devices), measured)


def in_play(workload: Workload, catalog: Catalog) -> list[Accelerator]:
    """The accelerators of the servers on offer."""
    names = dict.fromkeys(catalog.server(name).accelerator for name in workload.hardware.servers)
    return [catalog.accelerator(name) for name in names if name]


def _bent(accelerator: Accelerator, end: int) -> Accelerator:
    e = accelerator.efficiency
    factor = 1 + end * float(e.error_band)
    if factor <= 0:
        where = f"{accelerator.id}.efficiency.error_band"
        raise InputError(Problem("", where, "leaves nothing at the low end", "a share below 1"))

    def share(figure: object) -> object:
        return figure.model_copy(update={"value": min(1.0, figure.value * factor)})  # type: ignore[attr-defined]

    overhead = e.step_overhead.model_copy(update={"value": e.step_overhead.value / factor})
    changed = e.model_copy(
        update={
            "hbm": share(e.hbm),
            "prefill": share(e.prefill),
            "prefill_by_family": {family: share(f) for family, f in e.prefill_by_family.items()},
            "decode_flops": share(e.decode_flops),
            "step_overhead": overhead,
        }
    )
    return accelerator.model_copy(update={"efficiency": changed})

"""Which questions stand beside an answer, and which of them the answer settles by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from optimizer.catalog import Catalog
from optimizer.design.comparisons import changes
from optimizer.design.comparisons.changes import BEYOND, CHOSEN, Change
from optimizer.design.rounds import Candidate
from optimizer.instance import Instance, Tier
from optimizer.instance.stores import IDENTITY
from optimizer.workload import Workload

BASELINE, LOW, HIGH = "baseline", "low performance", "high performance"


@dataclass(frozen=True)
class Question:
    """One question beside the answer. `change` makes it (InputError if it cannot be asked). `offered`: there
    is something to take away. `kept`: the answer's layout keeps the change, so it is the best under it too.
    `restricts`: whatever answers it answers the question itself."""

    name: str
    change: Callable[[], Change]
    offered: bool = True
    kept: bool = False
    restricts: bool = True


def without(tier: Tier) -> str:
    """The name of the question without a tier."""
    return f"without {tier.value}"


def questions(workload: Workload, catalog: Catalog, best: Candidate, bought: set[Tier]) -> Iterator[Question]:
    """All of them, in the order a planner would ask."""
    plain = changes.baseline(workload, catalog)
    yield Question(BASELINE, lambda: plain, kept=_is_baseline(best, bought, plain))
    there = offered(best.model.instance)
    for tier in CHOSEN:
        yield Question(
            without(tier), lambda tier=tier: changes.without(workload, catalog, tier),  # type: ignore[misc]
            offered=tier in there, kept=tier not in bought,
        )  # fmt: skip
    for name, end in ((LOW, -1), (HIGH, 1)):
        yield Question(
            name, lambda end=end: changes.bent(workload, catalog, end), restricts=False  # type: ignore[misc]
        )  # fmt: skip


def offered(instance: Instance) -> set[Tier]:
    """The tiers whose purchase is a choice: DRAM where some server comes in several populations."""
    sizes: dict[str, set[float]] = {}
    for b in instance.builds:
        if b.sku:
            sizes.setdefault(b.sku, set()).add(b.dram_bytes)
    found = {b.tier for b in instance.builds if b.tier}
    found |= {Tier.NVME for b in instance.builds if b.sku and b.drives}
    found |= {Tier.DRAM for several in sizes.values() if len(several) > 1}
    return found | ({Tier.CXL} if instance.enclosures else set())


def _is_baseline(best: Candidate, bought: set[Tier], plain: Change) -> bool:
    """Whether a layout is one of the baseline: its populations, its options, bytes stored plain."""
    tables, layout = best.model.tables, best.layout
    if bought & {*BEYOND}:
        return False
    for row in layout.servers:
        build = tables.builds[row.build]
        server = plain.catalog.server(build.server)
        if build.dimms not in {f"{p.count} x {p.dimm}" for p in server.populations} | {changes.FIXED}:
            return False
    for chosen in layout.options:
        rules = plain.workload.options.get(chosen.model)
        if rules and rules.only is not None and chosen.option.split(":", 1)[1] not in rules.only:
            return False
    used = {place for row in layout.placements for place in (row.serve, row.home)}
    return all(tables.locations[place].codec == IDENTITY for place in used if place in tables.locations)

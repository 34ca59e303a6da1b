"""What is on offer before any coefficient: machines, traffic, ways to run each model, and the roads between.

`optimizer.instance.build` turns it into the Instance; a replay looks up here the deployment of a bought pool.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from optimizer.catalog import Catalog, ModelCard, ModelOption
from optimizer.errors import InputError, Problem
from optimizer.instance import checks
from optimizer.instance.deployment import Deployment, deployments
from optimizer.instance.dominance import undominated
from optimizer.instance.hardware import Market
from optimizer.instance.paths import Roads
from optimizer.instance.stores import Places, places, stores
from optimizer.instance.traffic import traffic
from optimizer.instance.types import Bucket, Build, Enclosure, Sku, Tier, TrafficClass
from optimizer.workload import Workload


@dataclass(frozen=True)
class Choice:
    """One admissible option of one model, with its deployments."""

    card: ModelCard
    option: ModelOption
    deployments: list[Deployment]

    @property
    def id(self) -> str:
        """The option in the planner's words."""
        return f"{self.card.id}:{self.option.id}"


@dataclass(frozen=True)
class Offer:
    """`spreads`: coefficient of variation of each bucket's lengths. `shared`: tokens of each class's shared
    prefix, 0 without one. Buckets are not timed yet (`Bucket.run_seconds`)."""

    classes: tuple[TrafficClass, ...]
    buckets: tuple[Bucket, ...]
    models: tuple[str, ...]
    skus: tuple[Sku, ...]
    builds: tuple[Build, ...]
    enclosures: tuple[Enclosure, ...]
    choices: tuple[Choice, ...]
    places: Places
    roads: Roads
    spreads: dict[str, float]
    shared: dict[str, float]

    @cached_property
    def deployments(self) -> list[Deployment]:
        """Every option on every SKU in every shape."""
        return [d for choice in self.choices for d in choice.deployments]

    @cached_property
    def deployed(self) -> dict[str, Deployment]:
        """Deployments by id, which is the `Pool.shape` of their pools."""
        return {d.id: d for d in self.deployments}


def offer(workload: Workload, catalog: Catalog) -> Offer:
    """What the planner allows of the catalogue. Raises InputError where a model cannot be run at all."""
    market = Market(workload, catalog)
    skus, builds, enclosures = market.skus(), market.builds(), market.enclosures()
    demand = traffic(workload)
    spreads = {
        b.id: workload.classes[b.cls].contexts[i].spread
        for cls in demand.classes
        for i, b in enumerate(b for b in demand.buckets if b.cls == cls.id)
    }
    floors = {
        name: min(c.quality_floor for c in demand.classes if c.model == name)
        for name in dict.fromkeys(c.model for c in demand.classes)
    }
    choices = tuple(
        choice
        for name in floors
        for choice in _choices(workload, catalog, name, floors[name], skus, demand.buckets)
    )
    deployed = [d for choice in choices for d in choice.deployments]
    where = places(
        workload,
        stores(workload, catalog, deployed, skus, builds, enclosures),
        [(c.id, c.option, c.card) for c in choices],
        deployed,
        floors,
    )
    prefixes = {name: c.shared_prefix for name, c in workload.classes.items()}
    return Offer(
        classes=demand.classes,
        buckets=demand.buckets,
        models=tuple(floors),
        skus=skus,
        builds=builds,
        enclosures=enclosures,
        choices=choices,
        places=where,
        roads=_roads(workload, catalog, where, builds, enclosures),
        spreads=spreads,
        shared={name: prefix.tokens if prefix else 0.0 for name, prefix in prefixes.items()},
    )


def _roads(
    workload: Workload,
    catalog: Catalog,
    where: Places,
    builds: tuple[Build, ...],
    enclosures: tuple[Enclosure, ...],
) -> Roads:
    with_drives = [b for b in builds if b.sku and b.drives]
    held_in = {
        name: (Tier(c.shared_prefix.held_in), c.shared_prefix.tokens)
        for name, c in workload.classes.items()
        if c.shared_prefix
    }
    return Roads(
        catalog,
        where,
        held_in,
        {e.id: e for e in enclosures},
        drives=min((b.drives for b in with_drives), default=1),
        drive_read=min((b.nvme_read / b.drives for b in with_drives), default=1.0),
    )


def _choices(
    workload: Workload,
    catalog: Catalog,
    name: str,
    floor: float,
    skus: tuple[Sku, ...],
    buckets: tuple[Bucket, ...],
) -> list[Choice]:
    card = catalog.model(name)
    rules = workload.options.get(name)
    longest = max(b.tokens for b in buckets if b.model == name)
    admissible = []
    for option in card.options:
        loss = option.quality_loss
        allowed = (rules is not None and rules.unpublished) if loss is None else loss.value <= floor
        if rules is not None:
            allowed = allowed and option.id not in rules.exclude
            allowed = allowed and (rules.only is None or option.id in rules.only)
        if allowed:
            admissible.append(option)
    if not admissible:
        raise InputError(
            Problem(
                "",
                f"classes of {name}",
                f"no option of {name} is within a quality floor of {floor:g} pt",
                "raise quality_floor, or allow unpublished options",
                checks.users(workload, name),
            )
        )
    found = []
    for option in undominated(card, admissible):
        where = deployments(card, option, skus, catalog, longest, admissible, workload.measured)
        if where:
            found.append(Choice(card, option, where))
    if not found:
        problems = checks.no_shape(card, admissible, skus, catalog)
        raise checks.Unmeetable([replace(p, keys=checks.users(workload, name)) for p in problems])
    return found

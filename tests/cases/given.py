"""What the cases share: the shipped cards and a few more, and one way to run a model on them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from optimizer.catalog import Catalog, ModelCard, Shape, load_catalog
from optimizer.catalog.llms import Weights
from optimizer.design import Result, plan
from optimizer.instance import Instance, Sku, Tier
from optimizer.instance.build import build
from optimizer.instance.deployment import Deployment
from optimizer.physics.memory import Footprint, running_bytes
from optimizer.solver import SolveOptions
from optimizer.workload import load_workload

GIB, MIB = 2**30, 2**20
MILLION = 2**20  # tokens: "1M" of contexts
CATALOG: Catalog = load_catalog(Path(__file__).parent / "cards")
"""The shipped cards and those of models and devices that only the cases need (`cards/`)."""
FACILITY = CATALOG.devices.facility
WORKLOAD = Path(__file__).parent / "workloads" / "one-class.yaml"
OPTIONS = SolveOptions(gap=0.01, time_limit=60.0)


def card(name: str) -> ModelCard:
    """A model."""
    return CATALOG.model(name)


def shape(gpus: int, tp: int, *, accelerator: str = "B300-SXM", redundancy: float = 1.0) -> Shape:
    """An instance of `gpus` accelerators in tensor-parallel groups of `tp`."""
    return Shape(
        accelerator=accelerator,
        gpus=gpus,
        tensor_parallel=tp,
        data_parallel=gpus // tp,
        redundancy=redundancy,
    )


@cache
def runs(model: str, accelerator: str, gpus: int, tp: int, redundancy: float = 1.0) -> Deployment:
    """A model by its default option on an accelerator in a shape, listed on its card or not."""
    own = card(model)
    option = next(o for o in own.options if o.default)
    part = CATALOG.accelerator(accelerator)
    sku = Sku(accelerator, accelerator, 8, 0, 100, None, 0, 0.0, 1, part.nic.value * 8, 0)
    form = shape(gpus, tp, accelerator=accelerator, redundancy=redundancy)
    limit = own.max_context.value
    return Deployment(own, option, sku, part, form, FACILITY, limit, (option,))


def running(model: str, tokens: float, profile: str | None = None) -> Footprint:
    """HBM bytes of one running sequence, without graphs and logits."""
    own = card(model)
    default = next(o for o in own.options if o.default)
    return running_bytes(own.components, profile or default.profile, tokens)


def figure(sourced: Any, value: float) -> Any:
    """The same sourced number with another value."""
    return sourced.model_copy(update={"value": float(value)})


def changed(block: Any, **values: float) -> Any:
    """A block of sourced numbers with other values."""
    return block.model_copy(update={name: figure(getattr(block, name), v) for name, v in values.items()})


def with_devices(catalog: Catalog, **lists: Any) -> Catalog:
    """A catalogue with other devices."""
    return replace(catalog, devices=catalog.devices.model_copy(update=lists))


def weights(routed: float, other: float) -> Weights:
    """FP8 weights of that many bytes, sourced like those of a shipped card."""
    usual = card("deepseek-v3").weight("fp8")
    return changed(usual, routed_bytes=routed, other_bytes=other)


def built(*sets: str, catalog: Catalog = CATALOG) -> Instance:
    """The problem of the small workload with `--set` changes."""
    return build(load_workload(WORKLOAD, sets).workload, catalog)


def planned(*sets: str, catalog: Catalog = CATALOG) -> Result:
    """The answer to the small workload with `--set` changes."""
    return plan(load_workload(WORKLOAD, sets), catalog, OPTIONS)


def stored_in(instance: Instance, tier: Tier) -> dict[float, float]:
    """Bytes of one context in a tier, plain, by its length. One model with one option."""
    places = {place.id for place in instance.locations if place.tier is tier and place.codec == "plain"}
    tokens = {b.id: b.tokens for b in instance.buckets}
    return {tokens[s.bucket]: s.bytes for s in instance.stored if s.location in places}

"""Options that the planner names although nothing that may be bought runs them."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.catalog import Accelerator, Catalog, ModelCard, ModelOption
from optimizer.errors import Problem
from optimizer.instance.deployment import supports
from optimizer.workload import Workload

SHOWN = 6
"""Accelerators and servers that a remedy names."""


def some_named_option_runs(workload: Workload, catalog: Catalog) -> Iterator[Problem]:
    """Where `only` names options of a model, one of them runs on an accelerator of the allowed servers."""
    for model in workload.options:
        idle = list(_idle(workload, catalog, model))
        if idle and len(idle) == len(workload.options[model].only or ()):
            yield from idle


def warnings(workload: Workload, catalog: Catalog) -> Iterator[Problem]:
    """Options that `only` allows and no allowed accelerator runs, where others of the model run."""
    for model in workload.options:
        yield from _idle(workload, catalog, model)


def _idle(workload: Workload, catalog: Catalog, model: str) -> Iterator[Problem]:
    """The options of a model that are named and run nowhere; unknown names are told by other checks."""
    servers = {server.id: server for server in catalog.devices.servers}
    named = [servers[name] for name in workload.hardware.servers if name in servers]
    allowed = {server.accelerator for server in named if server.accelerator}
    card = catalog.models.get(model)
    known = {option.id: option for option in card.options} if card else {}
    for position, name in enumerate(workload.options[model].only or ()):
        if card is None or name not in known or not allowed:
            continue
        fit = [a.id for a in catalog.devices.accelerators if runs(card, known[name], a)]
        if not allowed & {*fit}:
            keys = ("options", model, "only", position)
            have = ", ".join(sorted(allowed))
            message = f'"{name}" of {model} runs on none of the allowed accelerators ({have})'
            yield Problem("", ".".join(map(str, keys)), message, _remedy(fit, catalog), keys)


def runs(card: ModelCard, option: ModelOption, accelerator: Accelerator) -> bool:
    """Whether an accelerator supports an option, computes in its format and has a shape of the model."""
    return (
        supports(option.accelerators, accelerator)
        and card.weight(option.weights).compute_dtype in accelerator.peak
        and any(shape.accelerator == accelerator.id for shape in card.shapes)
    )


def _remedy(fit: list[str], catalog: Catalog) -> str:
    if not fit:
        return "no accelerator of the catalogue runs it: leave it out"
    servers = [server.id for server in catalog.devices.servers if server.accelerator in fit]
    return f"it needs {_or(fit)}: allow {_or(servers)}, or leave the option out"


def _or(names: list[str]) -> str:
    """`a, b or c`, and no more than a few of them."""
    shown = [*names[:SHOWN], *(["another"] if len(names) > SHOWN else [])] or ["a server with it"]
    return " or ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))

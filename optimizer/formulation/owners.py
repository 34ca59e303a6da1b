"""Whose column is it? Models couple only through the machines: everything else belongs to one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from optimizer.formulation.model import Model


def owners(model: Model, variables: Iterable[Any]) -> list[str | None]:
    """The LLM each variable belongs to; None for machines and what several LLMs share.

    A family that is not listed here is shared: that is safe, since fewer columns are then priced apart.
    """
    owner = _owners(model)
    found = []
    for variable in variables:
        known = owner.get(variable.parent_component().local_name)
        found.append(known(variable.index()) if known else None)
    return found


def _owners(model: Model) -> dict[str, Callable[[Any], str]]:
    instance, tables = model.instance, model.tables
    option = {o.id: o.model for o in instance.options}
    holding = [option[h.option] for h in instance.holdings]
    path = [option[p.option] for p in instance.paths]
    return {
        "instances": lambda index: tables.pools[index[0]].model,
        "option": lambda index: option[index],
        "accelerators_of_model": lambda index: str(index[0]),
        "decode": lambda index: tables.buckets[index[0]].model,
        "path": lambda index: path[index],
        "kept": lambda index: holding[index[0]],
        "share": lambda index: holding[index[0]],
        "entry": lambda index: holding[index[0]],
    }

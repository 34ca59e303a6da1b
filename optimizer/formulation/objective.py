"""What is minimised: every discounted dollar, by component."""

from __future__ import annotations

import pyomo.environ as pyo

from optimizer.formulation.contexts import Term, Terms
from optimizer.formulation.model import Model, linear
from optimizer.instance import CostLine


def _usd(lines: tuple[CostLine, ...]) -> float:
    return sum(line.usd for line in lines)


def dollars(model: Model) -> Terms:
    """Cost of every machine, part and replaced drive, less the saving of owned hardware."""
    m, t, inst = model.pyomo, model.t, model.instance
    terms: list[Term] = [(b.usd, m.servers[b.id, t]) for b in inst.builds]
    terms += [(b.replacement_usd, m.replaced[b.id, t]) for b in inst.builds if b.drives]
    terms += [(-s.owned_saving_usd, m.owned_used[s.id, t]) for s in inst.skus if s.owned]
    for e in inst.enclosures:
        terms.append((_usd(e.enclosure_cost), m.enclosures[e.id, t]))
        terms.append((_usd(e.module_cost), m.modules[e.id, t]))
        terms += [(_usd(e.adapter_cost), v) for (name, _, _), v in m.adapters.items() if name == e.id]
    return terms


def least_total_cost(model: Model) -> None:
    """min sum of discounted cash flows   [USD]"""
    model.pyomo.least_total_cost = pyo.Objective(expr=linear(dollars(model)), sense=pyo.minimize)

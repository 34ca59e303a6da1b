"""Instance -> Pyomo model: the laws of `docs/formulation.md`, one function each.

`formulate(instance)` is the model of record; nothing else in the project writes a constraint.
"""

from __future__ import annotations

import pyomo.environ as pyo

from optimizer.formulation import (
    capacity,
    choice,
    cxl,
    facility,
    latency,
    objective,
    routing,
    sinking,
    time,
    traffic,
)
from optimizer.formulation.law import Law
from optimizer.formulation.model import Model
from optimizer.formulation.readback import read_back
from optimizer.growing import growing
from optimizer.instance import Instance

LAWS: tuple[Law, ...] = (
    *routing.LAWS,
    *sinking.LAWS,
    *choice.LAWS,
    *time.LAWS,
    *capacity.LAWS,
    *traffic.LAWS,
    *cxl.LAWS,
    *latency.LAWS,
    *facility.LAWS,
)

__all__ = ["LAWS", "Law", "Model", "formulate", "read_back", "write"]


@growing
def write(instance: Instance) -> Model:
    """Write every law over the admissible columns of an instance."""
    model = Model(instance)
    for law in LAWS:
        law(model)
    objective.least_total_cost(model)
    return model


def formulate(instance: Instance) -> pyo.ConcreteModel:
    """The Pyomo model of an instance."""
    return write(instance).pyomo

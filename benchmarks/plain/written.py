"""The laws written straight, as a file that any solver reads."""

from __future__ import annotations

from pathlib import Path

import highspy
import pyomo.environ as pyo

from optimizer.errors import SolverFailure
from optimizer.formulation import LAWS, Model
from optimizer.formulation.objective import least_total_cost
from optimizer.instance import Instance
from optimizer.solver import Compiled, LinearProgram, SolveOptions, compile
from optimizer.solver.engine import demand, load

TIGHTER = ("servers_in_all_total", "accelerators_of_model_total")
"""Row families that no layout needs: they tighten the relaxation or give branching something to hold on to.
A law that is added for the solver's sake belongs here."""
TOTALS = ("servers_in_all", "accelerators_of_model")
"""Their columns."""
NAMED = ("servers_of_sku",)
"""Totals that laws speak of: a name for a sum here, and no integer."""


def written(instance: Instance) -> Model:
    """Every law that says something about layouts, and none that only helps a solver."""
    model = Model(instance)
    for name in TOTALS:
        model.pyomo.del_component(name)
    for name in NAMED:
        for column in model.pyomo.component(name).values():
            column.domain = pyo.NonNegativeReals
    for law in LAWS:
        if law.row not in TIGHTER:
            law(model)
    least_total_cost(model)
    return model


def compiled(instance: Instance) -> Compiled:
    """The plain formulation as arrays."""
    return compile(written(instance).pyomo)


def export(lp: LinearProgram, path: Path) -> Path:
    """Write a program to an MPS file, to the last digit of a double; rows and columns go by number."""
    highs = load(lp, SolveOptions(), {})
    wrote = highs.writeModel(str(path))
    if wrote not in (highspy.HighsStatus.kOk, highspy.HighsStatus.kWarning) or not path.exists():
        raise SolverFailure(f"HiGHS did not write {path}: {wrote.name}")
    demand(highs.clear(), "forget the model")
    return path

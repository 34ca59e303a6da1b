"""The same rows and columns, given to SCIP."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from optimizer.solver import LinearProgram


def scip_model(lp: LinearProgram) -> tuple[Any, list[Any]]:
    """A silent SCIP model of a program, and its columns in order."""
    scip = pytest.importorskip("pyscipopt")
    model = scip.Model()
    model.hideOutput()
    finite = [[None if np.isinf(bound) else bound for bound in side] for side in (lp.col_lower, lp.col_upper)]
    columns = [
        model.addVar(vtype="I" if integer else "C", lb=low, ub=high, obj=cost)
        for integer, low, high, cost in zip(lp.integrality, *finite, lp.c, strict=True)
    ]
    model.addObjoffset(lp.offset)
    matrix = lp.A.tocsr()
    for row in range(matrix.shape[0]):
        entries = slice(matrix.indptr[row], matrix.indptr[row + 1])
        places, values = matrix.indices[entries], matrix.data[entries]
        body = scip.quicksum(value * columns[place] for place, value in zip(places, values, strict=True))
        if lp.row_lower[row] == lp.row_upper[row]:
            model.addCons(body == lp.row_lower[row])
            continue
        if np.isfinite(lp.row_lower[row]):
            model.addCons(body >= lp.row_lower[row])
        if np.isfinite(lp.row_upper[row]):
            model.addCons(body <= lp.row_upper[row])
    return model, columns

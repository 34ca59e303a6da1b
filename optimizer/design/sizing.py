"""What a solve would be given: the size of its model, how far its numbers lie apart, seconds to build it.

A solver works in floating point with tolerances near 1e-7 to 1e-6: coefficients of a row that lie many
orders of magnitude apart make its answers slow or wrong. So every row family tells its smallest and its
largest, and the ones outside a range that is known to be harmless are marked.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from optimizer.catalog import Catalog
from optimizer.design.result import Size
from optimizer.design.warnings import warnings
from optimizer.formulation import write
from optimizer.instance.build import build
from optimizer.solver import Compiled, compile
from optimizer.units import Strict
from optimizer.workload import Loaded

SCHEMA = "tierplan-dry-run/1"
SMALLEST, LARGEST = 1e-3, 1e4
"""Coefficients between these are known to be harmless."""

Floats = NDArray[np.float64]


class Range(Strict):
    """The smallest and the largest absolute value, zeros left out."""

    least: float
    largest: float

    @property
    def harmless(self) -> bool:
        """Whether all of it lies where coefficients are known to be harmless."""
        return self.least >= SMALLEST and self.largest <= LARGEST


class RowFamily(Strict):
    """The rows of one law."""

    row: str
    rows: int
    nonzeros: int
    coefficients: Range | None
    sides: Range | None
    flagged: bool


class ColumnFamily(Strict):
    """The columns of one decision; those that are integer."""

    column: str
    columns: int
    integers: int


class DryRun(Strict):
    """A model that was built and not solved. `seconds` are those of each step of building it."""

    schema_: str = Field(default=SCHEMA, alias="schema")
    name: str
    input_sha256: str
    instance_sha256: str
    columns: int
    integers: int
    rows: int
    nonzeros: int
    columns_by_family: tuple[ColumnFamily, ...]
    rows_by_family: tuple[RowFamily, ...]
    coefficients: Range | None
    costs: Range | None
    column_bounds: Range | None
    row_sides: Range | None
    flagged: tuple[str, ...]
    seconds: dict[str, float]
    warnings: tuple[str, ...]

    @property
    def size(self) -> Size:
        """The size as a result has it."""
        families = {family.column: family.columns for family in self.columns_by_family}
        return Size(
            columns=self.columns, rows=self.rows, nonzeros=self.nonzeros, columns_by_family=families
        )


def dry_run(loaded: Loaded, catalog: Catalog) -> DryRun:
    """Build the model of a workload as a solve would, and measure it. Raises InputError as a solve would."""
    began = time.perf_counter()
    instance = build(loaded.workload, catalog)
    assembled = time.perf_counter()
    model = write(instance)
    written = time.perf_counter()
    compiled = compile(model.pyomo)
    done = time.perf_counter()
    rows = tuple(_row_families(compiled))
    lp = compiled.lp
    return DryRun(
        name=loaded.workload.name,
        input_sha256=loaded.digest,
        instance_sha256=instance.digest(),
        columns=lp.A.shape[1],
        integers=int(lp.integrality.sum()),
        rows=lp.A.shape[0],
        nonzeros=int(lp.A.nnz),
        columns_by_family=tuple(_column_families(compiled)),
        rows_by_family=rows,
        coefficients=_range(lp.A.data),
        costs=_range(lp.c),
        column_bounds=_range(np.concatenate([lp.col_lower, lp.col_upper])),
        row_sides=_range(np.concatenate([lp.row_lower, lp.row_upper])),
        flagged=tuple(family.row for family in rows if family.flagged),
        seconds={
            "instance": assembled - began,
            "formulation": written - assembled,
            "arrays": done - written,
        },
        warnings=warnings(loaded, instance),
    )


def _range(values: Floats) -> Range | None:
    """Of what is neither zero nor infinite; None where that is nothing."""
    sizes = np.abs(values)
    sizes = sizes[(sizes > 0) & np.isfinite(sizes)]
    return Range(least=float(sizes.min()), largest=float(sizes.max())) if sizes.size else None


def _row_families(compiled: Compiled) -> Iterator[RowFamily]:
    """One entry for each law that has rows, in the order they are written."""
    lp, matrix = compiled.lp, compiled.lp.A.tocsr()
    families = np.array([constraint.parent_component().name for constraint in compiled.constraints])
    for name in dict.fromkeys(families.tolist()):
        mine = np.flatnonzero(families == name)
        coefficients = _range(matrix[mine].data)
        yield RowFamily(
            row=name,
            rows=int(mine.size),
            nonzeros=int(matrix[mine].nnz),
            coefficients=coefficients,
            sides=_range(np.concatenate([lp.row_lower[mine], lp.row_upper[mine]])),
            flagged=coefficients is not None and not coefficients.harmless,
        )


def _column_families(compiled: Compiled) -> Iterator[ColumnFamily]:
    names = [variable.parent_component().name for variable in compiled.variables]
    counts = Counter(names)
    whole = Counter(
        name for name, integer in zip(names, compiled.lp.integrality, strict=True) if integer
    )
    for name, count in counts.items():
        yield ColumnFamily(column=name, columns=count, integers=whole[name])

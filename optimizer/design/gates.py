"""What whole instances imply: rows that no integer solution breaks, and that the relaxation does.

A bucket that is decoded by a pool, however little of it, needs one instance there:

    decode[w,p] <= instances[p]        sum of the paths of a stream on p <= its rate x instances[p]

With no instance `decode_time` and `prefill_time` leave nothing to decode or prefill; with one or more the
left side is at most a whole bucket (`serve_all_decode`) or stream (`route_returns`, `route_first`). So the
rows cut off fractions only: 0.07 of an instance may not serve all of a small bucket. (Disaggregated linking
rows of facility location: Balinski 1965; Cornuejols, Nemhauser and Wolsey 1990.) Where one instance is not
enough for the whole bucket or stream, the capacity rows say more, and the gate is left out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np
from scipy import sparse

from optimizer.formulation.model import Model
from optimizer.growing import growing
from optimizer.instance import Decode, Pool, Role
from optimizer.solver import Compiled, LinearProgram

Gate = tuple[str, list[tuple[int, float]]]


@growing
def gated(model: Model, compiled: Compiled) -> LinearProgram:
    """The program with its gates, below the rows it has."""
    column = {id(variable): k for k, variable in enumerate(compiled.variables)}
    found = [*_decode_gates(model, column), *_path_gates(model, column)]
    entries = [(row, column, value) for row, (_, terms) in enumerate(found) for column, value in terms]
    if not entries:
        return compiled.lp
    rows, columns, values = (np.array(part) for part in zip(*entries, strict=True))
    matrix = sparse.csr_array((values, (rows, columns)), shape=(len(found), compiled.lp.c.size))
    nothing = np.zeros(len(found))
    return compiled.lp.with_rows(matrix, nothing - np.inf, nothing, [name for name, _ in found])


def _decode_gates(model: Model, column: Mapping[int, int]) -> Iterator[Gate]:
    """decode[w,p] - instances[p] <= 0. `column`: id of a variable -> its column."""
    for d in model.instance.decodes:
        pool = model.tables.pools[d.pool]
        if 0 < _instances_decoding(d, pool) < 1:
            decode = column[id(model.pyomo.decode[d.bucket, d.pool])]
            instances = column[id(model.pyomo.instances[pool.id, model.t])]
            yield f"decode_gate[{d.bucket},{pool.id}]", [(decode, 1.0), (instances, -1.0)]


def _instances_decoding(d: Decode, pool: Pool) -> float:
    """How many instances one whole bucket takes by the time of an iteration; 0 where it takes none."""
    fixed = pool.weights_seconds + pool.overhead + pool.memory_idle
    budget = pool.iteration * (1 - pool.prefill_share) - fixed
    return d.sequences * (d.memory_seconds + d.memory_swing) / budget if budget > 0 else math.inf


def _path_gates(model: Model, column: Mapping[int, int]) -> Iterator[Gate]:
    """sum path/rate - instances[p] <= 0. `column`: id of a variable -> its column."""
    rates = {b.id: b.returns for b in model.instance.buckets}
    rates |= {c.id: c.first_rate for c in model.instance.classes}
    streams: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, path in enumerate(model.instance.paths):
        if path.busy > 0:
            streams[path.stream, path.pool].append(i)
    for (stream, name), paths in streams.items():
        pool, rate = model.tables.pools[name], rates[stream]
        quickest = min(model.instance.paths[i].busy for i in paths)
        share = pool.design_load * (1.0 if pool.role is Role.PREFILL else pool.prefill_share)
        if 0 < rate * quickest < share:
            terms = [(column[id(model.pyomo.path[i])], 1 / rate) for i in paths]
            instances = column[id(model.pyomo.instances[name, model.t])]
            yield f"path_gate[{stream},{name}]", [*terms, (instances, -1.0)]

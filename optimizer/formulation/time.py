"""Law 5: what fits in an iteration, and the KV of running requests, which lives in HBM."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.formulation.contexts import Terms
from optimizer.formulation.law import law
from optimizer.formulation.model import GB, MS, Model, Rows
from optimizer.instance import Decode, Pool, Role


def _decoding(model: Model) -> Iterator[tuple[Pool, list[Decode]]]:
    """Pools that decode, and their columns."""
    for pool in model.instance.pools:
        decodes = model.tables.decodes.get(pool.id, [])
        if pool.role is not Role.PREFILL and decodes:
            yield pool, decodes


def _running(model: Model, decodes: list[Decode], *weigh: str) -> Terms:
    """sum of sequences x weight x decode share."""
    return [
        (d.sequences * sum(getattr(d, w) for w in weigh), model.pyomo.decode[d.bucket, d.pool])
        for d in decodes
    ]


def _iteration(model: Model, rows: Rows, pool: Pool, decodes: list[Decode], what: str, fixed: float) -> None:
    """N (fixed + idle) + sum sequences (seconds + swing) decode <= N theta (1 - phi): on average an iteration
    leaves room for the sequences that come and go."""
    n = model.pyomo.instances[pool.id, model.t]
    used = [
        (fixed + getattr(pool, f"{what}_idle"), n),
        *_running(model, decodes, f"{what}_seconds", f"{what}_swing"),
    ]
    rows.at_most(pool.id, used, [(pool.iteration * (1 - pool.prefill_share), n)])


@law("decode_time", unit="ms of an iteration", price="one more millisecond per iteration", size=MS)
def decode_time(model: Model, rows: Rows) -> None:
    """One iteration reads the weights once and every running sequence's KV once.

    N (W/BW + overhead + idle) + sum sequences decode (read/BW + swing) <= N theta (1 - phi)   [s]
    """
    for pool, decodes in _decoding(model):
        _iteration(model, rows, pool, decodes, "memory", pool.weights_seconds + pool.overhead)


@law("decode_flops", unit="ms of an iteration", price="one more millisecond per iteration", size=MS)
def decode_flops(model: Model, rows: Rows) -> None:
    """One iteration computes every running sequence's next tokens, drafts included.

    N (overhead + idle) + sum sequences decode (FLOPs/(eta peak) + swing) <= N theta (1 - phi)   [s]
    """
    for pool, decodes in _decoding(model):
        _iteration(model, rows, pool, decodes, "flops", pool.overhead)


@law("decode_exchange", unit="ms of an iteration", price="one more millisecond per iteration", size=MS)
def decode_exchange(model: Model, rows: Rows) -> None:
    """Expert-parallel traffic beyond the scale-up domain crosses the NICs within the iteration.

    N (overhead + idle) + sum sequences decode (exchange/NIC + swing) <= N theta (1 - phi)   [s]
    """
    for pool, decodes in _decoding(model):
        if any(d.network_seconds for d in decodes):
            _iteration(model, rows, pool, decodes, "network", pool.overhead)


@law("prefill_time", unit="busy instances", price="one more busy prefill instance")
def prefill_time(model: Model, rows: Rows) -> None:
    """Prefill runs at the design load, so that waits stay bounded (law 8).

    sum path F/rate <= rho phi N   [instances]
    """
    for pool in model.instance.pools:
        if pool.role is not Role.DECODE:
            busy = model.paths(model.tables.paths_on.get(pool.id, []), "busy")
            limit = pool.design_load * pool.prefill_share
            rows.at_most(pool.id, busy, [(limit, model.pyomo.instances[pool.id, model.t])])


@law("running_kv_fits_hbm", unit="GB of HBM", price="one more GB of HBM for running sequences", size=GB)
def running_kv_fits_hbm(model: Model, rows: Rows) -> None:
    """The KV of running requests lives in HBM: a hard rule.

    sum sequences decode held + margin(V, N) <= N room, V = psi sum sequences decode E[held^2]   [bytes]
    """
    for pool, decodes in _decoding(model):
        count = [(1.0, model.pyomo.instances[pool.id, model.t])]
        psi = model.instance.dispersion
        variance = [(psi * c, v) for c, v in _running(model, decodes, "square")]
        mean = _running(model, decodes, "hbm")
        rows.at_most(
            pool.id,
            [*mean, *model.margin(variance, count, pool.slope)],
            [(pool.room, model.pyomo.instances[pool.id, model.t])],
        )


LAWS = (decode_time, decode_flops, decode_exchange, prefill_time, running_kv_fits_hbm)

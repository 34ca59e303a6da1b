"""Law 1: every request is prefilled somewhere, every answer is decoded somewhere."""

from __future__ import annotations

from optimizer.formulation.law import law
from optimizer.formulation.model import Model, Rows
from optimizer.instance import Case, Role


def _of_case(model: Model, indices: list[int], *cases: Case) -> list[int]:
    return [i for i in indices if model.instance.paths[i].case in cases]


@law("route_returns", unit="req/s", price="one more return per second of this bucket")
def route_returns(model: Model, rows: Rows) -> None:
    """A return finds its context, or is a miss: nothing is lost.

    sum path(miss) + sum_l path(hit l) = returns_w option[a]   [req/s]
    """
    for option in model.instance.options:
        for bucket in model.instance.buckets:
            if bucket.model == option.model:
                indices = model.tables.paths.get((option.id, bucket.id), [])
                rows.equal(
                    (option.id, bucket.id),
                    model.paths(indices),
                    [(bucket.returns, model.pyomo.option[option.id])],
                )


@law("route_hits", unit="req/s", price="one more request per second that finds its context here")
def route_hits(model: Model, rows: Rows) -> None:
    """A hit needs a context that is held where it is read from; it may be recomputed instead.

    sum_p path(hit l) <= found[a,w,l] = sum_h,j rate_j drop_j share[h,j] found_h   [req/s]
    """
    for (option, stream), indices in model.tables.paths.items():
        if stream not in model.tables.buckets:
            continue
        hits = _of_case(model, indices, Case.HIT)
        for location in dict.fromkeys(model.instance.paths[i].location for i in hits):
            here = [i for i in hits if model.instance.paths[i].location == location]
            found = model.found(option, stream, location or "")
            rows.at_most((option, stream, location), model.paths(here), found)


@law("route_first", unit="req/s", price="one more first request per second of this class")
def route_first(model: Model, rows: Rows) -> None:
    """First requests have no private prefix and are prefilled from the shared one.

    sum_p path(first) = first_rate_W option[a]   [req/s]
    """
    for option in model.instance.options:
        for cls in model.instance.classes:
            if cls.model == option.model and cls.first_rate > 0:
                indices = model.tables.paths.get((option.id, cls.id), [])
                rows.equal(
                    (option.id, cls.id),
                    model.paths(indices),
                    [(cls.first_rate, model.pyomo.option[option.id])],
                )


@law("serve_all_decode", unit="share", price="serving this whole bucket once more")
def serve_all_decode(model: Model, rows: Rows) -> None:
    """Every context is decoded on some pool of the chosen option.

    sum_p decode[w,p] = option[a]   [share]
    """
    for option in model.instance.options:
        for bucket in model.instance.buckets:
            if bucket.model == option.model:
                decodes = [
                    d
                    for d in model.tables.decodes_of.get(bucket.id, [])
                    if model.tables.pools[d.pool].option == option.id
                ]
                rows.equal(
                    (option.id, bucket.id),
                    [(1.0, model.pyomo.decode[d.bucket, d.pool]) for d in decodes],
                    [(1.0, model.pyomo.option[option.id])],
                )


@law("decode_where_prefilled", unit="req/s", price="one more request per second kept on its own instance")
def decode_where_prefilled(model: Model, rows: Rows) -> None:
    """A mixed pool decodes what it prefilled, so that only prefill pools hand KV over.

    sum of the paths of W on p = sum_{w in W} rate_w decode[w,p]   [req/s]
    """
    for pool in model.instance.pools:
        if pool.role is not Role.MIXED:
            continue
        for cls in model.instance.classes:
            if cls.model != pool.model:
                continue
            arrivals = [
                i for i in model.tables.paths_on.get(pool.id, []) if model.instance.paths[i].cls == cls.id
            ]
            decodes = [
                d
                for d in model.tables.decodes.get(pool.id, [])
                if model.tables.buckets[d.bucket].cls == cls.id
            ]
            if arrivals or decodes:
                rows.equal(
                    (cls.id, pool.id),
                    model.paths(arrivals),
                    [(d.rate, model.pyomo.decode[d.bucket, d.pool]) for d in decodes],
                )


LAWS = (route_returns, route_hits, route_first, serve_all_decode, decode_where_prefilled)

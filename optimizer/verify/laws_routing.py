"""Law 1: every request goes somewhere, and a hit needs a context that is there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from optimizer.instance.types import Case, Role
from optimizer.verify.amounts import NOTHING, of, product, total
from optimizer.verify.certificate import Row, at_most, equal
from optimizer.verify.plan import Plan


def route_returns(plan: Plan) -> Iterator[Row]:
    """Every return is a hit somewhere or a miss, under the option the model runs.

    Sum path(miss) + sum_l sum path(hit l) = returns_w option[a]  [req/s]
    """
    rates: dict[tuple[str, str], list[Fraction]] = defaultdict(list)
    for option in plan.decisions.options:
        for bucket in plan.instance.buckets:
            if bucket.model == plan.tables.options[option].model:
                rates[option, bucket.id] = []
    for routed in plan.decisions.routed:
        if routed.path.case is not Case.FIRST:
            rates[routed.path.option, routed.path.stream].append(routed.rate)
    for (option, bucket_id), terms in rates.items():
        need = of(product(plan.tables.buckets[bucket_id].returns, plan.option(option)))
        yield equal(f"route_returns[{option},{bucket_id}]", total(terms), need)


def route_hits(plan: Plan) -> Iterator[Row]:
    """A hit needs a context that is found there; one that is found may still be recomputed.

    Sum_p path(hit l) <= found[a,w,l]  [req/s]
    """
    rates: dict[tuple[str, str, str], list[Fraction]] = defaultdict(list)
    for routed in plan.decisions.routed:
        if routed.path.case is Case.HIT:
            rates[routed.path.option, routed.path.stream, routed.path.location or ""].append(routed.rate)
    for key, terms in rates.items():
        yield at_most(f"route_hits[{','.join(key)}]", total(terms), plan.found.get(key, NOTHING))


def route_first(plan: Plan) -> Iterator[Row]:
    """Every first request is prefilled.

    Sum_p path(first) = first_rate_W option[a]  [req/s]
    """
    rates: dict[tuple[str, str], list[Fraction]] = defaultdict(list)
    for option in plan.decisions.options:
        for cls in plan.instance.classes:
            if cls.model == plan.tables.options[option].model:
                rates[option, cls.id] = []
    for routed in plan.decisions.routed:
        if routed.path.case is Case.FIRST:
            rates[routed.path.option, routed.path.stream].append(routed.rate)
    for (option, cls_id), terms in rates.items():
        need = of(product(plan.tables.classes[cls_id].first_rate, plan.option(option)))
        yield equal(f"route_first[{option},{cls_id}]", total(terms), need)


def serve_all_decode(plan: Plan) -> Iterator[Row]:
    """Every bucket is decoded whole, under the option the model runs.

    Sum_p decode[w,p] = option[a]  [share]
    """
    shares: dict[tuple[str, str], list[Fraction]] = defaultdict(list)
    for option in plan.decisions.options:
        for bucket in plan.instance.buckets:
            if bucket.model == plan.tables.options[option].model:
                shares[option, bucket.id] = []
    for item in plan.decisions.decoded:
        shares[item.pool.option, item.decode.bucket].append(item.share)
    for (option, bucket_id), terms in shares.items():
        yield equal(f"serve_all_decode[{option},{bucket_id}]", total(terms), of(plan.option(option)))


def decode_where_prefilled(plan: Plan) -> Iterator[Row]:
    """What a mixed pool prefills it decodes, so that only prefill pools hand KV over.

    Sum of all paths of W on p = sum_{w of W} lambda_w decode[w,p]  [req/s]
    """
    prefilled: dict[tuple[str, str], list[Fraction]] = defaultdict(list)
    decoded: dict[tuple[str, str], list[Fraction]] = defaultdict(list)
    for routed in plan.decisions.routed:
        if routed.pool.role is Role.MIXED:
            prefilled[routed.path.cls, routed.pool.id].append(routed.rate)
    for item in plan.decisions.decoded:
        if item.pool.role is Role.MIXED:
            bucket = plan.tables.buckets[item.decode.bucket]
            decoded[bucket.cls, item.pool.id].append(product(item.share, bucket.rate))
    for cls, pool in sorted(prefilled.keys() | decoded.keys()):
        have = total(prefilled.get((cls, pool), []))
        yield equal(f"decode_where_prefilled[{cls},{pool}]", have, total(decoded.get((cls, pool), [])))


LAWS = (route_returns, route_hits, route_first, serve_all_decode, decode_where_prefilled)

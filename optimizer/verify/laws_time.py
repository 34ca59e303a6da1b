"""Laws 5 and 8: iterations fit their time, running KV fits HBM, and first tokens come in time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from optimizer.instance.types import Pool, Role
from optimizer.verify.amounts import Amount, of, product, total
from optimizer.verify.certificate import Row, at_least, at_most
from optimizer.verify.plan import Plan


def active_pools(plan: Plan) -> list[Pool]:
    """The pools that have instances, decode or prefill anything."""
    names = {*plan.decisions.running, *plan.paths_on_pool}
    names |= {item.pool.id for item in plan.decisions.decoded}
    return [pool for pool in plan.instance.pools if pool.id in names]


def decode_seconds(plan: Plan, pool: Pool) -> Amount:
    """N theta (1 - phi): what the iterations of a pool have for decoding, phi = 0 on a decode pool."""
    prefill = Fraction(pool.prefill_share) if pool.role is Role.MIXED else Fraction(0)
    return of(product(plan.instances(pool.id), pool.iteration, 1 - prefill))


def prefill_share(pool: Pool) -> Fraction:
    """phi, which is 1 on a prefill pool."""
    return Fraction(1) if pool.role is Role.PREFILL else Fraction(pool.prefill_share)


def iteration_row(plan: Plan, pool: Pool, name: str, fixed: Fraction, what: str) -> Row:
    """N (fixed + idle) + sum sequences (seconds + swing) decode <= N theta (1 - phi)."""
    unused = Fraction(getattr(pool, f"{what}_idle"))
    have = of(product(plan.instances(pool.id), fixed + unused))
    have = have.plus(plan.on_pool(pool.id, f"{what}_seconds")).plus(plan.on_pool(pool.id, f"{what}_swing"))
    return at_most(f"{name}[{pool.id}]", have, decode_seconds(plan, pool))


def decode_time(plan: Plan) -> Iterator[Row]:
    """Weights and running KV are read within an iteration.

    N (weights_seconds + overhead + memory_idle) + sum sequences (memory_seconds + memory_swing) decode
    <= N theta (1 - phi)  [s]
    """
    for pool in active_pools(plan):
        if pool.role is not Role.PREFILL:
            fixed = Fraction(pool.weights_seconds) + Fraction(pool.overhead)
            yield iteration_row(plan, pool, "decode_time", fixed, "memory")


def decode_flops(plan: Plan) -> Iterator[Row]:
    """Running sequences are computed within an iteration.

    N (overhead + flops_idle) + sum sequences (flops_seconds + flops_swing) decode <= N theta (1 - phi)  [s]
    """
    for pool in active_pools(plan):
        if pool.role is not Role.PREFILL:
            yield iteration_row(plan, pool, "decode_flops", Fraction(pool.overhead), "flops")


def decode_exchange(plan: Plan) -> Iterator[Row]:
    """Expert-parallel bytes are exchanged within an iteration.

    N (overhead + network_idle) + sum sequences (network_seconds + network_swing) decode <= N theta (1 - phi),
    where any network_seconds is positive  [s]
    """
    for pool in active_pools(plan):
        if pool.role is not Role.PREFILL and any(
            x.decode.network_seconds for x in plan.decoded_on_pool[pool.id]
        ):
            yield iteration_row(plan, pool, "decode_exchange", Fraction(pool.overhead), "network")


def prefill_time(plan: Plan) -> Iterator[Row]:
    """Prefill keeps to its design load, which the waiting times rest on.

    Sum path busy <= rho phi N  [instances]
    """
    for pool in active_pools(plan):
        if pool.role is not Role.DECODE:
            have = total(product(x.rate, x.path.busy) for x in plan.paths_on_pool[pool.id])
            limit = of(product(pool.design_load, prefill_share(pool), plan.instances(pool.id)))
            yield at_most(f"prefill_time[{pool.id}]", have, limit)


def running_kv_fits_hbm(plan: Plan) -> Iterator[Row]:
    """Running sequences live in HBM, at a quantile and not on average.

    Sum sequences hbm decode + margin(psi sum sequences square decode, N) <= N room  [B]
    """
    for pool in active_pools(plan):
        if pool.role is not Role.PREFILL:
            variance = plan.on_pool(pool.id, "square").times(plan.instance.dispersion)
            margin = plan.margin(variance, plan.instances(pool.id), pool.slope)
            limit = of(product(plan.instances(pool.id), pool.room))
            yield at_most(f"running_kv_fits_hbm[{pool.id}]", plan.on_pool(pool.id, "hbm").plus(margin), limit)


def ttft_attainment(plan: Plan) -> Iterator[Row]:
    """Enough requests of a class are sure to meet their time to first token.

    Sum attained path >= attainment_W rate_W  [req/s]
    """
    attained: dict[str, list[Fraction]] = defaultdict(list)
    for routed in plan.decisions.routed:
        attained[routed.path.cls].append(product(routed.rate, routed.path.attained))
    for cls in plan.instance.classes:
        need = of(product(cls.attainment, cls.rate))
        yield at_least(f"ttft_attainment[{cls.id}]", total(attained[cls.id]), need)


LAWS = (
    decode_time,
    decode_flops,
    decode_exchange,
    prefill_time,
    running_kv_fits_hbm,
    ttft_attainment,
)

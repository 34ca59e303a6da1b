"""What a replay found wanting, asked for more of: coefficients of the problem, never its laws.

A layout keeps every law and still fails a replay where the law's coefficients were too kind: a mean where
peaks decide, a margin for many contexts where there are few, a wait that is longer than its bound at a load
that is not the design load. The next solve counts the blamed resource's use so many times, and the exact
check certifies at these coefficients; a bound found at other ones is void.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from optimizer.instance import Instance, Pool, Store, Tier
from optimizer.instance.types import Decode, Path, Role, Stored
from optimizer.simulator.types import Failing, Law

LEAST, MOST = 1.02, 1.25
"""How many times as much is asked for at first, at least and at most: a few per cent too little to decode
with can be half of the requests late, so that what was missed says little of how much more it takes."""

Wanted = tuple[Law, str]


@dataclass(frozen=True)
class Tightening:
    """Everything that replays asked for so far: per law and resource how many times its use is counted, per
    pool the wait for prefill as a part of what the queueing bound says (1: as the bound says)."""

    factors: Mapping[Wanted, float] = field(default_factory=dict)
    waits: Mapping[str, float] = field(default_factory=dict)

    def asks_beyond(self, other: Tightening) -> bool:
        """Whether anything is harder than there: shorter waits alone are no reason to solve again."""
        return any(f > other.factors.get(key, 1.0) for key, f in self.factors.items()) or any(
            f > max(1.0, other.waits.get(pool, 1.0)) for pool, f in self.waits.items()
        )


def tighten(instance: Instance, failing: Iterable[Failing]) -> Instance:
    """The same problem with what failed counted more; without anything failing, the problem itself."""
    return tightened(instance, harder(Tightening(), failing))


def harder(
    before: Tightening, failing: Iterable[Failing], waits: Mapping[str, float] | None = None
) -> Tightening:
    """What is asked for after one more replay: factors multiply, waits are those seen last.

    What fails again although more was asked for is asked for twice as much more.

    A pool that is blamed for prefill and waits longer than was reckoned gets its wait; one that waits no
    longer gets more room. Waits of other pools that are shorter than the bound are believed half way (in
    logarithms), since another layout may load them more: they allow more, and a replay judges what comes of
    it.
    """
    seen = waits or {}
    factors, believed = dict(before.factors), dict(before.waits)
    blamed = set()
    for failure in failing:
        reckoned, wait = believed.get(failure.resource, 1.0), seen.get(failure.resource, 1.0)
        if failure.law is Law.PREFILL_TIME:
            blamed.add(failure.resource)
            if wait > max(1.0, reckoned * LEAST):
                believed[failure.resource] = wait
                continue
        key = (failure.law, failure.resource)
        factors[key] = factors.get(key, 1.0) * _factor(failure, again=key in before.factors)
    for pool, wait in seen.items():
        if pool not in blamed and math.isfinite(wait) and wait > 0:
            believed[pool] = wait if wait > 1 else math.sqrt(wait)
    return Tightening(factors, believed)


def _factor(failure: Failing, *, again: bool) -> float:
    """need / have within LEAST and MOST, MOST where nothing is there or nobody knows; twice the excess where
    that was not enough before."""
    asked = failure.need / failure.have if failure.have > 0 else MOST
    asked = min(MOST, max(LEAST, asked)) if math.isfinite(asked) else MOST
    return 1 + (asked - 1) * (2 if again else 1)


def tightened(instance: Instance, by: Tightening) -> Instance:
    """The problem at the coefficients that were asked for."""
    for (law, resource), factor in by.factors.items():
        instance = _APPLY[law](instance, resource, factor)
    return fed_back(instance, by.waits) if by.waits else instance


def fed_back(instance: Instance, waits: Mapping[str, float]) -> Instance:
    """Waits f times as long as the queueing bound has them: P(wait > t) = exp(-x t/b) becomes
    exp(-x t/(f b)), so a path that was late with probability 1 - alpha is late with (1 - alpha)^(1/f)."""

    def told(path: Path) -> Path:
        factor = waits.get(path.pool, 1.0)
        if factor == 1.0 or not 0 < path.attained < 1:
            return path
        return replace(path, attained=-math.expm1(math.log1p(-path.attained) / factor))

    return replace(instance, paths=tuple(told(path) for path in instance.paths))


def known(instance: Instance, failure: Failing) -> bool:
    """Whether asking for more of what failed would change the problem at all."""
    return _APPLY[failure.law](instance, failure.resource, MOST) != instance


def alike(instance: Instance, resource: str) -> set[str]:
    """The pools meant by a name: a pool with those of its option, server and role, which would fail as it
    did, or all pools of a shape, a server or an option on a server."""
    named = next((p for p in instance.pools if p.id == resource), None)

    def meant(p: Pool) -> bool:
        if named is not None:
            return (p.option, p.sku, p.role) == (named.option, named.sku, named.role)
        return resource in (p.shape, p.sku, f"{p.option}@{p.sku}", f"{p.option},{p.sku}")

    return {p.id for p in instance.pools if meant(p)}


def decoding_alike(instance: Instance, resource: str) -> set[str]:
    """The pools meant by a name where sequences are short of something: all that decode the same option, on
    whatever server, since what is short is room for the same sequences."""
    named = next((p for p in instance.pools if p.id == resource), None)
    if named is None:
        return alike(instance, resource)
    return {p.id for p in instance.pools if p.option == named.option and p.role is not Role.PREFILL}


def _stores(instance: Instance, resource: str) -> list[Store]:
    """The stores meant by a name: one store, all of a tier; for HBM all shapes of an option on a server."""
    named = next((s for s in instance.stores if s.id == resource), None)
    if named is None:
        return [s for s in instance.stores if s.tier.value == resource]
    if named.tier is not Tier.HBM:
        return [named]
    shapes = {p.shape for p in instance.pools if p.id in _shape_alike(instance, named.scope)}
    return [s for s in instance.stores if s is named or (s.tier is Tier.HBM and s.scope in shapes)]


def _shape_alike(instance: Instance, shape: str) -> set[str]:
    kinds = {(p.option, p.sku) for p in instance.pools if p.shape == shape}
    return {p.id for p in instance.pools if (p.option, p.sku) in kinds}


def _locations(instance: Instance, resource: str) -> set[str]:
    stores = {s.id for s in _stores(instance, resource)}
    return {loc.id for loc in instance.locations if loc.store in stores}


def _of_pools(
    instance: Instance,
    pools: Collection[str],
    path: Callable[[Path], Path] = lambda p: p,
    decode: Callable[[Decode], Decode] = lambda d: d,
) -> Instance:
    """The problem with the paths and the decoding of some pools changed."""
    return replace(
        instance,
        paths=tuple(path(p) if p.pool in pools else p for p in instance.paths),
        decodes=tuple(decode(d) if d.pool in pools else d for d in instance.decodes),
    )


def _prefill_time(instance: Instance, resource: str, by: float) -> Instance:
    return _of_pools(instance, alike(instance, resource), path=lambda p: replace(p, busy=p.busy * by))


def _decode_time(instance: Instance, resource: str, by: float) -> Instance:
    def slower(d: Decode) -> Decode:
        return replace(
            d,
            memory_seconds=d.memory_seconds * by,
            flops_seconds=d.flops_seconds * by,
            network_seconds=d.network_seconds * by,
            memory_swing=d.memory_swing * by,
            flops_swing=d.flops_swing * by,
            network_swing=d.network_swing * by,
        )

    return _of_pools(instance, decoding_alike(instance, resource), decode=slower)


def _running_kv(instance: Instance, resource: str, by: float) -> Instance:
    def larger(d: Decode) -> Decode:
        return replace(d, hbm=d.hbm * by, square=d.square * by**2)

    return _of_pools(instance, decoding_alike(instance, resource), decode=larger)


def _held(instance: Instance, resource: str, by: float) -> Instance:
    """Contexts weigh more where they lie; in HBM what is being prefilled, too."""
    here = _locations(instance, resource)

    def heavier(s: Stored) -> Stored:
        return replace(s, bytes=s.bytes * by, square=s.square * by**2) if s.location in here else s

    shapes = {s.scope for s in _stores(instance, resource) if s.tier is Tier.HBM}
    pools = {p.id for p in instance.pools if p.shape in shapes}
    instance = replace(instance, stored=tuple(heavier(s) for s in instance.stored))
    return _of_pools(instance, pools, path=lambda p: replace(p, held=p.held * by)) if pools else instance


def _bandwidth(instance: Instance, resource: str, by: float) -> Instance:
    """Less of the bandwidth is for planning with."""
    names = {s.id for s in _stores(instance, resource)}
    return replace(
        instance,
        stores=tuple(
            replace(s, utilisation=s.utilisation / by) if s.id in names else s for s in instance.stores
        ),
    )


def _host_link(instance: Instance, resource: str, by: float) -> Instance:
    return _of_pools(instance, alike(instance, resource), path=lambda p: replace(p, link=p.link * by))


def _network(instance: Instance, resource: str, by: float) -> Instance:
    """More goes through the NICs, in and out."""

    def more(d: Decode) -> Decode:
        return replace(d, transfer=d.transfer * by, exchange_bytes=d.exchange_bytes * by)

    def heavier(p: Path) -> Path:
        return replace(p, network=p.network * by, sent=p.sent * by)

    return _of_pools(instance, alike(instance, resource), path=heavier, decode=more)


def _endurance(instance: Instance, resource: str, by: float) -> Instance:
    """The drives of a store stand fewer writes."""
    named = _stores(instance, resource)
    servers = {s.scope for s in named}
    tiers = {s.tier for s in named}
    return replace(
        instance,
        builds=tuple(
            replace(b, nvme_endurance=b.nvme_endurance / by)
            if b.sku in servers or (b.sku is None and b.tier in tiers)
            else b
            for b in instance.builds
        ),
    )


_APPLY: dict[Law, Callable[[Instance, str, float], Instance]] = {
    Law.PREFILL_TIME: _prefill_time,
    Law.DECODE_TIME: _decode_time,
    Law.RUNNING_KV: _running_kv,
    Law.HBM_ROOM: _held,
    Law.TIER_CAPACITY: _held,
    Law.TIER_READ: _bandwidth,
    Law.TIER_WRITE: _bandwidth,
    Law.HOST_LINK: _host_link,
    Law.NETWORK: _network,
    Law.ENDURANCE: _endurance,
}

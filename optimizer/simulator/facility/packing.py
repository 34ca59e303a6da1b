"""Which instance stands on which servers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from optimizer.errors import InputError, Problem
from optimizer.instance import Pool, Role
from optimizer.simulator.facility.bought import Bought

Packing = tuple[tuple[int, ...], ...]
"""The servers of every instance; those larger than a server take whole ones in a row."""


@dataclass
class _Server:
    """Accelerators of one server: free, and taken by instances that prefill or only decode."""

    index: int
    free: int
    taken: dict[bool, int]


Choose = Callable[[list[_Server], bool], _Server]


def packed(bought: Bought) -> Packing:
    """Every instance on the servers of its SKU, the largest first.

    Where sizes divide one another, any server that has room will do: a server too full for a size holds as
    much of it as the law `instances_fit_servers` charges. So prefilling instances are spread, that the memory
    of every server is near one; and where sizes do not divide, the first server with room is tried instead.
    Raises InputError if they fit in neither way.
    """
    found: dict[int, tuple[int, ...]] = {}
    for s, sku in enumerate(bought.skus):
        mine = [i for i, p in enumerate(bought.pool_of_instance) if bought.pools[p].sku == sku.id]
        order = sorted(mine, key=lambda i: _rank(bought.pools[bought.pool_of_instance[i]]))
        servers = [v for v, m in enumerate(bought.machines) if m.sku == s and not m.spare]
        spread = _fill(bought, order, servers, sku.gpus, _emptiest)
        tight = spread if spread is not None else _fill(bought, order, servers, sku.gpus, _first)
        if tight is None:
            raise InputError(
                Problem(
                    "",
                    f"servers of {sku.id}",
                    f"{len(mine)} instances do not pack onto {len(servers)} of them",
                    "buy more servers: sizes that do not divide one another take more than their sum",
                )
            )
        found |= tight
    return tuple(found[i] for i in range(len(bought.pool_of_instance)))


def _rank(pool: Pool) -> tuple[int, bool]:
    return -pool.gpus, pool.role is Role.DECODE


def _emptiest(fitting: list[_Server], decodes: bool) -> _Server:
    """The server with the least of its own kind; decode-only instances gather at the far end."""
    return min(fitting, key=lambda v: (v.taken[decodes], -v.index if decodes else v.index))


def _first(fitting: list[_Server], _: bool) -> _Server:
    return fitting[0]


def _fill(
    bought: Bought, order: list[int], servers: list[int], gpus: int, choose: Choose
) -> dict[int, tuple[int, ...]] | None:
    """The servers of each instance in that order, or None where one finds no room."""
    left = [_Server(v, gpus, {False: 0, True: 0}) for v in servers]
    found: dict[int, tuple[int, ...]] = {}
    for i in order:
        pool = bought.pools[bought.pool_of_instance[i]]
        decodes = pool.role is Role.DECODE
        if pool.gpus > gpus:  # these come first, so that empty servers lie in a row
            chosen = [v for v in left if v.free == gpus][: pool.gpus // gpus]
            if len(chosen) * gpus < pool.gpus:
                return None
        else:
            fitting = [v for v in left if v.free >= pool.gpus]
            if not fitting:
                return None
            chosen = [choose(fitting, decodes)]
        for server in chosen:
            taken = min(pool.gpus, gpus)
            server.free -= taken
            server.taken[decodes] += taken
        found[i] = tuple(server.index for server in chosen)
    return found

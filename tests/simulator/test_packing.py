"""Whatever the law `instances_fit_servers` admits stands on servers."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.errors import InputError
from optimizer.instance import Role
from optimizer.instance.deployment import charged
from optimizer.simulator.facility.bought import Bought
from optimizer.simulator.facility.packing import packed
from tests.instance.shipped import built

POOL = built("tiny").pools[0]
SKU = built("tiny").skus[0]


def on_servers(gpus: int, servers: int, wanted: list[tuple[int, Role]]) -> Bought:
    """So many servers, and a pool with one instance for each size and role wanted."""
    pools = [
        replace(POOL, id=str(i), gpus=size, gpus_charged=charged(size, gpus), role=role)
        for i, (size, role) in enumerate(wanted)
    ]
    machines = [SimpleNamespace(sku=0, spare=False)] * servers + [SimpleNamespace(sku=0, spare=True)]
    return SimpleNamespace(  # type: ignore[return-value]
        skus=(replace(SKU, gpus=gpus),), pools=pools, pool_of_instance=range(len(pools)), machines=machines
    )


sizes = st.lists(
    st.tuples(st.sampled_from((1, 2, 4, 8, 16, 32, 64)), st.sampled_from((Role.PREFILL, Role.DECODE))),
    min_size=1,
    max_size=40,
)


@given(gpus=st.sampled_from((4, 8, 72)), wanted=sizes)
def test_sizes_that_divide_one_another_fit_whenever_the_law_says_so(
    gpus: int, wanted: list[tuple[int, Role]]
) -> None:
    wanted = [(size, role) for size, role in wanted if size <= gpus or size % gpus == 0]
    servers = math.ceil(sum(charged(size, gpus) for size, _ in wanted) / gpus - 1e-9)
    left = [gpus] * servers
    for (size, _), chosen in zip(wanted, packed(on_servers(gpus, servers, wanted)), strict=True):
        assert list(chosen) == list(range(chosen[0], chosen[0] + max(1, size // gpus)))
        for v in chosen:
            left[v] -= min(size, gpus)
    assert min(left, default=0) >= 0


def test_prefilling_instances_stand_apart() -> None:
    """Four of two accelerators and four that decode on four servers of eight: one of each on every server."""
    wanted = [(2, Role.PREFILL)] * 4 + [(4, Role.DECODE)] * 4
    where = packed(on_servers(8, 4, wanted))
    assert sorted(where[:4]) == [(0,), (1,), (2,), (3,)]
    assert sorted(where[4:]) == [(0,), (1,), (2,), (3,)]


def test_sizes_that_do_not_divide_are_packed_tightly() -> None:
    """36 + 36 and 24 + 24 + 24 on two servers of 72: spread, the last one of 24 has no room."""
    where = packed(on_servers(72, 2, [(36, Role.PREFILL)] * 2 + [(24, Role.PREFILL)] * 3))
    assert where == ((0,), (0,), (1,), (1,), (1,))


def test_a_facility_too_small_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=f"servers of {SKU.id}.*2 instances do not pack onto 1"):
        packed(on_servers(8, 1, [(8, Role.PREFILL), (1, Role.DECODE)]))

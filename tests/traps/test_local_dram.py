"""Trap 2: DRAM of one kind of server serves models that run on another.

A planner owns old servers full of DIMM slots. If a byte had no address, their DRAM would hold the contexts of
a model that does not run there (docs/physics.md section 6).
"""

from __future__ import annotations

from optimizer.catalog import Catalog
from optimizer.instance import Instance, Tier

from .market import SHIPPED, built, cheaper, figures, planned, servers, with_accelerators, with_servers

OLD, NEW = "HGX-H100-8", "HGX-B300-8"
K3 = (
    "classes.agents.model=kimi-k3",
    "options={kimi-k3: {only: [bf16]}}",
    "classes.agents.peak_rate=4 req/s",
    "classes.agents.contexts=[{tokens: 120 ktok, share: 1}]",
    "classes.agents.slo={ttft: 20 s, tpot: 50 ms, attainment: 0.9}",
    f"hardware.servers={{{NEW}: {{}}, {OLD}: {{owned: 6, max: 6}}}}",
    "hardware.dimms=[RDIMM-32]",
    "tiers.nvme.enabled=false",
)
"""K3, which no card lists on H100, beside six owned H100 servers."""
POOLED = "tiers.dram.scope=pooled"


def trapped() -> Catalog:
    """Trap on, with `POOLED`: one DRAM for the whole facility, and NICs that do not count."""
    parts = {a.id for a in SHIPPED.devices.accelerators}
    machines = {s.id for s in SHIPPED.devices.servers}
    fast = with_accelerators(SHIPPED, parts, lambda a: figures(a, nic=1e15))
    return with_servers(fast, machines, lambda s: figures(s, nic_bandwidth=1e15))


def loads(instance: Instance, tier: Tier) -> list[tuple[str, str, float, float]]:
    """Of every hit in a tier by an instance of one server, which exchanges no experts over NICs: where the
    bytes are, where the pool is, bytes loaded, bytes over its NICs."""
    at = {place.id: place for place in instance.locations}
    scopes = {store.id: store.scope for store in instance.stores}
    skus = {pool.id: pool.sku for pool in instance.pools if pool.nodes <= 1}
    return [
        (scopes[at[p.location].store], skus[p.pool], p.load, p.network)
        for p in instance.paths
        if p.location is not None and at[p.location].tier is tier and p.pool in skus
    ]


def test_trap_on_old_servers_are_kept_for_their_dram() -> None:
    """K3's contexts lie in servers that cannot run it, and a B300 server is saved."""
    wrong, right = planned(*K3, POOLED, catalog=trapped()), planned(*K3)
    assert wrong.layout is not None
    assert servers(wrong)[OLD] > 0
    assert {pool.server for pool in wrong.layout.pools} == {NEW}
    assert servers(wrong)[NEW] < servers(right)[NEW]
    assert cheaper(wrong, right)


def test_shipped_local_dram_serves_its_own_pools() -> None:
    """No old server is used, and no path reads what lies on another kind of server."""
    assert set(servers(planned(*K3))) == {NEW}
    found = loads(built(*K3), Tier.DRAM)
    assert found
    assert all(where == pool == NEW for where, pool, _, _ in found)
    assert all(over_nics == 0 for *_, over_nics in found)


def test_shipped_pool_pays_the_network() -> None:
    """Pooled by the planner's own word, every byte of a hit crosses the reader's NIC."""
    found = loads(built(*K3, POOLED), Tier.DRAM_POOL)
    assert found
    assert all(where == "facility" for where, *_ in found)
    assert all(over_nics == loaded > 0 for *_, loaded, over_nics in found)


def test_shipped_pool_is_not_used_over_a_slow_network() -> None:
    """At a thousandth of the NICs the old servers are left out again."""
    machines = {s.id for s in SHIPPED.devices.servers}
    slow = with_servers(SHIPPED, machines, lambda s: figures(s, nic_bandwidth=s.nic_bandwidth.value / 1000))
    assert servers(planned(*K3, POOLED))[OLD] > 0
    assert servers(planned(*K3, POOLED, catalog=slow))[OLD] == 0

"""Pools, instances, ranks and servers as arrays."""

from __future__ import annotations

from collections.abc import Mapping

from optimizer.instance import Pool, Role
from optimizer.simulator.facility.arrays import flags, floats, ints, starts
from optimizer.simulator.facility.bought import NEGLIGIBLE, Bought
from optimizer.simulator.facility.packing import Packing
from optimizer.simulator.types import Machines


def machines(bought: Bought, packing: Packing, hbm: Mapping[int, int]) -> Machines:
    """`hbm`: the domain of each instance that keeps idle contexts."""
    pools, deployments, instances = bought.pools, bought.deployments, bought.pool_of_instance
    accepted = {option.id: option.accepted_per_step for option in bought.instance.options}
    return Machines(
        pool_instance=starts(bought.counts[pool.id] for pool in pools),
        pool_prefills=flags([pool.role is not Role.DECODE for pool in pools]),
        pool_decodes=flags([pool.role is not Role.PREFILL for pool in pools]),
        pool_share=floats([pool.prefill_share for pool in pools]),
        pool_step_fixed=floats([pool.weights_seconds for pool in pools]),
        pool_overhead=floats([pool.overhead for pool in pools]),
        pool_step_limit=floats([_longest_iteration(bought, p) * (1 - p.prefill_share) for p in pools]),
        pool_accepted=floats([accepted[pool.option] for pool in pools]),
        pool_room=floats([pool.room for pool in pools]),
        pool_layers=floats([d.card.layers for d in deployments]),
        instance_pool=ints(instances),
        instance_rank=starts(deployments[p].shape.data_parallel for p in instances),
        instance_server=ints([servers[0] for servers in packing]),
        instance_span=ints([len(servers) for servers in packing]),
        instance_domain=ints([hbm.get(i, -1) for i in range(len(instances))]),
        instance_link=floats([pools[p].link_read for p in instances]),
        server_sku=ints([machine.sku for machine in bought.machines]),
        server_nic=floats([bought.skus[machine.sku].nic_bytes_s for machine in bought.machines]),
        server_spare=flags([machine.spare for machine in bought.machines]),
    )


def _longest_iteration(bought: Bought, pool: Pool) -> float:
    """Seconds an iteration may take before a sequence in it misses its TPOT. The plan's own iteration may be
    shorter: it is chosen from a coarse grid, and an engine takes no notice of it."""
    buckets = {bucket.id: bucket.cls for bucket in bought.instance.buckets}
    classes = {cls.id: cls.tpot for cls in bought.instance.classes}
    accepted = next(o.accepted_per_step for o in bought.instance.options if o.id == pool.option)
    tightest = min(
        (
            classes[buckets[row.bucket]] * accepted
            for row in bought.layout.decodes
            if row.pool == pool.id and row.share > NEGLIGIBLE
        ),
        default=pool.iteration,
    )
    return max(pool.iteration, tightest)

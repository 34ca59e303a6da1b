"""Instance + Layout + cards -> the bought facility as numbers."""

from __future__ import annotations

from optimizer.catalog import Catalog
from optimizer.instance import Instance, Layout, Policy
from optimizer.instance.offer import offer
from optimizer.simulator.facility.bought import Bought
from optimizer.simulator.facility.classes import classes
from optimizer.simulator.facility.conservation import bytes_conserved
from optimizer.simulator.facility.machines import machines
from optimizer.simulator.facility.packing import packed
from optimizer.simulator.facility.places import places
from optimizer.simulator.facility.plans import plans
from optimizer.simulator.facility.roads import roads
from optimizer.simulator.facility.routes import routes
from optimizer.simulator.facility.work import work
from optimizer.simulator.types import Facility, Names
from optimizer.workload import Workload


def facility(
    instance: Instance, layout: Layout, workload: Workload, catalog: Catalog
) -> tuple[Facility, Names]:
    """What a replay runs on, and the names behind its numbers.

    `layout` answers `instance`, which was built of this workload and these cards.
    """
    bought = Bought(instance, layout, offer(workload, catalog))
    packing = packed(bought)
    kept, hbm = places(bought, packing)
    bytes_conserved(bought, kept)
    built = Facility(
        machines=machines(bought, packing, hbm),
        work=work(bought),
        places=kept,
        roads=roads(bought),
        routes=routes(bought),
        plans=plans(instance, layout, bought.location_index, bought.bucket_index),
        classes=classes(bought),
        exclusive=instance.policy is Policy.EXCLUSIVE,
    )
    return built, names(bought)


def names(bought: Bought) -> Names:
    """The planner's words, in the order of the numbers."""
    return Names(
        pools=tuple(pool.id for pool in bought.pools),
        locations=tuple(location.id for location in bought.locations),
        stores=tuple(store.id for store in bought.stores),
        buckets=tuple(bucket.id for bucket in bought.instance.buckets),
        classes=tuple(cls.id for cls in bought.instance.classes),
        skus=tuple(sku.id for sku in bought.skus),
    )

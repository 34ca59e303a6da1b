"""Workload files: traffic classes, what may be bought, tiers, limits and money, validated and checked.

`load_workload("two-directions", ["prices.dram=x3"])` gives a `Loaded`: the workload in SI, the document
that knows the place of every key, and a digest. `bucket_survival`, `knees`, `slots` and `tail_returns`
turn a class's reuse into age slots.
"""

from optimizer.workload.knees import knees
from optimizer.workload.load import Loaded, digest, load_workload, loaded
from optimizer.workload.reuse import Slot, Survival, bucket_survival, slots, survival, tail_returns
from optimizer.workload.schema import Workload

__all__ = [
    "Loaded", "Slot", "Survival", "Workload", "bucket_survival", "digest", "knees", "load_workload", "loaded",
    "slots", "survival", "tail_returns",
]

"""Nominal traffic as arrays."""

from __future__ import annotations

from optimizer.simulator.facility.arrays import floats, ints
from optimizer.simulator.facility.bought import Bought
from optimizer.simulator.types import Classes


def classes(bought: Bought) -> Classes:
    """Lengths and limits of every class and bucket."""
    instance, offer = bought.instance, bought.offer
    numbers = {cls.id: c for c, cls in enumerate(instance.classes)}
    chosen = set(bought.option_of.values())
    reads = {row.cls: row.reads for row in instance.shared_prefixes if row.option in chosen}
    found = {holding.serve: holding.found for holding in instance.holdings}
    return Classes(
        bucket_class=ints([numbers[bucket.cls] for bucket in instance.buckets]),
        tokens=floats([bucket.tokens for bucket in instance.buckets]),
        unused=floats([bucket.tokens - bucket.reusable for bucket in instance.buckets]),
        new=floats([cls.new_tokens for cls in instance.classes]),
        output=floats([cls.output_tokens for cls in instance.classes]),
        first_prompt=floats([cls.first_prompt for cls in instance.classes]),
        shared=floats([offer.shared[cls.id] for cls in instance.classes]),
        shared_bytes=floats([reads.get(cls.id, 0.0) for cls in instance.classes]),
        affinity=floats([found.get(location.id, 1.0) for location in bought.locations]),
        ttft=floats([cls.ttft for cls in instance.classes]),
        tpot=floats([cls.tpot for cls in instance.classes]),
    )

"""The pools that a layout means for a class, whether or not they run."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from numpy.typing import NDArray

from optimizer.instance import Instance, Layout
from optimizer.simulator.types import Flags, Law
from optimizer.simulator.verdict.observed import rejected


def nobody(layout: Layout, instance: Instance, cls: str) -> dict[Law, str]:
    """What is missing where nobody takes a request of a class: for its prefill and for its decoding, the pool
    that the layout sends most of it to."""
    buckets = {bucket.id for bucket in instance.buckets if bucket.cls == cls}
    prefill: dict[str, float] = defaultdict(float)
    decode: dict[str, float] = defaultdict(float)
    for path in layout.paths:
        if path.stream in buckets or path.stream == cls:
            prefill[path.pool] += path.rate
    for row in layout.decodes:
        if row.bucket in buckets:
            decode[row.pool] += row.share
    return {
        law: max(pools, key=lambda name: pools[name])
        for law, pools in ((Law.PREFILL_TIME, prefill), (Law.DECODE_TIME, decode))
        if pools
    }


def never_taken(rows: NDArray[Any]) -> Flags:
    """Requests that no prefill instance was there for."""
    return rejected(rows) & (rows["wall"] == 0)

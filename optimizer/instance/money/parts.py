"""What stands on a bill: parts with a price, and the things that cost lines are charged for."""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.catalog import Resale


@dataclass(frozen=True)
class Part:
    """One thing bought: a component, its price (USD), nameplate power (W), rack units, kind when resold."""

    component: str
    usd: float
    watts: float = 0.0
    rack_units: float = 0.0
    resale: Resale = Resale.SERVERS


@dataclass(frozen=True)
class Things:
    """What one machine counts as for cost lines: its accelerators, itself, its network links, and the
    prices (USD) that shares are of: its own, and those of its accelerators' modules."""

    accelerators: int = 0
    servers: int = 0
    links: int = 0
    server_usd: float = 0.0
    accelerators_usd: float = 0.0

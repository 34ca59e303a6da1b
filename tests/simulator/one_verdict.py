"""A replay of a tiny layout, printed with every digit: `python -m tests.simulator.one_verdict`."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from optimizer.simulator.simulation import simulate
from optimizer.simulator.types import Verdict
from tests.instance.shipped import CATALOG
from tests.simulator.bought import drawn
from tests.simulator.fuzz import play
from tests.simulator.laws import rows

REQUESTS, SEED = 1500, 5
RUNS = (1, 2, 9)
"""Seeds of made-up facilities, with recorded traffic, outages, both policies."""


def verdict() -> Verdict:
    """What a replay says of the layout; the seconds it took are left out."""
    case = drawn(SEED, "small")
    found = simulate(case.instance, case.layout, case.workload, CATALOG, requests=REQUESTS, seed=SEED)
    return replace(found, wall_seconds=0.0)


def digest(seed: int) -> str:
    """Every byte of the requests and the domains of a made-up run."""
    seen = play(seed)
    content = rows(seen).tobytes() + seen.state.cache.domain.tobytes() + seen.state.instance.tobytes()
    return hashlib.sha256(content).hexdigest()


def main() -> None:
    """As Python writes it: no digit is left out."""
    print(verdict())
    for seed in RUNS:
        print(digest(seed))


if __name__ == "__main__":
    main()

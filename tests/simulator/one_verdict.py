"""A replay of a tiny layout, printed with every digit: `python -m tests.simulator.one_verdict`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

from optimizer.simulator.simulation import simulate
from tests.instance.shipped import CATALOG
from tests.simulator.bought import drawn
from tests.simulator.fuzz import play
from tests.simulator.laws import rows

REQUESTS, SEED = 1500, 5
RUNS = (1, 2, 9)
"""Seeds of made-up facilities, with recorded traffic, outages, both policies."""


def verdict() -> dict[str, object]:
    """Everything a verdict says but the seconds it took."""
    case = drawn(SEED, "small")
    found = asdict(
        simulate(case.instance, case.layout, case.workload, CATALOG, requests=REQUESTS, seed=SEED)
    )
    del found["wall_seconds"]
    return found


def digest(seed: int) -> str:
    """Every byte of the requests and the domains of a made-up run."""
    seen = play(seed)
    content = rows(seen).tobytes() + seen.state.cache.domain.tobytes() + seen.state.instance.tobytes()
    return hashlib.sha256(content).hexdigest()


def main() -> None:
    """One line of JSON; floats as Python writes them, so that they are read back the same."""
    print(json.dumps({"verdict": verdict(), "runs": [digest(seed) for seed in RUNS]}, sort_keys=True))


if __name__ == "__main__":
    main()

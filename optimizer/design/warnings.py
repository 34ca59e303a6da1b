"""What a planner should know although the question can be planned with."""

from __future__ import annotations

from optimizer.errors import Problem
from optimizer.instance import Instance
from optimizer.workload import Loaded


def warnings(loaded: Loaded, instance: Instance) -> tuple[str, ...]:
    """The warnings of an instance in words, with file, line and column where they are about a key."""
    return tuple(
        str(loaded.document.placed(found)) if isinstance(found, Problem) else found
        for found in instance.warnings
    )

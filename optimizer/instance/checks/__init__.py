"""What is refused before anything is solved: names the catalogue lacks, demands that no hardware can meet."""

from optimizer.instance.checks.demand import Unmeetable, feasible, no_shape, prefix_tiers, users
from optimizer.instance.checks.names import names

__all__ = ["Unmeetable", "feasible", "names", "no_shape", "prefix_tiers", "users"]

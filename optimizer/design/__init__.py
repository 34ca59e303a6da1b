"""Instance -> Result: solve in rounds, check exactly, explain.

`plan(loaded, catalog, options)` answers one workload file; `Result` is what result.json holds.
"""

from optimizer.design.plan import plan, sizes
from optimizer.design.result import Result

__all__ = ["Result", "plan", "sizes"]

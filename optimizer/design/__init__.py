"""Instance -> Result: solve in rounds, check exactly, explain.

`plan(loaded, catalog, options)` answers one workload file, `sizes(loaded, catalog)` tells how large its
model is; `Result` is what result.json holds. Reading a result loads no solver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optimizer.design.result import Result

if TYPE_CHECKING:
    from optimizer.design.planning import plan, sizes

__all__ = ["Result", "plan", "sizes"]


def __getattr__(name: str) -> Any:
    if name not in ("plan", "sizes"):
        raise AttributeError(name)
    import importlib

    return getattr(importlib.import_module("optimizer.design.planning"), name)

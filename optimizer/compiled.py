"""Compiled inner loops: numba where it is installed, the same Python where it is not.

The two give the same numbers (`tests/simulator` and `tests/traces` run both): a kernel is written once, as
plain loops over arrays, and numba's own NUMBA_DISABLE_JIT=1 runs it uncompiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

try:
    import numba
except ImportError:  # a platform without numba still gets its answer, more slowly
    numba = None  # type: ignore[assignment]

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """The function, compiled at its first call and kept on disk for the next process.

    Division by zero gives inf or nan, as in numpy: a check for it would sit in every inner loop.
    """
    if numba is None:
        return function
    return numba.njit(cache=True, error_model="numpy")(function)

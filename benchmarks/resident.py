"""Memory of this process: its peak, and what it grows by."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def growth(run: Callable[[], T]) -> tuple[float, T]:
    """Bytes that the process takes at its peak while something runs, beyond what it takes before."""
    try:
        Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak from now on
        before = _status("VmRSS")
        result = run()
        return _status("VmHWM") - before, result
    except OSError:
        highest = _highest()
        result = run()
        return _highest() - highest, result


def peak() -> float:
    """Bytes that the process took at most since it began, or since `growth` was called."""
    try:
        return _status("VmHWM")  # ru_maxrss would be that of the process it was forked from
    except OSError:
        return _highest()


def _highest() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


def _status(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(field))

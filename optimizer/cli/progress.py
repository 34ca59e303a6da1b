"""How a solve is going, on stderr: a line that is rewritten on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType

FIRST = 5.0  # seconds before anything is written where stderr is no terminal
EVERY = 10.0  # seconds between lines there
_WIDTH = 79


class Progress:
    """The watch of a solve; `quiet` silences it unless stderr is a terminal."""

    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self.terminal = sys.stderr.isatty()
        self.quiet = quiet and not self.terminal
        self.clock = clock
        self.due = clock() + (0.0 if self.terminal else FIRST)
        self.shown = False

    def __call__(
        self, stage: str, seconds: float, incumbent: float | None, bound: float | None, gap: float | None
    ) -> None:
        if self.quiet or self.clock() < self.due:
            return
        line = said(stage, seconds, incumbent, bound, gap)
        if self.terminal:
            sys.stderr.write(f"\r{line[:_WIDTH]:<{_WIDTH}}")
            self.shown = True
        else:
            sys.stderr.write(f"{line}\n")
            self.due = self.clock() + EVERY
        sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * _WIDTH + "\r")
            sys.stderr.flush()


def said(stage: str, seconds: float, incumbent: float | None, bound: float | None, gap: float | None) -> str:
    """`proof, 12 s: best layout $44,730,917, none below $38,832,235, gap 13.2%`."""
    parts = [f"best layout ${incumbent:,.0f}" if incumbent is not None else "no layout yet"]
    if bound is not None:
        parts.append(f"none below ${bound:,.0f}")
    if gap is not None:
        parts.append(f"gap {gap:.1%}")
    return f"{stage}, {seconds:.0f} s: {', '.join(parts)}"

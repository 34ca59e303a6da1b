"""Ctrl-C: the first asks the search to stop and hand over what it has, the second stops at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any


class Interrupt:
    """Inside `with`, a first SIGINT is remembered and not raised. Calling it tells whether there was one."""

    def __init__(self) -> None:
        self._asked = False
        self._before: Any = None

    def __call__(self) -> bool:
        return self._asked

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        start = "\n" if sys.stderr.isatty() else ""
        os.write(2, f"{start}stopping with the best layout so far (Ctrl-C again to stop at once)\n".encode())

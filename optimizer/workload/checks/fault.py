"""What a check yields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from optimizer.files import Keys
from optimizer.workload.schema import Workload


class Fault(NamedTuple):
    """One thing wrong: the keys it stands at, what is wrong, what would mend it."""

    keys: Keys
    message: str
    remedy: str = ""


Check = Callable[[Workload], Iterator[Fault]]

"""Lines that could not be read: counted, the first of them kept, too many of them refused."""

from __future__ import annotations

from optimizer.errors import InputError, Problem
from optimizer.traces.types import Fault

MAX_FAULTY = 0.01
"""Share of the lines that may be faulty, unless the caller says otherwise."""
MOST_FAULTS = 20
"""Faults that are kept with their line numbers."""
_NAMED = 5  # faults that a refusal names


class Faults:
    """The faults of a file."""

    def __init__(self, name: str, max_faulty: float) -> None:
        self._name, self._most = name, max_faulty
        self.count = 0
        self.first: list[Fault] = []
        self.lost = 0.0

    def add(self, line: int, reason: str, lost: float = 0.0) -> None:
        """One more; `lost`: the share of the file that it makes unreadable."""
        self.count += 1
        self.lost = max(self.lost, lost)
        if len(self.first) < MOST_FAULTS:
            self.first.append(Fault(line, reason))

    def judge(self, good: int, noun: str) -> None:
        """InputError where there is nothing good, or too much that is not."""
        share = max(self.count / max(self.count + good, 1), self.lost)
        if good and share <= self._most:
            return
        if not good:
            said = f"holds no {noun}"
        elif self.lost > self._most:
            said = f"up to {self.lost:.1%} of the file cannot be read, more than the {self._most:.1%} allowed"
        else:
            lines = f"{self.count:,} of {self.count + good:,} lines ({share:.1%})"
            said = f"{lines} cannot be read, more than the {self._most:.1%} allowed"
        named = [Problem(f"{self._name}:{fault.line}", "", fault.reason) for fault in self.first[:_NAMED]]
        raise InputError([Problem(self._name, "", said, "mend or remove them"), *named])

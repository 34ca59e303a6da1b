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

    def add(self, line: int, reason: str) -> None:
        """One more."""
        self.count += 1
        if len(self.first) < MOST_FAULTS:
            self.first.append(Fault(line, reason))

    def judge(self, good: int, noun: str) -> None:
        """InputError where there is nothing good, or too much that is not."""
        every = self.count + good
        if good and self.count <= self._most * every:
            return
        said = f"holds no {noun}"
        if good:
            share = f"{self.count:,} of {every:,} lines ({self.count / every:.1%})"
            said = f"{share} cannot be read, more than the {self._most:.1%} allowed"
        named = [Problem(f"{self._name}:{fault.line}", "", fault.reason) for fault in self.first[:_NAMED]]
        raise InputError([Problem(self._name, "", said, "mend or remove them" if named else ""), *named])

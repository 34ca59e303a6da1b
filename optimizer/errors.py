"""The two ways the outside world can disappoint us: bad input, and a solver that did not do as told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing wrong with the input: where it stands, what is wrong, and what would mend it.

    `keys` is the path as keys, for those who find a problem without knowing the file.
    """

    where: str
    path: str
    message: str
    remedy: str = ""
    keys: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        place = " ".join(part for part in (self.where, self.path) if part)
        text = f"{place}: {self.message}" if place else self.message
        return f"{text} ({self.remedy})" if self.remedy else text


class InputError(Exception):
    """Raised for input that cannot be planned with. Carries every problem found, not only the first."""

    def __init__(self, problems: list[Problem] | Problem):
        self.problems = [problems] if isinstance(problems, Problem) else list(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class SolverFailure(Exception):
    """Raised when HiGHS reports a status that is neither an answer nor a proof. Never swallowed."""

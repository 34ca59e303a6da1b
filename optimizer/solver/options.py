"""How to solve: set once, passed down, never mutated."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import highspy

from optimizer.errors import InputError, Problem

OURS = {
    "mip_rel_gap": "gap",
    "time_limit": "time_limit",
    "random_seed": "seed",
    "threads": "threads",
    "output_flag": "log",
    "log_to_console": "log",
}
OptionValue = bool | int | float | str
EXACTLY: Mapping[str, OptionValue] = {"mip_feasibility_tolerance": 1e-9, "primal_feasibility_tolerance": 1e-9}
"""For programs where a solution at the usual tolerances, a thousand times as wide, breaks what matters."""


@dataclass(frozen=True)
class SolveOptions:
    """gap: relative optimality gap asked for; time_limit: wall seconds; log: takes HiGHS's log lines;
    highs_options: HiGHS options by their own names, set last, so that they win over ours."""

    gap: float = 0.01
    time_limit: float = 60.0
    seed: int = 0
    threads: int = 2
    log: Callable[[str], None] | None = None
    highs_options: Mapping[str, OptionValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_options(self)


def check_options(options: SolveOptions) -> None:
    """Refuse what cannot be solved with, every problem at once."""
    problems = []
    if not 0 <= options.gap < math.inf:
        problems.append(_problem("gap", f"{options.gap} is not a gap", "a share such as 0.01"))
    if not options.time_limit > 0:
        problems.append(
            _problem("time_limit", f"{options.time_limit} is not a time limit", "seconds above 0")
        )
    if options.threads < 1:
        problems.append(_problem("threads", f"{options.threads} threads cannot work", "1 or more"))
    if not 0 <= options.seed <= 2**31 - 1:
        problems.append(_problem("seed", f"{options.seed} is not a seed for HiGHS", "0 to 2147483647"))
    problems += unusable_highs_options(options.highs_options)
    if problems:
        raise InputError(problems)


def unusable_highs_options(values: Mapping[str, OptionValue]) -> list[Problem]:
    """HiGHS answers a misspelt option or a bad value by a status alone: turn that into words."""
    if not values:
        return []
    highs = highspy._core._Highs()
    highs.setOptionValue("output_flag", False)
    known = [name for name in dir(highspy.HighsOptions) if not name.startswith("_")]
    problems = []
    for name, value in values.items():
        status, _ = highs.getOptionType(name)
        if name in OURS:
            problems.append(_problem(name, "this HiGHS option is set by us", f"set {OURS[name]} instead"))
        elif status != highspy.HighsStatus.kOk:
            near = difflib.get_close_matches(name, known, n=1)
            remedy = f"did you mean {near[0]}?" if near else "see the HiGHS option list"
            problems.append(_problem(name, "HiGHS has no option of this name", remedy))
        elif not _accepts(highs, name, value):
            _, current = highs.getOptionValue(name)
            problems.append(
                _problem(name, f"HiGHS refuses the value {value!r}", f"its default is {current!r}")
            )
    return problems


def _accepts(highs: highspy._core._Highs, name: str, value: OptionValue) -> bool:
    try:
        return highs.setOptionValue(name, value) == highspy.HighsStatus.kOk
    except TypeError:  # a value of a type that no HiGHS option has
        return False


def _problem(name: str, message: str, remedy: str) -> Problem:
    return Problem("solver options", name, message, remedy)

"""What the shell is told: every exit code, in one place."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimizer.design.replay import ReplayOut
    from optimizer.design.result import Result


class ExitCode(IntEnum):
    """The exit codes of every command."""

    OK = 0  # done; of a solve: proven optimal, or within the gap asked for
    INTERNAL = 1  # a fault of this program
    USAGE = 2  # a command line that is none
    BAD_INPUT = 3  # a file, name or value that cannot be planned with
    INFEASIBLE = 4  # demands that no allowed layout meets
    LIMIT = 5  # stopped at a limit: a layout, if found, comes with its gap; a replay had no steady state
    REJECTED = 6  # the exact check or the replay rejected the layout
    INTERRUPTED = 130  # Ctrl-C; the best layout so far, if there is one, was returned


_OF_STATUS = {
    "optimal": ExitCode.OK, "within_gap": ExitCode.OK, "limit": ExitCode.LIMIT,
    "infeasible": ExitCode.INFEASIBLE, "interrupted": ExitCode.INTERRUPTED,
}


def of_result(result: Result) -> ExitCode:
    """The code of a solve. A rejected layout is never a success, however its search ended. A replay that was
    inconclusive rejects nothing: the page says so, the code is the search's."""
    checks = result.checks
    rejected = checks.exact is not None and not checks.exact.passed
    unverified = checks.replay is not None and checks.replay.state == "failed"
    if result.status != "interrupted" and (rejected or unverified):
        return ExitCode.REJECTED
    return _OF_STATUS[result.status]


def of_replay(replay: ReplayOut) -> ExitCode:
    """The code of a replay by itself. One without a steady state stopped at its limit of requests."""
    codes = {"passed": ExitCode.OK, "failed": ExitCode.REJECTED, "inconclusive": ExitCode.LIMIT}
    return codes[replay.state]

"""Faults become one clear message on stderr and an exit code; a traceback only when asked for."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from optimizer.cli.exit_codes import ExitCode
from optimizer.errors import InputError, Problem, SolverFailure

if TYPE_CHECKING:
    from optimizer.workload import Loaded

DEBUG = "TIERPLAN_DEBUG"
_LONGEST = 300
LONGEST_MESSAGE = 3_000
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EROFS}


def _open_streams() -> None:
    """A shell may close stdout or stderr (`>&-`): what is written there is then lost, and nothing fails."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # for good


def complain(text: str) -> None:
    """One line on stderr; what a terminal would obey, or cannot show, is written as escapes."""
    shown = text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}..."
    if not shown.isprintable():
        shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)
    typer.echo(shown, err=True)


def warn(texts: Iterable[str]) -> None:
    """What is worth knowing, and stops nothing."""
    for text in texts:
        complain(f"warning: {text}")


@contextmanager
def guarded() -> Iterator[None]:
    """Turn what goes wrong inside into a message and an exit code."""
    _open_streams()
    try:
        try:
            yield
        except typer.Exit:
            sys.stdout.flush()
            raise
        sys.stdout.flush()  # here, and not at the interpreter's end, where a full disk has no words
    except typer.Exit:
        raise
    except InputError as fault:
        for problem in fault.problems:
            complain(f"error: {problem}")
        raise typer.Exit(_code_of(fault)) from None
    except KeyboardInterrupt:
        complain("interrupted before there was a result")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except Exception as fault:
        if isinstance(fault, OSError) and fault.errno == errno.EPIPE:
            raise  # the reader of a pipe went away: not our fault, and nobody to tell
        if isinstance(fault, OSError) and fault.errno in _FULL:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in the buffer has nowhere to go
            complain(f"error: the answer cannot be written: {fault.strerror}")
            raise typer.Exit(ExitCode.BAD_INPUT) from None
        if os.environ.get(DEBUG) == "1":
            traceback.print_exc()
        said = " ".join(f"{type(fault).__name__}: {fault}".split())[:_LONGEST]
        again = "" if os.environ.get(DEBUG) == "1" else f"; {DEBUG}=1 shows the traceback"
        complain(f"internal error: {said} (please report this{again})")
        raise typer.Exit(ExitCode.INTERNAL) from None


@contextmanager
def placed(loaded: Loaded) -> Iterator[None]:
    """Give problems that were found without knowing the file their place in it."""
    try:
        yield
    except InputError as fault:
        raise type(fault)([loaded.document.placed(problem) for problem in fault.problems]) from None


@contextmanager
def answering_for(options: Mapping[str, object]) -> Iterator[None]:
    """A solver that fails under options of the user's own is not our fault."""
    try:
        yield
    except SolverFailure as fault:
        if not options:
            raise
        names = ", ".join(f"{name}={value}" for name, value in options.items())
        problem = Problem("", "", f"with --solver-option {names}: {fault}", "leave it out")
        raise InputError(problem) from None


def _code_of(fault: InputError) -> ExitCode:
    """A demand that nothing meets is infeasible; all other input problems are bad input."""
    checks = sys.modules.get("optimizer.instance.checks")  # not imported: then it cannot have raised
    unmeetable = checks is not None and isinstance(fault, checks.Unmeetable)
    return ExitCode.INFEASIBLE if unmeetable else ExitCode.BAD_INPUT

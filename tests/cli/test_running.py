"""While a search runs: Ctrl-C, and what is said on stderr."""

from __future__ import annotations

import io
import os
import signal
import sys

import pytest

from optimizer.cli.interrupt import Interrupt
from optimizer.cli.progress import EVERY, FIRST, Progress, said


def interrupt_me():
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_ctrl_c_is_remembered_the_second_stops(capfd):
    before = signal.getsignal(signal.SIGINT)
    with Interrupt() as asked:
        assert not asked()
        interrupt_me()
        assert asked()
        with pytest.raises(KeyboardInterrupt):
            interrupt_me()
    assert signal.getsignal(signal.SIGINT) is before
    assert "stopping with the best layout so far" in capfd.readouterr().err


class Clock:
    """Time that moves when told."""

    now = 0.0

    def __call__(self):
        return self.now


class Stream(io.StringIO):
    """stderr, a terminal or not."""

    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


@pytest.fixture
def stderr(monkeypatch):
    """Put a stream of ours in the place of stderr."""

    def put(terminal):
        stream = Stream(terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return put


def test_a_file_hears_nothing_of_a_short_search_and_little_of_a_long_one(stderr):
    stream, clock = stderr(False), Clock()
    with Progress(clock=clock) as watch:
        for clock.now in (1.0, FIRST - 0.1, FIRST + 0.1, FIRST + 1, FIRST + EVERY + 1):
            watch("proof", clock.now, 2e6, 1e6, 0.5)
    assert stream.getvalue() == (
        "proof, 5 s: best layout $2,000,000, none below $1,000,000, gap 50.0%\n"
        "proof, 16 s: best layout $2,000,000, none below $1,000,000, gap 50.0%\n"
    )


def test_json_is_quiet_where_stderr_is_no_terminal(stderr):
    stream, clock = stderr(False), Clock()
    with Progress(quiet=True, clock=clock) as watch:
        clock.now = 100.0
        watch("proof", 100.0, None, None, None)
    assert stream.getvalue() == ""


def test_a_terminal_has_one_line_that_is_wiped_at_the_end(stderr):
    stream = stderr(True)
    with Progress(quiet=True, clock=Clock()) as watch:
        watch("relaxation", 0.2, None, 1e6, None)
        assert "relaxation, 0 s: no layout yet, none below $1,000,000" in stream.getvalue()
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().endswith(" \r")


def test_what_is_said():
    assert said("proof", 12.3, 44_730_917.0, None, None) == "proof, 12 s: best layout $44,730,917"

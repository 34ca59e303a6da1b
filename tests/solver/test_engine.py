"""A HiGHS that does not listen: the caller is answered all the same."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from highspy import HighsModelStatus, HighsStatus, cb

from optimizer.errors import SolverFailure
from optimizer.solver import SolveOptions, engine


class Deaf:
    """Finds one solution, then ignores its time limit and every request to stop until released."""

    def __init__(self) -> None:
        self.released = threading.Event()

    def setCallback(self, callback, _):
        self.callback = callback
        return HighsStatus.kOk

    def startCallback(self, _):
        return HighsStatus.kOk

    def getModelStatus(self):
        return HighsModelStatus.kOptimal

    def run(self):
        found = SimpleNamespace(mip_solution=[1.0, 2.0], mip_primal_bound=3.0)
        self.callback(int(cb.kCallbackMipImprovingSolution), "", found, None, None)
        self.released.wait(10.0)
        return HighsStatus.kOk


@pytest.fixture
def deaf(monkeypatch):
    monkeypatch.setattr(engine, "GRACE_SECONDS", 0.2)
    highs = Deaf()
    yield highs
    highs.released.set()


def press_ctrl_c(*_: float) -> bool:
    raise KeyboardInterrupt


def test_left_behind_after_the_grace_with_its_last_solution(deaf):
    ended = engine.run(deaf, SolveOptions(), interrupt=lambda: True)
    assert (ended.finished, ended.interrupted, ended.by_keyboard) == (False, True, False)
    assert np.array_equal(ended.watch.x, [1.0, 2.0])
    assert ended.model == HighsModelStatus.kInterrupt
    assert ended.seconds < 2.0


def test_first_ctrl_c_waits_for_the_grace_only(deaf, monkeypatch):
    monkeypatch.setattr(engine, "HEARTBEAT_SECONDS", 5.0)
    ended = engine.run(deaf, SolveOptions(), progress=press_ctrl_c)
    assert (ended.finished, ended.by_keyboard) == (False, True)


def test_second_ctrl_c_does_not_wait(deaf, monkeypatch):
    monkeypatch.setattr(engine, "GRACE_SECONDS", 60.0)
    monkeypatch.setattr(engine, "HEARTBEAT_SECONDS", 0.1)
    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        engine.run(deaf, SolveOptions(), progress=press_ctrl_c)
    assert time.perf_counter() - started < 2.0


def test_a_run_beyond_its_limit_is_stopped_from_outside(deaf, monkeypatch):
    monkeypatch.setattr(engine, "PATIENCE_SECONDS", 0.2)
    ended = engine.run(deaf, SolveOptions(time_limit=0.1))
    assert (ended.finished, ended.interrupted) == (False, False)


def test_a_failing_run_is_never_an_answer(deaf, monkeypatch):
    monkeypatch.setattr(deaf, "run", lambda: HighsStatus.kError)
    with pytest.raises(SolverFailure, match="kOptimal"):
        engine.run(deaf, SolveOptions())


def test_an_error_inside_a_callback_is_not_lost(deaf, monkeypatch):
    def run():
        deaf.callback(int(cb.kCallbackMipImprovingSolution), "", SimpleNamespace(), None, None)
        return HighsStatus.kOk

    monkeypatch.setattr(deaf, "run", run)
    with pytest.raises(SolverFailure, match="callback") as raised:
        engine.run(deaf, SolveOptions())
    assert isinstance(raised.value.__cause__, AttributeError)

"""Up to when it is known what became of requests."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from optimizer.simulator.verdict.observed import LATEST, Observed

ROWS = np.dtype([("arrival", float), ("done", float)])


def until(*done: float, allowed: float = 0.0) -> float:
    """Of requests that came at 0, in a steady part from 100 to 300 s."""
    rows = np.array([(0.0, d) for d in done], dtype=ROWS)
    run = SimpleNamespace(start=100.0, end=300.0)
    return Observed.until(run, rows, "done", 0.0, allowed)  # type: ignore[arg-type]


def test_those_that_came_in_the_last_seconds_that_requests_take_are_left_out() -> None:
    assert until(30.0, 30.0, np.nan) == 270.0


def test_of_long_answers_enough_is_left_to_judge() -> None:
    """115 s of a steady part of 200: those of the first 85 are known; never fewer than the first 80."""
    assert until(115.0) == 185.0
    assert until(290.0) == pytest.approx(300.0 - LATEST * 200.0)


def test_where_none_has_ended_only_those_are_late_that_had_their_time() -> None:
    assert until(np.nan, np.nan, allowed=150.0) == 150.0
    assert until(np.nan, allowed=320.0) == 100.0  # nobody is

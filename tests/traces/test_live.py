"""More sessions of the same kind, and what their number does to a cache of the mean occupancy."""

from __future__ import annotations

import numpy as np
import pytest

from optimizer.errors import InputError
from optimizer.traces import read_trace
from optimizer.traces.live import redrawn
from optimizer.traces.retention import retention
from tests.traces.occupancy import RETENTIONS, kept, lru, main, occupancy, rows
from tests.traces.oracles import as_trace
from tests.traces.synthetic import Request, trace


@pytest.fixture(scope="module")
def weka():
    return read_trace("weka_claude_code_60s_b512")


def test_rounds_are_whole_copies_with_ids_of_their_own(weka):
    twice = redrawn(weka, 120, seed=3)
    assert len(twice) == 2 * len(weka)
    assert twice.chains.accesses == 2 * weka.chains.accesses
    assert twice.chains.unique == 2 * weka.chains.unique
    assert len(np.unique(twice.session)) == 120
    assert int(twice.input.sum()) == 2 * int(weka.input.sum())
    assert (np.diff(twice.time) >= 0).all()
    assert 0 <= twice.time[0] <= twice.time[-1] < weka.time[-1] - weka.time[0]


def test_within_a_session_times_are_as_recorded(weka):
    """Wrapping turns the sequence of a session's requests; from its first on, the gaps are those recorded."""
    drawn, window = redrawn(weka, 60, seed=1), weka.time[-1] - weka.time[0]
    wrapped = 0
    for session in range(60):
        before, after = weka.session == session, drawn.session == session
        (turn,) = [
            turn for turn in range(int(after.sum()))
            if np.array_equal(np.roll(drawn.input[after], -turn), weka.input[before])
        ][:1]
        gaps = np.diff(np.roll(drawn.time[after], -turn)) % window
        assert gaps == pytest.approx(np.diff(weka.time[before]), abs=1e-6)
        wrapped += turn > 0
    assert wrapped > 0


def test_a_part_of_a_round_leaves_no_holes_in_the_ids(weka):
    drawn = redrawn(weka, 70, seed=5)
    _, ids = drawn.chains.flat()
    assert len(np.unique(ids)) == drawn.chains.unique == int(ids.max()) + 1
    assert len(np.unique(drawn.session)) == 70


def test_the_seed_decides(weka):
    assert (redrawn(weka, 60, seed=7).time == redrawn(weka, 60, seed=7).time).all()
    assert not np.array_equal(redrawn(weka, 60, seed=7).time, redrawn(weka, 60, seed=8).time)


def test_sessions_of_a_round_share_what_they_share():
    made = trace([Request(0.0, 200, session=0, blocks=[0, 1]), Request(9.0, 200, session=1, blocks=[0, 2])])
    assert redrawn(made, 4, seed=0).chains.unique == 2 * made.chains.unique


@pytest.mark.parametrize(
    "made", [trace([Request(0.0, 9, blocks=[0]), Request(1.0, 9, blocks=[0])]), as_trace([[0]])],
    ids=["no sessions", "one moment"],
)
def test_what_cannot_be_redrawn(made):
    with pytest.raises(InputError):
        redrawn(made, 10, seed=0)


@pytest.mark.parametrize("keep", RETENTIONS)
def test_occupancy_of_shots_is_that_of_the_working_set(weka, keep):
    (kept_blocks,) = retention(weka, [keep])
    assert occupancy(weka, keep).mean == pytest.approx(kept_blocks.working_set_blocks, abs=0.005)


@pytest.mark.parametrize("keep", RETENTIONS)
def test_mean_occupancy_is_not_capacity(weka, keep):
    """As recorded, and with 60 and 240 sessions: short of the retention without the margin, not with it."""
    size = occupancy(weka, keep)
    without, with_margin = lru(weka, size.mean, size.with_margin())
    assert without < kept(weka, keep) - 0.1 < kept(weka, keep) < with_margin
    few, many = (rows(weka, keep, live, draws=2).mean(axis=0) for live in (60, 240))
    for found, mean, margin in (few, many):
        assert mean < found < margin
    assert without < few[1] < many[1]


@pytest.mark.slow
@pytest.mark.parametrize("keep", RETENTIONS)
def test_with_many_sessions_the_mean_is_nearly_enough(weka, keep):
    ((found, mean, margin),) = rows(weka, keep, 3000, draws=1)
    assert mean == pytest.approx(found, abs=0.006)
    assert margin > found


@pytest.mark.slow
def test_the_table_of_the_docs_is_what_is_printed(root, capsys):
    main()
    printed = capsys.readouterr().out
    assert printed.count("|") > 50
    assert printed in (root / "docs" / "reuse.md").read_text(encoding="utf-8")

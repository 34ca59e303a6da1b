"""Compiled and not, and without numba at all, a replay says the same to the last digit."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from optimizer import compiled
from tests.conftest import ROOT
from tests.simulator import one_verdict

WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None  # so that its import fails
from optimizer import compiled
assert compiled.numba is None
from tests.simulator.one_verdict import main
main()
"""


def said(*command, **environment):
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=os.environ | environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def here():
    """The same, compiled."""
    if compiled.numba is None or compiled.numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled here")
    return [str(one_verdict.verdict()), *(one_verdict.digest(seed) for seed in one_verdict.RUNS)]


def test_the_case_says_something():
    verdict = one_verdict.verdict()
    assert verdict.served > 300
    assert any(0 < share.mean < 1 for cls in verdict.classes for share in cls.simulated.values())


@pytest.mark.slow
def test_with_the_compiler_switched_off(here):
    assert said("-m", "tests.simulator.one_verdict", NUMBA_DISABLE_JIT="1") == here


def test_without_numba(here):
    assert said("-c", WITHOUT_NUMBA) == here

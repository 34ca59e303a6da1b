"""Percentiles of weighted values are those of the values written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.traces.weighted import DIGITS, PERCENTS, summary

PAIRS = st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(0, 5)), min_size=1).filter(
    lambda pairs: any(weight for _, weight in pairs)
)


@given(pairs=PAIRS)
def test_as_numpy_on_the_values_written_out(pairs):
    values, weights = zip(*pairs, strict=True)
    written = np.repeat(values, weights)
    found = summary(values, weights)
    assert [found[f"p{percent:g}"] for percent in PERCENTS] == pytest.approx(
        np.percentile(written, PERCENTS).tolist(), rel=1e-9, abs=10.0**-DIGITS
    )
    assert found["mean"] == pytest.approx(written.mean(), rel=1e-9, abs=10.0**-DIGITS)
    assert (found["min"], found["max"], found["n"]) == (written.min(), written.max(), len(written))


def test_nothing_to_tell():
    assert summary([3.0], [0]) == {"n": 0}

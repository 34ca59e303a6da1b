"""The survival curve: probability laws, exact integrals, and the working-set identity on a real trace."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from optimizer.workload import Survival, bucket_survival, load_workload, slots, survival, tail_returns
from optimizer.workload.gaps import ExponentialGap, GapDistribution, LogNormalGap, MixtureGap, TableGap
from optimizer.workload.schema import Exponential, Gaps, LogNormal, TablePoint

TIMES = st.floats(min_value=0.5, max_value=1e6)
EXPONENTIALS = st.builds(ExponentialGap, TIMES)
LOGNORMALS = st.builds(LogNormalGap, TIMES.map(math.log), st.floats(min_value=0.05, max_value=4))


@st.composite
def tables(draw: st.DrawFn) -> TableGap:
    steps = draw(st.lists(st.floats(0.1, 1e4), min_size=2, max_size=8))
    shares = sorted(draw(st.lists(st.floats(0, 1), min_size=len(steps), max_size=len(steps))))
    times = [sum(steps[: i + 1]) for i in range(len(steps))]
    return TableGap.through(tuple(zip(times, shares, strict=True)))


SIMPLE = st.one_of(EXPONENTIALS, LOGNORMALS, tables())
MIXTURES = st.builds(
    lambda w, a, b: MixtureGap(((w, a), (1 - w, b))), st.floats(0, 1), EXPONENTIALS, LOGNORMALS
)
CURVES = st.builds(Survival, st.one_of(SIMPLE, MIXTURES), st.floats(0, 1))
AGES = st.lists(st.floats(0.01, 1e6), min_size=1, max_size=8, unique=True).map(lambda a: (0.0, *sorted(a)))


@given(CURVES, AGES)
def test_s_falls_from_one_to_never(curve: Survival, ages: tuple[float, ...]) -> None:
    values = [curve.at(age) for age in ages]
    assert values[0] == pytest.approx(1.0, abs=1e-12)
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(values))
    assert values[-1] >= curve.never - 1e-12
    assert curve.at(math.inf) == curve.never


def quadrature(curve: Survival, start: float, end: float, breaks: list[float]) -> float:
    """The integral of S by adaptive quadrature between the kinks, and per decade."""
    decades = [10.0**k for k in range(-6, 8)]
    points = sorted({start, end, *(b for b in [*breaks, *decades] if start < b < end)})
    return math.fsum(
        quad(curve.at, a, b, epsabs=1e-10, epsrel=1e-10, limit=200)[0] for a, b in pairwise(points)
    )


@given(CURVES, st.floats(0, 1e5), st.floats(0.1, 1e5))
def test_the_integral_is_that_of_quadrature(curve: Survival, start: float, width: float) -> None:
    kinks = list(curve.gap.times) if isinstance(curve.gap, TableGap) else []
    scales = [
        math.exp(gap.mu + k * gap.sigma)
        for gap in parts(curve.gap)
        if isinstance(gap, LogNormalGap)
        for k in (-3, -1, 0, 1, 3)
    ]
    means = [k * gap.mean for gap in parts(curve.gap) if isinstance(gap, ExponentialGap) for k in (1, 5, 20)]
    exact = curve.integral(start, start + width)
    assert exact == pytest.approx(
        quadrature(curve, start, start + width, kinks + scales + means), rel=1e-6, abs=1e-6
    )


def parts(gap: GapDistribution) -> list[GapDistribution]:
    return [part for _, part in gap.parts] if isinstance(gap, MixtureGap) else [gap]


@given(CURVES, AGES)
def test_drops_and_tail_are_all_the_returns(curve: Survival, ages: tuple[float, ...]) -> None:
    cut = slots(curve, ages, peak_rate=1.0, mean_rate=1.0)
    total = sum(slot.drop for slot in cut) + tail_returns(curve, ages, 1.0)
    assert total == pytest.approx(curve.return_probability, abs=1e-9)
    assert sum(slot.integral for slot in cut) == pytest.approx(curve.integral(0, ages[-1]), rel=1e-9)


@given(CURVES, AGES)
def test_a_slot_holds_between_its_ends(curve: Survival, ages: tuple[float, ...]) -> None:
    for slot in slots(curve, ages, 1.0, 1.0):
        width = slot.end - slot.start
        assert (
            width * curve.at(slot.end) - 1e-6
            <= slot.integral
            <= width * curve.at(slot.start) * (1 + 1e-9) + 1e-6
        )


def test_the_rate_changes_at_one_hour() -> None:
    curve = Survival(ExponentialGap(600.0), 0.9)
    cut = slots(curve, (0.0, 60.0, 3600.0, 7200.0), peak_rate=10.0, mean_rate=4.0)
    assert [slot.rate for slot in cut] == [10.0, 10.0, 4.0]
    assert tail_returns(curve, (0.0, 3600.0), 4.0) == pytest.approx(4.0 * 0.9 * math.exp(-6))


def test_a_lognormal_has_the_quantiles_it_was_given() -> None:
    curve = survival(Gaps(lognormal=LogNormal.model_validate({"median": "60 s", "p90": "600 s"})), 0.8)
    assert 1 - curve.at(60) == pytest.approx(0.8 * 0.5)
    assert 1 - curve.at(600) == pytest.approx(0.8 * 0.9)


def test_known_means() -> None:
    """With every request a return, the integral to infinity is the mean gap."""
    exponential = survival(Gaps(exponential=Exponential.model_validate({"mean": "10 s"})), 1.0)
    assert exponential.integral(0, 1e4) == pytest.approx(10.0)
    mu, sigma = math.log(60.0), 0.8
    assert Survival(LogNormalGap(mu, sigma), 1.0).integral(0, 1e7) == pytest.approx(
        math.exp(mu + sigma**2 / 2)
    )


def test_a_table_that_ends_below_one_leaves_returns_to_the_tail() -> None:
    curve = Survival(TableGap.through(((10.0, 0.5), (20.0, 0.9))), 0.5)
    assert curve.at(5) == pytest.approx(1 - 0.5 * 0.25)
    assert curve.at(1e9) == pytest.approx(1 - 0.5 * 0.9)
    assert tail_returns(curve, (0.0, 20.0), 2.0) == pytest.approx(2.0 * 0.5 * 0.1)
    assert curve.integral(0, 30) == pytest.approx(5 * (1 + 0.75) + 5 * (0.75 + 0.55) + 10 * 0.55)


def test_a_bucket_may_have_its_own_gaps_and_returns() -> None:
    chat = load_workload("two-directions").workload.classes["kimi-chat"]
    own = chat.contexts[0].model_copy(update={"return_probability": 0.0})
    assert bucket_survival(chat, own).at(1e6) == 1.0
    assert bucket_survival(chat, chat.contexts[0]).never == pytest.approx(0.6)
    quick = Gaps(exponential=Exponential.model_validate({"mean": "1 s"}))
    assert bucket_survival(chat, own.model_copy(update={"gaps": quick})).gap == ExponentialGap(1.0)


TRACE = json.loads((Path(__file__).parent / "weka_retention_curve.json").read_text())
ROWS = [row for row in TRACE["rows"] if row["retention_s"] != "inf"]
CEILING = TRACE["rows"][-1]["token_hit_ratio"]


def recorded() -> Survival:
    """The curve of 676 recorded sessions, as a table of gaps from start to start."""
    points = [
        TablePoint.model_validate(
            {"within": f"{row['retention_s']} s", "share": row["token_hit_ratio"] / CEILING}
        )
        for row in ROWS
    ]
    return survival(Gaps(table=tuple(points)), CEILING)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['retention_s']}s")
def test_working_set_identity_hits(row: dict[str, float]) -> None:
    """Keeping every block for tau catches exactly 1 - S(tau): the trace's own hit ratio."""
    assert 1 - recorded().at(row["retention_s"]) == pytest.approx(row["token_hit_ratio"], abs=1e-12)


@pytest.mark.parametrize(("before", "after"), list(pairwise(ROWS)), ids=lambda row: f"{row['retention_s']}s")
def test_working_set_identity_residence(before: dict[str, float], after: dict[str, float]) -> None:
    """What tau costs is the integral of S: between two recorded retentions the resident token-seconds per
    token of input grow by S's area, which lies between the rectangles of S at either end (1% for the part
    blocks that the hit ratio counts and the residence does not), and near the trapezoid of the table."""
    a, b = before["retention_s"], after["retention_s"]
    grown = (after["resident_token_hours_total"] - before["resident_token_hours_total"]) * 3600
    area = grown / TRACE["input_tokens"]
    curve = recorded()
    assert (b - a) * curve.at(b) * 0.99 <= area <= (b - a) * curve.at(a)
    assert area == pytest.approx(curve.integral(a, b), rel=0.25)


def test_the_shipped_agents_follow_the_recorded_curve() -> None:
    """6 s, the median api time, lie between the trace's start-to-start gaps and a context's idle time."""
    for name in ("deepseek-agentic", "kimi-agentic"):
        agents = load_workload("two-directions").workload.classes[name]
        curve = bucket_survival(agents, agents.contexts[0])
        for row in ROWS:
            share = (1 - curve.at(row["retention_s"] - 6)) / curve.return_probability
            assert share == pytest.approx(row["token_hit_ratio"] / CEILING, abs=1e-5)


def test_the_shipped_agents_remember_what_the_trace_remembers() -> None:
    """Prompt tokens found by an infinite cache, of all prompt tokens: 0.962 on the trace."""
    agents = load_workload("two-directions").workload.classes["kimi-agentic"]
    returns = agents.reuse.return_probability
    computed = (1 - returns) * agents.first_prompt + returns * agents.new_tokens
    prompt = sum(b.share * b.tokens for b in agents.contexts) - agents.output_tokens
    assert 1 - computed / prompt == pytest.approx(CEILING, abs=0.003)

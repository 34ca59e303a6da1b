"""The pieces of the speed benchmarks: the questions, the plain formulation, what is read from a search, and
what moved; how fast anything is stands in no test."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from benchmarks import families, gaps, methods, moved, solving
from benchmarks.bench import TINY, Bench
from benchmarks.building import patched
from benchmarks.growth import exponent, points, question
from benchmarks.moved import Move, move
from benchmarks.plain import bare, written
from benchmarks.plain.bare import opened
from benchmarks.problems import Task, prepared
from benchmarks.tables import END, AtLeast, Section, spliced
from benchmarks.trajectory import KEPT, Trajectory
from optimizer.formulation import LAWS, write
from optimizer.solver import compile
from optimizer.workload import load_workload
from tests.conftest import ROOT

EXACT = 1e-6
"""Relative: HiGHS's own tolerance of an optimum."""


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    """tiny, ready for every method."""
    folder = tmp_path_factory.mktemp("plain")
    return prepared("tiny", families.cell("tiny", "as shipped").instance(), folder, 60.0)


# --- families ---


@pytest.mark.parametrize("family", ["S", "M"])
def test_a_size_scales_every_rate_and_nothing_that_is_asked_of_a_request(family):
    stated = load_workload(families.SHIPPED[family]).workload
    for size, factor in families.RATES[family].items():
        asked = families.cell(family, size).loaded.workload
        for name, was in stated.classes.items():
            scaled = asked.classes[name]
            assert scaled.peak_rate == pytest.approx(was.peak_rate * factor)
            assert scaled.model_copy(update={"peak_rate": was.peak_rate}) == was
        assert asked.facility.power >= stated.facility.power


def test_the_largest_family_has_fifteen_models_and_sixty_classes_that_all_differ():
    asked = families.cell("L", "medium").loaded
    classes = asked.workload.classes
    assert len({c.model for c in classes.values()}) == 15
    assert len(classes) == 60
    assert Counter(c.model for c in classes.values()).most_common(1)[0][1] == 4
    assert len({(c.model, c.peak_rate) for c in classes.values()}) == 60
    assert families.cell("L", "medium").loaded.digest == asked.digest
    assert families.drawn(15, 60, families.RATES["L"]["medium"], seed=1).digest != asked.digest


def test_a_smaller_draw_is_the_beginning_of_a_larger_one():
    few, many = (families.drawn(4, n, 0.3).workload.classes for n in (8, 16))
    assert [many[name] for name in few] == list(few.values())
    assert len(many) == 16


def test_what_is_drawn_can_be_served():
    instance = families.Cell("L", "drawn", families.drawn(3, 6, 0.1)).instance()
    assert len(instance.models) == 3
    assert all(option.model in instance.models for option in instance.options)


def test_a_ladder_moves_one_thing():
    steps = list(points(5))
    assert [value for what, value in steps if what == "classes"] == [4, 8, 16, 32, 60]
    for what, value in steps:
        if what != "facility":
            classes = question(what, value).workload.classes
            counts = {"classes": len(classes), "models": len({c.model for c in classes.values()})}
            assert counts == {**{k: int(families.HELD[k]) for k in counts}, what: int(value)}


# --- the plain formulation ---


def test_the_plain_formulation_leaves_out_what_only_helps_a_solver(problem):
    plain, ours = written.compiled(problem.instance), compile(write(problem.instance).pyomo)
    families_of = {v.parent_component().name for v in plain.variables if v.is_integer()}
    assert families_of == {"instances", "option", "servers", "chosen"}
    assert set(ours.lp.col_names) - set(plain.lp.col_names) == {
        name for name in ours.lp.col_names if name.startswith(written.TOTALS)
    }
    assert set(plain.lp.row_names) <= set(ours.lp.row_names)
    assert set(written.TIGHTER) <= {law.row for law in LAWS}


def test_a_file_holds_the_program_to_the_last_digit(problem, tmp_path):
    lp = written.compiled(problem.instance).lp
    read, _ = opened(written.export(lp, tmp_path / "again.mps"), 1.0, {})
    again = read.getLp()
    assert np.array_equal(np.array(again.col_cost_), lp.c)
    assert np.array_equal(np.array(again.a_matrix_.value_), lp.A.data)
    assert np.array_equal(np.array(again.row_upper_), lp.row_upper)
    assert np.array_equal(np.array(again.col_upper_), lp.col_upper)
    assert sum(int(kind) for kind in again.integrality_) == int(lp.integrality.sum()) == problem.integers


@pytest.mark.parametrize("method", list(methods.METHODS))
def test_everybody_finds_one_optimum(problem, method):
    if missing := methods.missing(method):
        pytest.skip(missing)
    found = methods.METHODS[method](Task(problem, 0.0, 60.0)).trajectory
    reference = bare.highs(problem.file, 0.0, 60.0).trajectory
    assert found.incumbent == pytest.approx(reference.incumbent, rel=EXACT)
    assert found.bound == pytest.approx(reference.incumbent, rel=EXACT)
    assert found.seconds_to(0.001) < math.inf


def test_the_relaxation_bounds_the_optimum_and_names_its_way(problem):
    assert problem.relaxed_by in bare.RELAXATIONS
    assert 0 < problem.relaxed_seconds < math.inf
    assert problem.relaxed_usd < bare.highs(problem.file, 0.0, 60.0).trajectory.incumbent
    assert bare.relaxed(problem.file, 1e-9)[:2] == (math.inf, "")


def test_who_is_not_installed_has_the_reason_in_place_of_figures(problem, monkeypatch):
    monkeypatch.setattr(methods.scip, "installed", lambda: False)
    bench = Bench(TINY, problem.file.parent, hears=lambda _: None)
    of = families.cell("tiny", "as shipped")
    bench._problems[of.name] = problem
    monkeypatch.setattr(gaps, "asked", lambda who, task: _told(1.0, 1.0))
    rows = gaps.measured(bench, of)
    assert rows[-1]["method"] == f"SCIP ({methods.scip.ABSENT})"
    assert rows[-1]["to 1.0%"] is rows[-1]["left %"] is None
    assert [line["method"] for line in bench.lines] == ["product", "plain"]


def test_a_bound_above_a_solution_is_an_error(problem):
    one, other = Trajectory([(1.0, 100.0, 90.0)]), Trajectory([(1.0, math.inf, 100.1)])
    assert gaps.agreed(problem, {"product": one}) == 100.0
    with pytest.raises(ArithmeticError, match=r"plain proves 100\.1"):
        gaps.agreed(problem, {"product": one, "plain": other})


def test_a_patch_changes_what_it_says_and_nothing_else(problem):
    lp = written.compiled(problem.instance).lp
    changed = patched(lp)
    ratios = changed.A.data / lp.A.data
    assert set(np.round(ratios, 9)) == {1.0, 1.01}
    assert np.array_equal(changed.A.indices, lp.A.indices)
    assert np.allclose(changed.c, 1.01 * lp.c, rtol=1e-12)


# --- what is read from a search ---


def test_a_gap_is_reached_when_both_ends_are_near_enough():
    seen = Trajectory()
    seen.add(1.0, None, 50.0)
    seen.add(2.0, 100.0, 50.0)
    seen.add(3.0, 1e30, 98.0)  # HiGHS's infinity: nothing is unlearned
    seen.add(4.0, 99.0, 98.01)
    assert seen.seconds_to(0.5) == 2.0
    assert seen.seconds_to(0.02) == 3.0
    assert seen.seconds_to(0.01) == 4.0
    assert seen.seconds_to(0.001) == math.inf
    assert (seen.incumbent, seen.bound, seen.gap) == (99.0, 98.01, pytest.approx(0.01))


def test_the_early_gap_is_to_the_best_that_anybody_knows():
    seen = Trajectory([(1.0, math.inf, 0.0), (4.0, 110.0, 0.0), (6.0, 100.0, 0.0)])
    assert seen.primal_gap(3.9, 100.0) == math.inf
    assert seen.primal_gap(5.0, 100.0) == pytest.approx(0.1)
    assert seen.primal_gap(6.0, 100.0) == 0.0
    assert Trajectory().primal_gap(5.0, 1.0) == math.inf


def test_a_line_carries_the_ends_of_a_long_search():
    seen = Trajectory()
    for i in range(1000):
        seen.add(float(i), 3000.0 - i, float(i))
    again = Trajectory.read(json.loads(json.dumps(seen.told())))
    assert len(again.points) <= KEPT + 1
    assert again.points[0] == seen.points[0]
    assert again.points[-1] == seen.points[-1]
    assert Trajectory.read([[1.0, None, None]]).points == []


def test_an_exponent_is_the_slope_in_logarithms():
    sizes = [4.0, 8.0, 16.0, 60.0]
    assert exponent(sizes, [3.0 * n**1.5 for n in sizes]) == pytest.approx(1.5)
    assert exponent(sizes[:2], [1.0, 2.0]) is None


# --- what moved ---


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (10.0, 12.0, Move.SAME),
        (10.0, 12.6, Move.WORSE),
        (10.0, 7.9, Move.BETTER),
        (10.0, {"above": 20.0}, Move.WORSE),
        (10.0, {"above": 9.0}, Move.UNKNOWN),
        ({"above": 20.0}, 10.0, Move.BETTER),
        ({"above": 20.0}, 30.0, Move.UNKNOWN),
        ({"above": 20.0}, {"above": 60.0}, Move.SAME),
        (None, 1.0, Move.NEW),
        (1.0, None, Move.GONE),
    ],
)
def test_what_became_of_a_ratio(before, after, expected):
    assert move(before, after) is expected


def test_a_regression_stands_first_and_what_was_not_measured_is_not_gone():
    before = {"A: x, to 1%": 1.0, "A: x, to 2%": 4.0, "A: y, to 1%": 1.0, "A: x, old": 1.0}
    after = {"A: x, to 2%": 1.0, "A: x, to 1%": 2.0}
    found = moved.since(before, after)
    assert [(row["ratio"], row["moved"], row["times"]) for row in found.rows] == [
        ("A: x, to 1%", "worse", 2.0),
        ("A: x, old", "gone", None),
        ("A: x, to 2%", "better", 0.25),
    ]
    assert moved.shown(moved.since(after, after)).startswith("Nothing moved: 2 ratios")


def test_ratios_come_from_lines_of_both_benchmarks(tmp_path):
    ours = {"benchmark": "Growth", "ratios": {"S, to 1%": {"above": 12.34567}}}
    pace = {"benchmark": "Full path", "workload": "tiny", "times plain": 500.0}
    found = moved.ratios([json.dumps(ours), json.dumps(pace)])
    assert found == {"Growth: S, to 1%": {"above": 12.34567}, "Full path: tiny, 1 / times plain": 0.002}
    moved.keep({"B: old": 2.0}, tmp_path / "kept.json")
    moved.keep(found, tmp_path / "kept.json")
    assert moved.baseline(tmp_path / "kept.json") == {
        "B: old": 2.0, "Growth: S, to 1%": {"above": 12.35}, "Full path: tiny, 1 / times plain": 0.002,
    }  # fmt: skip


def test_the_committed_baseline_is_held_against():
    kept = moved.baseline()
    assert any(name.startswith("Seconds to a proven gap: S small, product") for name in kept)
    assert moved.shown(moved.since(kept, kept)).startswith("Nothing moved")


# --- tables ---


def test_a_table_shows_what_was_not_reached_and_what_is_not_known():
    rows = ({"x": AtLeast(1234.0), "y": 1.0}, {"x": 0.5, "y": None})
    assert Section("T", "Says.", rows).table().splitlines()[4:] == [
        "|       x |  y |",
        "| ------: | -: |",
        "| > 1,230 |  1 |",
        "|     0.5 |  - |",
    ]


def test_tables_go_to_their_own_place_on_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"a\n<!-- one -->\nold\n{END}\nb\n<!-- two -->\nkept\n{END}\nc\n")
    spliced("new", page, "<!-- one -->")
    assert page.read_text() == f"a\n<!-- one -->\n\nnew\n\n{END}\nb\n<!-- two -->\nkept\n{END}\nc\n"
    with pytest.raises(ValueError, match="no line"):
        spliced("new", page, "<!-- three -->")
    assert solving.BEGIN in solving.PAGE.read_text()


@pytest.mark.slow
def test_the_command_prints_a_line_of_json_a_run_and_its_tables(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.solving", "--quick", "--lines", str(tmp_path / "lines")],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=300,
    )  # fmt: skip
    lines, _, tables = done.stdout.partition("\n\n")
    runs = [json.loads(line) for line in lines.splitlines()]
    assert (tmp_path / "lines").read_text() == f"{lines}\n"
    asked = {"seed", "versions", "seconds", "family", "size", "method", "ratios"}
    assert all(asked <= set(run) for run in runs)
    for title in ("From file to layout", "Seconds to a proven gap", "Asking again", "Starting"):
        assert f"\n### {title}\n" in f"\n{tables}"


def _told(incumbent, bound):
    return {"trajectory": [[0.5, incumbent, bound]], "seconds": 0.5, "status": "made"}

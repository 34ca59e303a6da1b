"""Fifty demands and more that cannot be met: what stands in the way is named, its fix is told as overrides,
with these there is a layout, and a hundredth less is not enough. The list is `infeasible/demands.yaml`."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from optimizer.cli import main
from optimizer.cli.exit_codes import ExitCode
from tests.design.fifty import DEMANDS, Demand, answer, fixes, met, path

FIFTY = 50
FAST = 10
BY_NAME = {demand.name: demand for demand in DEMANDS}
ON_THE_PAGE = ("power of a rack", "weights", "row over less than nothing")


def each(demands: tuple[Demand, ...]) -> pytest.MarkDecorator:
    """A test of every demand: some in the fast run, all in the slow one."""
    slow = pytest.mark.slow
    marked = [pytest.param(d, id=d.name.replace(" ", "-"), marks=() if d.fast else slow) for d in demands]
    return pytest.mark.parametrize("demand", marked)


def test_there_are_fifty_of_them() -> None:
    assert len({(d.workload, d.sets, d.lots) for d in DEMANDS}) == len(BY_NAME) == len(DEMANDS) >= FIFTY
    assert sum(d.fast for d in DEMANDS) == FAST


@each(DEMANDS)
def test_what_stands_in_the_way_is_named(demand: Demand) -> None:
    """These rows and no others, each with a fix in words and as overrides; a limit with have and need."""
    result = answer(demand)
    assert result.status == "infeasible"
    assert result.layout is None
    named = [lack.row for lack in result.infeasible]
    assert len(named) == len(demand.rows)
    assert all(any(row in name for name in named) for row in demand.rows)
    for lack in result.infeasible:
        assert lack.fix
        assert lack.sets
        if "[" in lack.row:  # a row of the model, and not a demand that is refused before
            assert lack.have is not None
            assert lack.need is not None
            assert lack.have < lack.need
            assert lack.unit


@each(DEMANDS)
def test_with_all_fixes_there_is_a_layout(demand: Demand) -> None:
    fixed = answer(demand, *fixes(demand))
    assert fixed.status in ("optimal", "within_gap")
    assert met(fixed)


@each(tuple(d for d in DEMANDS if d.back))
def test_a_hundredth_less_is_too_little(demand: Demand) -> None:
    """The fix of a lone conflict is the smallest."""
    (fix,) = fixes(demand)
    limit, _, _ = fix.partition("=")
    assert answer(demand, fix, f"{limit}={demand.back}").status == "infeasible"


@each(tuple(d for d in DEMANDS if d.but))
def test_the_cause_is_the_one_in_the_name(demand: Demand) -> None:
    """Without it nothing stands in the way."""
    assert met(answer(demand, demand.but))


@pytest.mark.parametrize("name", ON_THE_PAGE)
def test_a_planner_reads_what_to_change(name: str) -> None:
    """Every conflict on the page, every override in one piece, the same in JSON, and the exit code of what
    cannot be met."""
    demand = BY_NAME[name]
    asked = ["solve", str(path(demand)), *(f"--set={one}" for one in demand.sets)]
    page, text = CliRunner().invoke(main, asked), CliRunner().invoke(main, [*asked, "--json"])
    assert page.exit_code == text.exit_code == ExitCode.INFEASIBLE
    conflicts = json.loads(text.stdout)["infeasible"]
    assert [lack["sets"] for lack in conflicts] == [list(lack.sets) for lack in answer(demand).infeasible]
    for lack in conflicts:
        assert lack["row"] in page.stdout
        assert all(f'--set "{one}"' in page.stdout for one in lack["sets"])

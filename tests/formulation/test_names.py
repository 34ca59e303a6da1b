"""One name everywhere: a row is called the same in the formulation, the exact check and the documents."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from optimizer.design.conflicts import conflicts
from optimizer.design.explain import BOOKKEEPING, row_name
from optimizer.formulation import LAWS, Law, write
from optimizer.instance import Instance, Layout, Policy, UserRow
from optimizer.solver import SolveOptions, compile
from optimizer.verify.certificate import Sense
from optimizer.verify.check import rows_of
from optimizer.verify.plan import Plan
from optimizer.verify.reading import Decisions
from optimizer.verify.tables import Tables
from tests.formulation.small import WRITE_THROUGH
from tests.verify.bookkeeping import book
from tests.verify.samples import choices, instance

FAMILIES = {law.row for law in LAWS}
CHECK_ONLY = {
    "owned_used": "owned_used_limit and the bound of the column",
    "objective_usd": "the objective",
}
"""Families of the exact check that are no family of the formulation, and what they stand for there."""
BOOKED = re.compile(r"[A-Z]\w+Row\.\w+")
"""Double entry: a number that the layout states, beside its recomputation."""
TOTALS = ("servers_of_sku_total", "servers_in_all_total", "accelerators_of_model_total")
"""Only there for the search."""

each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.row)


def family(name: str) -> str:
    """A row's name before its key."""
    return name.partition("[")[0]


@cache
def sample(policy: Policy) -> tuple[Instance, Layout]:
    """A facility in which every tier and rule is at work."""
    problem = instance(policy)
    return problem, book(problem, choices(problem))


@cache
def checked(policy: Policy) -> frozenset[str]:
    """Every row that the exact check looks at, but for those that compare nothing with nothing, or ask for
    at least nothing."""
    problem, layout = sample(policy)
    tables = Tables(problem)
    rows = rows_of(Plan(tables, Decisions(tables, layout)))
    return frozenset(r.name for r in rows if r.scale and (r.need or r.sense is not Sense.AT_LEAST))


@cache
def solved(policy: Policy) -> frozenset[str]:
    """Every row that is solved."""
    model = write(sample(policy)[0])  # rows know their family as long as their model is there
    return frozenset(map(row_name, compile(model.pyomo).constraints))


@pytest.mark.parametrize("policy", Policy)
def test_check_knows_no_other_families(policy: Policy) -> None:
    names = {family(name) for name in checked(policy)}
    others = {name for name in names - FAMILIES - CHECK_ONLY.keys() if not BOOKED.fullmatch(name)}
    assert not others


def test_nothing_is_excused_in_vain() -> None:
    names = {family(name) for policy in Policy for name in checked(policy)}
    assert names >= CHECK_ONLY.keys()
    assert not FAMILIES & CHECK_ONLY.keys()


@each_law
def test_check_sees_every_family(law: Law) -> None:
    """All but the totals, and the limit of owned servers, which has its own name there (see above)."""
    if law.row in (*TOTALS, "owned_used_limit"):
        return
    assert any(family(name) == law.row for policy in Policy for name in checked(policy))


def bounds(problem: Instance) -> set[str]:
    """Rows of the check that are bounds of a column in the model."""
    return {f"node_limits[{e.id},{side}]" for e in problem.enclosures for side in ("min", "max")}


@each_law
def test_rows_have_one_name(law: Law) -> None:
    """Every row of the check is a row of the model: `have` and `need` of a price are looked up by it.

    But for `contexts_only_sink`: write-through decides how long, not how much, so no rise can be written.
    """
    for policy in Policy:
        if law.row == "contexts_only_sink" and policy is Policy.WRITE_THROUGH:
            continue
        names = {name for name in checked(policy) if family(name) == law.row}
        assert names - bounds(sample(policy)[0]) <= solved(policy)


@each_law
def test_limit_finds_its_numbers(law: Law) -> None:
    """The report takes `have` and `need` of a limit from the row of that name in the exact check."""
    if law.row in BOOKKEEPING or law.row in TOTALS:
        return
    assert any(family(name) == law.row for policy in Policy for name in checked(policy) & solved(policy))


@each_law
def test_documents_name_the_family(law: Law, root: Path) -> None:
    text = (root / "docs" / "formulation.md").read_text(encoding="utf-8")
    assert re.search(rf"`{law.row}[`\[.]", text)


@pytest.mark.parametrize(
    ("limits", "have", "need"),
    [((None, 3e12), 3e12, 10e12), ((400e12, None), 62e12, 400e12)],
    ids=["at most", "at least"],
)
def test_user_row_is_reported_as_written(limits: Any, have: float, need: float) -> None:
    """62 TB of DRAM at most (see `small`): ten servers of 2, seven nodes of 6. 10 at
    least, without the node asked for: its row gives way too."""
    row = UserRow("memory", (("dram", 1.0),), *limits)
    model = write(replace(WRITE_THROUGH, user_rows=(row,)))
    found = {lack.row: lack for lack in conflicts(model, compile(model.pyomo), SolveOptions())}
    lack = found[f"user[memory,{'min' if limits[0] else 'max'}]"]
    assert (lack.have, lack.need) == (pytest.approx(have, rel=1e-6), pytest.approx(need, rel=1e-6))

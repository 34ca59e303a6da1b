"""One name everywhere: a row is called the same in the formulation, the exact check and the documents."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from optimizer.design.explain import BOOKKEEPING, row_name, shortfalls
from optimizer.formulation import LAWS, Law, write
from optimizer.instance import Instance, Layout, Policy, UserRow
from optimizer.solver import SolveOptions, compile
from optimizer.verify.check import rows_of
from optimizer.verify.plan import Plan
from optimizer.verify.reading import Decisions
from optimizer.verify.tables import Tables
from tests.formulation.small import WRITE_THROUGH
from tests.verify.bookkeeping import book
from tests.verify.samples import choices, instance

FAMILIES = {law.row for law in LAWS}
LIMITS = "two limits under one name"
CHECK_ONLY = {
    "server_limits": f"server_minimum and server_maximum: {LIMITS}",
    "owned_used": "owned_used_limit and the bound of the column",
    "objective_usd": "the objective",
}
"""Families of the exact check that are no family of the formulation, and what they stand for there."""
BOOKED = re.compile(r"[A-Z]\w+Row\.\w+")
"""Double entry: a number that the layout states, beside its recomputation."""
OTHERWISE_NAMED = {
    "contexts_only_sink": "write-through decides how long, not how much: rises cannot be written",
    "node_limits": f"[server,max] and [server,min], enclosures by bounds; the check: {LIMITS}",
    "minimum_order": "[sku,any] and [sku,least] tie a binary; the check knows what was bought",
    "user": "user[name,max] and user[name,min]; the check: user.name",
}
"""Families whose single rows do not correspond one by one, and why."""


UNSEEN = ("network_in", "server_maximum", "server_minimum", "node_limits", "minimum_order", "user")
TOTALS = ("servers_of_sku_total", "servers_in_all_total", "accelerators_of_model_total")


def laws(but: dict[str, str] | None = None) -> pytest.MarkDecorator:
    """Every law; some are known to fail, and the mark falls with the fault."""
    wrong = but or {}
    marks = {name: [pytest.mark.xfail(strict=True, reason=why)] for name, why in wrong.items()}
    return pytest.mark.parametrize(
        "law", [pytest.param(law, id=law.row, marks=marks.get(law.row, ())) for law in LAWS]
    )


def family(name: str) -> str:
    """A row's name before its key."""
    return "user" if name.startswith("user.") else name.partition("[")[0]


@cache
def sample(policy: Policy) -> tuple[Instance, Layout]:
    """A facility in which every tier and rule is at work."""
    problem = instance(policy)
    return problem, book(problem, choices(problem))


@cache
def checked(policy: Policy) -> frozenset[str]:
    """Every row that the exact check looks at, but for those that compare nothing with nothing."""
    problem, layout = sample(policy)
    tables = Tables(problem)
    return frozenset(row.name for row in rows_of(Plan(tables, Decisions(tables, layout))) if row.scale)


@cache
def solved(policy: Policy) -> frozenset[str]:
    """Every row that is solved."""
    return frozenset(map(row_name, compile(write(sample(policy)[0]).pyomo).constraints))


@pytest.mark.parametrize("policy", Policy)
def test_check_knows_no_other_families(policy: Policy) -> None:
    names = {family(name) for name in checked(policy)}
    others = {name for name in names - FAMILIES - CHECK_ONLY.keys() if not BOOKED.fullmatch(name)}
    assert not others


def test_nothing_is_excused_in_vain() -> None:
    names = {family(name) for policy in Policy for name in checked(policy)}
    assert names >= CHECK_ONLY.keys()
    assert not FAMILIES & CHECK_ONLY.keys()
    assert OTHERWISE_NAMED.keys() <= FAMILIES


@laws()
def test_check_sees_every_family(law: Law) -> None:
    """Totals are only there for the search; limits and owned servers have their own names (see above)."""
    if law.row in (*TOTALS, "server_minimum", "server_maximum", "owned_used_limit"):
        return
    assert any(family(name) == law.row for policy in Policy for name in checked(policy))


@laws(but=dict.fromkeys(("network_in", "drives_replaced"), "the period is part of one name only"))
def test_rows_have_one_name(law: Law) -> None:
    """Every row of the check is a row of the model: `have` and `need` of a price are looked up by it."""
    if law.row in OTHERWISE_NAMED:
        return
    for policy in Policy:
        assert {name for name in checked(policy) if family(name) == law.row} <= solved(policy)


@laws(but=dict.fromkeys(UNSEEN, "its rows have other names in the check: no limit of it is ever reported"))
def test_limit_finds_its_numbers(law: Law) -> None:
    """The report takes `have` and `need` of a limit from the row of that name in the exact check."""
    if law.row in BOOKKEEPING or law.row in TOTALS:
        return
    assert any(family(name) == law.row for policy in Policy for name in checked(policy) & solved(policy))


@laws(but=dict.fromkeys(TOTALS, "docs/formulation.md names the total, not its row family"))
def test_documents_name_the_family(law: Law, root: Path) -> None:
    text = (root / "docs" / "formulation.md").read_text(encoding="utf-8")
    assert re.search(rf"`{law.row}[`\[.]", text)


@pytest.mark.xfail(strict=True, reason="user rows are divided by their largest coefficient, Law.size says 1")
def test_user_row_is_reported_as_written() -> None:
    """22 TB of DRAM are installed at least (see `small`), 3 TB are allowed."""
    row = UserRow("memory", (("dram", 1.0),), None, 3e12)
    compiled = compile(write(replace(WRITE_THROUGH, user_rows=(row,))).pyomo)
    (lack,) = (s for s in shortfalls(compiled, SolveOptions()) if s.row.startswith("user"))
    assert lack.have == pytest.approx(3e12)

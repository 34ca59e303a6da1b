"""No number of a layout can be moved, and no label swapped, unnoticed."""

from __future__ import annotations

import pytest

from optimizer.instance import Instance, Layout, Policy
from optimizer.verify import check
from tests.verify.bookkeeping import book
from tests.verify.mutations import KINDS, every_label_swapped, every_number_moved, every_zero_filled, scalars
from tests.verify.samples import choices, instance

# No other number of a layout follows from these, so that a slack one may move. See the report of the check.
WITHOUT_CONSEQUENCE = ("no exemption",)


@pytest.fixture(scope="module", params=list(Policy))
def case(request: pytest.FixtureRequest) -> tuple[Instance, Layout]:
    problem = instance(request.param)
    return problem, book(problem, choices(problem))


def unnoticed(problem: Instance, mutants: object) -> list[str]:
    return [
        description
        for description, mutated in mutants  # type: ignore[attr-defined]
        if check(problem, mutated).passed and not any(words in description for words in WITHOUT_CONSEQUENCE)
    ]


def test_moved_number_is_caught(case: tuple[Instance, Layout]) -> None:
    problem, layout = case
    assert unnoticed(problem, every_number_moved(layout, at_most=200)) == []


def test_filled_zero_is_caught(case: tuple[Instance, Layout]) -> None:
    problem, layout = case
    assert unnoticed(problem, every_zero_filled(layout)) == []


def test_swapped_label_is_caught(case: tuple[Instance, Layout]) -> None:
    problem, layout = case
    assert unnoticed(problem, every_label_swapped(layout, problem, each=1, at_most=200)) == []


@pytest.mark.slow
def test_every_mutant_is_caught(case: tuple[Instance, Layout]) -> None:
    problem, layout = case
    assert unnoticed(problem, every_number_moved(layout)) == []
    assert unnoticed(problem, every_label_swapped(layout, problem)) == []


def test_mutants_cover_every_field(case: tuple[Instance, Layout]) -> None:
    """One mutant per number and direction; every text field has a kind, and every row type stands there."""
    _, layout = case
    fields = {name: value for _, name, value in scalars(layout)}
    assert {name for name, value in fields.items() if isinstance(value, str)} == set(KINDS)
    numbers = [v for _, _, v in scalars(layout) if not isinstance(v, str) and (v or isinstance(v, int))]
    mutants = list(every_number_moved(layout))
    assert len({description for description, _ in mutants}) == len(mutants) == 2 * len(numbers)
    assert all(mutated != layout for _, mutated in mutants)

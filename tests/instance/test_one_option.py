"""A model runs with one option: what takes two is a demand that nothing meets, found before solving."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimizer.catalog import load_catalog
from optimizer.errors import Problem
from optimizer.instance import Instance
from optimizer.instance.build import build
from optimizer.instance.checks.choice import some_option_does_all
from optimizer.workload import load_workload

TINY = load_workload("tiny").workload
INSTANCE = build(TINY, load_catalog())
FIRST, SECOND = (o.id for o in INSTANCE.options if o.model == "kimi-k2")
OTHERS = {o.id for o in INSTANCE.options if o.model != "kimi-k2"}


def without(instance: Instance, *, decodes_of: str, paths_of: str) -> Instance:
    """The instance without what some options decode and prefill."""
    pools = {p.id for p in instance.pools if p.option == decodes_of}
    return replace(
        instance,
        decodes=tuple(d for d in instance.decodes if d.pool not in pools),
        paths=tuple(p for p in instance.paths if p.option != paths_of),
    )


def decodes(instance: Instance, *_: object) -> list[Problem]:
    """As every_bucket_decodes, for instances without deployments."""
    known = {d.bucket for d in instance.decodes}
    return [Problem("", b.id, "does not decode", "") for b in instance.buckets if b.id not in known]


def prefills(instance: Instance, *_: object) -> list[Problem]:
    """As every_stream_prefills."""
    known = {p.stream for p in instance.paths}
    return [Problem("", b.id, "does not prefill", "") for b in instance.buckets if b.id not in known]


def found(instance: Instance) -> list[str]:
    """What is missing, with both checks."""
    problems = some_option_does_all(instance, TINY, [], (decodes, prefills))  # type: ignore[arg-type]
    return [problem.message.partition(";")[0] for problem in problems]


def test_two_options_do_not_make_one() -> None:
    halves = without(INSTANCE, decodes_of=FIRST, paths_of=SECOND)
    (problem,) = some_option_does_all(halves, TINY, [], (decodes, prefills))  # type: ignore[arg-type]
    assert FIRST in problem.message
    assert not decodes(halves)
    assert not prefills(halves)
    assert found(halves) == ["does not decode"]
    assert found(without(INSTANCE, decodes_of=SECOND, paths_of=FIRST)) == ["does not prefill"]


def test_one_option_is_enough() -> None:
    assert found(INSTANCE) == []
    assert found(without(INSTANCE, decodes_of=FIRST, paths_of=FIRST)) == []


def test_the_option_that_lacks_least_is_told() -> None:
    halves = without(without(INSTANCE, decodes_of=FIRST, paths_of=SECOND), decodes_of=FIRST, paths_of=FIRST)
    assert found(halves) == ["does not prefill"]


@pytest.mark.parametrize("option", [FIRST, SECOND])
def test_an_only_option_is_left_to_the_checks(option: str) -> None:
    alone = replace(INSTANCE, options=tuple(o for o in INSTANCE.options if o.id in OTHERS | {option}))
    assert found(without(alone, decodes_of=option, paths_of="")) == []

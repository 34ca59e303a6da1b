"""One option of a model does all that is asked of it; each check alone is content with another option."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from optimizer.errors import Problem
from optimizer.instance.deployment import Deployment
from optimizer.instance.types import Instance
from optimizer.workload import Workload

Check = Callable[[Instance, Workload, list[Deployment]], Iterator[Problem]]


def some_option_does_all(
    instance: Instance, workload: Workload, deployed: list[Deployment], checks: Iterable[Check]
) -> Iterator[Problem]:
    """For a model that no option serves alone: what stands in the way of the option that lacks least."""
    checks = tuple(checks)
    for model in instance.models:
        lacking: list[list[Problem]] = []
        for only in _apart(instance, model):
            mine = [d for d in deployed if d.option_id == only.options[0].id]
            found = [problem for check in checks for problem in check(only, workload, mine)]
            said = f"; so it is with {only.options[0].id}, and none of {model} does all that is asked"
            lacking.append([replace(problem, message=problem.message + said) for problem in found])
            if not lacking[-1]:
                break
        if lacking and lacking[-1]:
            yield from min(lacking, key=len)


def _apart(instance: Instance, model: str) -> Iterator[Instance]:
    """What the instance is for one model with each of its options alone."""
    options = [o for o in instance.options if o.model == model]
    if len(options) == 1:
        return
    alone = replace(
        instance,
        models=(model,),
        classes=tuple(c for c in instance.classes if c.model == model),
        buckets=tuple(b for b in instance.buckets if b.model == model),
    )
    for option in options:
        pools = {p.id: p for p in instance.pools if p.option == option.id}
        yield replace(
            alone,
            options=(option,),
            pools=tuple(pools.values()),
            decodes=tuple(d for d in instance.decodes if d.pool in pools),
            paths=tuple(p for p in instance.paths if p.option == option.id),
            shared_prefixes=tuple(p for p in instance.shared_prefixes if p.option == option.id),
        )

"""From result.json back to the problem and the layout it holds, so that the layout can be replayed.

The problem is built anew from the workload in the result and the cards of today, and must be the one that
was solved, to the last digit. Where only money differs a replay may go on; where anything else does, it would
judge the layout by other figures than it was planned with, and is refused with what differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from optimizer.catalog import Catalog
from optimizer.design.basis import Basis, operation_digest
from optimizer.design.planning import LIBRARIES, version
from optimizer.design.result import Result
from optimizer.design.tighten import Tightening, tightened
from optimizer.errors import InputError, Problem
from optimizer.files import Document
from optimizer.instance import Instance, Layout
from optimizer.instance.build import build
from optimizer.simulator.types import Law
from optimizer.workload import Loaded, loaded

TOLD = 5  # differences that are told; the rest are counted
AGAIN = "solve again, and simulate that result"


@dataclass(frozen=True)
class Rebuilt:
    """`instance` is the problem before any tightening, `solved` the one the layout was found for; `remarks`
    say in what the result and today's cards differ without harm."""

    loaded: Loaded
    instance: Instance
    solved: Instance
    layout: Layout
    remarks: tuple[str, ...]


def rebuilt(result: Result, catalog: Catalog, name: str) -> Rebuilt:
    """The problem and the layout of a result; `name` stands for its file in messages.

    Raises InputError where the result holds no layout or not enough to build it again, or where the cards or
    the program have changed what the layout was planned with.
    """
    basis = _basis(result, name)
    asked = loaded(Document(basis.workload, Path(basis.place), f"{name}: workload", {}))
    otherwise = () if asked.digest == result.input_sha256 else ("its workload is read otherwise today",)
    instance = build(asked.workload, catalog)
    by = Tightening({(Law(t.law), t.resource): t.factor for t in basis.tightened}, basis.waits)
    solved = tightened(instance, by).with_slopes(basis.store_slopes, basis.pool_slopes)
    if solved.digest() == result.instance_sha256:
        return Rebuilt(asked, instance, solved, basis.layout, otherwise)
    changed = list(_changed(result, instance))
    if operation_digest(instance) != basis.operation_sha256:
        what = _told([*otherwise, *changed]) or "no card that the result lists: the program reckons otherwise"
        raise _refuse(name, f"it was planned with other figures ({_versions(result)}): {what}")
    what = _told(changed) or "prices"
    money = f"only money has changed since: {what}"
    return Rebuilt(asked, instance, solved, basis.layout, (*otherwise, money))


def _basis(result: Result, name: str) -> Basis:
    if result.layout is None:
        raise _refuse(name, "holds no layout to replay", "")
    if result.basis is None:
        raise _refuse(name, "is of an earlier version, which kept too little to build its layout again")
    return result.basis


def _changed(result: Result, instance: Instance) -> Iterator[str]:
    """The numbers in force that are others than the result lists."""
    now = {a.name: a.value for a in instance.assumptions}
    for then in result.assumptions:
        if (value := now.pop(then.name, None)) != then.value:
            yield f"{then.name} was {then.value}" + ("" if value is None else f", is {value}")
    yield from (f"{name} is new: {value}" for name, value in now.items())


def _told(changed: list[str]) -> str:
    more = f"; and {len(changed) - TOLD:,} more" if len(changed) > TOLD else ""
    return "; ".join(changed[:TOLD]) + more


def _versions(result: Result) -> str:
    """The version of this program then and now, and of libraries that differ."""
    ours, *others = LIBRARIES
    then, now = result.versions.get(ours, "unknown"), version(ours)
    said = [f"{ours} {then} then and now" if then == now else f"{ours} {then} then, {now} now"]
    for other in others:
        then, now = result.versions.get(other, "unknown"), version(other)
        if then != now:
            said.append(f"{other} {then} then, {now} now")
    return ", ".join(said)


def _refuse(name: str, message: str, remedy: str = AGAIN) -> InputError:
    return InputError(Problem(name, "", message, remedy))

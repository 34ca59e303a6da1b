"""The search for a layout, measured: `python -m benchmarks.solving`.

A line of JSON for every run, then the tables, then what moved since the baseline; with `--docs`, the tables
also go to docs/performance.md. Seconds depend on the machine; ratios to a linear relaxation hardly do. A
further question is a function from `Bench` to its sections, and a place in `QUESTIONS`.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import again, building, gaps, growth, moved, starting, whole
from benchmarks.bench import FULL, TINY, USUAL, Bench, Line, Scope
from benchmarks.cases import ROOT
from benchmarks.simulator import PAGE
from benchmarks.tables import Section, said, spliced

BEGIN = "<!-- python -m benchmarks.solving --docs -->"
Question = Callable[[Bench], Section | tuple[Section, ...]]
QUESTIONS: dict[str, Question] = {
    "whole": whole.measure,
    "gaps": gaps.measure,
    "building": building.measure,
    "again": again.measure,
    "growth": growth.measure,
    "starting": starting.measure,
}


def sections(bench: Bench, names: list[str]) -> list[Section]:
    """The tables of some questions, in order."""
    found: list[Section] = []
    for name, question in QUESTIONS.items():
        if name in names and (name != "growth" or bench.scope.ladder):
            said = question(bench)
            found += [said] if isinstance(said, Section) else said
    return found


def main() -> None:
    """Measure, print, compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.solving")
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--quick", action="store_const", const=TINY, dest="scope", help="to see that it runs")
    scope.add_argument("--full", action="store_const", const=FULL, dest="scope", help="every cell: hours")
    parser.add_argument("--only", nargs="+", choices=QUESTIONS, default=list(QUESTIONS), metavar="QUESTION")
    parser.add_argument("--cells", nargs="+", metavar="FAMILY", help="these families of the scope only")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lines", type=Path, help="also append the lines of JSON to this file")
    parser.add_argument("--docs", action="store_true", help=f"write the tables to {PAGE.relative_to(ROOT)}")
    asked = parser.parse_args()

    def heard(line: Line) -> None:
        said([json.dumps(line)], asked.lines)

    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(narrowed(asked.scope or USUAL, asked.cells), Path(folder), asked.seed, heard)
        found = sections(bench, asked.only)
    machine = f"On {platform.machine()}, Python {platform.python_version()}."
    tables = "\n\n".join([machine, *(section.table() for section in found)])
    print(f"\n{tables}\n")
    if asked.docs:
        spliced(tables, PAGE, BEGIN)
    ratios = moved.ratios(json.dumps(line) for line in bench.lines)
    print(moved.shown(moved.since(moved.baseline(), ratios)))


def narrowed(scope: Scope, families: list[str] | None) -> Scope:
    """The scope with some of its families."""
    if not families:
        return scope
    cells = tuple(of for of in scope.cells if of[0] in families)
    return Scope(cells, scope.limits, scope.ladder, scope.growth_limit)


if __name__ == "__main__":
    main()

"""The simulator and what it knows of traces, measured: `python -m benchmarks.simulator`.

A line of JSON for every run, then the tables; with `--docs`, the tables also go to docs/performance.md. What
must be compared stands in one run, side by side; nothing here is a test, since machines differ.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Iterator
from pathlib import Path

from benchmarks import cache_path, cache_peer, full_path, memory
from benchmarks.cases import ROOT, solved
from benchmarks.tables import Section, said, spliced

PAGE = ROOT / "docs" / "performance.md"
WORKLOADS = ("tiny", "agent-trace", "small", "two-directions")
BEGIN = "<!-- python -m benchmarks.simulator --docs -->"


def sections(quick: bool) -> Iterator[Section]:
    """Every benchmark in turn; `quick`: the smallest of each, to see that it runs."""
    yield cache_path.measure(quick)
    yield cache_peer.measure(quick)
    cases = [solved(name) for name in (WORKLOADS[:1] if quick else WORKLOADS)]
    yield full_path.measure(cases, quick)
    if not quick:
        yield full_path.compiling(cases[0])
    yield memory.measure(cases, quick)


def write(tables: str, page: Path = PAGE) -> None:
    """Put the tables in the place of those of the page."""
    spliced(tables, page, BEGIN)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulator")
    parser.add_argument("--quick", action="store_true", help="the smallest of each, to see that it runs")
    parser.add_argument("--docs", action="store_true", help=f"write the tables to {PAGE.relative_to(ROOT)}")
    parser.add_argument("--lines", type=Path, help="also append the lines of JSON to this file")
    asked = parser.parse_args()
    found = []
    for section in sections(asked.quick):
        said(section.lines(), asked.lines)
        found.append(section.table())
    machine = f"On one core of {platform.machine()}, Python {platform.python_version()}."
    tables = "\n\n".join([machine, *found])
    print(f"\n{tables}")
    if asked.docs:
        write(tables)


if __name__ == "__main__":
    main()

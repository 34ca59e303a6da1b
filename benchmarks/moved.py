"""What moved since the baseline, by ratio: `python -m benchmarks.moved LINES...`.

Every line of a benchmark carries what it is compared by: figures without a unit, where less is better, such
as seconds over those of a linear relaxation. Another machine changes them little. Those of `baseline.json`
are the ones that a change is held against; `--keep` takes the given lines for the next baseline.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path

from benchmarks.bench import Ratio, figure
from benchmarks.tables import Figure, Section

BASELINE = Path(__file__).with_name("baseline.json")
NOISE = 1.25
"""A ratio that changed by less than this, either way, did not move: two runs differ so much."""
PACES = {
    "times naive": ("trace", "domains", "capacity"),
    "times plain": ("workload",),
    "times libCacheSim": ("trace",),
}
"""Ratios of the simulator, where more is better, and the columns that name the row."""


class Move(Enum):
    """What became of a ratio. UNKNOWN: reached once, and the other time given up before that."""

    WORSE = "worse"
    BETTER = "better"
    SAME = "same"
    NEW = "new"
    GONE = "gone"
    UNKNOWN = "unknown"


def ratios(lines: Iterable[str]) -> dict[str, Ratio]:
    """Every ratio of some lines of JSON, by name; a later line wins."""
    found: dict[str, Ratio] = {}
    for line in lines:
        found |= dict(_of(json.loads(line)))
    return found


def _of(line: dict[str, object]) -> Iterator[tuple[str, Ratio]]:
    given = line.get("ratios", {})
    assert isinstance(given, dict)
    yield from ((f"{line['benchmark']}: {name}", value) for name, value in given.items())
    for pace, names in PACES.items():
        if isinstance(times := line.get(pace), (int, float)):
            where = ", ".join(str(line[name]) for name in names)
            yield f"{line['benchmark']}: {where}, 1 / {pace}", 1.0 / times


def move(before: Ratio | None, after: Ratio | None) -> Move:
    """What became of a ratio; None: there is none. One that was not reached is worse than any that was,
    unless its limit came before."""
    if before is None or after is None:
        return Move.NEW if before is None else Move.GONE
    then, now = float(figure(before)), float(figure(after))
    if isinstance(before, dict) and isinstance(after, dict):
        return Move.SAME  # reached neither then nor now, whatever the limits
    if isinstance(after, dict):
        return Move.WORSE if now > then * NOISE else Move.UNKNOWN
    if isinstance(before, dict):
        return Move.BETTER if now * NOISE < then else Move.UNKNOWN
    if now > then * NOISE:
        return Move.WORSE
    return Move.BETTER if now * NOISE < then else Move.SAME


def compared(before: dict[str, Ratio], after: dict[str, Ratio]) -> list[tuple[str, Move]]:
    """Every name of either, and what became of it."""
    names = dict.fromkeys([*before, *after])
    return [(name, move(before.get(name), after.get(name))) for name in names]


def section(before: dict[str, Ratio], after: dict[str, Ratio]) -> Section | str:
    """What moved as a table, the worst first; a sentence where nothing did."""
    found = compared(before, after)
    order = [Move.WORSE, Move.GONE, Move.BETTER, Move.UNKNOWN]
    rows = [_row(name, kind, before, after) for what in order for name, kind in found if kind is what]
    same, new = (sum(kind is what for _, kind in found) for what in (Move.SAME, Move.NEW))
    rest = f"{same} ratios are within {NOISE:g} times what they were, {new} are new."
    if not rows:
        return f"Nothing moved: {rest}"
    return Section(
        "What moved", f"Since the baseline; less is better. Besides, {rest}", tuple(rows)
    )


def shown(found: Section | str) -> str:
    """The table, or the sentence in its place."""
    return found if isinstance(found, str) else found.table()


def since(before: dict[str, Ratio], found: dict[str, Ratio]) -> Section | str:
    """What moved among what was measured: a cell that was not run at all is not gone."""
    measured = {_cell(name) for name in found}
    return section({name: ratio for name, ratio in before.items() if _cell(name) in measured}, found)


def _cell(name: str) -> str:
    """The benchmark and the first part of a ratio's name."""
    return name.partition(",")[0]


def _row(name: str, kind: Move, before: dict[str, Ratio], after: dict[str, Ratio]) -> dict[str, Figure]:
    then, now = (None if (r := side.get(name)) is None else figure(r) for side in (before, after))
    return {
        "ratio": name,
        "moved": kind.value,
        "baseline": then,
        "now": now,
        "times": None if then is None or now is None else float(now) / float(then),
    }


def baseline(file: Path = BASELINE) -> dict[str, Ratio]:
    """The ratios that are kept; none where there is no file yet."""
    return json.loads(file.read_text()) if file.exists() else {}


def keep(found: dict[str, Ratio], file: Path = BASELINE) -> None:
    """Make these ratios the baseline; those of what was not measured stay."""
    kept = {**baseline(file), **found}
    rounded = {
        name: {"above": float(f"{r['above']:.4g}")} if isinstance(r, dict) else float(f"{r:.4g}")
        for name, r in sorted(kept.items())
    }
    file.write_text(json.dumps(rounded, indent=1) + "\n")


def main() -> None:
    """Compare, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.moved")
    parser.add_argument("lines", nargs="+", type=Path, help="files that the benchmarks wrote with --lines")
    parser.add_argument("--keep", action="store_true", help=f"make them the baseline, {BASELINE.name}")
    asked = parser.parse_args()
    found = ratios(line for file in asked.lines for line in file.read_text().splitlines())
    said = since(baseline(), found)
    print(shown(said))
    if asked.keep:
        keep(found)


if __name__ == "__main__":
    main()

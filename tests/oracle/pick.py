"""Chooses draws for `random_instance`: in the first of each target the law decides (the optimum is cheaper
without it), in the second it binds, the third does either or is infeasible by the law alone.

Run `python -m tests.oracle.pick` after a change to the generator; it rewrites picked.py.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from .enumerate import binding_laws, optimum
from .random_instances import NAMES, drawn

DRAWS = 120


@dataclass(frozen=True)
class Found:
    """What a draw shows of its law."""

    draw: int
    feasible: bool
    decides: bool
    binds: bool


def judge(name: str, draw: int) -> Found:
    """Solve a draw with and without its law."""
    instance, law = drawn(name, draw), name.split(":", maxsplit=1)[0]
    best = optimum(instance)
    free = optimum(instance, without=[law]) if law != "anything" else best
    decides = free is not None and (best is None or free.objective < best.objective * (1 - 1e-6))
    return Found(draw, best is not None, decides, best is not None and law in binding_laws(instance, best))


def choose(name: str, turn: int) -> list[Found]:
    """Three draws of a target; every fourth target shows one that the law alone makes infeasible."""
    wanted = [
        lambda f: f.feasible and f.decides,
        lambda f: f.feasible and f.binds,
        (lambda f: not f.feasible and f.decides) if turn % 4 == 0 else (lambda f: f.feasible and f.decides),
    ]
    kept: list[Found | None] = [None, None, None]
    judged: list[Found] = []
    for draw in range(DRAWS):
        found = judge(name, draw)
        judged.append(found)
        place = next((i for i, test in enumerate(wanted) if kept[i] is None and test(found)), None)
        if place is not None:
            kept[place] = found
        if None not in kept:
            break
    spare = iter(sorted((f for f in judged if f not in kept), key=lambda f: not (f.feasible and f.decides)))
    return [f or next(spare) for f in kept]


def main() -> None:
    """Pick for every target, say what was found, write picked.py."""
    lines = []
    for turn, name in enumerate(NAMES):
        found = choose(name, turn)
        marks = [
            "".join(c for c, on in zip("fdb", (f.feasible, f.decides, f.binds), strict=True) if on)
            for f in found
        ]
        sys.stdout.write(f"{name}: {[f.draw for f in found]} {marks}\n")
        sys.stdout.flush()
        lines.append(f'    "{name}": ({", ".join(str(f.draw) for f in found)}),\n')
    text = (
        '"""Draws in which the law of their target matters: written by `python -m tests.oracle.pick`."""\n\n'
    )
    text += "PICKED: dict[str, tuple[int, ...]] = {\n" + "".join(lines) + "}\n"
    Path(__file__).with_name("picked.py").write_text(text)


if __name__ == "__main__":
    main()

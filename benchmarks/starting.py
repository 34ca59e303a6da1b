"""What it costs to ask for help: processor seconds of a process that imports, prints and ends."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.bench import Bench
from benchmarks.cases import ROOT
from benchmarks.tables import Figure, Section

QUESTION = "Starting"
BEST_OF = 5
PYTHON = ("-c", "pass")
COMMANDS: dict[str, tuple[str, ...]] = {
    "tierplan --help": ("-c", "from optimizer.cli import main; main()", "--help"),
    "tierplan solve --help": ("-c", "from optimizer.cli import main; main()", "solve", "--help"),
}


def measure(bench: Bench) -> Section:
    """Every command, beside Python alone."""
    nothing = processor_seconds(PYTHON)
    rows: list[dict[str, Figure]] = [{"command": "python -c pass", "processor s": nothing, "times": 1.0}]
    for name, words in COMMANDS.items():
        seconds = processor_seconds(words)
        bench.say(
            QUESTION, {name: seconds / nothing}, family="", size="", method=name, seconds=seconds
        )  # fmt: skip
        rows.append({"command": name, "processor s": seconds, "times": seconds / nothing})
    return Section(
        QUESTION, f"Seconds of the processor, the least of {BEST_OF}; beside Python alone.", tuple(rows)
    )


def processor_seconds(words: Sequence[str]) -> float:
    """The least processor seconds, user and system, of a Python process with these words."""
    spent = []
    for _ in range(BEST_OF):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(spent)

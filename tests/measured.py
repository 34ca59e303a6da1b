"""A command with the bytes it takes at its peak, counted for itself alone.

Linux hands the peak of a process on to what it starts: a test run that has solved large problems would make
every command look large. So a small process stands between, and reports what its child took.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

BETWEEN = """
import json, os, subprocess, sys
report, limit, *command = sys.argv[1:]
child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
guard = subprocess.Popen(["sh", "-c", f"sleep {limit}; kill -9 {child.pid}"])
_, status, usage = os.wait4(child.pid, 0)
guard.kill()
guard.wait()
peak = usage.ru_maxrss * (1024 if sys.platform == "linux" else 1)
json.dump([os.waitstatus_to_exitcode(status), peak], open(report, "w"))
"""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str
    peak: float


def run(command: list[str], cwd: Path, seconds: float) -> Ended:
    """Run to the end, or kill after so many seconds (then the code is -9)."""
    out, err, report = cwd / ".out", cwd / ".err", cwd / ".report"
    with out.open("w") as stdout, err.open("w") as stderr:
        between = [sys.executable, "-c", BETWEEN, str(report), str(seconds), *command]
        subprocess.run(between, cwd=cwd, stdout=stdout, stderr=stderr, stdin=subprocess.DEVNULL, check=True)
    code, peak = json.loads(report.read_text())
    return Ended(code, out.read_text(), err.read_text(), peak)

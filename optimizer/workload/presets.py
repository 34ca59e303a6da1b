"""Starter files: a shipped workload under a name of the planner's own, with its comments."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path

from optimizer.errors import InputError, Problem
from optimizer.files import alike, data_path, read_yaml, shortened
from optimizer.files.scalars import plain

USUAL = "small"
"""The preset where none is named."""
LONGEST_NAME = 60
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""As the schema of a workload has it."""
_HEAD = """\
# {name}: begun with `tierplan init` from the preset {preset}. Put your own numbers in, then:
#   tierplan validate {file}
#   tierplan solve {file}
# docs/writing-workloads.md explains every key; with `tierplan schema` an editor checks while you type.
#
"""


def presets() -> dict[str, str]:
    """What a file can start from: names of the shipped workloads, with a line about each."""
    return {path.stem: _described(path) for path in sorted(data_path("workloads").glob("*.yaml"))}


def _described(path: Path) -> str:
    data = read_yaml(path).data
    return str(data.get("description", "")) if isinstance(data, dict) else ""


def starter(preset: str, name: str, file: str) -> str:
    """The text of a starter file. InputError for a preset that there is not."""
    known = presets()
    if preset not in known:
        remedy = alike(preset, known) or f"one of: {', '.join(known)}"
        raise InputError(Problem("", "", f'there is no preset "{shortened(preset, LONGEST_NAME)}"', remedy))
    text = (data_path("workloads") / f"{preset}.yaml").read_text(encoding="utf-8")
    text = re.sub(r"^name: .*$", f"name: {_as_text(name)}", text, count=1, flags=re.MULTILINE)
    return _HEAD.format(name=name, preset=preset, file=file) + text


def _as_text(name: str) -> str:
    """The name as YAML that is text: `2030` and `null` need quotes."""
    return name if plain(name) == name else json.dumps(name)


def write_starter(target: str, preset: str = USUAL) -> Path:
    """Write a starter file: `hall`, `hall.yaml` and `plans/hall` end in a workload named hall.

    Raises InputError for a name that is none, for a file that is there already and for one that cannot be
    written; nothing is ever overwritten.
    """
    path = Path(target if target.endswith((".yaml", ".yml")) else f"{target}.yaml")
    name = path.name.removesuffix(".yaml").removesuffix(".yml")
    if len(name) > LONGEST_NAME or not NAME.fullmatch(name):
        remedy = f"letters, digits, '.', '_' and '-', at most {LONGEST_NAME}, a letter or digit first"
        message = f'"{shortened(name, LONGEST_NAME)}" is no name of a workload'
        raise InputError(Problem("", "", message, remedy))
    text = starter(preset, name, str(path))
    try:
        with path.open("x", encoding="utf-8") as stream:  # x: never over a file, a link or a pipe
            stream.write(text)
    except FileExistsError:
        raise InputError(Problem(str(path), "", "is there already", "give another name")) from None
    except OSError as fault:
        raise InputError(Problem(str(path), "", _unwritten(path, fault))) from None
    return path


def _unwritten(path: Path, fault: OSError) -> str:
    if fault.errno in (errno.ENOENT, errno.ENOTDIR):
        return f"there is no folder {path.parent}"
    return f"cannot be written: {fault.strerror}"

"""Where the data that ships with the package lies, and how a workload or a trace is found by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from optimizer.errors import InputError, Problem
from optimizer.files.document import alike

_PACKAGE = Path(__file__).resolve().parents[1]
_OF_TRACES = (".gz", ".jsonl", ".csv")


def data_path(kind: Literal["models", "workloads"]) -> Path:
    """The folder of shipped cards or workloads: inside an installed package, or beside it in a checkout."""
    for folder in (_PACKAGE / "_data" / kind, _PACKAGE.parent / kind):
        if folder.is_dir():
            return folder
    raise InputError(Problem("", "", f"the shipped folder {kind}/ is missing", "reinstall the package"))


def resolve_workload(name_or_path: str | Path) -> Path:
    """The file meant by a path that exists, or by the name of a shipped workload.

    `two-directions`, `two-directions.yaml` and `workloads/two-directions.yaml` are the same shipped one.
    """
    shipped = {file.stem: file for file in sorted(data_path("workloads").glob("*.yaml"))}
    return _resolve(name_or_path, shipped, "workloads/", (".yaml",), "workload")


def resolve_trace(name_or_path: str | Path) -> Path:
    """The file meant by a path that exists, or by the name of a shipped trace or ledger.

    `weka_claude_code_60s_b512`, with or without `.jsonl.gz` and `workloads/traces/`, is the shipped one.
    """
    files = sorted((data_path("workloads") / "traces").glob("*"))
    shipped = {_bare(file.name, _OF_TRACES): file for file in files if file.suffix in _OF_TRACES}
    return _resolve(name_or_path, shipped, "workloads/traces/", _OF_TRACES, "trace")


def _bare(name: str, suffixes: tuple[str, ...]) -> str:
    for suffix in suffixes:
        name = name.removesuffix(suffix)
    return name


def _resolve(
    name_or_path: str | Path, shipped: Mapping[str, Path], folder: str, suffixes: tuple[str, ...], noun: str
) -> Path:
    path = Path(name_or_path)
    name = _bare(str(name_or_path).removeprefix("./").removeprefix(folder), suffixes)
    try:
        if path.is_file() or path.is_symlink() or (path.exists() and name not in shipped):
            return path
    except (OSError, ValueError):
        return path  # who opens it says what is wrong with it
    if name in shipped:
        return shipped[name]
    if path.parent != Path() and not str(name_or_path).startswith(folder):
        return path
    remedy = alike(name, shipped) or f"shipped: {', '.join(shipped) or 'none'}"
    raise InputError(Problem("", "", f'no file and no shipped {noun} "{name_or_path}"', remedy))

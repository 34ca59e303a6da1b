"""Where the data that ships with the package lies, and how a workload is found by name."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from optimizer.errors import InputError, Problem
from optimizer.files.document import alike

_PACKAGE = Path(__file__).resolve().parents[1]


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
    path = Path(name_or_path)
    shipped = {file.stem: file for file in sorted(data_path("workloads").glob("*.yaml"))}
    name = str(name_or_path).removeprefix("./").removeprefix("workloads/").removesuffix(".yaml")
    try:
        if path.is_file() or path.is_symlink() or (path.exists() and name not in shipped):
            return path
    except (OSError, ValueError):
        return path  # read_yaml says what is wrong with it
    if name in shipped:
        return shipped[name]
    if path.parent != Path() and not str(name_or_path).startswith("workloads/"):
        return path
    remedy = alike(name, shipped) or f"shipped: {', '.join(shipped) or 'none'}"
    raise InputError(Problem("", "", f'no file and no shipped workload "{name_or_path}"', remedy))

"""result.json on disk: written whole or not at all, read with the place of what is wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from optimizer.errors import InputError, Problem
from optimizer.files import read_text

if TYPE_CHECKING:
    from optimizer.design import Result

NAME = "result.json"
LARGEST = 64_000_000
"""Bytes of the largest result that is read."""


def as_json(result: Result) -> str:
    """The text of result.json: a key a line, but what only a replay reads on one."""
    text = result.model_dump_json(by_alias=True, indent=2, exclude={"basis"})
    basis = "null" if result.basis is None else result.basis.model_dump_json()
    return f'{text.removesuffix("}").rstrip()},\n  "basis": {basis}\n}}\n'


def prepare(folder: Path) -> None:
    """Make the folder and see that it takes files, before minutes are spent on what goes there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise _unwritable(folder, fault) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(Problem(str(folder), "", "cannot be written to", "give another --out"))


def write_result(result: Result, folder: Path) -> Path:
    """Write folder/result.json atomically: a reader sees the old file or the new one, never a part."""
    prepare(folder)
    target, beside = folder / NAME, folder / f".{NAME}.{os.getpid()}"
    try:
        try:
            with beside.open("w", encoding="utf-8") as stream:
                stream.write(as_json(result))
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as fault:
        raise _unwritable(target, fault) from None
    return target


def read_result(path: Path) -> Result:
    """Read a result.json, or the one in a folder. InputError for anything that is not one."""
    from pydantic import ValidationError

    from optimizer.design import Result

    file = path / NAME if path.is_dir() else path
    if not os.path.lexists(file):
        raise _refuse(file, "there is no such file", "tierplan solve FILE --out DIR writes one")
    text = read_text(file, LARGEST)
    try:
        data = json.loads(text)
    except json.JSONDecodeError as fault:
        raise _refuse(f"{file}:{fault.lineno}:{fault.colno}", f"is not JSON: {fault.msg}") from None
    except ValueError:
        raise _refuse(file, "holds a number of too many digits to be a result") from None
    except RecursionError:
        raise _refuse(file, "is nested too deeply to be a result") from None
    try:
        return Result.model_validate(data)
    except ValidationError as fault:
        first = fault.errors(include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"]) or "the file"
        message = f"is no result of this version: {where}: {first['msg'].lower()}"
        raise _refuse(file, message, "solve again with this version") from None


def _unwritable(path: Path, fault: OSError) -> InputError:
    return InputError(Problem(str(path), "", f"cannot be written: {fault.strerror}", "give another --out"))


def _refuse(where: Path | str, message: str, remedy: str = "") -> InputError:
    return InputError(Problem(str(where), "", message, remedy))

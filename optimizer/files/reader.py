"""From bytes on disk to a `Document`: what may be opened, and what its text may be."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO

from optimizer.errors import InputError, Problem
from optimizer.files.builder import build
from optimizer.files.document import Document, alike
from optimizer.files.scalars import CONTROL

LARGEST = 1_000_000
"""Bytes of the largest YAML file that is read."""
LONGEST_WORD = 4_000
"""Characters without a blank or punctuation; a parser of YAML takes minutes for much longer words."""
MOST_DIRECTIVES = 10
"""Lines that begin with `%`; a file needs one at most."""

_WORD = re.compile(rf"[^\s,\[\]{{}}\"']{{{LONGEST_WORD + 1}}}")
_OS_FAULTS = {
    errno.ELOOP: ("is a loop of symbolic links", "point the link at a file"),
    errno.EACCES: ("may not be read", "check its permissions"),
    errno.ENAMETOOLONG: ("is too long for a file name", ""),
}


def read_yaml(path: str | Path) -> Document:
    """Read one YAML file. InputError with the place and the remedy for anything that is not one."""
    file = Path(path)
    return read_text_yaml(read_text(file), shown(file), file)


def read_text(file: Path, largest: int = LARGEST) -> str:
    """The text of a regular UTF-8 file of at most that many bytes. InputError for anything else: folders,
    pipes and devices, which might never end, included."""
    name = shown(file)
    return _decode(_bytes(file, name, largest), name)


def read_text_yaml(text: str, name: str, path: Path | None = None) -> Document:
    """Read YAML from a string; `name` stands for the file in messages."""
    directives = 0
    for row, line in enumerate(text.split("\n"), 1):
        bad = CONTROL.search(line)
        if bad is not None:
            message = f"control character 0x{ord(bad[0]):02x}: not a text file"
            raise _refuse(f"{name}:{row}:{bad.start() + 1}", message, "save it as plain UTF-8")
        if len(line) > LONGEST_WORD and (word := _WORD.search(line)):
            message = f"more than {LONGEST_WORD:,} characters in a word"
            raise _refuse(f"{name}:{row}:{word.start() + 1}", message, "break it up")
        directives += line.startswith("%")
        if directives > MOST_DIRECTIVES:
            raise _refuse(f"{name}:{row}:1", f"more than {MOST_DIRECTIVES} lines with %", "remove them")
    data, places = build(text, name)
    return Document(data, path or Path(name), name, places)


def shown(file: Path) -> str:
    """The path as messages show it: from the working directory when it lies below, printable always."""
    with contextlib.suppress(ValueError, OSError):  # elsewhere, or relative already
        file = file.relative_to(Path.cwd())
    return os.fsencode(file).decode("utf-8", "replace").replace("\0", "\\0")


def open_regular(file: Path) -> tuple[BinaryIO, int]:
    """A regular file, opened to be read as bytes, and its size. InputError for folders, pipes, devices, and
    for what is not there or may not be read."""
    name = shown(file)
    try:
        status = os.stat(file)
        if stat.S_ISDIR(status.st_mode):
            inside = sorted(entry.name for entry in file.glob("*.yaml"))[:3]
            raise _refuse(name, "is a folder, not a file", f"it holds {', '.join(inside)}" if inside else "")
        if not stat.S_ISREG(status.st_mode):
            raise _refuse(name, "is not a regular file", "give a file of text")
        return file.open("rb"), status.st_size
    except FileNotFoundError:
        raise _refuse(name, "there is no such file", _near(file)) from None
    except NotADirectoryError:
        raise _refuse(name, "there is no such file", "a part of the path is a file, not a folder") from None
    except ValueError:
        raise _refuse(name, "is not a file name") from None
    except OSError as fault:
        raise _of_the_system(name, fault) from None


def _bytes(file: Path, name: str, largest: int) -> bytes:
    """The raw content of a regular file of at most that many bytes."""
    stream, size = open_regular(file)
    with stream:
        if size > largest:
            raise _refuse(name, f"has {size:,} bytes, more than {largest:,}", "split it")
        try:
            return stream.read(largest + 1)
        except OSError as fault:
            raise _of_the_system(name, fault) from None


def _of_the_system(name: str, fault: OSError) -> InputError:
    """What the operating system refuses, in words."""
    message, remedy = _OS_FAULTS.get(fault.errno or 0, (f"cannot be read: {fault.strerror}", ""))
    return _refuse(name, message, remedy)


def _near(file: Path) -> str:
    """The name of the folder that is missing, or the file nearest to the one that is."""
    if not file.parent.is_dir():
        return f"there is no folder {file.parent}"
    return alike(file.name, sorted(entry.name for entry in file.parent.iterdir()))


def _decode(raw: bytes, name: str) -> str:
    """UTF-8 text, without a byte order mark."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        before = raw[: fault.start]
        column = fault.start - (before.rfind(b"\n") + 1) + 1
        where = f"{name}:{before.count(bytes([10])) + 1}:{column}"
        raise _refuse(where, "is not UTF-8 text", "save it as plain UTF-8") from None


def _refuse(where: str, message: str, remedy: str = "") -> InputError:
    return InputError(Problem(where, "", message, remedy))

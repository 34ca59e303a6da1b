"""Compiled inner loops: numba where it is installed, the same Python where it is not.

The two give the same numbers (`tests/simulator` and `tests/traces` run both): a kernel is written once, as
plain loops over arrays, and numba's own NUMBA_DISABLE_JIT=1 runs it uncompiled.

An entry is what Python calls; it is kept on disk with everything compiled into it. Numba looks at the file of
the entry alone to see whether that is out of date, so the folder is named by all sources with kernels.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

try:
    import numba as _numba
except ImportError:  # a platform without numba still gets its answer, more slowly
    _numba = None  # type: ignore[assignment]
numba: Any = _numba  # its types know nothing of half of its options

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
KERNELS = ("simulator/engine", "traces")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """A function of few arrays, compiled at its first call, for kernels and Python alike.

    Division by zero gives inf or nan, as in numpy: a check for it would sit in every inner loop.
    """
    if numba is None or numba.config.DISABLE_JIT:
        return function
    return _decorated(numba.njit(error_model="numpy", no_cfunc_wrapper=True), function)


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """A function that only kernels call: no way in from Python, which for many arrays is most of the code."""
    if numba is None or numba.config.DISABLE_JIT:
        return function
    return _decorated(
        numba.njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True), function
    )


def entry(function: Callable[P, R]) -> Callable[P, R]:
    """A function that Python calls, kept on disk with everything it calls."""
    if numba is None or numba.config.DISABLE_JIT:
        return function
    numba.config.CACHE_DIR = str(_folder())
    return _decorated(numba.njit(cache=True, error_model="numpy", no_cfunc_wrapper=True), function)


def by_reference(named: type[T]) -> type[T]:
    """A tuple of arrays as one pointer: `by_reference(Name)(*arrays)`, made in an entry, has the fields of
    the named tuple. Inner functions that hand dozens of arrays on one by one take minutes to compile."""
    if numba is None or numba.config.DISABLE_JIT:
        return named
    from numba.experimental import structref as _structref

    structref: Any = _structref
    fields: tuple[str, ...] = getattr(named, "_fields", ())
    kind = structref.register(type(f"{named.__name__}Type", (numba.types.StructRef,), {}))
    proxy: Any = type(f"{named.__name__}Reference", (structref.StructRefProxy,), {})
    structref.define_constructor(proxy, kind, list(fields))
    structref.define_attributes(kind)
    return proxy


def _decorated(decorator: Any, function: Callable[P, R]) -> Callable[P, R]:
    decorated: Callable[P, R] = decorator(function)
    return decorated


def _folder() -> Path:
    """Where compiled entries of these sources are kept: the user's cache, or what is there for a while."""
    package = Path(__file__).parent
    sources = sorted(file for part in KERNELS for file in (package / part).glob("*.py"))
    name = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:16]
    for base in (Path.home() / ".cache", Path(tempfile.gettempdir())):
        folder = base / "tierplan" / f"kernels-{name}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        return folder
    return package

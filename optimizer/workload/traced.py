"""`reuse: {trace: ...}`: what a recorded trace tells of a class, written where the file leaves it out.

It is written into the document, in the units of a file, before the schema reads it: a class that names a
trace and the same class with the block of `tierplan trace classes` pasted in are one class to everything
above.

- `first_prompt`, `new_tokens`, `output_tokens`, `shared_prefix` and `contexts` are the trace's where the
  class has none (`shared_prefix: null` says that there is none);
- `return_probability` and `gaps` are the trace's always, for every context those of the trace's length bucket
  that is nearest to it (by the ratio of lengths), unless the context states its own;
- the rate is never the trace's: everything goes by the `peak_rate` that the class declares;
- `source` names the trace and its SHA-256, and so the digest of the workload tells one content from another.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimizer.errors import InputError, Problem
from optimizer.files import Document, Keys, resolve_trace, shortened
from optimizer.units import UnitError, parse

if TYPE_CHECKING:
    from optimizer.traces.classes import Derived, Gaps, LengthBucket

TOLD = ("first_prompt", "new_tokens", "output_tokens", "contexts")
"""Keys that a class may leave out where it names a trace."""
FORM = ("return_probability", "gaps")
"""Keys of `reuse` that a trace stands for."""


def completed(document: Document) -> Document:
    """The document with what its traces tell. Raises InputError, at the key, for a trace that cannot be read
    or tells too little. A document that is not well formed is left to the schema, which says so."""
    classes = _mapping(document.data, "classes")
    named = {name: reuse for name, reuse in ((n, _mapping(c, "reuse")) for n, c in classes.items()) if reuse}
    traced = {name: reuse["trace"] for name, reuse in named.items() if isinstance(reuse.get("trace"), str)}
    if not traced:
        return document
    problems, told = [], dict(classes)
    for name, trace in traced.items():
        keys: Keys = ("classes", name, "reuse", "trace")
        if stated := [key for key in FORM if named[name].get(key) is not None]:
            message = f"gives a trace and {' and '.join(stated)}: give one or the other"
            problems.append(document.problem(keys[:-1], message, "contexts may state their own"))
            continue
        try:
            told[name] = _told(classes[name], trace, document.path.parent)
        except InputError as fault:
            problems += [_at(document, keys, problem) for problem in fault.problems]
    if problems:
        raise InputError(problems)
    return replace(document, data={**document.data, "classes": told})


def _mapping(holder: Any, key: str) -> dict[str, Any]:
    """What a mapping holds under a key, if it is a mapping itself; else nothing."""
    inside = holder.get(key) if isinstance(holder, dict) else None
    return inside if isinstance(inside, dict) else {}


def _at(document: Document, keys: Keys, problem: Problem) -> Problem:
    """A problem of a trace file, where the workload names it."""
    place = f"{problem.where}: " if problem.where else ""
    return document.problem(keys, shortened(f"{place}{problem.message}"), problem.remedy)


def _told(declared: dict[str, Any], trace: str, folder: Path) -> dict[str, Any]:
    """A class with what its trace tells. What reads traces loads only here: no other workload needs it."""
    from optimizer.traces.stats import sha256

    path = _found(trace, folder)
    content = sha256(path)
    derived = _derived(path, content)
    told = {key: value for key, value in declared.items() if value is not None or key == "shared_prefix"}
    for key, tokens in (
        ("first_prompt", derived.first_prompt), ("new_tokens", derived.new_tokens),
        ("output_tokens", derived.output_tokens),
    ):  # fmt: skip
        told.setdefault(key, f"{tokens!r} tok")
    if derived.shared_prefix:
        told.setdefault("shared_prefix", {"tokens": f"{derived.shared_prefix} tok"})
    told.setdefault("contexts", [_length(bucket) for bucket in derived.buckets])
    if isinstance(told["contexts"], list):
        told["contexts"] = [_context(context, derived) for context in told["contexts"]]
    told["reuse"] = {**declared["reuse"], "trace": path.name, **_form(derived.gaps)}
    if isinstance(source := told.setdefault("source", ""), str):
        told["source"] = "; ".join(filter(None, (source, f"{path.name}, sha256 {content}")))
    return told


def _found(trace: str, folder: Path) -> Path:
    """The file meant: beside the workload file, else from the working directory, else a shipped one."""
    beside = folder / trace
    try:
        if beside.exists():
            return beside
    except (OSError, ValueError):
        pass  # what resolves or opens it says what is wrong with it
    return resolve_trace(trace)


@functools.lru_cache(maxsize=16)
def _derived(path: Path, content: str) -> Derived:
    """What the trace of this content says."""
    from optimizer.traces import read_trace
    from optimizer.traces.classes import derive

    return derive(read_trace(path))


def _length(bucket: LengthBucket) -> dict[str, Any]:
    """A bucket of stored contexts. A spread of a thousandth is none."""
    return {"tokens": f"{bucket.tokens!r} tok", "share": bucket.share, "spread": round(bucket.spread, 3)}


def _context(stated: Any, derived: Derived) -> Any:
    """A context with the reuse of the trace's contexts of nearly its length, where it states none of its
    own."""
    try:
        tokens = parse(stated.get("tokens"), "tokens") if isinstance(stated, dict) else 0.0
    except UnitError:
        return stated  # the schema says what is wrong with it
    if tokens <= 0:
        return stated
    nearest = min(derived.buckets, key=lambda bucket: abs(math.log(bucket.tokens / tokens)))
    own = {key: value for key, value in stated.items() if value is not None}
    return {**_form(nearest.gaps), **own}


def _form(gaps: Gaps) -> dict[str, Any]:
    """Reuse as a file declares it."""
    table = [{"within": f"{time!r} s", "share": share} for time, share in gaps.table]
    return {"return_probability": gaps.return_probability, "gaps": {"table": table}}

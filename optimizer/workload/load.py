"""From a workload file, and `--set` overrides, to a validated workload that remembers where it came from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from optimizer.errors import InputError, Problem
from optimizer.files import Document, read_yaml, resolve_workload, validate
from optimizer.workload import checks
from optimizer.workload.overrides import apply
from optimizer.workload.schema import Workload
from optimizer.workload.traced import completed


@dataclass(frozen=True)
class Loaded:
    """A workload, the document it was read from, and the SHA-256 of everything it says.

    The digest is over the validated content with overrides and defaults, and what traces tell, in SI: the
    same question asked in other units, another order or by `--set` has the same digest.
    """

    workload: Workload
    document: Document
    digest: str


def load_workload(path: str | Path, overrides: Sequence[str] = ()) -> Loaded:
    """Read a workload by path or shipped name, apply overrides, validate and check it.

    Raises InputError with every problem of the first stage that finds any: reading, overriding, reading
    traces, validating against the schema, checking.
    """
    return loaded(read_yaml(resolve_workload(path)), overrides)


def loaded(document: Document, overrides: Sequence[str] = ()) -> Loaded:
    """The workload of a document that is read already."""
    if not isinstance(document.data, dict):
        raise InputError(Problem(document.where(()), "", "is not a mapping", "begin with schema: and name:"))
    changed = apply(Workload, document, overrides)
    workload = validate(Workload, completed(changed))
    if problems := checks.problems(workload, changed):
        raise InputError(problems)
    return Loaded(workload, changed, digest(workload))


def digest(workload: Workload) -> str:
    """SHA-256 of the canonical JSON of a workload."""
    text = json.dumps(workload.model_dump(mode="json", by_alias=True), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()

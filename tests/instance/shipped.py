"""Instances of the shipped workloads, changed by `--set`, built once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from optimizer.catalog import Catalog, load_catalog
from optimizer.errors import InputError, Problem
from optimizer.instance import Instance
from optimizer.instance.build import build
from optimizer.workload import Workload, load_workload

WORKLOADS = sorted(path.stem for path in (Path(__file__).parents[2] / "workloads").glob("*.yaml"))
CATALOG: Catalog = load_catalog()


def workload(name: str, *overrides: str) -> Workload:
    """A shipped workload with overrides."""
    return load_workload(name, overrides).workload


@cache
def built(name: str, *overrides: str) -> Instance:
    """The problem of a shipped workload with overrides."""
    return build(workload(name, *overrides), CATALOG)


def refused(name: str, *overrides: str, kind: type[InputError] = InputError) -> tuple[Problem, ...]:
    """What is wrong with a workload that cannot be planned with."""
    with pytest.raises(kind) as caught:
        build(workload(name, *overrides), CATALOG)
    return tuple(caught.value.problems)


ALL_TIERS = (
    "tiny",
    "tiers={}",
    "hardware.servers={HGX-B300-8: {max: 4}, HGX-B200-8: {max: 4}, DRAM-NODE: {}, STORAGE-NODE-24xE3S: {}}",
    "hardware.dimms=[RDIMM-64, RDIMM-128]",
    "hardware.drives=[9550-7.68, D5-P5336-61.44]",
    "hardware.cxl_enclosures={XC50256-POOL: {max: 2}}",
    "classes.flash-chat.shared_prefix={tokens: 1 ktok, held_in: dram}",
    "grid={ages: 3, lanes: 2}",
)
"""The tiny workload with everything: two server SKUs, six tiers, lanes, a shared prefix, mixed pools."""

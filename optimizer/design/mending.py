"""The smallest change to a workload that mends one refused demand, found by asking the builder.

A pre-check says what is missing; how far its limit must move depends on every shape and option on offer, so
it is found by bisection over builds of the one model concerned: what is proposed is known to build.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from optimizer.catalog import Catalog, Preset, Server
from optimizer.errors import InputError, Problem
from optimizer.instance.build import build
from optimizer.instance.checks import Unmeetable
from optimizer.workload import Workload
from optimizer.workload.schema import ServerChoice, TrafficClass

DOUBLINGS = 14  # of a limit, before it is called hopeless: 16,000 times what was asked
CLOSE = 1.001  # a limit found to a thousandth is told as the smallest
FOR_PROMPTS = 0.1  # of an instance's HBM: filled with shared prefixes to the last byte it prefills nothing
PARTS = 500  # a count found to a part in so many is told as the most
ELSEWHERE = ("storage", "dram_pool", "nvme", "dram")
MS = 1e-3
LONG = 9.9995  # seconds from which a time is told in seconds


@dataclass(frozen=True)
class Mend:
    """What to set (as `--set` takes it), and the same in words. Empty when nothing on offer mends it."""

    sets: tuple[str, ...] = ()
    words: str = ""


def mend(problem: Problem, workload: Workload, catalog: Catalog, first: Workload) -> Mend:
    """The smallest fix of a pre-check's problem with a workload, in words about what was asked at first."""
    match problem.keys:
        case ("classes", str(name), "slo", "tpot" | "ttft" as limit):
            return _slower(workload, catalog, name, limit, getattr(first.classes[name].slo, limit))
        case ("classes", str(name), "model"):
            return _servers(workload, catalog, workload.classes[name].model)
        case ("classes", str(name), "shared_prefix", "distinct"):
            return _fewer_prefixes(workload, catalog, name)
        case ("limits", str(name), "max"):
            return Mend((f"limits.{name}.max=0",), "offer it under hardware, or allow none of it")
        case ("tiers", str(tier), "min_bytes"):
            return Mend((f"tiers.{tier}.min_bytes=0 GB",), f"offer {tier} under hardware, or ask for none")
        case ("limits", str(name)):
            return Mend((f"limits.{name}.min=0",), "offer it under hardware, or ask for none")
    return Mend()


def _slower(workload: Workload, catalog: Catalog, name: str, limit: str, at_first: float) -> Mend:
    """The least TTFT or TPOT of a class that something on offer meets."""
    cls = workload.classes[name]
    keys = ("classes", name, "slo", limit)

    def meets(seconds: float) -> bool:
        slo = cls.slo.model_copy(update={limit: seconds})
        changed = {**_of_model(workload, cls.model), name: cls.model_copy(update={"slo": slo})}
        return keys not in _refused(workload.model_copy(update={"classes": changed, "limits": {}}), catalog)

    found = _least(float(getattr(cls.slo, limit)), meets)
    if found is None:
        return Mend()
    return Mend((f"classes.{name}.slo.{limit}={found / MS:.6g} ms",),
                f"raise {limit} from {_shown(at_first)} to {_shown(found)}")


def _shown(seconds: float) -> str:
    return f"{seconds / MS:.4g} ms" if seconds < LONG else f"{seconds:,.4g} s"


def _fewer_prefixes(workload: Workload, catalog: Catalog, name: str) -> Mend:
    """The most shared prefixes of a class that leave an instance room; else a tier that holds them all."""
    cls = workload.classes[name]
    keys = ("classes", name, "shared_prefix", "distinct")
    prefix = cls.shared_prefix
    if prefix is None:
        return Mend()

    def fits(**update: object) -> bool:
        changed = cls.model_copy(update={"shared_prefix": prefix.model_copy(update=update)})
        classes = {**_of_model(workload, cls.model), name: changed}
        asked = workload.model_copy(update={"classes": classes, "limits": {}})
        try:
            return keys not in _refused(asked, catalog)
        except InputError:  # a tier that is not there
            return False

    if not fits(distinct=1):
        there = next((tier for tier in ELSEWHERE if fits(held_in=tier)), None)
        path = f"classes.{name}.shared_prefix.held_in"
        return Mend((f"{path}={there}",), f"hold them in {there}") if there else Mend()
    low, high = 1, prefix.distinct
    while high - low > max(1, low // PARTS):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(distinct=middle) else (low, middle)
    low = max(1, int(low * (1 - FOR_PROMPTS)))
    words = f"no more than {low:,} distinct ones, or hold them in another tier"
    return Mend((f"classes.{name}.shared_prefix.distinct={low}",), words)


def _of_model(workload: Workload, model: str) -> dict[str, TrafficClass]:
    return {name: c for name, c in workload.classes.items() if c.model == model}


def _least(asked: float, meets: Callable[[float], bool]) -> float | None:
    """The least value above `asked` that meets, to a thousandth and never below; None beyond DOUBLINGS."""
    low, high = asked, 2 * asked
    for _ in range(DOUBLINGS):
        if meets(high):
            break
        low, high = high, 2 * high
    else:
        return None
    while high / low > CLOSE:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if meets(middle) else (middle, high)
    return float(f"{high * CLOSE:.5g}")


def _refused(workload: Workload, catalog: Catalog) -> set[tuple[str | int, ...]]:
    """The keys of what the pre-checks refuse; nothing when it builds."""
    try:
        build(workload, catalog)
    except Unmeetable as refused:
        return {problem.keys for problem in refused.problems}
    return set()


@dataclass(frozen=True)
class _Offer:
    """So many servers of a kind, what they cost, and how to say so."""

    usd: float
    count: int
    server: Server
    choice: ServerChoice
    sets: tuple[str, ...]
    other: bool  # a kind of server that the planner did not name


def _servers(workload: Workload, catalog: Catalog, model: str) -> Mend:
    """The cheapest machines on which a model starts: more of those that may be had, else others."""
    mine = _of_model(workload, model)
    for offer in sorted(_offers(workload, catalog, model), key=lambda o: (o.other, o.usd, o.server.id)):
        servers = {**workload.hardware.servers, offer.server.id: offer.choice}
        hardware = workload.hardware.model_copy(update={"servers": servers})
        asked = workload.model_copy(update={"classes": mine, "hardware": hardware, "limits": {}})
        try:
            missing = any(keys[-1:] == ("model",) for keys in _refused(asked, catalog))
        except InputError:  # a server that cannot be had this way, for want of a DIMM or of a quote
            continue
        if not missing:
            return Mend(offer.sets, f"allow {offer.count} x {offer.server.id}")
    return Mend()


def _offers(workload: Workload, catalog: Catalog, model: str) -> Iterator[_Offer]:
    preset = Preset(workload.economics.prices)
    enabled = {a.id for a in catalog.devices.accelerators if a.enabled or a.id in workload.hardware.enable}
    for server in catalog.devices.servers:
        if server.accelerator not in enabled or not (server.enabled or server.id in workload.hardware.enable):
            continue
        now = workload.hardware.servers.get(server.id)
        sizes = {s.gpus for s in catalog.model(model).shapes if s.accelerator == server.accelerator}
        for count in sorted({-(-gpus // server.accelerators) for gpus in sizes}):
            path, had = f"hardware.servers.{server.id}", now or ServerChoice()
            sets = [] if now is not None else [f"{path}={{}}"]
            update: dict[str, int] = {}
            if had.max is not None and had.max < count:
                update["max"] = count
            if had.supply is not None and had.supply + had.owned < count:
                update["supply"] = count - had.owned
            sets += [f"{path}.{key}={value}" for key, value in update.items()]
            if sets:
                choice = had.model_copy(update=update)
                usd = count * server.price.at(preset)
                yield _Offer(usd, count, server, choice, tuple(sets), other=now is None)

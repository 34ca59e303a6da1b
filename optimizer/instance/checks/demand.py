"""Demands that no allowed hardware can meet, found before anything is solved: with names and numbers.

One check per function; the list at the end is the documentation of what is checked.
"""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.catalog import Catalog, ModelCard, ModelOption
from optimizer.errors import InputError, Problem
from optimizer.instance.checks.choice import Check, some_option_does_all
from optimizer.instance.deployment import Deployment, most_servers
from optimizer.instance.types import Instance, Role, Sku, Tier
from optimizer.units import format_bytes
from optimizer.workload import Workload


def users(workload: Workload, model: str) -> tuple[str, ...]:
    """Where the file first asks for a model: the place of what is wrong with it as a whole."""
    return next((("classes", name, "model") for name, c in workload.classes.items() if c.model == model), ())


def some_instance_starts(
    instance: Instance, workload: Workload, deployed: list[Deployment]
) -> Iterator[Problem]:
    """Every model has a pool on the allowed servers: its weights leave room for one context."""
    for model in instance.models:
        if not any(p.model == model for p in instance.pools):
            skus = ", ".join(s.id for s in instance.skus)
            yield Problem(
                "",
                f"classes of {model}",
                f"no shape of {model} starts on {skus}: HBM is the limiting resource",
                "allow servers with more HBM, or an option with smaller weights",
                users(workload, model),
            )


def no_shape(
    card: ModelCard, options: list[ModelOption], skus: tuple[Sku, ...], catalog: Catalog
) -> list[Problem]:
    """Why a model starts on none of the servers: its card lists no shape there, or HBM is too small."""
    listed = {s.accelerator for s in card.shapes}
    places = [s for s in skus if s.accelerator in listed]
    if not places:
        names = ", ".join(dict.fromkeys(s.accelerator for s in skus))
        message = f"the card of {card.id} lists no instance shape on {names}"
        return [
            Problem("", f"classes of {card.id}", message, f"allow servers of {', '.join(sorted(listed))}")
        ]
    weights = [card.weight(o.weights) for o in options]
    need = min(w.routed_bytes.value + w.other_bytes.value for w in weights)
    shown = "; ".join(
        f"{(n := most_servers(s))} x {s.id} show "
        + format_bytes(n * s.gpus * catalog.accelerator(s.accelerator).visible_bytes.value)
        for s in places
    )
    message = (
        f"no instance of {card.id} starts on the servers that may be had, or no option supports them: HBM is "
        f"the limiting resource (its weights alone take {format_bytes(need)}; {shown})"
    )
    return [Problem("", f"classes of {card.id}", message, "allow more servers, or servers with more HBM")]


def prefix_tiers(workload: Workload, offered: set[Tier]) -> None:
    """A shared prefix can be held only in a tier that is there; raise InputError for every other."""
    found = []
    for name, c in workload.classes.items():
        if c.shared_prefix is None or Tier(c.shared_prefix.held_in) in offered:
            continue
        keys = ("classes", name, "shared_prefix", "held_in")
        there = ", ".join(sorted(t.value for t in offered if t is not Tier.CXL))
        message = f"no {c.shared_prefix.held_in} is offered to hold a shared prefix"
        found.append(Problem("", ".".join(keys), message, f"one of: {there}", keys))
    if found:
        raise InputError(found)


def running_fits_hbm(
    instance: Instance, workload: Workload, deployed: list[Deployment]
) -> Iterator[Problem]:
    """A running request lives in the HBM of one rank: no TPOT and no DRAM helps where none is large."""
    longest = {b.cls: b for b in sorted(instance.buckets, key=lambda b: b.tokens)}
    for b in longest.values():
        ranks = [(d.running(b.tokens), d.rank_room, d) for d in deployed if d.card.id == b.model]
        starts = any(p.model == b.model for p in instance.pools)  # some_instance_starts says so where not
        if not starts or any(need <= have for need, have, _ in ranks):
            continue
        need, have, d = min(ranks, key=lambda rank: rank[0] / max(rank[1], 1.0))
        message = (
            f"a running request of {b.tokens:,.0f} tokens of {b.model} takes {format_bytes(need)} of HBM on "
            f"one rank, and the roomiest ({d.id}) has {format_bytes(max(have, 0.0))}"
        )
        remedy = "shorten the context, or allow servers with more HBM"
        yield Problem("", f"classes.{b.cls}.contexts", message, remedy, users(workload, b.model))


def shared_prefixes_fit(
    instance: Instance, workload: Workload, deployed: list[Deployment]
) -> Iterator[Problem]:
    """Where every instance keeps the shared prefixes of a class in its HBM, some instance has room for all of
    them: more machines do not help."""
    rooms = {f"{Tier.HBM.value}@{d.id}": d.room(prefills=True) for d in deployed}
    for cls in dict.fromkeys(p.cls for p in instance.shared_prefixes):
        mine = [p for p in instance.shared_prefixes if p.cls == cls and p.store in rooms]
        places = [(p.bytes, rooms[p.store]) for p in mine]
        starts = any(p.model == workload.classes[cls].model for p in instance.pools)
        if not starts or not places or any(need < have for need, have in places):
            continue
        need, have = min(places, key=lambda place: place[0] / max(place[1], 1.0))
        message = (
            f"shared prefixes that take {format_bytes(need)} do not fit the HBM of an instance, of which the "
            f"roomiest has {format_bytes(max(have, 0.0))} for them and the prompts"
        )
        keys = ("classes", cls, "shared_prefix", "distinct")
        yield Problem("", ".".join(keys), message, "fewer of them, or hold them in another tier", keys)


def every_bucket_decodes(
    instance: Instance, workload: Workload, deployed: list[Deployment]
) -> Iterator[Problem]:
    """Some pool meets each bucket's TPOT."""
    decoded = {d.bucket for d in instance.decodes}
    classes = {c.id: c for c in instance.classes}
    for b in instance.buckets:
        if b.id in decoded or not any(p.model == b.model for p in instance.pools):
            continue
        if not any(d.running(b.tokens) <= d.rank_room for d in deployed if d.card.id == b.model):
            continue  # too long for any rank: running_fits_hbm says so
        tpot = classes[b.cls].tpot
        fastest = min(
            (
                (p.weights_seconds + p.overhead)
                for p in instance.pools
                if p.model == b.model and p.role is not Role.PREFILL
            ),
            default=None,
        )
        have = f"; the fastest iteration there is takes {fastest * 1e3:.1f} ms" if fastest else ""
        keys = ("classes", b.cls, "slo", "tpot")
        yield Problem(
            "",
            f"classes.{b.cls}.slo.tpot",
            f"no allowed hardware decodes contexts of {b.tokens:,.0f} tokens of {b.model} at "
            f"{tpot * 1e3:g} ms a token{have}",
            "raise tpot, shorten the context, or allow other servers",
            keys,
        )


def every_stream_prefills(
    instance: Instance, workload: Workload, deployed: list[Deployment]
) -> Iterator[Problem]:
    """Some pool prefills first requests and returns: prefill leaves less HBM than decode does."""
    served = {path.stream for path in instance.paths}
    streams = {c.id: (c.id, c.model, c.first_prompt) for c in instance.classes if c.first_rate}
    streams |= {b.id: (b.cls, b.model, b.tokens) for b in instance.buckets if b.returns}
    missing = sorted((s for name, s in streams.items() if name not in served), key=lambda s: s[2])
    for cls, model, tokens in {s[0]: s for s in missing}.values():
        fits = any(d.running(tokens) <= d.rank_room for d in deployed if d.card.id == model)
        if not fits or not any(p.model == model for p in instance.pools):
            continue  # what starts nowhere, or is too long to run at all, is said by its own check
        message = (
            f"no allowed hardware prefills prompts of {tokens:,.0f} tokens of {model}: HBM has no room for "
            "them beside a chunk of prefill"
        )
        remedy = "shorten the context, or allow servers with more HBM"
        yield Problem("", f"classes.{cls}.contexts", message, remedy, users(workload, model))


def ttft_reachable(
    instance: Instance, workload: Workload, deployed: list[Deployment]
) -> Iterator[Problem]:
    """The best conceivable mix of paths meets the attainment: hits and first requests in time."""
    for cls in instance.classes:
        best: dict[str, float] = {}
        for path in instance.paths:
            if path.cls == cls.id:
                best[path.stream] = max(best.get(path.stream, 0.0), path.attained)
        returns = {b.id: b.returns for b in instance.buckets if b.cls == cls.id}
        have = best.get(cls.id, 0.0) * cls.first_rate + sum(best.get(b, 0.0) * r for b, r in returns.items())
        if have < cls.attainment * cls.rate * (1 - 1e-9) and best:
            keys = ("classes", cls.id, "slo", "ttft")
            yield Problem(
                "",
                f"classes.{cls.id}.slo.ttft",
                f"have: at best {have / cls.rate:.1%} of requests within {cls.ttft:g} s; "
                f"need: {cls.attainment:.1%}",
                "smallest fix: raise ttft or lower attainment",
                keys,
            )


def floors_are_on_offer(
    instance: Instance, workload: Workload, deployed: list[Deployment]
) -> Iterator[Problem]:
    """A tier the planner insists on can be bought."""
    offered = {
        "dram": any(b.dram_bytes for b in instance.builds if b.sku),
        "nvme": any(b.nvme_bytes for b in instance.builds if b.sku),
        "cxl": bool(instance.enclosures),
        "dram_pool": any(b.tier is Tier.DRAM_POOL for b in instance.builds),
        "storage": any(b.tier is Tier.STORAGE for b in instance.builds),
    }
    for tier, there in offered.items():
        least = getattr(workload.tiers, tier).min_bytes
        if least and not there:
            keys = ("tiers", tier, "min_bytes")
            message = f"have: no {tier} on offer; need: {format_bytes(least)}"
            yield Problem("", ".".join(keys), message, "smallest fix: offer it under hardware", keys)


def user_floors_are_on_offer(
    instance: Instance, workload: Workload, deployed: list[Deployment]
) -> Iterator[Problem]:
    """A row of the planner's own asks for what can be bought: something, or less than nothing."""
    names = {f"accelerators.{s.accelerator}" for s in instance.skus}
    names |= {f"servers.{b.server}" for b in instance.builds}
    offered = (
        names
        | {"power"}
        | {
            quantity
            for quantity, there in (
                ("dram", any(b.dram_bytes for b in instance.builds)),
                ("nvme", any(b.nvme_bytes for b in instance.builds)),
                ("cxl", bool(instance.enclosures)),
            )
            if there
        }
    )
    for row in instance.user_rows:
        if {name for name, weight in row.terms if weight} & offered:
            continue
        keys: tuple[str, ...] = ("limits", row.name)
        wanted = ", ".join(name for name, _ in row.terms)
        if row.minimum is not None and row.minimum > 0:
            message = f"have: nothing of {wanted} on offer; need: {row.minimum:g}"
            yield Problem("", ".".join(keys), message, "smallest fix: offer it under hardware", keys)
        if row.maximum is not None and row.maximum < 0:
            keys = (*keys, "max")
            message = f"have: nothing of {wanted} on offer; need: at most {row.maximum:g}"
            yield Problem("", ".".join(keys), message, "smallest fix: offer it under hardware", keys)


OF_A_MODEL: tuple[Check, ...] = (
    some_instance_starts,
    running_fits_hbm,
    shared_prefixes_fit,
    every_bucket_decodes,
    every_stream_prefills,
    ttft_reachable,
)
FEASIBLE: tuple[Check, ...] = (floors_are_on_offer, user_floors_are_on_offer, *OF_A_MODEL)


class Unmeetable(InputError):
    """A demand that no allowed hardware meets, found before solving."""


def feasible(instance: Instance, workload: Workload, deployed: list[Deployment]) -> None:
    """Run every pre-check of demand; raise Unmeetable with all conflicts, names and numbers."""
    found = [problem for check in FEASIBLE for problem in check(instance, workload, deployed)]
    if found := found or list(some_option_does_all(instance, workload, deployed, OF_A_MODEL)):
        raise Unmeetable(found)

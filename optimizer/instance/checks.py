"""What is refused before anything is solved: names the catalogue lacks, demands no hardware can meet.

One check per function; the lists at the end are the documentation of what is checked.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator

from optimizer.catalog import Catalog, ModelCard, ModelOption
from optimizer.errors import InputError, Problem
from optimizer.instance.deployment import Deployment, most_servers
from optimizer.instance.needs import some_named_option_runs
from optimizer.instance.types import Instance, Role, Sku, Tier
from optimizer.units import format_bytes
from optimizer.workload import Workload


def _unknown(keys: tuple[str | int, ...], name: str, known: Iterable[str], what: str) -> Iterator[Problem]:
    names = list(known)
    if name in names:
        return
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    remedy = f'did you mean "{near[0]}"?' if near else f"known: {', '.join(sorted(names)[:12])}"
    yield Problem("", ".".join(map(str, keys)), f'"{name}" is no {what} of the catalogue', remedy, keys)


def models_exist(workload: Workload, catalog: Catalog) -> Iterator[Problem]:
    """Every class, option rule and measurement names a model card."""
    for name, c in workload.classes.items():
        yield from _unknown(("classes", name, "model"), c.model, catalog.models, "model")
    for name in workload.options:
        yield from _unknown(("options", name), name, catalog.models, "model")
    for i, row in enumerate(workload.measured):
        yield from _unknown(("measured", i, "model"), row.model, catalog.models, "model")
        parts = [a.id for a in catalog.devices.accelerators]
        yield from _unknown(("measured", i, "accelerator"), row.accelerator, parts, "accelerator")


def servers_exist(workload: Workload, catalog: Catalog) -> Iterator[Problem]:
    """Every server is a card."""
    known = [s.id for s in catalog.devices.servers]
    for name in workload.hardware.servers:
        yield from _unknown(("hardware", "servers", name), name, known, "server")
    named = workload.hardware.servers
    if all(n in known and catalog.server(n).kind != "accelerator" for n in named):
        keys = ("hardware", "servers")
        yield Problem(
            "", "hardware.servers", "allows no server with accelerators", "allow at least one", keys
        )


def parts_exist(workload: Workload, catalog: Catalog) -> Iterator[Problem]:
    """Every DIMM, drive, enclosure and module is a card."""
    devices, hardware = catalog.devices, workload.hardware
    for field, parts, what in (
        ("dimms", devices.dimms, "DIMM"),
        ("drives", devices.drives, "drive"),
        ("cxl_enclosures", devices.cxl_enclosures, "CXL enclosure"),
        ("cxl_modules", devices.cxl_modules, "CXL module"),
    ):
        for i, name in enumerate(getattr(hardware, field) or ()):
            key = name if field == "cxl_enclosures" else i
            yield from _unknown(("hardware", field, key), name, [p.id for p in parts], what)


def what_is_off_is_enabled(workload: Workload, catalog: Catalog) -> Iterator[Problem]:
    """A server or CXL pool whose card, accelerator or every module says `enabled: false` is planned with only
    where hardware.enable names all of it: its price or speed is a guess. What enable names are cards."""
    devices, hardware = catalog.devices, workload.hardware
    lists = (devices.accelerators, devices.servers, devices.dimms, devices.drives)
    parts = (p for part in (*lists, devices.cxl_modules, devices.cxl_enclosures) for p in part)
    on: dict[str | None, bool] = {part.id: part.enabled or part.id in hardware.enable for part in parts}
    for i, name in enumerate(hardware.enable):
        yield from _unknown(("hardware", "enable", i), name, [str(known) for known in on], "part")
    machines = {s.id: [s.id, s.accelerator] for s in devices.servers}
    pools = {e.id: [e.id] for e in devices.cxl_enclosures}
    for enclosure in devices.cxl_enclosures:
        if hardware.cxl_modules is None and not any(on.get(m) for m in enclosure.modules):
            pools[enclosure.id] += enclosure.modules
    for field, needs in (("servers", machines), ("cxl_enclosures", pools)):
        for name in getattr(hardware, field):
            if off := [part for part in needs.get(name, ()) if not on.get(part, True)]:
                keys = ("hardware", field, name)
                remedy = f"add to hardware.enable: {', '.join(map(str, off))}"
                message = "is not offered unless enabled: its price or speed is a guess (`tierplan devices`)"
                yield Problem("", ".".join(keys), message, remedy, keys)


def servers_have_memory(workload: Workload, catalog: Catalog) -> Iterator[Problem]:
    """Every server can be bought with some allowed DIMM population, or has memory of its own."""
    allowed = workload.hardware.dimms
    if allowed is not None and not {*allowed} <= {d.id for d in catalog.devices.dimms}:
        return  # an unknown DIMM is named by its own check
    for server in catalog.devices.servers:
        if server.kind == "dram_node" and not workload.tiers.dram_pool.enabled:
            continue
        choices = [p.dimm for p in server.populations]
        fits = (
            server.fixed_memory
            or server.kind == "storage_node"
            or allowed is None
            or set(choices) & {*allowed}
        )
        if server.id in workload.hardware.servers and not fits:
            keys = ("hardware", "servers", server.id)
            remedy = f"allow one of {', '.join(dict.fromkeys(choices))}, or leave the server out"
            yield Problem(
                "", ".".join(keys), "no allowed DIMM makes a population of this server", remedy, keys
            )


def options_exist(workload: Workload, catalog: Catalog) -> Iterator[Problem]:
    """Option rules name options of their model."""
    for name, rules in workload.options.items():
        if name in catalog.models:
            known = [o.id for o in catalog.models[name].options]
            for field in ("only", "exclude"):
                for i, option in enumerate(getattr(rules, field) or ()):
                    yield from _unknown(("options", name, field, i), option, known, f"option of {name}")


def user_rows_count_cards(workload: Workload, catalog: Catalog) -> Iterator[Problem]:
    """The planner's own rows count servers and accelerators that are cards: others would limit nothing."""
    known = {
        "servers": [s.id for s in catalog.devices.servers],
        "accelerators": [a.id for a in catalog.devices.accelerators],
    }
    for name, row in workload.limits.items():
        for term in row.terms:
            kind, _, item = term.partition(".")
            keys = ("limits", name, "terms", term)
            if kind in known:
                yield from _unknown(keys, item, known[kind], kind.removesuffix("s"))


def contexts_fit_model(workload: Workload, catalog: Catalog) -> Iterator[Problem]:
    """No stored context is longer than its model can take."""
    for name, c in workload.classes.items():
        if c.model not in catalog.models:
            continue
        limit = catalog.models[c.model].max_context.value
        for i, bucket in enumerate(c.contexts):
            if bucket.tokens > limit:
                keys = ("classes", name, "contexts", i, "tokens")
                message = f"a context of {bucket.tokens:,.0f} tokens is longer than {c.model} takes"
                yield Problem("", ".".join(map(str, keys)), message, f"at most {limit:,.0f} tok", keys)


def owned_hardware_counts(workload: Workload, catalog: Catalog) -> Iterator[Problem]:
    """Owned and supply are read for accelerator servers that are bought, and nowhere silently ignored."""
    hardware = workload.hardware
    known = {s.id: s.kind for s in catalog.devices.servers}
    nodes = [
        ("servers", n, c) for n, c in hardware.servers.items() if known.get(n, "accelerator") != "accelerator"
    ]
    for field, name, choice in [
        *nodes,
        *(("cxl_enclosures", n, c) for n, c in hardware.cxl_enclosures.items()),
    ]:
        for key in ("owned", "supply"):
            if getattr(choice, key):
                keys = ("hardware", field, name, key)
                message = f"{key} is planned for accelerator servers only"
                yield Problem("", ".".join(keys), message, "use max, or leave it out", keys)
    if workload.economics.ownership != "purchase":
        for name, choice in hardware.servers.items():
            if choice.owned:
                keys = ("hardware", "servers", name, "owned")
                message = f"owned servers cannot stand beside ownership: {workload.economics.ownership}"
                yield Problem("", ".".join(keys), message, "set economics.ownership to purchase", keys)


def contracts_are_quoted(workload: Workload, catalog: Catalog) -> Iterator[Problem]:
    """Every server that is rented or leased has a quote on its accelerator's card."""
    ownership = workload.economics.ownership
    servers = {s.id: s for s in catalog.devices.servers}
    for name in workload.hardware.servers if ownership != "purchase" else ():
        accelerator = servers[name].accelerator if name in servers else None
        if accelerator is None:
            continue
        card = catalog.accelerator(accelerator)
        if (card.rent if ownership == "rent" else card.tco.get("lease_3yr")) is None:
            keys = ("hardware", "servers", name)
            yield Problem(
                "", ".".join(keys), f"no {ownership} price of {accelerator} is known", "leave it out", keys
            )


def measurements_fit_a_shape(workload: Workload, catalog: Catalog) -> Iterator[Problem]:
    """A measured decode rate was taken on an instance shape that the model's card lists."""
    for i, row in enumerate(workload.measured):
        if row.phase != "decode" or row.model not in catalog.models:
            continue
        sizes = {s.gpus for s in catalog.models[row.model].shapes if s.accelerator == row.accelerator}
        if row.gpus not in sizes:
            keys = ("measured", i, "gpus")
            message = f"{row.model} has no shape of {row.gpus} GPUs on {row.accelerator}"
            yield Problem("", ".".join(map(str, keys)), message, f"one of {sorted(sizes) or 'none'}", keys)


NAMES: tuple[Callable[[Workload, Catalog], Iterator[Problem]], ...] = (
    models_exist,
    servers_exist,
    parts_exist,
    what_is_off_is_enabled,
    servers_have_memory,
    options_exist,
    some_named_option_runs,
    user_rows_count_cards,
    contexts_fit_model,
    owned_hardware_counts,
    contracts_are_quoted,
    measurements_fit_a_shape,
)


def names(workload: Workload, catalog: Catalog) -> None:
    """Run every check of names; raise InputError with all that is wrong."""
    if found := [problem for check in NAMES for problem in check(workload, catalog)]:
        raise InputError(found)


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


FEASIBLE: tuple[Callable[[Instance, Workload, list[Deployment]], Iterator[Problem]], ...] = (
    floors_are_on_offer,
    user_floors_are_on_offer,
    some_instance_starts,
    running_fits_hbm,
    shared_prefixes_fit,
    every_bucket_decodes,
    every_stream_prefills,
    ttft_reachable,
)


class Unmeetable(InputError):
    """A demand that no allowed hardware meets, found before solving."""


def feasible(instance: Instance, workload: Workload, deployed: list[Deployment]) -> None:
    """Run every pre-check of demand; raise Unmeetable with all conflicts, names and numbers."""
    if found := [problem for check in FEASIBLE for problem in check(instance, workload, deployed)]:
        raise Unmeetable(found)

"""Names the catalogue lacks, and choices that it cannot serve: what is refused before anything is built.

One check per function; the list at the end is the documentation of what is checked.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator

from optimizer.catalog import Catalog
from optimizer.errors import InputError, Problem
from optimizer.instance.needs import some_named_option_runs
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

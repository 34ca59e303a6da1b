"""What each way of running a model holds, reads, writes and computes, from its card."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from optimizer.catalog import Catalog, ModelCard, ModelOption
from optimizer.errors import InputError, Problem
from optimizer.files import alike
from optimizer.physics import memory
from optimizer.physics.flops import decode_flops
from optimizer.report import words
from optimizer.report.blocks import bullets, facts, section, table
from optimizer.units import format_bytes


@dataclass(frozen=True)
class OptionFacts:
    """One option at one context length: bytes of one copy, and FLOPs.

    `replicated_under_tp`: the share of the held bytes that plain tensor parallelism puts on every rank.
    `quality_loss_points` None: unpublished.
    """

    model: str
    option: str
    default: bool
    what: str
    context_tokens: float
    held_bytes: float
    read_bytes_per_decoded_token: float
    growth_bytes_per_token: float
    fixed_bytes: float
    snapshot_bytes: float
    hbm_rewrite_per_decoded_token: float
    decode_flops_per_token: float
    replicated_under_tp: float
    quality_loss_points: float | None


def option_facts(card: ModelCard, option: ModelOption, tokens: float) -> OptionFacts:
    """The physics of one option at a context of `tokens` tokens."""
    parts, profile = card.components, option.profile
    kept = memory.held(parts, profile, tokens)
    read = memory.read(parts, profile, tokens, index_reuse=option.index_reuse)
    flops = decode_flops(card, tokens, index_reuse=option.index_reuse)
    return OptionFacts(
        model=card.id, option=option.id, default=option.default, what=option.what, context_tokens=tokens,
        held_bytes=kept.one_copy, read_bytes_per_decoded_token=read.one_copy,
        growth_bytes_per_token=memory.growth_bytes_per_token(parts, profile),
        fixed_bytes=memory.fixed_bytes(parts, profile), snapshot_bytes=memory.snapshot_bytes(parts, profile),
        hbm_rewrite_per_decoded_token=memory.hbm_rewrite_per_decoded_token(parts, profile),
        decode_flops_per_token=flops * option.decode_factor,
        replicated_under_tp=kept.replicated / kept.one_copy if kept.one_copy else 0.0,
        quality_loss_points=option.quality_loss.value if option.quality_loss is not None else None,
    )


def all_facts(
    catalog: Catalog, tokens: float, model: str | None = None, option: str | None = None
) -> tuple[list[OptionFacts], list[str]]:
    """The options asked for, and a remark for each model that takes no context so long.

    Raises InputError for an unknown model or option, and for a context that the model asked for cannot take.
    """
    cards = [catalog.model(model)] if model else list(catalog.models.values())
    short = [card for card in cards if card.max_context.value < tokens]
    remarks = [
        f"{card.id} is left out: it takes at most {card.max_context.value:,.0f} tokens" for card in short
    ]
    if model and short:
        most = f"at most {short[0].max_context.value:,.0f} tok"
        raise InputError(Problem("--context", "", f"{tokens:,.0f} tokens are more than {model} takes", most))
    found = [
        option_facts(card, o, tokens) for card in cards if card not in short
        for o in card.options if option in (None, o.id)
    ]
    if option and not found:
        raise InputError(_no_option(option, cards, model))
    return found, remarks


def _no_option(option: str, cards: Iterable[ModelCard], model: str | None) -> Problem:
    known = sorted({o.id for card in cards for o in card.options})
    remedy = alike(option, known) or f"one of: {', '.join(known)}"
    return Problem("--option", "", f'no option "{option}" of {model or "any model"}', remedy)


def models_json(found: Iterable[OptionFacts]) -> list[dict[str, Any]]:
    """One mapping an option, exact numbers."""
    return [asdict(row) for row in found]


def models_table(found: list[OptionFacts]) -> RenderableType:
    """All options, a line each; `*` marks the default of a model."""
    columns = (
        "model", "option", ">held", ">read\n/token", ">growth\n/token", ">fixed", ">snapshot",
        ">rewrite\n/token", ">FLOP\n/token", ">TP\ncopies",
    )
    rows = []
    before = ""
    for f in found:
        held = (
            f.held_bytes, f.read_bytes_per_decoded_token, f.growth_bytes_per_token, f.fixed_bytes,
            f.snapshot_bytes, f.hbm_rewrite_per_decoded_token,
        )
        rows.append((
            f.model if f.model != before else "", f"{f.option}{' *' if f.default else ''}",
            *(words.size(value, figures=3) for value in held),
            words.scaled(f.decode_flops_per_token, "", figures=3), f"{f.replicated_under_tp:.0%}",
        ))
        before = f.model
    length = f"{found[0].context_tokens:,.0f}" if found else "no"
    return Group(
        Text(f"One sequence of {length} tokens, one copy", style="bold"), table(columns, rows),
        bullets([
            "*: the default option; rewrite: in HBM only, nothing of it reaches a tier",
            "TP copies: the share of the held bytes that plain tensor parallelism puts on every rank",
        ]),
    )


def model_page(card: ModelCard, found: list[OptionFacts]) -> RenderableType:
    """One model: every option with memory in both conventions."""
    head = Text(f"{card.name} ({card.id}): {card.direction} memory, {card.layers} layers, contexts up to "
                f"{card.max_context.value:,.0f} tokens", style="bold")
    parts = [section(f"{f.option}{' (default)' if f.default else ''}: {f.what}", _facts(f)) for f in found]
    length = f"at {found[0].context_tokens:,.0f} tokens, one copy of one sequence"
    return Group(head, *parts, section("Note", bullets([f"{length}; a rewrite happens in HBM only"])))


def _facts(f: OptionFacts) -> RenderableType:
    points = f.quality_loss_points
    loss = "unpublished: off unless allowed" if points is None else f"{points:g} points"
    return facts((
        ("held", both(f.held_bytes)),
        ("read per decoded token", both(f.read_bytes_per_decoded_token)),
        ("growth per token", f"{f.growth_bytes_per_token:,.0f} B"),
        ("fixed (windows, states)", both(f.fixed_bytes)),
        ("snapshot in a tier", both(f.snapshot_bytes)),
        ("rewritten per decoded token", both(f.hbm_rewrite_per_decoded_token)),
        ("FLOPs per decoded token", words.scaled(f.decode_flops_per_token, "FLOP")),
        ("on every rank under plain TP", f"{words.share(f.replicated_under_tp)} of what is held"),
        ("quality loss", loss),
    ))


def both(value: float) -> str:
    """Bytes in both conventions, small ones in kB and KiB or MB and MiB."""
    if abs(value) >= 1e9:
        return format_bytes(value)
    if abs(value) >= 1e6:
        return f"{value / 1e6:,.1f} MB ({value / 2**20:,.1f} MiB)"
    if abs(value) >= 1e4:
        return f"{value / 1e3:,.1f} kB ({value / 2**10:,.1f} KiB)"
    return f"{value:,.0f} B"

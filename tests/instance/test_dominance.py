"""Options that another option makes needless: who dominates whom, and that nothing is lost by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from optimizer.catalog import Catalog, Codec, ModelCard, ModelOption
from optimizer.formulation import write
from optimizer.instance import offer as offering
from optimizer.instance.build import build
from optimizer.instance.dominance import dominates, undominated
from optimizer.solver import SolveOptions, compile, solve
from tests.instance.shipped import CATALOG, workload

CARD = CATALOG.model("kimi-k2")
PLAIN = CARD.option("int4-bf16")
"""What both options of a pair are made from: 1,152 B per token and layer, the codec takes 1.4 off."""


def option(**changes: Any) -> ModelOption:
    """The plain option, changed."""
    return PLAIN.model_copy(update={"id": "changed", **changes})


def snapshot(**changes: Any) -> Any:
    """The plain option's snapshot rule, changed."""
    return PLAIN.snapshot.model_copy(update=changes)


BETTER: dict[str, ModelOption] = {
    "smaller entries": option(profile="fp8"),
    "runs everywhere too": option(),
    "less compute in prefill": option(prefill_factor=0.9),
    "less compute in decode": option(decode_factor=0.9),
    "faster reads in decode": option(read_factor=0.9),
    "fewer index reads": option(index_reuse=4),
}
WORSE: dict[str, ModelOption] = {
    "larger entries": option(profile="fp8_dsmla"),
    "other weights": option(weights="fp8"),
    "offloads": option(offload=("mla-latent",)),
    "runs on fewer accelerators": option(accelerators=("blackwell",)),
    "more compute in prefill": option(profile="fp8", prefill_factor=1.1),
    "more compute in decode": option(profile="fp8", decode_factor=1.1),
    "slower reads in decode": option(profile="fp8", read_factor=2.1),
    "slower reads of fewer bytes": option(profile="fp8", read_factor=1.1),
    "replays more": option(profile="fp8", snapshot=snapshot(replay=64.0)),
    "snapshots of another kind": option(
        profile="fp8", snapshot=snapshot(policy="every_tokens", every=1024.0)
    ),
}


@pytest.mark.parametrize("name", BETTER)
def test_better_option_dominates(name: str) -> None:
    assert dominates(CARD, BETTER[name], PLAIN)


@pytest.mark.parametrize("name", [name for name in BETTER if name != "runs everywhere too"])
def test_dominance_is_one_way(name: str) -> None:
    assert not dominates(CARD, PLAIN, BETTER[name])


@pytest.mark.parametrize("name", WORSE)
def test_worse_or_incomparable_option_does_not(name: str) -> None:
    against = option(profile="fp8") if name == "larger entries" else PLAIN
    assert not dominates(CARD, WORSE[name], against)


def test_one_snapshot_is_no_worse_than_many() -> None:
    last = option(snapshot=snapshot(policy="last_turn", replay=10.0))
    every = option(snapshot=snapshot(policy="every_tokens", every=1024.0, replay=10.0))
    assert dominates(CARD, last, every)
    assert not dominates(CARD, every, last)


def test_codec_of_the_other_may_make_it_smaller() -> None:
    """400 B plain lose to 1,152 B that a codec makes 288 of; they win against the same at 288/0.6."""
    strong = codec(ratio={"bf16": 4.0})
    card = with_codecs(CARD, strong)
    assert not dominates(card, option(profile="fp8"), PLAIN)
    assert dominates(with_codecs(CARD, codec(ratio={"bf16": 1.5})), option(profile="fp8"), PLAIN)
    assert dominates(with_codecs(CARD, codec(ratio={"bf16": 4.0, "fp8": 3.0})), option(profile="fp8"), PLAIN)


def codec(**changes: Any) -> Codec:
    """The lossless codec, changed."""
    return CARD.codecs[0].model_copy(update=changes)


def with_codecs(card: ModelCard, *codecs: Codec) -> ModelCard:
    """A card with other codecs."""
    return card.model_copy(update={"codecs": codecs})


def test_of_equals_the_first_stays() -> None:
    twin = option()
    assert undominated(CARD, [PLAIN, twin]) == [PLAIN]
    assert undominated(CARD, [twin, PLAIN]) == [twin]


def test_only_what_is_dominated_goes() -> None:
    smaller, other, last = (
        option(profile="fp8"),
        option(weights="fp8"),
        option(id="last", profile="fp8_dsmla"),
    )
    assert undominated(CARD, [PLAIN, smaller, other, last]) == [smaller, other]


@pytest.mark.parametrize("model", sorted(CATALOG.models))
def test_every_shipped_option_goes_for_one_that_stays(model: str) -> None:
    card = CATALOG.models[model]
    kept = undominated(card, list(card.options))
    assert kept
    for gone in (o for o in card.options if o not in kept):
        assert any(dominates(card, better, gone) for better in kept)


# ---- nothing is lost: the cheapest layout with every option let in costs the same -------------------------


def least(*overrides: str) -> float:
    """The least cost of the tiny workload with overrides."""
    lp = compile(write(build(workload("tiny", *overrides), CATALOG)).pyomo).lp
    return solve(lp, SolveOptions(gap=0.0)).objective


EVERYTHING = "options={deepseek-v4-flash: {unpublished: true}, kimi-k2: {unpublished: true}}"
LOSSY = ("classes.k2-agentic.quality_floor=9 pt", "classes.flash-chat.quality_floor=9 pt")


@pytest.mark.parametrize("overrides", [(EVERYTHING,), (EVERYTHING, *LOSSY), LOSSY], ids=len)
def test_screening_costs_nothing(overrides: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    screened = least(*overrides)
    monkeypatch.setattr(offering, "undominated", lambda _, options: options)
    assert least(*overrides) == pytest.approx(screened, rel=1e-6)


# ---- and nothing is lost where an optimum is not looked for ------------------------------------------------


def test_letting_an_option_in_never_makes_it_unmeetable() -> None:
    """MI355X decodes K2 in bf16 at 60 ms; with fp8 let in, which dominates bf16, nothing decodes it."""
    hall = ("hardware.servers={MI355X-8: {}}", "classes.k2-agentic.slo={ttft: 30 s, tpot: 60 ms}")
    only = "options.kimi-k2={{only: [int4-bf16, int4-fp8], unpublished: {}}}"
    build(workload("tiny", *hall, only.format("false")), CATALOG)
    build(workload("tiny", *hall, only.format("true")), CATALOG)


def test_codec_that_only_the_dominated_option_may_use() -> None:
    """fp8 at a loss of 1 pt halves the bytes; the codec, at 0.5 pt more, is beyond the floor of 1 pt only
    there, so that bf16 with it is the smallest of all."""
    lossy = option(id="int4-fp8", profile="fp8", quality_loss=loss(1.0))
    strong = codec(ratio={"bf16": 4.0, "fp8": 4.0}, quality_loss=loss(0.5))
    card = with_codecs(CARD, strong).model_copy(update={"options": (PLAIN, lossy)})
    catalog: Catalog = replace(CATALOG, models={**CATALOG.models, "kimi-k2": card})
    asked = workload("tiny", "options={}", "classes.k2-agentic.quality_floor=1 pt")
    assert {o.name for o in build(asked, catalog).options if o.model == "kimi-k2"} == {
        "int4-bf16",
        "int4-fp8",
    }


def loss(points: float) -> Any:
    """A published loss."""
    assert PLAIN.quality_loss is not None
    return PLAIN.quality_loss.model_copy(update={"value": points})


def test_letting_an_option_in_never_costs_more() -> None:
    """A choice more cannot make the cheapest layout dearer: this one is lean in KV and takes ten times the
    FLOPs in prefill, so that nobody runs it."""
    changed = {"quality_loss": loss(0.0), "prefill_factor": 10.0}
    lean = CARD.option("int4-turboquant").model_copy(update=changed)
    card = CARD.model_copy(update={"options": (PLAIN, lean)})
    catalog = replace(CATALOG, models={**CATALOG.models, "kimi-k2": card})

    def cheapest(only: str) -> float:
        asked = workload(
            "tiny", f"options.kimi-k2={{only: [{only}]}}", "classes.k2-agentic.slo.tpot=20 ms",
            "classes.k2-agentic.peak_rate=2 req/s", "hardware.servers={HGX-B300-8: {max: 12}}",
        )  # fmt: skip
        return solve(compile(write(build(asked, catalog)).pyomo).lp, SolveOptions(gap=0.0)).objective

    assert cheapest("int4-bf16, int4-turboquant") <= cheapest("int4-bf16") * (1 + 1e-6)

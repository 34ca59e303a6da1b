"""Trap 9: one number of bytes per token for a model with a state.

K3 weighs 27,648 B a token and 449 MB a sequence. A number read off a long context buys too little for chat;
an engine's 107,136, padded pages charged to every token, buys too much for agents; and one of V4, read off a
pool of short limits, far too much (docs/physics.md section 5, LMCache PR 4278, vLLM 51041).
"""

from __future__ import annotations

import pytest

from optimizer.catalog import Catalog, ModelCard
from optimizer.design import Result
from optimizer.instance import Tier
from optimizer.physics.memory import held

from .market import SHIPPED, accelerators, built, cheaper, planned, with_model

K3, V4 = "kimi-k3", "deepseek-v4-pro"
LOGGED = 107_136.0
REPORTED = 24.5 * 2**30 / 398_000
"""B a token of V4 if a pool of 24-25 GiB holds "398k tokens" at a limit of 50k."""
LONG = held(SHIPPED.model(K3).components, "bf16", 1_000_000).one_copy / 1e6


def asking(model: str, option: str, rate: str, first: str, tokens: str) -> tuple[str, ...]:
    """A class of one length of context."""
    return (
        f"classes.agents.model={model}",
        f"options={{{model}: {{only: [{option}]}}}}",
        f"classes.agents.peak_rate={rate}",
        f"classes.agents.first_prompt={first}",
        f"classes.agents.contexts=[{{tokens: {tokens}, share: 1}}]",
        "classes.agents.slo={ttft: 20 s, tpot: 50 ms, attainment: 0.9}",
        "hardware.dimms=[RDIMM-32, RDIMM-64, RDIMM-128]",
        "hardware.servers={HGX-B300-8: {max: 60}}",
    )


CHAT = asking(K3, "bf16", "60 req/s", "4 ktok", "8 ktok")
AGENTS = asking(K3, "bf16", "8 req/s", "12 ktok", "60 ktok")
V4_AGENTS = asking(V4, "fp8-fp8idx", "4 req/s", "12 ktok", "200 ktok")


def scalar(model: str, per_token: float) -> Catalog:
    """Trap on: nothing but that many bytes for every token, held, read and stored."""

    def flat(card: ModelCard) -> ModelCard:
        latent = next(c for c in card.components if c.kind == "linear" and not c.draft)
        size = dict.fromkeys(latent.bytes, per_token)
        one = latent.model_copy(update={"layers": 1, "stride": 1, "read_cap": None, "bytes": size})
        none = {"policy": "none", "every": None, "replay": 0.0}
        options = tuple(
            o.model_copy(update={"snapshot": o.snapshot.model_copy(update=none)}) for o in card.options
        )
        return card.model_copy(update={"components": (one,), "options": options})

    return with_model(SHIPPED, model, flat)


def memory(result: Result) -> float:
    """Bytes of contexts that the layout holds, in all tiers."""
    assert result.layout is not None
    return sum(tier.used_bytes for tier in result.layout.tiers.values())


def weighed(sets: tuple[str, ...], catalog: Catalog = SHIPPED) -> float:
    """Bytes of one context in DRAM."""
    instance = built(*sets, catalog=catalog)
    places = {place.id for place in instance.locations if place.tier is Tier.DRAM}
    (size,) = {s.bytes for s in instance.stored if s.location in places}
    return size


def test_trap_on_a_long_contexts_number_buys_too_little_for_chat() -> None:
    """28 kB a token makes 225 MB of a context of 670: less memory, and a server short."""
    wrong, right = planned(*CHAT, catalog=scalar(K3, LONG)), planned(*CHAT)
    assert memory(wrong) < 0.5 * memory(right)
    assert accelerators(wrong) < accelerators(right)
    assert cheaper(wrong, right)


def test_trap_on_an_engines_log_buys_too_much_for_agents() -> None:
    """107,136 B a token make 6.4 GB of a context of 2.1: two servers too many."""
    wrong, right = planned(*AGENTS, catalog=scalar(K3, LOGGED)), planned(*AGENTS)
    assert memory(wrong) > 2 * memory(right)
    assert accelerators(wrong) > accelerators(right)
    assert cheaper(right, wrong)


def test_trap_on_a_short_pools_number_buys_too_much_of_v4() -> None:
    wrong, right = planned(*V4_AGENTS, catalog=scalar(V4, REPORTED)), planned(*V4_AGENTS)
    assert memory(wrong) > 5 * memory(right)
    assert cheaper(right, wrong)


@pytest.mark.parametrize("sets", [CHAT, AGENTS])
def test_shipped_k3_weighs_a_state_and_its_tokens(sets: tuple[str, ...]) -> None:
    """Whatever the length: no single number gives both."""
    tokens = 8_000 if sets is CHAT else 60_000
    assert weighed(sets) == 449_372_160 + 27_648 * tokens
    for per_token in (LONG, LOGGED):
        assert abs(weighed(sets, scalar(K3, per_token)) / weighed(sets) - 1) > 0.15
    assert weighed(CHAT) / 8_000 > 2 * weighed(AGENTS) / 60_000


def test_shipped_v4_weighs_no_more_than_its_card() -> None:
    assert weighed(V4_AGENTS) == pytest.approx(5_511.4375 * 200_000 + 5.8e6, rel=1e-3)
    assert weighed(V4_AGENTS, scalar(V4, REPORTED)) > 10 * weighed(V4_AGENTS)

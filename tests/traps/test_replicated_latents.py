"""Trap 8: the latent of MLA cut over the ranks of tensor parallelism, as heads are.

There is one latent for all heads: plain TP8 keeps it, and reads it, eight times (docs/physics.md section 4).
Not counted, HBM seems to hold eight times the contexts, and TP8 seems to decode as attention-DP does.
"""

from __future__ import annotations

from functools import cache

import pytest

from optimizer.catalog import Catalog, ModelCard
from optimizer.instance import Instance

from .market import SHIPPED, accelerators, built, cheaper, planned, shapes, with_model

K2 = (
    "options={kimi-k2: {only: [int4-bf16]}}",
    "classes.agents.slo={ttft: 60 s, tpot: 50 ms, attainment: 0.9}",
    "hardware.servers={HGX-H200-8: {max: 30}}",
)


@cache
def trapped() -> Catalog:
    """Trap on: latents are sharded."""

    def sharded(card: ModelCard) -> ModelCard:
        parts = tuple(c.model_copy(update={"replicated_under_tp": False}) for c in card.components)
        return card.model_copy(update={"components": parts})

    return with_model(SHIPPED, "kimi-k2", sharded)


def in_hbm(instance: Instance) -> dict[str, float]:
    """Bytes of one context over the ranks that hold it, by shape."""
    return {s.location.rsplit("/", 1)[1]: s.bytes for s in instance.stored if s.location.startswith("hbm@")}


def over_links(instance: Instance) -> dict[str, float]:
    """Bytes over the host links for each byte that a hit in DRAM loads, by shape."""
    return {
        p.pool.split("/")[1]: p.link / p.load
        for p in instance.paths
        if (p.location or "").startswith("dram@")
    }


def tp_only(catalog: Catalog) -> Catalog:
    """The catalogue without attention-DP of K2."""

    def cut(card: ModelCard) -> ModelCard:
        shapes = tuple(s for s in card.shapes if s.data_parallel == 1)
        return card.model_copy(update={"shapes": shapes})

    return with_model(catalog, "kimi-k2", cut)


def test_trap_on_tp8_decodes_like_attention_dp() -> None:
    """Two servers in plain TP8, where five are needed, or three under attention-DP."""
    wrong = planned(*K2, catalog=tp_only(trapped()))
    plain, best = planned(*K2, catalog=tp_only(SHIPPED)), planned(*K2)
    assert [accelerators(r) for r in (wrong, best, plain)] == [16, 24, 40]
    assert cheaper(wrong, best)


def test_shipped_plan_decodes_under_attention_dp() -> None:
    """Five servers against three: the shape is chosen for what it holds."""
    assert "dp8" in shapes(planned(*K2))
    assert cheaper(planned(*K2), planned(*K2, catalog=tp_only(SHIPPED)))


def test_trap_on_hbm_holds_eight_times_the_contexts() -> None:
    one = 60_000 * 70_272
    assert in_hbm(built(*K2, catalog=trapped())) == {"tp8": one, "dp8": one}
    assert in_hbm(built(*K2)) == {"tp8": 8 * one, "dp8": one}


def test_shipped_latents_are_held_and_loaded_once_per_rank() -> None:
    """Held in HBM, charged to decoding, and carried over each rank's own host link."""
    assert over_links(built(*K2)) == {"tp8": 8.0, "dp8": 1.0}
    assert over_links(built(*K2, catalog=trapped())) == {"tp8": 1.0, "dp8": 1.0}
    reads = {}
    for name, catalog in (("wrong", trapped()), ("right", SHIPPED)):
        instance = built(*K2, catalog=catalog)
        reads[name] = {d.memory_seconds for d in instance.decodes if "/tp8/" in d.pool}
    assert max(reads["right"]) == pytest.approx(8 * max(reads["wrong"]))

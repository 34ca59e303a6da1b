"""Every published figure for the shipped models, and the exact tables derived there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from optimizer.catalog.llms import Role
from optimizer.physics.memory import (
    fixed_bytes,
    growth_bytes_per_token,
    hbm_rewrite_per_decoded_token,
    held,
    read,
    running_bytes,
    state_slot_bytes,
)

from .cards import shipped

DATA = json.loads((Path(__file__).parent / "checks.json").read_text())
LATENTS = (Role.KV, Role.TOPK)


def _of(row, *kinds, roles=tuple(Role)):
    """The components of the row's model of these kinds and roles, drafts left out."""
    components = shipped(row["model"]).components
    return [c for c in components if c.kind in kinds and c.role in roles and not c.draft]


def _held_by(row, *kinds, roles=tuple(Role)):
    return held(_of(row, *kinds, roles=roles), row["profile"], row["tokens"]).one_copy


def _growth(model, profile):
    return growth_bytes_per_token(shipped(model).components, profile)


def _growth_ratio(row):
    """How many times smaller the growth is than the reference's."""
    return _growth(row["reference"], row["reference_profile"]) / _growth(row["model"], row["profile"])


def _held_ratio(row):
    own = held(shipped(row["model"]).components, row["profile"], row["tokens"]).one_copy
    reference = shipped(row["reference"]).components
    return own / held(reference, row["reference_profile"], row["tokens"]).one_copy


def _fixed_rank(row):
    running = running_bytes(_of(row, "state"), row["profile"], 0)
    return running.per_rank(row["tensor_parallel"])


def _recurrent_rank_layer(row):
    """One rank's share of one layer's recurrent state, without its convolution buffer."""
    parts = _of(row, "state")
    layer = state_slot_bytes(parts, row["profile"]) / max(c.layers for c in parts)
    return (layer - row["conv_bytes"]) / row["tensor_parallel"]


def _overcount_all_layers(row):
    """WRONG on purpose: what an engine logs when the state layers are charged per token (LMCache PR 4278)."""
    (latent,) = _of(row, "linear")
    return shipped(row["model"]).layers * latent.bytes[row["profile"]]


MEASURES = {
    "linear_bytes": lambda row: _held_by(row, "linear"),
    "latent_bytes": lambda row: _held_by(row, "linear", roles=LATENTS),
    "stateless_bytes": lambda row: _held_by(row, "linear", "window"),
    "fixed_bytes": lambda row: fixed_bytes(shipped(row["model"]).components, row["profile"]),
    "fixed_rank_bytes": _fixed_rank,
    "recurrent_rank_layer": _recurrent_rank_layer,
    "growth_bytes": lambda row: _growth(row["model"], row["profile"]),
    "growth_ratio": _growth_ratio,
    "held_ratio": _held_ratio,
    "overcount_all_layers": _overcount_all_layers,
}


@pytest.mark.parametrize("row", DATA["checks"], ids=lambda row: f"{row['model']}: {row['label'][:50]}")
def test_published_figure(row):
    assert MEASURES[row["measure"]](row) == pytest.approx(row["expected"], rel=row["tolerance"], abs=0)


@pytest.mark.parametrize("row", DATA["tables"], ids=lambda row: f"{row['model']} {row['profile']}")
def test_derived_table_is_exact(row):
    parts, profile = shipped(row["model"]).components, row["profile"]
    assert growth_bytes_per_token(parts, profile) == row["growth"]
    assert fixed_bytes(parts, profile) == row["fixed"]
    assert hbm_rewrite_per_decoded_token(parts, profile) == row["rewrite"]
    for point in row["at"]:
        assert held(parts, profile, point["tokens"]).one_copy == point["held"]
        assert read(parts, profile, point["tokens"]).one_copy == point["read"]


def test_the_107136_of_an_engine_log_is_not_what_the_card_says():
    """A8: 27,648 B a token and 449.4 MB a sequence; the log charges 93 layers where 24 grow."""
    parts = shipped("kimi-k3").components
    assert growth_bytes_per_token(parts, "bf16") == 27_648
    assert fixed_bytes(parts, "bf16") == pytest.approx(449.4e6, rel=1e-4)
    assert fixed_bytes(parts, "bf16") == 449_372_160

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


def _growth_share(row):
    """The growth as a share of the reference's."""
    return 1 / _growth_ratio(row)


def _growth_with_draft(row):
    parts = shipped(row["model"]).components
    return growth_bytes_per_token(parts, row["profile"], draft=True)


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


def _state_layer(row):
    """One layer's whole state: recurrent part and convolution buffer."""
    return sum(c.bytes[row["profile"]] for c in _of(row, "state"))


def _sibling_state_layer(row):
    """One layer's state with fewer value heads: each a matrix in fp32 and three inputs of 2 B a channel."""
    (geometry,) = [a for a in shipped(row["model"]).attention if a.kind == "linear"]
    one_head = geometry.v_dim * (geometry.k_dim * 4 + 3 * 2)
    return _state_layer(row) - (geometry.heads - row["heads"]) * one_head


def _linear_rank(row):
    return held(_of(row, "linear"), row["profile"], row["tokens"]).per_rank(row["tensor_parallel"])


def _window_cells(row):
    """What an engine holds that gives its windows so many cells, and not only their width."""
    return sum(c.layers * c.bytes[row["profile"]] * row["tokens"] for c in _of(row, "window"))


def _index_layers(model, *, draft=False):
    components = shipped(model).components
    return sum(c.layers for c in components if c.role is Role.INDEX and (draft or not c.draft))


def _f16_index(row):
    """Index keys of an engine that keeps them in 16 bits."""
    width = next(a.index_dim for a in shipped(row["model"]).attention if a.index_dim)
    return _index_layers(row["model"], draft=row["draft"]) * width * 2 * row["tokens"]


def _unshared_index(row):
    """Index keys of the layers that own an index here and share one in the reference."""
    (key,) = {c.bytes[row["profile"]] for c in _of(row, "linear", roles=(Role.INDEX,))}
    return (_index_layers(row["model"]) - _index_layers(row["reference"])) * key * row["tokens"]


def _index_everywhere(model, profile):
    """Growth in an engine that allocates index keys for every layer that reads them."""
    (latent,) = _of({"model": model}, "linear", roles=LATENTS)
    (index,) = _of({"model": model}, "linear", roles=(Role.INDEX,))
    return latent.layers * (latent.bytes[profile] + index.bytes[profile])


def _index_everywhere_ratio(row):
    """How many more tokens the same memory holds than with the reference's profile."""
    before = _index_everywhere(row["reference"], row["reference_profile"])
    return before / _index_everywhere(row["model"], row["profile"])


def _layers_per_growing_layer(row):
    return shipped(row["model"]).layers / sum(c.layers for c in _of(row, "linear", roles=LATENTS))


def _overcount_padded_slots(row):
    """WRONG on purpose: state layers and a slot of padding charged per token (vLLM issue 28228)."""
    (latent,) = _of(row, "linear")
    return (shipped(row["model"]).layers + 1) * latent.bytes[row["profile"]] * row["tokens"]


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
    "growth_share": _growth_share,
    "growth_with_draft": _growth_with_draft,
    "state_layer_bytes": _state_layer,
    "sibling_state_layer": _sibling_state_layer,
    "linear_rank_bytes": _linear_rank,
    "window_cells": _window_cells,
    "window_cells_rank": lambda row: _window_cells(row) / row["tensor_parallel"],
    "f16_index_bytes": _f16_index,
    "unshared_index_bytes": _unshared_index,
    "index_everywhere_ratio": _index_everywhere_ratio,
    "layers_per_growing_layer": _layers_per_growing_layer,
    "layers_that_do_not_grow": lambda row: 1 - 1 / _layers_per_growing_layer(row),
    "overcount_all_layers": _overcount_all_layers,
    "overcount_padded_slots": _overcount_padded_slots,
}


@pytest.mark.parametrize("row", DATA["checks"], ids=lambda row: f"{row['model']}: {row['label'][:50]}")
def test_published_figure(row):
    """Within the figure's own tolerance, and outside it where the figure is known to be wrong."""
    agrees = MEASURES[row["measure"]](row) == pytest.approx(row["expected"], rel=row["tolerance"], abs=0)
    assert agrees is not row.get("disagrees", False)


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


def test_an_engine_log_of_kimi_linear_is_four_times_what_the_card_says():
    """8,064 B a token and 43.4 MB a sequence; the log charges 28 slots where 7 layers grow."""
    parts = shipped("kimi-linear-48b").components
    assert growth_bytes_per_token(parts, "bf16") == 8_064
    assert fixed_bytes(parts, "bf16") == 43_417_600
    (log,) = [row for row in DATA["checks"] if row["measure"] == "overcount_padded_slots"]
    assert log["expected"] / log["tokens"] == pytest.approx(4 * 8_064, rel=log["tolerance"])

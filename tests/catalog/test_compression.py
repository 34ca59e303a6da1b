"""docs/compression.md goes through every way to compress that was found, and says what the cards say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from optimizer.catalog import load_catalog
from optimizer.physics.memory import growth_bytes_per_token
from tests.docs.markdown import page, quoted, table
from tests.instance.deployed import deployed, iteration

CATALOG = load_catalog()
TEXT = page("compression.md")
ENTRIES = Path(__file__).with_name("compression_entries.txt").read_text(encoding="utf-8").split()
ROWS = {quoted(row[0])[0]: row for row in table(TEXT, "entry | what it is")}
OTHERS = [cell for row in table(TEXT, "option | what it is there for") for cell in quoted(row[0])]

OPTIONS = {f"{card.id}:{option.id}": (card, option) for card in CATALOG.models.values()
           for option in card.options}
CODECS = {f"{card.id}/{codec.id}": codec for card in CATALOG.models.values() for codec in card.codecs}


def named(row: list[str]) -> set[str]:
    """Ids of options and codecs in the last cell of a row; `*/codec` is that codec of every card."""
    ids = {word for word in quoted(row[-1]) if ":" in word or "/" in word}
    every = {f"{card}/{word[2:]}" for word in ids if word.startswith("*/") for card in CATALOG.models}
    return {word for word in ids if not word.startswith("*/")} | every


NAMED = {entry: named(row) for entry, row in ROWS.items()}


def figures(name: str) -> set[float]:
    """Every number printed in the rows that name an option or codec, ids left out."""
    rows = " ".join(" ".join(ROWS[entry][2:5]) for entry, ids in NAMED.items() if name in ids)
    return {float(n.replace(",", "")) for n in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.]*\w)", rows)}


def test_every_entry_has_its_row_and_no_other():
    assert len(ENTRIES) == 25
    assert list(ROWS) == ENTRIES


def test_every_cell_is_filled():
    assert all(cell for row in ROWS.values() for cell in row)


def test_every_id_exists():
    said = set().union(*NAMED.values(), OTHERS)
    assert said - set(OPTIONS) - set(CODECS) == set()


def test_every_choice_is_explained():
    said = set().union(*NAMED.values(), OTHERS)
    choices = {name for name, (_, option) in OPTIONS.items() if not option.default} | set(CODECS)
    assert choices - said == set()


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_is_offered_or_says_why_not(entry):
    offered, refused = bool(NAMED[entry]), ROWS[entry][-1].startswith("not offered: ")
    assert offered != refused


def test_every_choice_runs_in_some_shape_of_its_model():
    for card in CATALOG.models.values():
        parts = [CATALOG.accelerator(shape.accelerator) for shape in card.shapes]
        known = {"any", *(name for part in parts for name in (part.id, part.family))}
        for choice in (*card.options, *card.codecs):
            assert known & set(choice.accelerators), (card.id, choice.id)


def test_what_compresses_nothing_is_in_no_row():
    assert set(OTHERS) & set().union(*NAMED.values()) == set()


@pytest.mark.parametrize("name", sorted(set().union(*NAMED.values())))
def test_losses_and_prices_are_those_of_the_cards(name):
    if name in CODECS:
        codec = CODECS[name]
        stated = [max(codec.ratio.values())]
        stated += [codec.quality_loss.value] if codec.quality_loss else []
        if "estimate" in " ".join(cell for ids, row in zip(NAMED.values(), ROWS.values(), strict=True)
                                  if name in ids for cell in row):
            stated.append(codec.rate.value / 1e9)
    else:
        _, option = OPTIONS[name]
        stated = [f for f in (option.prefill_factor, option.decode_factor, option.read_factor) if f != 1]
        stated += [option.quality_loss.value] if option.quality_loss else []
    assert {float(value) for value in stated} <= figures(name), stated


@pytest.mark.parametrize("name", sorted(set().union(*NAMED.values()) & set(OPTIONS)))
def test_an_option_without_a_figure_is_in_a_row_that_says_so(name):
    _, option = OPTIONS[name]
    losses = " ".join(ROWS[entry][3] for entry, ids in NAMED.items() if name in ids)
    if option.quality_loss is None:
        assert re.search(r"none|no points|not found", losses)


@pytest.mark.parametrize(("entry", "name", "plain"), [
    ("kv_fp8_gqa", "qwen3-235b-a22b:fp8-kv", "bf16"),
    ("kv_fp8_tensor", "kimi-k2:int4-fp8", "bf16"),
    ("kv_fp4_native", "deepseek-v4.1-flash:fp4", "fp8"),
    ("kv_nvfp4_gqa", "mimo-v2-flash:nvfp4-kv", "bf16"),
    ("kv_nvfp4_gqa", "qwen3.5-397b-a17b:nvfp4-kv", "bf16"),
    ("kv_mxfp4_gqa", "qwen3.5-122b-a10b:mxfp4-kv", "fp8"),
    ("kv_turboquant", "qwen3.5-397b-a17b:turboquant", "bf16"),
    ("kv_turboquant", "kimi-k3:turboquant", "bf16"),
    ("kv_turboquant", "llama-3.1-70b:turboquant", "bf16"),
])
def test_ratios_are_those_of_the_profiles(entry, name, plain):
    card, option = OPTIONS[name]
    parts = [part for part in card.components if not part.draft]
    ratio = growth_bytes_per_token(parts, plain) / growth_bytes_per_token(parts, option.profile)
    assert f"{ratio:.2f}".rstrip("0").rstrip(".") == ROWS[entry][2].split()[0]


@pytest.mark.parametrize(("card", "profile", "ratio"), [
    ("kimi-k3", "bf16_bf16state", "1.93"),
    ("qwen3.5-397b-a17b", "bf16_bf16state", "1.97"),
    ("qwen3.5-122b-a10b", "bf16_bf16state", "1.97"),
])
def test_a_state_in_bf16_is_its_published_ratio(card, profile, ratio):
    states = [part for part in CATALOG.model(card).components if part.kind == "state"]
    full, half = (sum(part.layers * part.bytes[p] for part in states) for p in ("bf16", profile))
    assert f"{full / half:.2f}" == ratio
    assert ratio in ROWS["state_bf16"][2]


@pytest.mark.parametrize("row", table(TEXT, "option | run"), ids=lambda row: f"{row[0]} {row[2]}")
def test_what_turboquant_makes_of_decode(row):
    (card, option), where = OPTIONS[quoted(row[0])[0]], row[1].split()
    tokens, sequences = (float(cell.replace(",", "")) for cell in row[2:4])
    plain = deployed(card, next(o for o in card.options if o.default), *where)
    assert plain.room(prefills=False) >= sequences * plain.running(tokens), "BF16 holds as many"
    slow = option.model_copy(update={"decode_factor": option.read_factor})
    base = iteration(plain, tokens, sequences)
    found = [base / iteration(deployed(card, o, *where), tokens, sequences) for o in (option, slow)]
    assert [f"{speed:.2f}" for speed in found] == row[4:]

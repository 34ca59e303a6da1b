"""The tables of docs/physics.md against the cards and the functions that they are about."""

from __future__ import annotations

import pytest

from optimizer.catalog import load_catalog
from optimizer.catalog.llms import Shape
from optimizer.physics.flops import decode_flops, extend_flops, extension
from optimizer.physics.memory import (
    fixed_bytes,
    growth_bytes_per_token,
    hbm_rewrite_per_decoded_token,
    held,
    read,
    snapshot_bytes,
)
from optimizer.physics.roofline import prefill_flops_per_second, rank_room
from tests.physics.test_throughput import T1

from .markdown import number, page, quoted, section, table

CATALOG = load_catalog()
TEXT = page("physics.md")
LENGTHS = (8 * 1024, 128 * 1024, 1024 * 1024)


def rows(heading: str, head: str) -> list[list[str]]:
    return table(section(TEXT, heading), head)


def printed(value: float, text: str) -> bool:
    """Whether a number rounds to what is printed."""
    places = len(text.partition(".")[2])
    return abs(value - number(text)) <= 0.5000001 * 10**-places


def model_of(cell: str):
    """(card, profile) of a cell "`model` option"."""
    (name,) = quoted(cell)
    card = CATALOG.model(name)
    option = cell.rpartition("`")[2].strip()
    return card, card.option(option).profile if option else None


def test_efficiency_factors():
    found = rows("1.", "accelerator | eta_hbm")
    assert [row[0] for row in found] == [part.id for part in CATALOG.devices.accelerators]
    for name, *figures, _ in found:
        e = CATALOG.accelerator(name).efficiency
        stated = [e.hbm, float(e.step_overhead) * 1e3, e.prefill, e.decode_flops, e.error_band]
        assert [number(f) for f in figures] == pytest.approx([float(value) for value in stated])
        assert e.reference_layers == 61


def test_the_speeds_that_were_fitted():
    found = {name: tuple(map(number, speeds)) for name, *speeds in rows("1.", "tok/s per user")}
    assert found == T1


@pytest.mark.parametrize("row", rows("2.", "model | 2A"), ids=lambda row: row[0])
def test_decode_flops(row):
    card, _ = model_of(row[0])
    found = [decode_flops(card, length) for length in LENGTHS]
    slope = (found[2] - found[1]) / (LENGTHS[2] - LENGTHS[1])
    linear = 2 * float(card.active_parameters)
    assert printed(linear / 1e9, row[1])
    assert printed((found[2] - slope * LENGTHS[2] - linear) / 1e9, row[2])
    assert printed(slope / 1e6, row[3])
    assert all(printed(f / 1e9, text.strip()) for f, text in zip(found, row[4].split(" / "), strict=True))


def test_a_hit_of_two_thousand_on_a_hundred_thousand():
    for name, linear, attention in rows("2.", "model | linear"):
        found = extension(CATALOG.model(quoted(name)[0]), 100_000, 102_000)
        assert printed(found.linear / 1e12, linear)
        assert printed(found.attention / 1e12, attention)


def test_weights():
    stated = [(quoted(name)[0], *cells) for name, *cells in rows("3.", "model | format")]
    shown = {name for name, *_ in stated}
    assert shown == set(CATALOG.models)
    for name, fmt, routed, other, dtype in stated:
        w = CATALOG.model(name).weight(fmt)
        assert number(routed) == pytest.approx(float(w.routed_bytes) / 1e9)
        assert number(other) == pytest.approx(float(w.other_bytes) / 1e9)
        assert dtype == w.compute_dtype


def test_a_miss_runs_on_one_rank():
    card = CATALOG.model("kimi-k2")
    for name, dp8, tp8, fmt in rows("3.", "accelerator, default factor"):
        rate = prefill_flops_per_second(CATALOG.accelerator(name), card.weight(fmt), "default")
        seconds = extend_flops(card, 0, 100_000) / rate
        assert printed(seconds, dp8)
        assert printed(seconds / 8, tp8)


@pytest.mark.parametrize(("tp", "dp", "stated"), [(8, 1, "53 GB"), (1, 8, "262 GB")])
def test_unique_kv_of_k2(tp, dp, stated):
    shape = Shape(accelerator="H200-SXM", gpus=8, tensor_parallel=tp, data_parallel=dp)
    where = (CATALOG.accelerator("H200-SXM"), CATALOG.model("kimi-k2").weight("int4"), shape)
    building = CATALOG.devices.facility
    room = rank_room(*where, building, sequences=0, max_context=0, batched_tokens=0, indexed=False)
    assert f"{dp * room / 1e9:.0f} GB" == stated
    assert stated in section(TEXT, "3.").replace("\n", " ")


def test_what_is_written():
    for row in memory_rows("growth"):
        card, profile = model_of(row[0])
        parts = card.components
        found = [
            growth_bytes_per_token(parts, profile),
            fixed_bytes(parts, profile),
            snapshot_bytes(parts, profile),
            hbm_rewrite_per_decoded_token(parts, profile),
        ]
        assert found == [number(text) for text in row[1:]], row


def test_what_is_held_and_read():
    for row in memory_rows("held"):
        card, profile = model_of(row[0])
        holds, reads = held(card.components, profile, 2**17), read(card.components, profile, 2**17)
        assert printed(holds.one_copy / 1e9, row[1]), row
        assert printed(reads.one_copy / 1e6, row[2]), row


def memory_rows(first: str) -> list[list[str]]:
    """The rows of a table of section 5, which must show every model."""
    found = rows("5.", f"model, option | {first}")
    assert {quoted(row[0])[0] for row in found} == set(CATALOG.models)
    return found


def test_transfer_paths():
    for tier, latency, per_block, _ in rows("6.", "tier | latency"):
        road = CATALOG.path(quoted(tier)[0])
        assert number(latency) == pytest.approx(float(road.latency) * 1e6)
        assert number(per_block) == pytest.approx(float(road.per_block) * 1e6)
        assert float(road.block_bytes) == 2e6
    assert len(rows("6.", "tier | latency")) == len(CATALOG.devices.paths)


def test_the_fifteen_per_cent_of_v32():
    """What is computed for V3.2 prefill on GB300, beside what was measured."""
    card, part = CATALOG.model("deepseek-v3.2"), CATALOG.accelerator("GB300-NVL72")
    rate = prefill_flops_per_second(part, card.weight("fp8"), card.efficiency_family)
    computed = rate * 8192 / extend_flops(card, 0, 8192)
    body = section(TEXT, "Known conflicts")
    assert f"{computed:,.0f} computed, {computed / 7360 - 1:+.0%}" in body
    assert f"{extend_flops(card, 0, 8192) / 8192 / 1e9:.1f} GF at this length" in body


def test_speculation_of_every_model_that_has_a_figure():
    stated = {quoted(name)[0]: (number(k), number(n)) for name, k, n in rows("7.", "model | drafts")}
    cards = {name: card.speculation for name, card in CATALOG.models.items()}
    drafting = {name: (s.draft_tokens, s.accepted_per_step) for name, s in cards.items() if s.draft_tokens}
    assert stated == drafting
    assert all(s.accepted_per_step == 1.0 for s in cards.values() if not s.draft_tokens)


def test_facility_figures_of_the_text():
    f = CATALOG.devices.facility
    engine = [f.design_utilisation, f.hbm_utilisation, f.runtime_bytes, f.graph_bytes_per_sequence, f.tp_hop]
    assert [float(figure) for figure in engine] == pytest.approx([0.7, 0.9, 8e9, 22 * 2**20, 20e-6])
    assert [float(f.write_amplification), float(f.safety_quantile)] == [1.2, 2.33]
    money = [f.maintenance_per_year, f.cost_of_capital, f.residual_36_months, f.mean_power_fraction]
    assert [price.base for price in money] == pytest.approx([0.04, 0.09, 0.3, 0.75])

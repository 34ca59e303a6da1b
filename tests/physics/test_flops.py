"""FLOPs per token and per extension against the table of docs/physics.md section 2 and against loops."""

from __future__ import annotations

from itertools import pairwise

import pytest
from pydantic import ValidationError

from optimizer.physics.flops import DEFAULT_PREFILL_CHUNK, decode_flops, extend_flops, extension

from .cards import shipped
from .inline import attention, card, mla

TERA, PETA = 1e12, 1e15
LENGTHS = (8 * 1024, 128 * 1024, 1024 * 1024)


V3 = card(37e9, 61, [mla(61, 128)])
TABLE = [  # model, 2A GF, const GF, MF per context token, GF at 8k / 128k / 1M: docs/physics.md section 2
    ("V3", 74, 0, 16.99, (213, 2_301, 17_890)),
    ("deepseek-v3.2", 74, 34.8, 0.999, (117, 240, 1_157)),
    ("glm-5", 80, 22.3, 0.639, (107, 186, 772)),
    ("glm-5.2", 80, 22.3, 0.172, (104, 125, 283)),
    ("longcat-2.0", 96, 21.7, 0.311, (120, 158, 444)),
    ("deepseek-v4-flash", 26, 2.1, 0.107, (29, 42, 140)),
    ("deepseek-v4-pro", 98, 10.1, 0.186, (110, 133, 304)),
    ("deepseek-v4.1-flash", 32, 3.8, 0.0205, (36, 38, 57)),
    ("kimi-k2", 64, 0, 8.50, (134, 1_177, 8_972)),
    ("kimi-k3", 208, 0.65, 5.01, (250, 866, 5_466)),
    ("longcat-flash", 54, 0, 7.80, (118, 1_076, 8_232)),
    ("kimi-linear-48b", 6, 0.06, 0.487, (10, 70, 517)),
    ("qwen3.5-397b-a17b", 34, 0.28, 0.492, (38, 99, 550)),
    ("qwen3.5-122b-a10b", 20, 0.23, 0.393, (23, 72, 433)),
    ("mimo-v2-flash", 30, 0.20, 0.369, (33, 79, 417)),
    ("mimo-v2.5-pro", 84, 0.63, 0.819, (91, 192, 944)),
    ("llama-3.1-70b", 141, 0, 2.62, (162, 485, 2_890)),
    ("qwen3-235b-a22b", 44, 0, 3.08, (69, 448, 3_274)),
]


def model(name):
    """A shipped card, or one built here."""
    return V3 if name == "V3" else shipped(name)


@pytest.mark.parametrize(("name", "weights", "constant", "slope", "at"), TABLE, ids=[row[0] for row in TABLE])
def test_decode_flops_of_the_table(name, weights, constant, slope, at):
    """Half a unit of the last printed digit (the 8k-1M columns are whole GFLOP), or 0.5%."""
    one = model(name)
    found = [decode_flops(one, length) for length in LENGTHS]
    assert [f / 1e9 for f in found] == pytest.approx(at, abs=0.51, rel=0.005)
    assert 2 * one.active_parameters.value / 1e9 == pytest.approx(weights, abs=0.5)
    per_token = (found[2] - found[1]) / (LENGTHS[2] - LENGTHS[1])
    assert per_token / 1e6 == pytest.approx(slope, abs=5e-4, rel=0.005)
    rest = found[2] - per_token * LENGTHS[2] - 2 * one.active_parameters.value
    assert rest / 1e9 == pytest.approx(constant, abs=0.065)


def test_t3_vendor_ratios_at_1m():
    """T3: the vendor says V4-Pro needs 27% and V4-Flash 10% of V3.2's FLOPs per token at 1M."""
    pro, flash, v32 = (
        decode_flops(shipped(f"deepseek-{name}"), LENGTHS[2]) for name in ("v4-pro", "v4-flash", "v3.2")
    )
    assert pro / v32 == pytest.approx(0.27, abs=0.03)
    assert flash / v32 == pytest.approx(0.10, abs=0.025)


@pytest.mark.parametrize(
    ("name", "linear", "attended"), [("V3", 148, 1_214), ("kimi-k2", 128, 607), ("kimi-k3", 416, 358)]
)
def test_a_hit_still_pays_attention_over_its_prefix(name, linear, attended):
    """2k new on 100k cached, TFLOP (docs/physics.md section 2). K3's 358 leaves out 1.3 of its KDA layers."""
    found = extension(model(name), 100_000, 102_000)
    assert found.linear / TERA == pytest.approx(linear, rel=0.005)
    assert found.attention / TERA == pytest.approx(attended, rel=0.005)


@pytest.mark.parametrize(("chunk", "expected"), [(DEFAULT_PREFILL_CHUNK, 1.3), (2_048, 4.9)])
def test_reexpansion_of_a_100k_miss_of_v3(chunk, expected):
    """PFLOP of re-expansion: what chunks cost over one single chunk."""
    one_chunk = extend_flops(V3, 0, 100_000, chunk=100_000)
    assert (extend_flops(V3, 0, 100_000, chunk=chunk) - one_chunk) / PETA == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(("name", "pair"), [("V3", 5.00), ("kimi-k2", 2.50), ("kimi-k3", 1.47)])
def test_prefill_pair_is_expanded(name, pair):
    """MFLOP per (query, key) pair: the second difference of F(0, n) inside one chunk."""
    one = model(name)
    second = extend_flops(one, 0, 3) - 2 * extend_flops(one, 0, 2) + extend_flops(one, 0, 1)
    assert second / 1e6 == pytest.approx(pair, abs=0.005)


@pytest.mark.parametrize("name", [n for n, *_ in TABLE])
@pytest.mark.parametrize(("cached", "total"), [(0, 700), (37, 1_999), (2_500, 2_501), (2_000, 6_000)])
def test_closed_form_equals_the_loop(name, cached, total):
    """The sum over new tokens, one by one: absorbed kinds pay at each position what a decoded token pays."""
    one = model(name)
    if any(a.kind in ("mla", "dsa") for a in one.attention):
        expected = _loop_over_tokens(one, cached, total, 512)
    else:
        seen = tuple(a for a in one.attention if not a.decode_only)
        active = one.prefill_parameters or one.active_parameters
        prompt = one.model_copy(update={"attention": seen, "active_parameters": active})
        expected = sum(decode_flops(prompt, p) for p in range(cached + 1, total + 1))
    assert extend_flops(one, cached, total, chunk=512) == pytest.approx(expected, rel=1e-12)


def _loop_over_tokens(one, cached, total, chunk):
    work = 2.0 * one.active_parameters.value * (total - cached)
    for a in one.attention:
        if a.kind == "linear":
            work += 6 * a.heads * a.k_dim * a.v_dim * a.layers * (total - cached)
            continue
        for start in range(cached, total, chunk):
            positions = range(start + 1, min(start + chunk, total) + 1)
            dense = sum(2 * a.heads * (a.nope + a.rope + a.v_dim) * a.layers * p for p in positions)
            dense += 2 * a.lora * a.heads * (a.nope + a.v_dim) * a.layers * start
            if a.kind == "dsa":
                top = sum(2 * a.heads * (2 * a.lora + a.rope) * a.layers * min(p, a.topk) for p in positions)
                scan = sum(2 * a.index_heads * a.index_dim * a.index_layers * p for p in positions)
                dense = min(dense, top + scan)
            work += dense
    return work


def test_sparse_prefill_is_summed_at_once_past_the_crossover_and_exactly_so():
    """DSA over many chunks equals the chunk-by-chunk lesser, last partial chunk included."""
    one = model("deepseek-v3.2")
    total, chunks = 0.0, [*range(0, 300_000, 8_192), 300_000]
    for start, stop in pairwise(chunks):
        total += extend_flops(one, start, stop)
    assert extend_flops(one, 0, 300_000) == pytest.approx(total, rel=1e-12)


def test_index_reuse_divides_only_the_scan():
    one = model("deepseek-v3.2")
    scan = 2 * 64 * 128 * 61 * 100_000
    assert decode_flops(one, 100_000) - decode_flops(one, 100_000, index_reuse=4) == pytest.approx(
        scan * 3 / 4
    )


def test_prefill_counts_its_own_active_parameters():
    """V4.1-Flash prefills with 8B active, decodes with 16B."""
    assert extension(shipped("deepseek-v4.1-flash"), 0, 1).linear == 2 * 8e9
    assert decode_flops(shipped("deepseek-v4.1-flash"), 0) == 2 * 16e9


def test_a_prompt_runs_through_the_encoder_alone():
    """V4.1-Flash at position 100k: 18 layers of 512 rows, 20 windows of 128 and three scans of 50k rows.

    A decoded token also pays the decoder: as many windows, 20 layers of 512 rows, a scan of all 100k rows and
    four of the 16,384 that it names.
    """
    pair, key, one = 4 * 64 * 512, 2 * 32 * 128, shipped("deepseek-v4.1-flash")
    encoder = pair * (18 * 512 + 20 * 128) + key * 3 * 50_000
    decoder = pair * (20 * 512 + 20 * 128) + key * (100_000 + 4 * 16_384)
    assert extension(one, 99_999, 100_000).attention == pytest.approx(encoder)
    assert decode_flops(one, 100_000) == pytest.approx(2 * 16e9 + encoder + decoder)


def test_a_pool_is_scanned_again_up_to_its_size():
    """One full scan at stride 2 and three more of the best 100 rows, in closed form as in the loop."""
    pooled = {"index_heads": 4, "index_dim": 16, "index_layers": 1, "index_pool": 100, "index_pool_layers": 3}
    kind = attention("shared_kv", 4, 8, k_dim=32, stride=2, topk=10, **pooled)
    one = card(1e9, 4, [kind])
    row, key = 4 * 8 * 32 * 4, 2 * 4 * 16
    by_hand = [2e9 + row * min(p / 2, 10) + key * (p / 2 + 3 * min(p / 2, 100)) for p in range(151, 801)]
    assert decode_flops(one, 800) == pytest.approx(by_hand[-1], rel=1e-12)
    assert extend_flops(one, 150, 800) == pytest.approx(sum(by_hand), rel=1e-12)
    with pytest.raises(ValidationError, match="go together"):
        attention("shared_kv", 4, 8, k_dim=32, topk=10, index_pool=100)
    with pytest.raises(ValidationError, match="selects a top-k"):
        attention("shared_kv", 4, 8, k_dim=32, index_pool=100, index_pool_layers=3)


def test_the_card_may_state_its_chunk():
    chunked = card(37e9, 61, [mla(61, 128)], chunk=2_048)
    assert extend_flops(chunked, 0, 100_000) == extend_flops(V3, 0, 100_000, chunk=2_048)


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="cannot shrink"):
        extend_flops(V3, 10, 5)
    with pytest.raises(ValueError, match="positive number of tokens"):
        extend_flops(V3, 0, 5, chunk=-1)
    with pytest.raises(ValueError, match="attention of kind gqa lacks v_dim"):
        decode_flops(card(1e9, 1, [attention("gqa", 1, 1, k_dim=8)]), 10)

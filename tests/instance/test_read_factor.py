"""What kernels that unpack KV cost: seconds per byte of KV read in decode, and nothing else."""

from __future__ import annotations

import pytest

from optimizer.catalog import ModelCard, ModelOption
from optimizer.instance.deployment import shape_name, supports
from optimizer.physics.memory import read
from optimizer.physics.roofline import hbm_bytes_per_second
from optimizer.workload.schema import Measured
from tests.instance.deployed import deployed, iteration
from tests.instance.shipped import CATALOG

TOKENS = 50_000.0
QWEN, K2 = CATALOG.model("qwen3.5-397b-a17b"), CATALOG.model("kimi-k2")


def changed(card: ModelCard, name: str, **factors: float) -> ModelOption:
    """An option with other factors."""
    return card.option(name).model_copy(update=factors)


@pytest.mark.parametrize("factor", [0.5, 1.0, 7.83])
def test_kv_is_read_slower_and_states_are_not(factor: float) -> None:
    """397B under TP8: 544.681 B a token and layer on four times two ranks each; states once, at full pace."""
    d = deployed(QWEN, changed(QWEN, "turboquant", read_factor=factor), "H200-SXM", "tp8")
    kv, states = 15 * TOKENS * 544.681 * 4, 45 * (4_194_304 + 73_728)
    seconds = (kv * factor + states) / (8 * hbm_bytes_per_second(d.accelerator))
    assert d.decode_memory(TOKENS) == pytest.approx(seconds, rel=1e-12)


def test_each_factor_moves_its_own_seconds() -> None:
    base = deployed(K2, changed(K2, "int4-bf16"), "H200-SXM", "dp8")
    reads = deployed(K2, changed(K2, "int4-bf16", read_factor=3.0), "H200-SXM", "dp8")
    flops = deployed(K2, changed(K2, "int4-bf16", decode_factor=3.0), "H200-SXM", "dp8")
    assert reads.decode_memory(TOKENS) == pytest.approx(3 * base.decode_memory(TOKENS), rel=1e-12)
    assert flops.decode_compute(TOKENS) == pytest.approx(3 * base.decode_compute(TOKENS), rel=1e-12)
    assert (reads.decode_compute(TOKENS), flops.decode_memory(TOKENS)) == (
        base.decode_compute(TOKENS),
        base.decode_memory(TOKENS),
    )
    for other in (reads, flops):
        assert other.weights_seconds(8.0, everything=False) == base.weights_seconds(8.0, everything=False)
        assert other.overhead(8.0) == base.overhead(8.0)
        assert other.extend(0.0, TOKENS) == base.extend(0.0, TOKENS)
        assert (other.idle(TOKENS), other.running(TOKENS)) == (base.idle(TOKENS), base.running(TOKENS))


def test_a_fetch_over_the_host_link_is_no_read_of_a_kernel() -> None:
    """V3.2 with its latents in DRAM: `read_factor` is for index keys, fetches take the link's time."""
    card = CATALOG.model("deepseek-v3.2")
    d = deployed(card, changed(card, "fp8-offload", read_factor=2.0), "H200-SXM", "tp8")
    keys = read([c for c in card.components if c.name == "index-key"], "fp8", TOKENS).one_copy
    fetched = 61 * 2_048 * 656 * d.option.fetch_miss
    drafts = sum(c.layers * 2_048 * c.bytes["fp8"] for c in card.components if c.name in d.option.offload)
    assert drafts * d.option.fetch_miss == pytest.approx(fetched), "no draft is offloaded"
    seconds = 2 * keys / hbm_bytes_per_second(d.accelerator) + fetched / d.accelerator.host_link.read.value
    assert d.decode_memory(TOKENS) == pytest.approx(seconds, rel=1e-12)




def runs() -> list[tuple[ModelCard, ModelOption, str, str, int]]:
    """Every shipped option in one shape within a scale-up domain: no expert traffic through NICs."""
    found = []
    for card in CATALOG.models.values():
        for option in card.options:
            for shape in card.shapes:
                part = CATALOG.accelerator(shape.accelerator)
                first = next(s for s in card.shapes if (s.accelerator, s.gpus) == (part.id, shape.gpus))
                alone = first is shape and shape.gpus <= part.scale_up.domain
                if alone and supports(option.accelerators, part):
                    found.append((card, option, part.id, shape_name(shape), shape.gpus))
                    break
    return found


@pytest.mark.parametrize("run", runs(), ids=lambda run: f"{run[0].id}:{run[1].id}")
def test_a_measured_iteration_takes_the_measured_time(
    run: tuple[ModelCard, ModelOption, str, str, int],
) -> None:
    """Whatever factors and fetches its option has: the correction is of what the rows would say."""
    card, option, accelerator, form, gpus = run
    rate, sequences = 321.0, 48
    row = Measured.model_validate({
        "model": card.id, "option": option.id, "accelerator": accelerator, "phase": "decode",
        "context": f"{TOKENS} tok", "sequences": sequences, "gpus": gpus,
        "tokens_per_second_per_gpu": f"{rate} tok/s", "source": "us",
    })  # fmt: skip
    d = deployed(card, option, accelerator, form, (row,))
    expected = sequences * card.speculation.accepted_per_step / (rate * gpus)
    assert iteration(d, TOKENS, sequences) == pytest.approx(expected, rel=1e-9)

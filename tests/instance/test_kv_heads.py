"""Two KV heads on eight ranks: what a problem holds, runs, reads and loads of a context of Qwen3.5-397B.

Every rank keeps one head, so its KV lies in HBM four times; states are cut over their value heads, and a tier
keeps one copy of everything.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from optimizer.instance import Instance, Path, Stored, Tier
from optimizer.instance.deployment import Deployment
from tests.instance.deployed import deployed
from tests.instance.shipped import CATALOG, built

CARD = CATALOG.model("qwen3.5-397b-a17b")
KV, STATES = 30_720, 192_061_440  # bytes a token, bytes a sequence
FIRST, TOKENS, TURN, PREFIX = 12_000, 60_000, 2_200, 4_000  # the prefix is held elsewhere
COPIES = {"tp8": 4, "tp2dp2": 1, "dp8": 1}
SETS = (
    "classes.k2-agentic.model=qwen3.5-397b-a17b",
    "classes.k2-agentic.slo={ttft: 60 s, tpot: 100 ms, attainment: 0.5}",
    "classes.k2-agentic.shared_prefix={tokens: 4 ktok, held_in: dram}",
    "options={qwen3.5-397b-a17b: {only: [fp8], unpublished: true}}",
    "hardware.servers={HGX-H200-8: {max: 30}, HGX-B300-8: {max: 4}}",
)


def problem() -> Instance:
    """The agents of the tiny workload on that model, with codecs of unpublished loss let in."""
    return built("tiny", *SETS)


def mine(address: str) -> bool:
    return "qwen3.5-397b-a17b:fp8@HGX-H200-8/" in address


def form(address: str) -> str:
    """tp8, of an address of HBM or of a pool."""
    return address.split("/")[1]


def idle() -> Iterator[Stored]:
    return (s for s in problem().stored if s.location.startswith("hbm@") and mine(s.location))


def hits() -> Iterator[tuple[Path, float]]:
    """Paths that load from DRAM, and how many times smaller a codec makes the KV of each."""
    for path in problem().paths:
        if mine(path.pool) and (path.location or "").startswith(Tier.DRAM.value):
            yield path, 16.0 if "+kvtc" in str(path.location) else 1.0


def test_hbm_holds_each_head_on_four_ranks() -> None:
    found = {form(s.location): s.bytes for s in idle()}
    assert found == {
        name: pytest.approx(copies * KV * (TOKENS - PREFIX) + STATES) for name, copies in COPIES.items()
    }


def test_a_running_sequence_holds_and_reads_them_so() -> None:
    graphs = CATALOG.devices.facility.graph_bytes_per_sequence.value
    seen = set()
    for row in (d for d in problem().decodes if mine(d.pool)):
        name = form(row.pool)
        d = deployed(CARD, CARD.option("fp8"), "H200-SXM", name)
        assert row.hbm == pytest.approx(COPIES[name] * KV * TOKENS + STATES + d.tp * graphs)
        read = COPIES[name] * KV * (TOKENS - 423 // 2) + STATES
        assert row.memory_seconds == pytest.approx(read / pace(d), rel=1e-4)
        seen.add(name)
    assert seen == COPIES.keys()


def pace(d: Deployment) -> float:
    """Bytes of HBM an instance reads in a second."""
    return float(d.accelerator.efficiency.hbm) * float(d.accelerator.hbm_bandwidth) * d.gpus


def test_a_hit_crosses_the_link_of_every_rank_that_keeps_the_head() -> None:
    """DRAM gives one copy of the context, whose KV a codec makes smaller; the prefix crosses them too."""
    seen = set()
    for path, ratio in hits():
        own, states = KV * (TOKENS - PREFIX) / ratio, STATES
        assert path.load == pytest.approx(own + states)
        shared = COPIES[form(path.pool)] * KV * PREFIX + STATES
        assert path.link == pytest.approx(COPIES[form(path.pool)] * own + states + shared)
        seen.add((form(path.pool), ratio))
    assert seen >= {(name, ratio) for name in COPIES for ratio in (1.0, 16.0)}


def test_a_context_is_handed_over_once() -> None:
    """Prefill sends one copy, whatever the shapes; the ranks of the receiver share it out."""
    sent = {form(p.pool): set() for p in problem().paths if mine(p.pool)}
    for path in (p for p in problem().paths if mine(p.pool)):
        sent[form(path.pool)].add(path.sent)
    lengths = (FIRST, TOKENS + TURN)
    assert {name: sorted(found) for name, found in sent.items()} == {
        name: [pytest.approx(KV * total + STATES) for total in lengths] for name in COPIES
    }


def test_a_rank_unpacks_the_entries_of_its_own_head() -> None:
    """What a codec made smaller, as it lies on a rank: half under TP2 and TP8; states were never packed."""
    for name, halves in (("dp8", 2), ("tp2dp2", 1), ("tp8", 1)):
        d = deployed(CARD, CARD.option("fp8"), "H200-SXM", name)
        unpacked, plain = d.entries(TOKENS, PREFIX), d.loaded(TOKENS, there=PREFIX)
        assert unpacked.per_rank(d.tp) == halves * KV * (TOKENS - PREFIX) / 2
        assert plain.one_copy - unpacked.one_copy == STATES

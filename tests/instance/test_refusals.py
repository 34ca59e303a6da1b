"""What cannot be planned with is refused before anything is solved, with names, numbers and a remedy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimizer.instance.build import build
from optimizer.instance.checks import Unmeetable
from optimizer.physics.memory import read
from optimizer.physics.roofline import decode_step
from tests.instance.shipped import ALL_TIERS, CATALOG, built, refused, workload

SERVERS = "hardware.servers={HGX-B300-8: {max: 4}"
CLASS = "classes.flash-chat.model"
UNKNOWN: dict[str, tuple[str, tuple[str | int, ...], str]] = {
    "model": (f"{CLASS}=deepseek-v4-flsh", ("classes", "flash-chat", "model"), "deepseek-v4-flash"),
    "server": (f"{SERVERS}, HGX-B200: {{}}}}", ("hardware", "servers", "HGX-B200"), "HGX-B200-8"),
    "DIMM": ("hardware.dimms=[RDIMM-32, RDIMM-644]", ("hardware", "dimms", 1), "RDIMM-64"),
    "drive": ("hardware.drives=[9550-7.86]", ("hardware", "drives", 0), "9550-7.68"),
    "enclosure": (
        "hardware.cxl_enclosures={XC50256-POL: {}}", ("hardware", "cxl_enclosures", "XC50256-POL"),
        "XC50256-POOL",
    ),
    "module": ("hardware.cxl_modules=[CMM-D-265]", ("hardware", "cxl_modules", 0), "CMM-D-256"),
    "option": (
        "options.kimi-k2={only: [int4-bf16, int4-bf61]}", ("options", "kimi-k2", "only", 1), "int4-bf16",
    ),
}  # fmt: skip
OTHERS: dict[str, tuple[str, tuple[str | int, ...], str]] = {
    "node": (f"{SERVERS}, DRAM-NODES: {{}}}}", ("hardware", "servers", "DRAM-NODES"), "DRAM-NODE"),
    "excluded option": (
        "options.kimi-k2={exclude: [int4-fp88]}", ("options", "kimi-k2", "exclude", 0), "int4-fp8",
    ),
}  # fmt: skip
"""Names of the same kinds as above, in another place."""
NO_RULES = "options={}"  # of the tiny workload, one of which is for the model that the first name replaces


@pytest.mark.parametrize("name", [*UNKNOWN, *OTHERS])
def test_unknown_name_says_what_was_meant_and_where(name: str) -> None:
    override, keys, meant = {**UNKNOWN, **OTHERS}[name]
    (problem,) = (p for p in refused("tiny", NO_RULES, override) if p.keys == keys)
    assert problem.path == ".".join(map(str, keys))
    assert problem.remedy == f'did you mean "{meant}"?'


def test_every_unknown_name_is_named_at_once() -> None:
    overrides = [override for override, _, _ in UNKNOWN.values()]
    found = {p.keys for p in refused("tiny", NO_RULES, *overrides)}
    assert found >= {keys for _, keys, _ in UNKNOWN.values()}


OFF: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "a rack and its accelerator": (
        ("hardware.servers={VR200-NVL72-RACK: {}, HGX-B300-8: {}}",),
        ("hardware", "servers", "VR200-NVL72-RACK"), "VR200-NVL72-RACK, VR200-NVL72",
    ),
    "a rack whose accelerator is still off": (
        ("hardware.servers={VR200-NVL72-RACK: {}, HGX-B300-8: {}}", "hardware.enable=[VR200-NVL72-RACK]"),
        ("hardware", "servers", "VR200-NVL72-RACK"), "VR200-NVL72",
    ),
    "a storage node": (
        ("hardware.servers={BF4-ICMS: {}, HGX-B300-8: {}}",), ("hardware", "servers", "BF4-ICMS"), "BF4-ICMS",
    ),
    "a pool and the only module that fits it": (
        ("hardware.cxl_enclosures={CMM-B: {}}",), ("hardware", "cxl_enclosures", "CMM-B"), "CMM-B, CMM-B-2TB",
    ),
    "a pool whose only module is still off": (
        ("hardware.cxl_enclosures={CMM-B: {}}", "hardware.enable=[CMM-B]"),
        ("hardware", "cxl_enclosures", "CMM-B"), "CMM-B-2TB",
    ),
}  # fmt: skip
"""What is named although its card says `enabled: false`: overrides, place, what is still to be enabled."""


@pytest.mark.parametrize("name", OFF)
def test_what_is_off_must_be_enabled(name: str) -> None:
    overrides, keys, missing = OFF[name]
    (problem,) = refused("tiny", *overrides)
    assert problem.keys == keys
    assert "not offered unless enabled" in problem.message
    assert problem.remedy == f"add to hardware.enable: {missing}"


def test_what_is_enabled_is_planned_with() -> None:
    both = "hardware.enable=[MI325X-8, MI325X, BF4-ICMS, CMM-B, CMM-B-2TB]"
    servers = "hardware.servers={MI325X-8: {}, BF4-ICMS: {}, HGX-B300-8: {max: 4}}"
    instance = built("tiny", both, servers, "tiers={}", "hardware.drives=[9550-7.68]",
                     "hardware.cxl_enclosures={CMM-B: {}}")  # fmt: skip
    assert {"MI325X-8", "HGX-B300-8"} == {sku.id for sku in instance.skus}
    assert any(build.server == "BF4-ICMS" for build in instance.builds)
    assert [(e.id, e.module) for e in instance.enclosures] == [("CMM-B", "CMM-B-2TB")]


def test_a_module_that_is_named_needs_no_enabling() -> None:
    named = ("hardware.cxl_enclosures={CMM-B: {}}", "hardware.cxl_modules=[CMM-B-2TB]", "tiers={}")
    assert built("tiny", "hardware.enable=[CMM-B]", *named).enclosures


def test_a_part_to_enable_is_a_card() -> None:
    (problem,) = refused("tiny", "hardware.enable=[RDIMM-64, VR200-NLV72-RACK]")
    assert problem.keys == ("hardware", "enable", 1)
    assert problem.remedy == 'did you mean "VR200-NVL72-RACK"?'


def test_context_longer_than_the_model_takes() -> None:
    (problem,) = refused("tiny", "classes.k2-agentic.contexts.0.tokens=300 ktok")
    assert problem.keys == ("classes", "k2-agentic", "contexts", 0, "tokens")
    assert "300,000" in problem.message
    assert "262,144" in problem.remedy


def test_no_accelerators() -> None:
    (problem,) = refused("tiny", "hardware.servers={DRAM-NODE: {}}", "hardware.dimms=null")
    assert problem.keys == ("hardware", "servers")


# ---- demands that no hardware meets -----------------------------------------------------------------------


def test_tpot_that_nothing_reaches_names_class_and_number() -> None:
    (problem,) = refused("tiny", "classes.k2-agentic.slo.tpot=1 ms", kind=Unmeetable)
    assert problem.keys == ("classes", "k2-agentic", "slo", "tpot")
    assert problem.path == "classes.k2-agentic.slo.tpot"
    for words in ("60,000 tokens", "kimi-k2", "1 ms"):
        assert words in problem.message
    assert "raise tpot" in problem.remedy


def test_every_class_that_cannot_be_met_is_named() -> None:
    problems = refused(
        "tiny", "classes.k2-agentic.slo.tpot=1 ms", "classes.flash-chat.slo.tpot=0.1 ms", kind=Unmeetable
    )
    assert {p.keys for p in problems} == {
        ("classes", name, "slo", "tpot") for name in ("k2-agentic", "flash-chat")
    }


def test_tpot_that_is_just_reached_is_planned_with() -> None:
    """A sequence alone on an instance is the fastest there is: at its pace the demand can be met, below not.

    Every iteration reads weights for one token, waits its overhead and reads the sequence's own KV.
    """
    facility, gpu = CATALOG.devices.facility, CATALOG.accelerator("B300-SXM")
    card = CATALOG.model("kimi-k2")
    tokens = 60_000 - 423 / 2
    fastest = min(
        decode_step(
            gpu, card, card.weight("int4"), shape, facility, sequences=1,
            kv_read=read(card.components, "bf16", tokens), context=tokens, tokens_per_step=1, index_reuse=1,
        ).total
        for shape in card.shapes if shape.accelerator == gpu.id and shape.gpus <= 32
    )  # fmt: skip
    built("tiny", f"classes.k2-agentic.slo.tpot={fastest * 1.001!r} s")
    refused("tiny", f"classes.k2-agentic.slo.tpot={fastest * 0.999!r} s", kind=Unmeetable)


def test_ttft_that_nothing_reaches_says_have_and_need() -> None:
    (problem,) = refused("tiny", "classes.k2-agentic.slo.ttft=10 ms", kind=Unmeetable)
    assert problem.keys == ("classes", "k2-agentic", "slo", "ttft")
    assert "have: at best 0.0%" in problem.message
    assert "need: 90.0%" in problem.message
    assert "smallest fix" in problem.remedy


def test_floor_that_no_option_is_within_names_the_model() -> None:
    (problem,) = refused("tiny", "options.kimi-k2={only: [int4-turboquant]}")
    assert "kimi-k2" in problem.path
    assert "0 pt" in problem.message
    assert "quality_floor" in problem.remedy


# ---- HBM ------------------------------------------------------------------------------------------------

K3 = ("kimi-only", "classes.kimi-chat.slo.ttft=60 s", "classes.kimi-agentic.slo.ttft=60 s")
FITS = {
    "16 x B200": ("HGX-B200-8: {max: 2}", 16),
    "8 x B300": ("HGX-B300-8: {max: 1}", 8),
    "16 x GB200": ("GB200-NVL72-RACK: {max: 1}", 16),
}


@pytest.mark.parametrize(("servers", "gpus"), FITS.values(), ids=FITS)
def test_k3_starts_where_its_weights_fit(servers: str, gpus: int) -> None:
    """Case B7: 1,680 GB with runtime."""
    instance = built(*K3, f"hardware.servers={{{servers}}}")
    smallest = min(instance.pools, key=lambda p: p.gpus)
    assert smallest.gpus == gpus
    assert smallest.room > 0


def test_shape_that_leaves_no_room_names_hbm() -> None:
    """Case B7 with the shape of 8 x B200 (1,536 GB) that the card does not list."""
    card = CATALOG.model("kimi-k3")
    eight = next(s for s in card.shapes if s.accelerator == "B200-SXM").model_copy(
        update={"gpus": 8, "tensor_parallel": 8, "data_parallel": 1}
    )
    catalog = replace(
        CATALOG, models={**CATALOG.models, "kimi-k3": card.model_copy(update={"shapes": (eight,)})}
    )
    with pytest.raises(Unmeetable) as caught:
        build(workload(*K3, "hardware.servers={HGX-B200-8: {}}"), catalog)
    (problem,) = caught.value.problems
    assert "kimi-k3" in problem.message
    assert "HGX-B200-8" in problem.message
    assert "HBM" in problem.message


@pytest.mark.parametrize("limits", ["max: 1", "max: 4, supply: 1", "max: 4, supply: 0, owned: 1"])
def test_k3_on_one_server_of_b200_names_hbm(limits: str) -> None:
    """Case B7: 8 x B200 hold 1,536 GB."""
    (problem,) = refused(*K3, f"hardware.servers={{HGX-B200-8: {{{limits}}}}}", kind=Unmeetable)
    for words in ("kimi-k3", "HBM is the limiting resource", "1.56 TB", "1 x HGX-B200-8 show 1.54 TB"):
        assert words in problem.message


def test_model_without_a_shape_on_the_servers_says_so() -> None:
    (problem,) = refused(*K3, "hardware.servers={HGX-H100-8: {}}", kind=Unmeetable)
    for words in ("kimi-k3", "lists no instance shape", "H100"):
        assert words in problem.message
    assert "B300" in problem.remedy


# ---- what is asked for and is not there -------------------------------------------------------------------


HELD = "classes.flash-chat.shared_prefix.held_in="
NOWHERE = {
    "storage": ("tiers.storage.enabled=false",),
    "dram_pool": ("tiers.dram_pool.enabled=false",),
    "dram": ("tiers.dram.scope=pooled",),
}
"""What takes away the tier."""


@pytest.mark.parametrize("tier", NOWHERE)
def test_shared_prefix_in_a_tier_that_is_not_there_is_refused(tier: str) -> None:
    (problem,) = refused(*ALL_TIERS, *NOWHERE[tier], HELD + tier)
    assert problem.keys == ("classes", "flash-chat", "shared_prefix", "held_in")
    assert f"no {tier} is offered" in problem.message
    there = problem.remedy.removeprefix("one of: ").split(", ")
    assert tier not in there
    for other in there:
        held_in(other, *NOWHERE[tier])


@pytest.mark.parametrize("tier", NOWHERE)
def test_shared_prefix_lies_where_it_is_to_be_held(tier: str) -> None:
    held_in(tier)


def held_in(tier: str, *overrides: str) -> None:
    """Every option of the class keeps it there."""
    instance = built(*ALL_TIERS, *overrides, HELD + tier)
    tiers = {s.id: s.tier for s in instance.stores}
    held = {(p.cls, p.option) for p in instance.shared_prefixes}
    assert held == {("flash-chat", o.id) for o in instance.options if o.model == "deepseek-v4-flash"}
    assert {tiers[p.store] for p in instance.shared_prefixes} == {tier}


def test_decode_that_was_measured_is_admitted() -> None:
    """K2.5 INT4 TP8 on MI355X gave 34.7 tok/s to each of 8 users (facts/physics.md, test data): 29 ms."""
    built("tiny", "hardware.servers={MI355X-8: {}}", "classes.k2-agentic.slo={ttft: 60 s, tpot: 50 ms}")

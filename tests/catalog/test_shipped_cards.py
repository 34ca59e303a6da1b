"""The shipped cards: complete, consistent with each other, and equal to the published numbers."""

from __future__ import annotations

import re

import pytest

from optimizer.catalog import Basis, Figure, Price, figures_in, load_catalog
from optimizer.files import data_path

CATALOG = load_catalog()
DEVICES = CATALOG.devices
CARDS = sorted(CATALOG.models.values(), key=lambda card: card.id)
MODELS = sorted([
    "deepseek-v3.2", "deepseek-v4-flash", "deepseek-v4-pro", "kimi-k2", "kimi-k3", "llama-3.1-70b",
    "deepseek-v4.1-flash", "glm-5", "glm-5.2", "kimi-linear-48b", "longcat-2.0", "longcat-flash",
    "mimo-v2-flash", "mimo-v2.5-pro", "qwen3-235b-a22b", "qwen3.5-122b-a10b", "qwen3.5-397b-a17b",
])
ALL = [("devices", DEVICES), *((card.id, card) for card in CARDS)]


def total(card, profile, kind, *, snapshot=False):
    """Bytes of one kind of component, one copy: per token if linear, per sequence otherwise."""
    return sum(part.layers * part.bytes[profile] / part.stride * (part.window or 1)
               for part in card.components
               if part.kind == kind and not part.draft and (part.in_snapshot or not snapshot))


def test_every_model_is_there_and_lies_in_a_file_of_its_name():
    assert sorted(CATALOG.models) == MODELS
    assert sorted(file.stem for file in (data_path("models") / "llms").glob("*.yaml")) == MODELS


@pytest.mark.parametrize(("name", "card"), ALL, ids=[name for name, _ in ALL])
def test_every_figure_says_where_it_comes_from(name, card):
    found = list(figures_in(card))
    assert len(found) > 10
    for where, block in found:
        assert block.source in card.sources, where
        if isinstance(block, (Figure, Price)):
            assert block.date, where
            assert isinstance(block.basis, Basis), where


@pytest.mark.parametrize(("name", "card"), ALL, ids=[name for name, _ in ALL])
def test_every_source_of_a_card_is_used_or_mentioned(name, card):
    used = {block.source for _, block in figures_in(card)}
    notes = " ".join(getattr(block, "note", "") for _, block in figures_in(card))
    assert {key for key in card.sources if key not in used and key not in notes} == set()


def test_every_price_range_is_in_order():
    for name, card in ALL:
        for where, block in figures_in(card):
            if isinstance(block, Price):
                assert 0 <= block.low <= block.base <= block.high, (name, where)


def test_no_address_or_note_names_this_machine():
    for file in data_path("models").rglob("*"):
        if file.is_file():
            assert not re.search(r"/(work|home|root|tmp)/", file.read_text()), file


@pytest.mark.parametrize(("name", "profile", "growth", "window", "state"), [
    ("deepseek-v3.2", "bf16", 78_324, 0, 0),
    ("deepseek-v3.2", "fp8", 48_068, 0, 0),
    ("deepseek-v3.2", "fp8_fp4idx", 44_164, 0, 0),
    ("deepseek-v3.2", "fp8_tensor", 43_188, 0, 0),
    ("deepseek-v3.2", "nvfp4", 34_404, 0, 0),
    ("deepseek-v4-flash", "bf16", 6_880, 5_636_096, 11_345_920),
    ("deepseek-v4-flash", "fp8", 3_514.25, 3_214_336, 11_345_920),
    ("deepseek-v4-flash", "fp8_fp8idx", 3_850.25, 3_214_336, 11_345_920),
    ("deepseek-v4-flash", "nvfp4", 2_769, 2_113_536, 11_345_920),
    ("deepseek-v4-flash", "vllm_page", 3_915, 3_219_840, 11_345_920),
    ("deepseek-v4-pro", "fp8", 5_031.4375, 4_559_872, 17_481_728),
    ("deepseek-v4-pro", "fp8_fp8idx", 5_511.4375, 4_559_872, 17_481_728),
    ("deepseek-v4-pro", "vllm_page", 5_609.25, 4_567_680, 17_481_728),
    ("deepseek-v4.1-flash", "fp4", 890, 2_703_360, 24_576),
    ("deepseek-v4.1-flash", "fp8", 1_650, 2_703_360, 24_576),
    ("deepseek-v4.1-flash", "bf16", 3_200, 5_242_880, 24_576),
    ("glm-5", "fp8", 61_464, 0, 0),
    ("glm-5.2", "fp8", 53_940, 0, 0),
    ("glm-5.2", "nvfp4", 36_468, 0, 0),
    ("longcat-2.0", "bf16", 92_568, 0, 0),
    ("longcat-2.0", "fp8", 54_872, 0, 0),
    ("longcat-flash", "bf16", 64_512, 0, 0),
    ("kimi-linear-48b", "bf16", 8_064, 0, 43_417_600),
    ("kimi-linear-48b", "bf16_bf16state", 8_064, 0, 22_446_080),
    ("kimi-k3", "bf16", 27_648, 0, 449_372_160),
    ("kimi-k3", "fp8", 13_824, 0, 449_372_160),
    ("kimi-k3", "bf16_bf16state", 27_648, 0, 232_316_928),
    ("kimi-k2", "bf16", 70_272, 0, 0),
    ("kimi-k2", "fp8", 35_136, 0, 0),
    ("kimi-k2", "fp8_dsmla", 40_016, 0, 0),
    ("llama-3.1-70b", "bf16", 327_680, 0, 0),
    ("llama-3.1-70b", "fp8", 163_840, 0, 0),
    ("qwen3-235b-a22b", "bf16", 192_512, 0, 0),
    ("qwen3.5-397b-a17b", "bf16", 30_720, 0, 192_061_440),
    ("qwen3.5-397b-a17b", "fp8_bf16state", 15_360, 0, 97_689_600),
    ("qwen3.5-397b-a17b", "nvfp4", 8_640, 0, 192_061_440),
    ("qwen3.5-122b-a10b", "bf16", 24_576, 0, 153_649_152),
    ("qwen3.5-122b-a10b", "fp8_bf16state", 12_288, 0, 78_151_680),
    ("mimo-v2-flash", "bf16", 23_040, 25_559_040, 0),
    ("mimo-v2-flash", "fp8", 11_520, 12_779_520, 0),
    ("mimo-v2-flash", "nvfp4", 6_480, 7_188_480, 0),
    ("mimo-v2.5-pro", "bf16", 51_200, 39_321_600, 0),
    ("mimo-v2.5-pro", "nvfp4", 14_400, 11_059_200, 0),
])
def test_bytes_of_a_context(name, profile, growth, window, state):
    card = CATALOG.model(name)
    assert total(card, profile, "linear") == growth
    assert total(card, profile, "window") == window
    assert total(card, profile, "state") == state


def test_turboquant_is_its_published_ratio():
    card = CATALOG.model("kimi-k2")
    ratio = total(card, "bf16", "linear") / total(card, "turboquant", "linear")
    assert ratio == pytest.approx(3.76, rel=1e-5)


def test_published_checks_that_are_sums_of_components():
    gib = 2**30
    v32, pro, flash = (CATALOG.model(f"deepseek-{name}") for name in ("v3.2", "v4-pro", "v4-flash"))
    assert total(v32, "bf16_bf16idx", "linear") * 2**20 == pytest.approx(83.9 * gib, rel=1e-3)
    bf16 = total(pro, "bf16", "linear") * 2**20 + total(pro, "bf16", "window")
    assert bf16 == pytest.approx(9.62 * gib, rel=1e-3)
    latents_360 = total(flash, "fp8_fp8idx", "linear") / total(flash, "nvfp4_360", "linear")
    assert latents_360 == pytest.approx(1.47, rel=0.01)
    recurrent = next(part for part in CATALOG.model("kimi-k3").components if part.name == "kda-recurrent")
    assert recurrent.bytes["bf16"] / 8 == 0.75 * 2**20


def test_a_snapshot_of_v4_leaves_out_the_c128_buffers():
    """Pro is about 5.8 MB at a 128-aligned boundary, not the 22 MB that a running sequence holds."""
    pro = CATALOG.model("deepseek-v4-pro")
    running = total(pro, "fp8", "window") + total(pro, "fp8", "state")
    stored = total(pro, "fp8", "window", snapshot=True) + total(pro, "fp8", "state", snapshot=True)
    assert running == 22_041_600
    assert stored == pytest.approx(5.8e6, rel=0.01)


@pytest.mark.parametrize(("name", "routed", "other"), [
    ("deepseek-v3.2", 654, 17.1), ("deepseek-v4-pro", 822, 26), ("deepseek-v4-flash", 147, 7),
    ("kimi-k2", 571, 23.6), ("kimi-k3", 1446, 114.5), ("llama-3.1-70b", 0, 141),
    ("deepseek-v4.1-flash", 289, 18), ("glm-5", 725, 18.5), ("glm-5.2", 725, 18), ("longcat-2.0", 1469, 38.6),
    ("longcat-flash", 541, 21.3), ("kimi-linear-48b", 94.2, 4.0),
    ("qwen3.5-397b-a17b", 387, 10.5), ("qwen3.5-122b-a10b", 116, 7.7), ("qwen3-235b-a22b", 227.1, 9.3),
    ("mimo-v2-flash", 302.8, 9.9), ("mimo-v2.5-pro", 1000, 31.8),
])
def test_weights_of_the_default_option(name, routed, other):
    card = CATALOG.model(name)
    weights = card.weight(next(option.weights for option in card.options if option.default))
    assert (float(weights.routed_bytes), float(weights.other_bytes)) == (routed * 1e9, other * 1e9)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.id)
def test_only_what_is_shipped_or_published_has_a_quality_loss(card):
    default = next(option for option in card.options if option.default)
    assert default.quality_loss is not None
    assert default.quality_loss.value == 0
    assert "any" in default.accelerators, "the default runs everywhere"


def has_room(card, option, shape):
    """Whether a shape holds an option's weights and two contexts of 128 Ki tokens."""
    accelerator, weights = CATALOG.accelerator(shape.accelerator), card.weight(option.weights)
    room = accelerator.visible_bytes.value * DEVICES.facility.hbm_utilisation.value
    room -= DEVICES.facility.runtime_bytes.value + weights.other_bytes.value / shape.tensor_parallel
    room -= weights.routed_bytes.value * shape.redundancy / shape.gpus
    context = 0.0
    for part in card.components:
        entries = {"linear": 131_072 // part.stride, "window": part.window, "state": 1}[part.kind]
        pieces = 1 if part.replicated_under_tp else part.heads or shape.tensor_parallel
        on_a_rank = max(1 / pieces, 1 / shape.tensor_parallel)
        context += part.layers * part.bytes[option.profile] * entries * on_a_rank
    return room > 2 * context


NEEDS_LIGHTER_WEIGHTS = {
    (name, "RTX-PRO-6000-BSE", "nvfp4") for name in ("deepseek-v3.2", "glm-5.2")
}


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.id)
def test_every_shape_has_room_for_a_128k_context_and_few_stand_for_one_accelerator(card):
    """With the default option, or else with a format of lighter weights that runs there."""
    default = next(option for option in card.options if option.default)
    for shape in card.shapes:
        if not has_room(card, default, shape):
            family = CATALOG.accelerator(shape.accelerator).family
            runs = [o for o in card.options if {"any", family, shape.accelerator} & set(o.accelerators)]
            lighter = {o.weights for o in runs if has_room(card, o, shape)} - {default.weights}
            assert {(card.id, shape.accelerator, fmt) for fmt in lighter} & NEEDS_LIGHTER_WEIGHTS, shape
        if card.experts and shape.data_parallel > 1:
            assert card.experts.routed * shape.redundancy / shape.gpus == pytest.approx(
                -(-card.experts.routed // shape.gpus), rel=1e-3), "whole experts on every GPU"
    named = [shape.accelerator for shape in card.shapes]
    assert max(named.count(name) for name in named) <= 3


def test_the_enclosure_rebuilds_the_published_pool():
    """8 TB for 16 hosts: 32 modules, the enclosure and 16 adapters at $61.7k, $240k and $369k."""
    pool = CATALOG.cxl_enclosure("XC50256-POOL")
    module, adapter = CATALOG.cxl_module("CZ122-256"), CATALOG.cxl_adapter(pool.adapter)
    assert pool.module_slots * module.bytes.value == 8192e9
    for preset, published in (("low", 61_700), ("base", 240_000), ("high", 369_000)):
        price = pool.module_slots * getattr(module.price, preset) + getattr(pool.price, preset)
        price += pool.ports * getattr(adapter.price, preset)
        assert price == pytest.approx(published, rel=0.01)
    watts = pool.module_slots * module.power.value + pool.power.value
    assert watts == pytest.approx(700, rel=0.01)


def test_a_rack_has_the_memory_its_trays_show():
    for name in ("GB200-NVL72-RACK", "GB300-NVL72-RACK"):
        assert float(CATALOG.server(name).fixed_memory.bytes) == 18 * 860_160 * 2**20


def test_a_vera_rubin_rack_is_36_processors_of_eight_socamm():
    rack, module = CATALOG.server("VR200-NVL72-RACK"), CATALOG.dimm("LPDDR5X-SOCAMM")
    assert rack.fixed_memory.bytes.value == 36 * 8 * module.bytes.value
    assert 36 * 8 * module.price.base < 2.0016e6, "the rack's memory and NVMe together"


def test_a_rack_pools_its_memory_over_the_lesser_of_two_links():
    """A byte of another tray leaves by its processor's C2C and arrives by NVLink."""
    pooled = [s for s in DEVICES.servers if s.fixed_memory is not None and s.fixed_memory.pool is not None]
    assert {s.id for s in pooled} == {"GB200-NVL72-RACK", "GB300-NVL72-RACK", "VR200-NVL72-RACK"}
    for rack in pooled:
        part, pool = CATALOG.accelerator(rack.accelerator), rack.fixed_memory.pool
        assert pool.remote_read.value == min(part.host_link.read.value, part.scale_up.bandwidth.value)
        assert pool.hosts * 4 == rack.accelerators == part.scale_up.domain
        both_ways = rack.accelerators * part.host_link.both.value
        assert both_ways == pytest.approx(rack.dram_bandwidth.value, rel=1e-3)


def test_every_pool_says_what_it_is_read_over():
    assert CATALOG.server("GB300-NVL72-RACK").pooled_over == ("NVLink5 + C2C", 18)
    assert CATALOG.server("DRAM-NODE").pooled_over == ("RDMA", None)
    assert CATALOG.server("MI455X-HELIOS72-RACK").pooled_over == ("RDMA", None), "each tray's own"
    assert {pool.protocol for pool in DEVICES.cxl_enclosures} == {"CXL 2.0"}


def test_a_module_of_cxl_3_runs_at_the_speed_of_its_slot():
    pool = CATALOG.cxl_enclosure("XC50256-POOL")
    speeds = {name: pool.module_bandwidth(CATALOG.cxl_module(name)) for name in pool.modules}
    assert CATALOG.cxl_module("CMM-D3.1-1TB").bandwidth.value == 48e9
    assert speeds == {"CMM-D-256": 22.5e9, "CMM-D-512": 22.5e9, "CZ122-256": 24e9, "CMM-D3.1-1TB": 24e9}


def test_populations_fill_the_channels_evenly():
    channels = {"HGX-H100-8": 16, "HGX-H200-8": 16, "HGX-B200-8": 16, "HGX-B300-8": 16, "RUBIN-CPX-8": 16,
                "RTX6000PRO-8": 16, "MI300X-8": 24, "MI325X-8": 24, "MI355X-8": 24, "DRAM-NODE": 24,
                "STORAGE-NODE-24xE3S": 12}
    assert set(channels) == {server.id for server in DEVICES.servers if server.populations}
    for name, count in channels.items():
        server = CATALOG.server(name)
        assert all(population.count % count == 0 and population.count <= 32
                   for population in server.populations), name
        sizes = [population.count * CATALOG.dimm(population.dimm).bytes.value
                 for population in server.populations]
        assert sizes == sorted(sizes), name


def test_only_e1s_drives_go_into_an_nvl72():
    rack, node = CATALOG.server("GB200-NVL72-RACK"), CATALOG.server("HGX-B200-8")
    fits = {drive.id for drive in DEVICES.drives if rack.accepts(drive)}
    assert fits == {"9550-3.84", "9550-7.68", "9650-PRO-15.36", "9650-PRO-30.72"}
    assert all(node.accepts(drive) for drive in DEVICES.drives)


def test_a_gen6_drive_in_a_gen5_bay_reads_at_gen5_speed():
    server, drive = CATALOG.server("HGX-B200-8"), CATALOG.drive("9650-PRO-30.72")
    assert drive.read.value == 28e9
    assert server.drive_read(drive) == 14.2e9
    assert server.drive_write(drive) == 14e9


def test_mrdimms_change_the_bandwidth_of_their_server():
    server = CATALOG.server("HGX-B200-8")
    widths = {population.dimm: server.memory_bandwidth(population) for population in server.populations}
    assert widths["RDIMM-64"] == 820e9
    assert widths["MRDIMM-64-8800"] == 16 * 70.4e9 // 1e9 * 1e9


def test_endurance_is_the_vendors_of_the_right_kind():
    drive = CATALOG.drive("9650-PRO-30.72")
    assert (drive.written_random.value, drive.written_sequential.value) == (56_064e12, 282_600e12)
    for drive in DEVICES.drives:
        assert 0.2 < drive.written_random.value / (drive.bytes.value * 5 * 365) < 3.1, drive.id


def test_each_accelerator_has_its_own_efficiency():
    """One factor for all would make every plan buy AMD."""
    factors = {part.id: part.efficiency.hbm.value for part in DEVICES.accelerators}
    assert factors["MI355X"] < factors["MI300X"] < factors["B200-SXM"] < factors["H200-SXM"]
    assert all(value < 0.5 for value in factors.values()), "an operator's 0.8 is no serving factor"


NEAREST = {"VR200-NVL72": "B300-SXM", "RUBIN-CPX": "B300-SXM", "RTX-PRO-6000-BSE": "B200-SXM",
           "MI455X-HELIOS72": "MI355X"}


def test_what_nobody_measured_is_as_the_nearest_part_of_its_vendor_with_a_wider_band():
    for name, nearest in NEAREST.items():
        part, known = CATALOG.accelerator(name), CATALOG.accelerator(nearest)
        assert part.vendor == known.vendor
        for field in ("hbm", "step_overhead", "prefill", "decode_flops"):
            figure = getattr(part.efficiency, field)
            assert figure.value == getattr(known.efficiency, field).value, (name, field)
            assert figure.basis is Basis.ESTIMATED
            assert figure.note.startswith("carried over from"), (name, field)
        assert part.efficiency.error_band.value > known.efficiency.error_band.value


def test_bands_of_what_was_measured():
    for part in DEVICES.accelerators:
        if part.id not in NEAREST:
            assert part.efficiency.error_band.value == (0.5 if part.vendor == "AMD" else 0.3), part.id


def test_an_nvidia_factor_is_never_an_amd_one():
    for field in ("hbm", "prefill", "decode_flops", "step_overhead"):
        by_vendor: dict[str, set[float]] = {}
        for part in DEVICES.accelerators:
            by_vendor.setdefault(part.vendor, set()).add(getattr(part.efficiency, field).value)
        assert len(by_vendor) == 2
        assert set.intersection(*by_vendor.values()) == set(), field


def test_what_is_not_offered_by_default():
    parts = (*DEVICES.accelerators, *DEVICES.servers, *DEVICES.dimms, *DEVICES.drives, *DEVICES.cxl_modules,
             *DEVICES.cxl_enclosures)
    assert {part.id for part in parts if not part.enabled} == {
        "VR200-NVL72", "VR200-NVL72-RACK", "RUBIN-CPX", "RUBIN-CPX-8", "RTX-PRO-6000-BSE", "RTX6000PRO-8",
        "MI325X", "MI325X-8", "MI455X-HELIOS72", "MI455X-HELIOS72-RACK", "BF3-JBOF-24", "BF4-ICMS",
        "LPDDR5X-SOCAMM", "6600-ION-245", "CMM-D3.1-1TB", "CMM-B-2TB", "CMM-B"}


def test_a_server_is_off_where_its_accelerator_is():
    for server in DEVICES.servers:
        if server.accelerator is not None:
            assert server.enabled == CATALOG.accelerator(server.accelerator).enabled, server.id


def test_every_accelerator_is_in_a_server():
    assert {server.accelerator for server in DEVICES.servers} - {None} == {p.id for p in DEVICES.accelerators}


def test_a_peak_that_is_not_dense_does_not_stand():
    assert set(CATALOG.accelerator("VR200-NVL72").peak) == {"bf16", "fp8"}


def test_the_cards_that_no_fabric_joins_pay_for_every_exchange():
    assert [part.id for part in DEVICES.accelerators if part.scale_up.domain == 1] == [
        "RUBIN-CPX", "RTX-PRO-6000-BSE"]


def test_a_context_store_is_a_storage_node_of_about_150_tb():
    """What the announcement gives one BlueField-4; its flash is bought as drives."""
    node = CATALOG.server("BF4-ICMS")
    largest = max(drive.bytes.value for drive in DEVICES.drives if node.accepts(drive))
    assert node.drive_bays * largest == pytest.approx(150e12, rel=0.03)
    assert node.price.base + 150 * 400 == 110_000


def test_what_is_left_out_says_why_and_is_nowhere_else():
    lists = ("accelerators", "servers", "dimms", "drives", "cxl_modules", "cxl_enclosures", "cxl_adapters")
    known = {part.id for name in lists for part in getattr(DEVICES, name)}
    assert {"TPU-V7-IRONWOOD", "TRAINIUM3", "ASCEND-910C", "ASCEND-950DT"} <= {p.id for p in DEVICES.left_out}
    for part in DEVICES.left_out:
        assert part.id not in known
        assert len(part.why) > 40, part.id

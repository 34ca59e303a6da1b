"""What a changed question may still buy and run, and how fast its machines are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimizer.design.comparisons import changes
from optimizer.errors import InputError
from optimizer.instance import Tier
from optimizer.instance.build import build

from .beside import CATALOG, PRICES, asked


def populations(change: changes.Change, server: str) -> list[str]:
    return [f"{p.count} x {p.dimm}" for p in change.catalog.server(server).populations]


@pytest.mark.parametrize(("dimms", "kept"), [
    ("[RDIMM-32, RDIMM-64, RDIMM-96, RDIMM-128]", "32 x RDIMM-96"),  # 3.072 TB, as seen
    ("[RDIMM-32, RDIMM-64]", "32 x RDIMM-64"),
    ("[RDIMM-128, RDIMM-256]", "32 x RDIMM-128"),
])
def test_a_baseline_has_the_population_nearest_to_what_machines_carry(dimms, kept):
    change = changes.baseline(asked("tiny", f"hardware.dimms={dimms}").workload, CATALOG)
    assert populations(change, "HGX-B300-8") == [kept]
    assert bool(change.notes) == (kept != "32 x RDIMM-96")


def test_a_server_whose_card_does_not_say_keeps_its_choice():
    servers = tuple(s.model_copy(update={"typical_dram": None}) for s in CATALOG.devices.servers)
    silent = replace(CATALOG, devices=CATALOG.devices.model_copy(update={"servers": servers}))
    change = changes.baseline(asked("tiny", "hardware.dimms=[RDIMM-32, RDIMM-64]").workload, silent)
    assert len(populations(change, "HGX-B300-8")) > 1
    assert "its card does not say" in change.notes[0].text


def test_a_baseline_has_no_tier_no_codec_and_default_options():
    change = changes.baseline(asked(PRICES).workload, CATALOG)
    assert not any(getattr(change.workload.tiers, t.value).enabled for t in changes.BEYOND)
    assert change.workload.tiers.dram.enabled
    assert change.workload.options["kimi-k2"].only == ("int4-bf16",)
    instance = build(change.workload, change.catalog)
    assert {b.tier for b in instance.builds} == {None}
    assert not instance.enclosures
    assert {o.name for o in instance.options} == {"int4-bf16"}
    assert {x.codec for x in instance.locations} == {"plain"}


@pytest.mark.parametrize(("rule", "why"), [
    ("options.kimi-k2.exclude=[int4-bf16]", "by the workload"),
    ("options.kimi-k2.only=[fp8-bf16]", "by the workload"),
])
def test_a_default_that_is_excluded_is_said_to_be(rule, why):
    workload = asked(PRICES, rule).workload
    change = changes.baseline(workload, CATALOG)
    assert change.workload.options["kimi-k2"] == workload.options["kimi-k2"]
    said = [note.text for note in change.notes]
    assert f"its default option int4-bf16 is excluded {why}; the others stay" in said


@pytest.mark.parametrize(("update", "why"), [
    ({"quality_loss": None}, "for want of a published quality figure"),
    ({"quality_loss": 2.0}, "by the quality floor of 0 pt"),
    ({"accelerators": ("hopper",)}, "on every accelerator on offer"),
])
def test_a_default_that_a_card_excludes_is_said_to_be(update, why):
    card = CATALOG.model("kimi-k2")
    default = card.option("int4-bf16")
    if update.get("quality_loss"):
        loss = default.quality_loss.model_copy(update={"value": update["quality_loss"]})
        update = {"quality_loss": loss}
    options = tuple(o.model_copy(update=update) if o.default else o for o in card.options)
    changed = card.model_copy(update={"options": options})
    catalog = replace(CATALOG, models={**CATALOG.models, "kimi-k2": changed})
    notes = [n.text for n in changes.baseline(asked(PRICES).workload, catalog).notes]
    assert f"its default option int4-bf16 is excluded {why}; the others stay" in notes


def test_without_dram_leaves_the_smallest_population():
    change = changes.without(asked(PRICES).workload, CATALOG, Tier.DRAM)
    assert populations(change, "HGX-B300-8") == ["16 x RDIMM-32"]
    assert change.workload == asked(PRICES).workload


@pytest.mark.parametrize("tier", changes.BEYOND)
def test_without_a_tier_switches_it_off_and_nothing_else(tier):
    before = asked(PRICES).workload
    change = changes.without(before, CATALOG, tier)
    left = {name for name in type(before.tiers).model_fields
            if getattr(change.workload.tiers, name) != getattr(before.tiers, name)}
    assert left == {tier.value}
    assert change.catalog is CATALOG
    instance = build(change.workload, CATALOG)
    assert tier not in {s.tier for s in instance.stores}


@pytest.mark.parametrize(("tier", "change", "path"), [
    (Tier.NVME, "tiers.nvme.min_bytes=1 TB", "tiers.nvme.min_bytes"),
    (Tier.STORAGE, "hardware.servers.STORAGE-NODE-24xE3S.min=1", "hardware.servers.STORAGE-NODE-24xE3S.min"),
    (Tier.DRAM_POOL, "hardware.servers.DRAM-NODE.min=1", "hardware.servers.DRAM-NODE.min"),
    (Tier.CXL, "hardware.cxl_enclosures.XC50256-POOL.min=1", "hardware.cxl_enclosures.XC50256-POOL.min"),
])
def test_what_the_planner_insists_on_cannot_be_left_out(tier, change, path):
    workload = asked(PRICES, change).workload
    assert [p.path for p in changes.without(workload, CATALOG, tier).refused] == [path]
    assert [p.path for p in changes.baseline(workload, CATALOG).refused] == [path]
    others = [t for t in changes.BEYOND if t is not tier]
    assert not any(changes.without(workload, CATALOG, t).refused for t in others)


# ---- performance ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [-1, 1])
def test_factors_at_the_ends_of_the_band(end):
    change = changes.bent(asked("tiny").workload, CATALOG, end)
    for before, after in zip(CATALOG.devices.accelerators, change.catalog.devices.accelerators, strict=True):
        old, new = before.efficiency, after.efficiency
        factor = 1 + end * old.error_band.value
        for name in ("hbm", "prefill", "decode_flops"):
            assert getattr(new, name).value == pytest.approx(min(1.0, getattr(old, name).value * factor))
        for family, figure in new.prefill_by_family.items():
            assert figure.value == pytest.approx(min(1.0, old.prefill_by_family[family].value * factor))
        assert new.step_overhead.value == pytest.approx(old.step_overhead.value / factor)
        assert new.error_band == old.error_band


def test_no_factor_goes_beyond_the_whole():
    part = CATALOG.accelerator("B300-SXM")
    full = part.efficiency.hbm.model_copy(update={"value": 0.9})
    fast = part.model_copy(update={"efficiency": part.efficiency.model_copy(update={"hbm": full})})
    catalog = replace(CATALOG, devices=CATALOG.devices.model_copy(update={"accelerators": (fast,)}))
    (high,) = changes.bent(asked("tiny").workload, catalog, 1).catalog.devices.accelerators
    assert high.efficiency.hbm.value == 1.0


def test_a_band_that_leaves_nothing_is_refused():
    part = CATALOG.accelerator("B300-SXM")
    band = part.efficiency.error_band.model_copy(update={"value": 1.0})
    wide = part.model_copy(update={"efficiency": part.efficiency.model_copy(update={"error_band": band})})
    catalog = replace(CATALOG, devices=CATALOG.devices.model_copy(update={"accelerators": (wide,)}))
    with pytest.raises(InputError, match=r"B300-SXM.efficiency.error_band: leaves nothing at the low end"):
        changes.bent(asked("tiny").workload, catalog, -1)

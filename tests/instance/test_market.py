"""What can be bought is what the cards say: real DIMM populations, drives that fit their bays, no more."""

from __future__ import annotations

import pytest

from optimizer.instance import Build, Tier
from tests.instance.shipped import ALL_TIERS, CATALOG, built, refused

EVERY_SERVER = [s.id for s in CATALOG.devices.servers if s.kind == "accelerator" and s.enabled]
RACK = "GB200-NVL72-RACK"
NODES = ("DRAM-NODE", "STORAGE-NODE-24xE3S")
MANY = (
    "tiny",
    f"hardware.servers={{{', '.join(f'{name}: {{}}' for name in (*EVERY_SERVER, *NODES))}}}",
    "hardware.dimms=null",
    "hardware.drives=null",
    "tiers={}",
)
"""Every enabled server with every enabled part."""
SHARED = "classes.flash-chat.shared_prefix.held_in=hbm"


def machines() -> tuple[Build, ...]:
    """All builds of the study."""
    return built(*MANY).builds


@pytest.mark.parametrize("server", [*EVERY_SERVER, *NODES])
def test_dimm_populations_are_the_cards(server: str) -> None:
    """Channels x DIMMs per channel x size: none is invented, and their bytes and bandwidth add up."""
    card = CATALOG.server(server)
    allowed = {f"{p.count} x {p.dimm}": p for p in card.populations if CATALOG.dimm(p.dimm).enabled}
    mine = [b for b in machines() if b.server == server]
    if card.fixed_memory is not None:
        assert {b.dimms for b in mine} == {"fixed"}
        assert {b.dram_bytes for b in mine} == {card.fixed_memory.bytes.value}
        return
    found = {b.dimms for b in mine}
    assert found == set(allowed) or (card.kind == "storage_node" and found <= set(allowed))
    usable = CATALOG.devices.facility.dram_usable.value
    for b in mine:
        population = next(p for p in card.populations if f"{p.count} x {p.dimm}" == b.dimms)
        assert b.dram_bytes == population.count * CATALOG.dimm(population.dimm).bytes.value
        assert b.dram_usable == b.dram_bytes * usable
        assert b.dram_bytes_s == card.memory_bandwidth(population)


def test_drives_fit_their_bays() -> None:
    for b in machines():
        card = CATALOG.server(b.server)
        if not b.drives:
            assert (b.drive, b.nvme_bytes, b.nvme_endurance) == ("", 0.0, 0.0)
            continue
        drive = CATALOG.drive(b.drive)
        assert card.accepts(drive)
        assert b.drives <= card.drive_bays
        assert b.nvme_bytes == b.drives * drive.bytes.value
        assert b.nvme_read <= b.drives * min(drive.read.value, card.drive_link.value)
        assert b.nvme_write <= b.drives * min(drive.write.value, card.drive_link.value)
        rating = drive.written_sequential or drive.written_random
        assert b.nvme_endurance == b.drives * rating.value
        if b.tier is Tier.STORAGE:
            assert b.drives == card.drive_bays
            assert b.nvme_read <= card.nic_bandwidth.value


def test_racks_take_no_drive_but_e1s() -> None:
    """And there are some that are, so that the test means something."""
    drives = {b.drive for b in machines() if b.server == RACK and b.drive}
    assert drives
    assert all("E1.S" in CATALOG.drive(name).form_factors for name in drives)
    others = {d.id for d in CATALOG.devices.drives if d.enabled} - drives
    assert others
    assert not any("E1.S" in CATALOG.drive(name).form_factors for name in others)


def test_racks_get_no_drive_that_is_not_e1s_by_asking() -> None:
    asked = built("tiny", f"hardware.servers={{{RACK}: {{}}}}", "hardware.drives=[D5-P5336-61.44]")
    assert [b.drives for b in asked.builds] == [0]


def test_only_allowed_parts_are_offered() -> None:
    instance = built(*ALL_TIERS)
    assert {b.dimms.split(" x ")[-1] for b in instance.builds if b.tier is not Tier.STORAGE} <= {
        "RDIMM-64", "RDIMM-128",
    }  # fmt: skip
    assert {b.drive for b in instance.builds} == {"", "9550-7.68", "D5-P5336-61.44"}
    assert {e.module for e in instance.enclosures} <= set(CATALOG.cxl_enclosure("XC50256-POOL").modules)


def test_power_is_of_the_whole_machine() -> None:
    for b in machines():
        card = CATALOG.server(b.server)
        count, _, dimm = b.dimms.partition(" x ")
        parts = 0.0 if b.dimms == "fixed" else int(count) * CATALOG.dimm(dimm).power.value
        parts += b.drives * CATALOG.drive(b.drive).power.value if b.drive else 0.0
        ports, optics = CATALOG.devices.network.itemised[:2]
        port = ports.count * ports.power.value + optics.count * optics.power.value
        assert b.power_w == pytest.approx(card.max_power.value + card.nic_links * port + parts)
        assert b.rack_units == card.rack_units.value


@pytest.mark.parametrize(
    ("tier", "gone"),
    [("nvme", lambda b: b.sku and b.drives), ("dram_pool", lambda b: b.tier is Tier.DRAM_POOL),
     ("storage", lambda b: b.tier is Tier.STORAGE)],
)  # fmt: skip
def test_machines_of_a_disabled_tier_are_not_offered(tier: str, gone: object) -> None:
    assert any(map(gone, built(*ALL_TIERS).builds))  # type: ignore[arg-type]
    assert not any(map(gone, built(*ALL_TIERS, f"tiers.{tier}.enabled=false").builds))  # type: ignore[arg-type]


def test_counts_are_the_planners() -> None:
    limits = "{min: 1, max: 4, owned: 1, supply: 3}"
    (sku,) = built("tiny", f"hardware.servers={{HGX-B300-8: {limits}}}").skus
    assert (sku.minimum, sku.maximum, sku.owned, sku.supply) == (1, 4, 1, 3)


def test_server_without_a_build_is_refused() -> None:
    """No population of MI355X-8 or the DRAM node is made of MRDIMMs; racks have memory of their own, storage
    nodes need none that is asked for."""
    names = ("HGX-B300-8", "MI355X-8", RACK, *NODES)
    allowed = "hardware.servers={" + ", ".join(f"{name}: {{}}" for name in names) + "}"
    problems = refused("tiny", allowed, "hardware.dimms=[MRDIMM-64-8800]", "tiers.dram_pool.enabled=true")
    assert {p.keys for p in problems} == {("hardware", "servers", s) for s in ("MI355X-8", "DRAM-NODE")}
    assert all("DIMM" in p.message and "RDIMM-64" in p.remedy for p in problems)


@pytest.mark.parametrize("dimms", ["[MRDIMM-64-8800]", "[RDIMM-64]", "[RDIMM-128, RDIMM-96]", "null"])
def test_every_sku_can_be_bought(dimms: str) -> None:
    servers = f"hardware.servers={{HGX-B300-8: {{}}, {RACK}: {{}}}}"
    instance = built("tiny", servers, f"hardware.dimms={dimms}")
    assert {s.id for s in instance.skus} == {b.sku for b in instance.builds} == {"HGX-B300-8", RACK}


@pytest.mark.parametrize(
    ("policy", "field", "value"),
    [("min_bytes: 1 TB", "min_bytes", 1e12), ("max_bytes: 1 TB", "max_bytes", 1e12),
     ("eviction: lru", "lru", True)],
)  # fmt: skip
def test_pooled_dram_has_its_own_policy(policy: str, field: str, value: object) -> None:
    instance = built(*ALL_TIERS, f"tiers.dram={{scope: pooled, {policy}}}", SHARED)
    (store,) = (s for s in instance.stores if s.tier is Tier.DRAM_POOL)
    assert getattr(store, field) == value


def test_pooled_dram_holds_contexts() -> None:
    instance = built("tiny", "tiers.dram.scope=pooled")
    assert [s.id for s in instance.stores if s.tier is Tier.DRAM_POOL] == ["dram_pool@facility"]
    assert any(place.tier is Tier.DRAM_POOL for place in instance.locations)

"""What is pooled says over which protocol; what has no card says why."""

from __future__ import annotations

from io import StringIO

import pytest

from optimizer.catalog import load_catalog
from optimizer.errors import InputError
from optimizer.report import devices
from optimizer.report.console import show

CATALOG = load_catalog()
POOLS = {
    "GB200-NVL72-RACK": "NVLink5 + C2C, 18 trays",
    "VR200-NVL72-RACK": "NVLink6 + C2C, 18 trays",
    "XC50256-POOL": "CXL 2.0, 16 ports",
    "CMM-B": "CXL 2.0, 3 ports",
    "DRAM-NODE": "RDMA, the whole facility",
    "STORAGE-NODE-24xE3S": "RDMA, the whole facility",
}


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    """As wide as a page is where nobody says, whatever the terminal of the run."""
    monkeypatch.setenv("COLUMNS", "110")


def text(page) -> str:
    """A page as it is printed into a file."""
    stream = StringIO()
    show(page, stream)
    return stream.getvalue()


@pytest.mark.parametrize("name", POOLS)
def test_a_pool_says_its_protocol_in_the_list_and_on_its_page(name):
    rows = devices.offers(CATALOG)
    assert {o.pool for o in rows if o.id == name} == {POOLS[name]}
    assert next(row for row in devices.devices_json(rows) if row["id"] == name)["pool"] == POOLS[name]
    listed = [line.split() for line in text(devices.devices_table(rows)).splitlines()]
    assert [name, *POOLS[name].split()] in listed
    kind, card = devices.device(CATALOG, name)
    stated = devices.statements(CATALOG, card)
    assert stated[0].note == POOLS[name]
    shown = " ".join(text(devices.device_page(kind, name, stated)).split())
    assert f" pool {POOLS[name]} " in shown


@pytest.mark.parametrize("name", ["HGX-B300-8", "MI455X-HELIOS72-RACK", "RDIMM-64", "CMM-D-256"])
def test_what_is_one_host_s_own_is_no_pool(name):
    assert {o.pool for o in devices.offers(CATALOG) if o.id == name} == {""}
    assert "pool" not in {row.name for row in devices.statements(CATALOG, devices.device(CATALOG, name)[1])}


def test_a_part_without_a_card_says_why():
    with pytest.raises(InputError, match=r"TRAINIUM3 has no card: rented in Amazon's cloud and not sold"):
        devices.device(CATALOG, "TRAINIUM3")

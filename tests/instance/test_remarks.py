"""What a result says about its money: choices that flip inside the bands, leases that are renewed."""

from __future__ import annotations

import pytest

from optimizer.instance.money.remarks import warnings
from tests.instance.shipped import CATALOG, WORKLOADS, built, workload

BOTH = "hardware.servers={HGX-B200-8: {}, GB200-NVL72-RACK: {}}"


def said(*overrides: str) -> tuple[str, ...]:
    return warnings(workload("tiny", *overrides), CATALOG)


def test_a_result_that_offers_both_says_that_the_choice_flips() -> None:
    (warning,) = built("tiny", BOTH).warnings
    assert "HGX-B200-8 at $47,500 to $62,500" in warning
    assert "GB200-NVL72-RACK at $43,056 to $62,500" in warning
    assert "flips inside these bands" in warning


@pytest.mark.parametrize("ownership", ["purchase", "rent"])
def test_so_does_one_that_rents_both(ownership: str) -> None:
    (warning,) = said(BOTH, f"economics.ownership={ownership}")
    assert ("a GPU-hour" in warning) == (ownership == "rent")


@pytest.mark.parametrize(
    "servers",
    ["{HGX-B200-8: {}}", "{HGX-B200-8: {}, HGX-B300-8: {}}", "{HGX-H200-8: {}, GB200-NVL72-RACK: {}}",
     "{HGX-H100-8: {}, HGX-H200-8: {}}"],
)  # fmt: skip
def test_others_do_not(servers: str) -> None:
    """One server, two of one domain, two families: nothing that the published figures contradict."""
    assert said(f"hardware.servers={servers}") == ()


@pytest.mark.parametrize(
    ("prices", "count"),
    [("{HGX-B200-8: $420k, GB200-NVL72-RACK: $4M}", 0), ("{HGX-B200-8: $300k}", 0),
     ("{HGX-B200-8: $420k}", 1)],
)  # fmt: skip
def test_quotes_end_it(prices: str, count: int) -> None:
    """Two quotes have no band; one quote is below the other's band, or inside it."""
    assert len(said(BOTH, f"prices.servers={prices}")) == count


def test_a_lease_has_one_price_and_no_band() -> None:
    assert not any("flips" in text for text in said(BOTH, "economics.ownership=lease"))


@pytest.mark.parametrize(
    ("horizon", "words"),
    [("5 years", "renewed at the same price"), ("1 year", "the commitment beyond the horizon is not"),
     ("3 years", "")],
)  # fmt: skip
def test_a_lease_says_what_comes_after_its_term(horizon: str, words: str) -> None:
    found = said("economics.ownership=lease", f"economics.horizon={horizon}")
    assert len(found) == bool(words)
    assert all(words in text and "3 years" in text for text in found)


def test_the_shipped_workloads_offer_no_such_choice() -> None:
    offered = {name: set(workload(name).hardware.servers) for name in WORKLOADS}
    racks = {s.id for s in CATALOG.devices.servers if s.accelerators > 8}
    for name, servers in offered.items():
        assert bool(warnings(workload(name), CATALOG)) == bool(servers & racks)

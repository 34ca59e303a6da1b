"""Trap 6: GB200 racks at the $2.0-2.5M of 2024.

Published ownership figures put a GPU of the rack above one of HGX-B200 ($2.21 against $1.95 an hour over four
years); such a rack would be far below (docs/physics.md section 8), and is bought where servers of eight
are cheaper.
"""

from __future__ import annotations

import pytest

from optimizer.catalog import Catalog, Server
from optimizer.instance.money.ownership import TOLERANCE, Ownership, out_of_order, ownership

from .market import SHIPPED, cheaper, planned, servers, with_servers

HGX, RACK = "HGX-B200-8", "GB200-NVL72-RACK"
V4 = (
    "classes.agents.model=deepseek-v4-pro",
    "options={}",
    "classes.agents.peak_rate=120 req/s",
    f"hardware.servers={{{HGX}: {{}}, {RACK}: {{}}}}",
    "hardware.drives=[9650-PRO-15.36]",
)
UNDERPRICED = (2.0e6, 2.5e6)
"""Trap on: USD a rack."""


def at(usd: float) -> Catalog:
    """The catalogue with a rack at that price."""

    def cut(server: Server) -> Server:
        return server.model_copy(update={"price": server.price.model_copy(update={"base": usd})})

    return with_servers(SHIPPED, {RACK}, cut)


def hour(catalog: Catalog) -> dict[str, Ownership]:
    """What an accelerator-hour costs to own over four years, beside the published figure."""
    return {row.server: row for row in ownership(catalog) if row.server in (HGX, RACK)}


@pytest.mark.parametrize("usd", UNDERPRICED)
def test_trap_on_racks_are_bought(usd: float) -> None:
    """One rack where eight servers of eight are the cheaper order."""
    wrong, right = planned(*V4, catalog=at(usd)), planned(*V4)
    assert servers(wrong) == {RACK: 1}
    assert servers(right).keys() == {HGX}
    assert cheaper(wrong, right)


@pytest.mark.parametrize("usd", UNDERPRICED)
def test_trap_on_the_published_figures_are_far_off(usd: float) -> None:
    """Dearer by 13% as published, cheaper by more than a third: no band explains that."""
    wrong = hour(at(usd))
    assert wrong[RACK].published > 1.1 * wrong[HGX].published
    assert wrong[RACK].usd < 0.7 * wrong[HGX].usd
    assert wrong[RACK].deviation < -TOLERANCE


def test_shipped_price_is_within_the_tolerance() -> None:
    assert SHIPPED.server(RACK).price.low > 2.5e6
    assert all(abs(row.deviation) < TOLERANCE for row in hour(SHIPPED).values())


def test_shipped_price_buys_no_rack_here() -> None:
    assert servers(planned(*V4)).keys() == {HGX}


def test_shipped_result_says_that_the_choice_flips_inside_the_band() -> None:
    assert any("flips" in (text := str(w)) and RACK in text and HGX in text for w in planned(*V4).warnings)


def test_shipped_prices_keep_the_order_of_the_table() -> None:
    """GB200 above B200, as published."""
    assert not list(out_of_order(tuple(hour(SHIPPED).values())))

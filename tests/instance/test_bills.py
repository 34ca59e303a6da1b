"""Bills: power and room are paid once, what is left is a curve, owned servers spare what was paid."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from optimizer.catalog import Resale
from optimizer.design import plan
from optimizer.instance.hardware import Market
from optimizer.instance.money import YEAR
from optimizer.report.console import show
from optimizer.report.reasons import costs
from optimizer.solver import SolveOptions
from optimizer.workload import load_workload
from tests.instance.shipped import ALL_TIERS, CATALOG, built, workload
from tests.instance.test_money import DEVICES, money, usd

# ---- power and room -------------------------------------------------------------------------------------


def test_an_own_building_pays_overhead_and_no_rent() -> None:
    hosted, own = money(), money("economics.space=owned-building")
    assert (hosted.electricity() * 3.6e6, own.electricity() * 3.6e6) == pytest.approx((0.085, 0.085 * 1.3))
    assert (hosted.room() * 1e3 * YEAR / 12, own.room()) == pytest.approx((195.0, 0.0))


def test_the_planners_building() -> None:
    own = money("economics.space=owned-building", "prices.pue=1.1", "prices.electricity=$0.10/kWh")
    assert own.electricity() * 3.6e6 == pytest.approx(0.11)
    hosted = money("prices.colocation=$120/kW-month", "prices.electricity=x2")
    assert hosted.room() * 1e3 * YEAR / 12 == pytest.approx(120.0)
    assert hosted.electricity() * 3.6e6 == pytest.approx(0.17)


def test_rent_that_contains_the_electricity() -> None:
    apart, together = built(*ALL_TIERS), built(*ALL_TIERS, "economics.colocation_includes_energy=true")
    for one, other in zip(apart.builds, together.builds, strict=True):
        assert usd(one.cost, "energy") > 0
        assert usd(other.cost) == pytest.approx(usd(one.cost) - usd(one.cost, "energy"))
        assert "energy" not in {line.component for line in other.cost}


# ---- what is left ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("months", "share"), [(36, 0.30), (60, 0.30 ** (60 / 36)), (48, 0.30 ** (48 / 36))])
def test_residual_value_is_a_curve(months: int, share: float) -> None:
    (machine, *_) = built("tiny", f"economics.horizon={months} months", "economics.discount=0.0").builds
    assert usd(machine.cost, "residual value") == pytest.approx(-share * machine.capex_usd)


def test_a_planners_residual_is_of_every_part() -> None:
    (machine, *_) = built("tiny", "economics.residual_36_months=50%", "economics.horizon=36 months").builds
    assert usd(machine.cost, "residual value") == pytest.approx(-0.5 * 1.09**-3 * machine.capex_usd)
    (none, *_) = built("tiny", "economics.residual_36_months=0%").builds
    assert "residual value" not in {line.component for line in none.cost}


@pytest.mark.parametrize(
    ("kind", "components"),
    [("servers", ("accelerator servers", "dram nodes", "storage nodes")), ("memory", ("dram",)),
     ("drives", ("nvme",)), ("network", ("switch ports", "optics"))],
)  # fmt: skip
def test_a_kind_of_part_may_keep_its_worth_differently(kind: str, components: tuple[str, ...]) -> None:
    usual = DEVICES.facility.residual_36_months
    better = usual.model_copy(update={"base": 0.9})
    facility = DEVICES.facility.model_copy(update={"residual_by_kind": {Resale(kind): better}})
    catalog = replace(CATALOG, devices=DEVICES.model_copy(update={"facility": facility}))
    question = workload(*ALL_TIERS)
    gain = (0.9 ** (60 / 36) - 0.3 ** (60 / 36)) * 1.09**-5
    kept = zip(Market(question, CATALOG).builds(), Market(question, catalog).builds(), strict=True)
    for before, after in kept:
        assert before.usd - after.usd == pytest.approx(gain * usd(before.cost, *components))


# ---- owned ----------------------------------------------------------------------------------------------

OWNED = "hardware.servers={HGX-B300-8: {max: 4, owned: 2}}"


def test_owned_servers_spare_their_price() -> None:
    (sku,) = built("tiny", OWNED).skus
    assert sku.owned_saving_usd == 520_000


def test_owned_servers_spare_what_is_charged_once_on_them() -> None:
    lines = "economics.lines={freight: 2%, tax: 10%, support: on, optics: on, installation: off}"
    (sku,) = built("tiny", OWNED, lines).skus
    assert sku.owned_saving_usd == pytest.approx(520_000 * 1.12)


def test_old_servers_bring_less_at_the_end() -> None:
    """Two years old now, seven at the end: worth f^(84/36) instead of f^(60/36) of the price."""
    (sku,) = built("tiny", OWNED, "economics.owned_age.HGX-B300-8=24 months").skus
    less = (0.3 ** (60 / 36) - 0.3 ** (84 / 36)) * 1.09**-5
    assert sku.owned_saving_usd == pytest.approx(520_000 * (1 - less))


def test_a_rack_is_bought_72_at_a_time() -> None:
    (sku,) = built("tiny", "hardware.servers={GB200-NVL72-RACK: {}}").skus
    assert (sku.gpus, sku.minimum_order) == (72, 1)


# ---- the whole bill -------------------------------------------------------------------------------------


def test_every_line_stands_in_the_result_under_its_own_name() -> None:
    """Solved, checked exactly, and printed."""
    names = [card.id for card in (*DEVICES.network.itemised, *DEVICES.cost_lines)]
    lines = ", ".join(f"{name}: on" for name in names)
    question = load_workload("tiny", [f"economics.lines={{{lines}}}", "tiers.nvme.min_bytes=10 TB"])
    result = plan(question, CATALOG, SolveOptions())
    assert result.checks.exact is not None
    assert result.checks.exact.passed
    found = {c.component: c.usd for c in result.costs}
    assert {name.replace("-", " ") for name in names} <= set(found)
    assert sum(found.values()) == pytest.approx(result.objective_usd)
    shown = io.StringIO()
    show(costs(result), shown)
    assert all(name.replace("-", " ") in shown.getvalue() for name in names)

"""Rent and token bills against pencil and paper."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimizer.design.comparisons.bills import api_bill, billed, rent
from optimizer.design.render import tokens_out
from optimizer.design.tokens import Bill
from optimizer.physics.money import annuity

from .beside import CATALOG, asked, solved

HOURS = 8760


def test_rent_by_hand():
    best, workload = solved("tiny"), asked("tiny").workload
    (line,) = rent(workload, CATALOG, best.model, best.layout).lines
    gpus = 8 * sum(row.count for row in best.layout.servers)
    worth = annuity(0.09, 5)  # the cost of capital of the base preset, five years
    assert (line.accelerator, line.accelerators) == ("B300-SXM", gpus)
    assert line.low_usd == pytest.approx(gpus * 2.97 * HOURS * worth)
    assert line.base_usd == pytest.approx(gpus * 5.00 * HOURS * worth)
    assert line.high_usd == pytest.approx(gpus * 8.00 * HOURS * worth)
    assert line.layout_usd == pytest.approx(best.layout.objective_usd), "nothing but servers is bought"


def test_rent_is_discounted_as_the_layout_is():
    best = solved("tiny")
    for preset in ("low", "high"):  # the preset moves the cost of capital, not which quote is which
        workload = asked("tiny", f"economics.prices={preset}", "economics.discount=0%").workload
        (line,) = rent(workload, CATALOG, best.model, best.layout).lines
        assert line.base_usd == pytest.approx(line.accelerators * 5.00 * HOURS * 5)


def test_where_the_layout_rents_the_rent_is_its_own():
    sets = ("economics.ownership=rent",)
    best = solved("tiny", *sets)
    found = rent(asked("tiny", *sets).workload, CATALOG, best.model, best.layout)
    contract = next(c.usd for c in best.layout.costs if c.component == "rent")
    assert sum(line.base_usd for line in found.lines) == pytest.approx(contract)


def test_what_is_owned_is_not_paid_again():
    sets = ("hardware.servers.HGX-B300-8.owned=2",)
    best = solved("tiny", *sets)
    (line,) = rent(asked("tiny", *sets).workload, CATALOG, best.model, best.layout).lines
    assert line.layout_usd == pytest.approx(best.layout.objective_usd)


def test_an_accelerator_without_a_quote_is_named():
    parts = tuple(a.model_copy(update={"rent": None}) for a in CATALOG.devices.accelerators)
    catalog = replace(CATALOG, devices=CATALOG.devices.model_copy(update={"accelerators": parts}))
    best = solved("tiny")
    found = rent(asked("tiny").workload, catalog, best.model, best.layout)
    assert (found.lines, found.without_quote) == ((), ("B300-SXM",))


# ---- the token bill -------------------------------------------------------------------------------------


def bill(millions: dict[str, float]) -> Bill:
    return Bill(tokens={kind: count * 1e6 for kind, count in millions.items()})


def prices(model: str, name: str):
    return next(p for p in CATALOG.model(model).api_prices if p.plan == name)


def test_the_bill_of_one_agent_session():
    """229.6 million tokens found in the cache on one day: $0.83 at DeepSeek's price of that July."""
    day = bill({"cached": 229.6, "missed": 0.0, "output": 0.0})
    then = billed(day, prices("deepseek-v4-pro", "before 2026-08-17"), 1.0)
    assert then.cached_usd == pytest.approx(0.83, abs=0.005)
    assert then.usd == then.cached_usd
    kimi = billed(day, prices("kimi-k3", "kimi-k3"), 1.0)
    assert kimi.usd == pytest.approx(229.6 * 0.30)


def test_every_kind_of_token_at_its_price():
    found = billed(bill({"cached": 10.0, "missed": 2.0, "output": 1.0}), prices("kimi-k2", "K2.7-Code"), 0.5)
    assert (found.cached_usd, found.missed_usd, found.output_usd) == pytest.approx((0.95, 0.95, 2.0))
    assert found.usd == pytest.approx(3.9)


def test_the_bill_of_a_layout_is_of_its_own_tokens():
    sets = ("economics.discount=0%",)
    best = solved("tiny", *sets)
    found = api_bill(asked("tiny", *sets).workload, CATALOG, best.model, best.layout)
    (k2,) = (c for c in found.classes if c.model == "kimi-k2")
    (tokens,) = (t for t in tokens_out(best.model, best.layout) if t.cls == k2.cls)
    price = prices("kimi-k2", "K2.7-Code")
    million = [p * 1e6 for p in (price.cached, price.missed, price.output)]
    counts = (tokens.cached_mtok, tokens.missed_mtok, tokens.output_mtok)
    assert k2.plans[0].usd == pytest.approx(sum(n * p for n, p in zip(counts, million, strict=True)))
    assert sum(c.layout_usd for c in found.classes) == pytest.approx(best.layout.objective_usd)


def test_a_dollar_spread_evenly_is_worth_its_annuity():
    best, usd = solved("tiny"), []
    for sets in ((), ("economics.discount=0%",)):
        found = api_bill(asked("tiny", *sets).workload, CATALOG, best.model, best.layout)
        usd.append(found.classes[0].plans[0].usd)
    assert usd[0] / usd[1] == pytest.approx(annuity(0.09, 5) / 5)


def test_every_plan_is_listed_the_cheapest_first():
    card = CATALOG.model("deepseek-v4-pro")
    flash = CATALOG.model("deepseek-v4-flash").model_copy(update={"api_prices": card.api_prices})
    catalog = replace(CATALOG, models={**CATALOG.models, "deepseek-v4-flash": flash})
    best = solved("tiny")
    found = api_bill(asked("tiny").workload, catalog, best.model, best.layout)
    plans = next(c.plans for c in found.classes if c.model == "deepseek-v4-flash")
    assert {p.plan for p in plans} == {p.plan for p in card.api_prices}
    assert [p.usd for p in plans] == sorted(p.usd for p in plans)


def test_a_model_without_a_price_is_named():
    flash = CATALOG.model("deepseek-v4-flash").model_copy(update={"api_prices": ()})
    catalog = replace(CATALOG, models={**CATALOG.models, "deepseek-v4-flash": flash})
    best = solved("tiny")
    found = api_bill(asked("tiny").workload, catalog, best.model, best.layout)
    assert found.without_price == ("deepseek-v4-flash",)
    assert [c.model for c in found.classes] == ["kimi-k2"]

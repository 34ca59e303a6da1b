"""What the cards say: physics of every option, every price with its source."""

from __future__ import annotations

import pytest

from optimizer.catalog import load_catalog
from optimizer.errors import InputError
from optimizer.report import devices, llms

LONG = 1048576.0


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


def one(catalog, model, option, tokens):
    (found,), _ = llms.all_facts(catalog, tokens, model, option)
    return found


def test_k3_is_27648_bytes_a_token_and_a_state(catalog):
    k3 = one(catalog, "kimi-k3", "bf16", 100_000.0)
    assert k3.growth_bytes_per_token == 27_648
    assert k3.fixed_bytes == k3.snapshot_bytes == 449_372_160
    assert k3.held_bytes == 27_648 * 100_000 + 449_372_160
    assert k3.replicated_under_tp == pytest.approx(27_648 * 100_000 / k3.held_bytes)


def test_a_reused_index_is_read_less_and_held_alike(catalog):
    plain, reused = (one(catalog, "deepseek-v4-pro", o, 131072.0) for o in ("fp8-fp4idx", "fp8-fp4idx-topk4"))
    assert reused.held_bytes == plain.held_bytes
    assert reused.read_bytes_per_decoded_token < plain.read_bytes_per_decoded_token
    assert reused.decode_flops_per_token < plain.decode_flops_per_token


def test_every_option_of_every_model_has_its_row(catalog):
    found, remarks = llms.all_facts(catalog, 1000.0)
    assert len(found) == sum(len(card.options) for card in catalog.models.values())
    assert remarks == []
    assert {f.model for f in found if f.default} == set(catalog.models)


def test_models_that_take_no_context_so_long_are_left_out_by_name(catalog):
    found, remarks = llms.all_facts(catalog, LONG)
    left_out = set(catalog.models) - {f.model for f in found}
    assert left_out == {card.id for card in catalog.models.values() if card.max_context.value < LONG}
    assert left_out == {remark.split(" ")[0] for remark in remarks}


def test_a_model_asked_for_by_name_refuses_a_context_it_cannot_take(catalog):
    with pytest.raises(InputError, match=r"more than llama-3\.1-70b takes"):
        llms.all_facts(catalog, LONG, "llama-3.1-70b")


def test_a_misspelt_option_is_named(catalog):
    with pytest.raises(InputError, match=r'no option "bf15" of kimi-k3.*did you mean "bf16"'):
        llms.all_facts(catalog, 1000.0, "kimi-k3", "bf15")


def test_offers_are_every_price_of_the_catalog(catalog):
    found = devices.offers(catalog)
    for part in (*catalog.devices.servers, *catalog.devices.dimms, *catalog.devices.drives):
        (offer,) = [o for o in found if o.id == part.id]
        assert (offer.low, offer.base, offer.high) == (part.price.low, part.price.base, part.price.high)
        assert offer.estimated == (part.price.basis == "estimated")
        assert offer.source == part.price.source
        assert offer.enabled == part.enabled
    assert {"network", "facility"} <= {o.kind for o in found}


def test_a_device_shows_every_sourced_number_and_where_the_source_is(catalog):
    kind, card = devices.device(catalog, "CMM-D-256")
    stated = devices.statements(catalog, card)
    assert kind == "CXL module"
    assert {"bytes", "bandwidth", "power", "price"} <= {s.name for s in stated}
    assert all(s.source and s.date and s.basis for s in stated)
    assert all(s.address for s in stated)


def test_an_unknown_device_is_refused_with_the_name_meant(catalog):
    with pytest.raises(InputError, match='did you mean "HGX-B300-8"'):
        devices.device(catalog, "HGX-B301-8")

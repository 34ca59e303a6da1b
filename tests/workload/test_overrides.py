"""`--set path=value`: what it may change, and how it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from .base import TEXT, changed, load, refusals


def after(*overrides: str, text: str = TEXT) -> Any:
    return load(text, *overrides).workload


def test_a_value_is_set_where_the_file_has_one() -> None:
    assert after("classes.chat.slo.ttft=500 ms").classes["chat"].slo.ttft == 0.5
    assert after("classes.chat.contexts.1.tokens=32 ktok").classes["chat"].contexts[1].tokens == 32e3


def test_a_value_is_set_where_the_file_has_none() -> None:
    assert after("prices.dram=$4/GB").prices.dram == 4e-9
    assert after("economics.discount=0.1").economics.discount == 0.1
    assert after("schema=tierplan-workload/1").name == "base"


def test_values_are_yaml() -> None:
    assert after("hardware.drive_counts=[2, 6]").hardware.drive_counts == (2, 6)
    assert after("tiers.nvme={enabled: false}").tiers.nvme.enabled is False
    assert after("headroom=10%").headroom == 0.1
    assert after("grid.mixed_share=null").grid.mixed_share is None


def test_a_factor_keeps_the_unit() -> None:
    assert after("classes.chat.peak_rate=x0.5").classes["chat"].peak_rate == 10
    assert after("prices.dram=$4/GB", "prices.dram=x3").prices.dram == pytest.approx(12e-9)
    assert after("hardware.servers.HGX-B300-8.max=x2").hardware.servers["HGX-B300-8"].max == 16
    assert after("classes.chat.slo.ttft=2,000 ms", "classes.chat.slo.ttft=x2").classes["chat"].slo.ttft == 4


def test_a_factor_on_a_price_of_the_catalogue_is_kept_for_it() -> None:
    assert after("prices.dram=x3").prices.scale == {"dram": 3.0}
    assert after("prices.dram=x3", "prices.dram=x2").prices.scale == {"dram": 6.0}
    assert after("prices.nvme=$1/GB", "prices.nvme=x3").prices.scale == {}


def test_overrides_apply_in_order() -> None:
    assert after("headroom=0.1", "headroom=0.2").headroom == 0.2


def test_names_with_dots_are_found() -> None:
    assert after("prices.parts.9550-15.36=$5000").prices.parts == {"9550-15.36": 5000}
    text = changed(
        ("kimi-k2: {only: [int4-bf16]}", "deepseek-v3.2: {}"), ("model: kimi-k2", "model: deepseek-v3.2")
    )
    assert after("options.deepseek-v3.2.unpublished=true", text=text).options["deepseek-v3.2"].unpublished
    text = changed(("  kimi-k2: {only: [int4-bf16]}", "  {}"), ("model: kimi-k2", "model: deepseek-v3.2"))
    assert after("options.deepseek-v3.2.only=[fp8]", text=text).options["deepseek-v3.2"].only == ("fp8",)


def test_entries_come_and_go() -> None:
    assert after("hardware.servers.MI355X-8.max=4").hardware.servers["MI355X-8"].max == 4
    assert list(
        after("hardware.servers.MI355X-8={}", "hardware.servers.HGX-B300-8=null").hardware.servers
    ) == ["MI355X-8"]
    assert after("limits.gpus=null").limits == {}


def test_the_file_stays_as_it_was() -> None:
    loaded = load(TEXT, "headroom=0.1", "classes.chat.contexts.0.share=0.6")
    assert loaded.workload.headroom == 0.1
    assert "headroom" not in load().document.data


REFUSED = [
    ("headroom", "headroom: is not path=value (for example classes.chat.peak_rate=x2)"),
    ("=3", "=3: is not path=value (for example classes.chat.peak_rate=x2)"),
    ("headroom=", "headroom=: gives no value (write null to unset)"),
    ("clases.chat.model=a", 'clases.chat.model=a: there is no "clases" (did you mean "classes"?)'),
    ("classes.chta.model=a", 'classes.chta.model=a: classes has no "chta" (did you mean "chat"?)'),
    (
        "classes.chat.peek_rate=x2",
        'classes.chat.peek_rate=x2: classes.chat has no "peek_rate" (did you mean "peak_rate"?)',
    ),
    (
        "classes.chat.contexts.2.share=1",
        'classes.chat.contexts.2.share=1: classes.chat.contexts has no item "2" (its items are 0 to 1)',
    ),
    ("measured.0.model=a", 'measured.0.model=a: measured has no item "0" (it is empty: set the whole list)'),
    ("name.first=a", "name.first=a: name has nothing inside (set name itself)"),
    ("name=x2", "name=x2: name is not a number (x0.5 scales numbers and quantities only)"),
    (
        "economics.discount=x2",
        "economics.discount=x2: economics.discount is not set, so there is nothing to scale (give a value)",
    ),
    ("classes.chta=null", 'classes.chta=null: classes has no chta to take out (did you mean "chat"?)'),
    ("headroom=[1", "headroom=[1: the value cannot be read: expected ',' or ']', but got '<stream end>'"),
    (
        "classes.chat.slo.ttft=0 s",
        'classes.chat.slo.ttft=0 s classes.chat.slo.ttft: "0 s" must be greater than 0',
    ),
    (
        "classes.chat.contexts.0.share=0.5",
        "classes.chat.contexts.0.share=0.5 classes.chat.contexts: shares sum to 0.9, not 1 (add 0.1)",
    ),
    ("headroom=x1e999", "headroom=x1e999: headroom is not set, so there is nothing to scale (give a value)"),
    (
        "classes.chat.peak_rate=x1e999",
        "classes.chat.peak_rate=x1e999: makes classes.chat.peak_rate larger than any number "
        "(give a smaller factor)",
    ),
    (
        "hardware.servers.HGX-B300-8.max=x1e999",
        "hardware.servers.HGX-B300-8.max=x1e999: makes hardware.servers.HGX-B300-8.max larger than any "
        "number (give a smaller factor)",
    ),
    (
        "prices.dram=x1e999",
        "prices.dram=x1e999: makes prices.scale.dram larger than any number (give a smaller factor)",
    ),
    (
        "tiers.hbm.enabled=false",
        "tiers.hbm.enabled=false tiers.hbm.enabled: HBM cannot be disabled: running requests live in it",
    ),
]


@pytest.mark.parametrize(("override", "message"), REFUSED, ids=[override for override, _ in REFUSED])
def test_refused_at_its_own_place(override: str, message: str) -> None:
    assert refusals(TEXT, override) == [f"--set {message}"]


def test_all_overrides_that_fail_are_told() -> None:
    assert len(refusals(TEXT, "a=1", "headroom=0.1", "b=2")) == 2


INDEX = "classes.chat.contexts." + "1" * 9_000
LONG = ["a=" + "x" * 10_000, "classes" + ".a" * 60_000 + "=1", f"{INDEX}.share=1"]


@pytest.mark.parametrize("override", LONG, ids=["value", "path", "index"])
def test_a_long_override_is_cut(override: str) -> None:
    (message,) = refusals(TEXT, override)
    assert len(message) < 300


def test_a_long_index_is_no_item() -> None:
    (message,) = refusals(TEXT, "classes.chat.contexts." + "1" * 300 + ".share=1")
    assert "has no item" in message

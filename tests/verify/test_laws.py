"""Every law of docs/formulation.md, broken once on purpose with the books kept straight: the check names
that law and, but for the few listed, no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path as File

import pytest

import optimizer.verify
from optimizer.instance import Instance, Policy, UserRow
from optimizer.verify import Certificate, check
from optimizer.verify.check import LAWS
from tests.verify.bookkeeping import book
from tests.verify.samples import Choices, choices, instance

Case = tuple[Instance, Choices]
Break = Callable[[Instance, Choices], Case]
SHORT, LONG, DECODE, MIXED = (
    "kimi:fp8@h200/dp8/prefill-short", "kimi:fp8@h200/dp8/prefill-long", "kimi:fp8@h200/dp8/decode",
    "deep:fp8@b200/tp8/mixed",
)  # fmt: skip
KIMI = ("kimi:fp8", "chat:10k")
POOLED, NVME, HBM = "dram_pool@facility", "nvme@h200", "hbm@kimi:fp8@h200/dp8"


def limits(**changed: object) -> Break:
    """What the facility gives, changed."""
    return lambda problem, made: (replace(problem, limits=replace(problem.limits, **changed)), made)


def items(table: str, chosen: str | Callable[[object], bool], **changed: object) -> Break:
    """The items of one table of the instance that have this id, or satisfy this, changed."""
    matches = chosen if callable(chosen) else lambda item: item.id == chosen

    def altered(problem: Instance, made: Choices) -> Case:
        rows = getattr(problem, table)
        assert any(map(matches, rows))
        changes = tuple(replace(row, **changed) if matches(row) else row for row in rows)
        return replace(problem, **{table: changes}), made

    return altered


def decided(table: str, key: object, value: object) -> Break:
    """One decision, changed: to a value, or by a function of the old one."""

    def altered(problem: Instance, made: Choices) -> Case:
        old = getattr(made, table)
        new = value(old[key]) if callable(value) else value
        return problem, replace(made, **{table: {**old, key: new}})

    return altered


def every_hit_taken(problem: Instance, made: Choices) -> Case:
    """More hits at one place than are found there, and so many misses fewer."""
    hit, miss = (KIMI[1], KIMI[0], "hit", NVME, SHORT), (KIMI[1], KIMI[0], "miss", "", LONG)
    more = 0.2 * made.path[hit]
    return problem, replace(
        made, path={**made.path, hit: made.path[hit] + more, miss: made.path[miss] - more}
    )


def another_model(problem: Instance, made: Choices) -> Case:
    """A model that runs no option."""
    return replace(problem, models=(*problem.models, "idle")), made


def limited(minimum: float | None, maximum: float | None, **terms: float) -> Break:
    """A row of the planner's own."""
    row = UserRow("mine", tuple((name.replace("__", "."), c) for name, c in terms.items()), minimum, maximum)
    return lambda problem, made: (replace(problem, user_rows=(*problem.user_rows, row)), made)


def raised(rate: float) -> float:
    """One percent more."""
    return 1.01 * rate


def law_of(name: str) -> str:
    """The family of a row's name."""
    return name.partition("[")[0]


def of_pool(pool: str) -> Callable[[object], bool]:
    """Paths or decodes of one pool."""
    return lambda item: item.pool == pool  # type: ignore[attr-defined]


WAYS: list[tuple[str, Break]] = [
    ("route_returns[kimi:fp8,chat:10k]", decided("path", (KIMI[1], KIMI[0], "miss", "", LONG), raised)),
    ("route_hits[kimi:fp8,chat:10k,nvme@h200]", every_hit_taken),
    ("route_first[kimi:fp8,chat]", decided("path", ("chat", KIMI[0], "first", "", LONG), raised)),
    ("serve_all_decode[kimi:fp8,chat:10k]", decided("decode", (KIMI[1], DECODE), 0.99)),
    ("decode_where_prefilled[agent,deep:fp8@b200/tp8/mixed]", items("buckets", "agent:100k", rate=5.01)),
    ("contexts_only_sink[kimi:fp8,chat:10k,cxl@switch,storage@facility,2]",
     decided("share", (*KIMI, "cxl@switch", "storage@facility"), (0.2, 0.1, 0.15))),
    ("contexts_only_sink[kimi:fp8,chat:10k,all,dram_pool@facility,1]",
     decided("share", (*KIMI, POOLED, POOLED), (0.20, 0.21, 0.05))),
    ("contexts_split[kimi:fp8,chat:10k]", decided("share", (*KIMI, POOLED, POOLED), (0.31, 0.1, 0.05))),
    ("one_age_per_lru_tier[dram,chat:10k,1]", decided("lru", "dram", (0.16, 0.10, 0.0))),
    ("one_option[idle]", another_model),
    ("build_chosen[h200/2T/4,now]", items("builds", "h200/2T/4", maximum=6)),
    ("max_builds[storage,now]", limits(max_builds=0)),
    ("instances_fit_servers[h200,now]", items("skus", "h200", gpus=7)),
    ("server_minimum[h200,now]", items("skus", "h200", minimum=8)),
    ("server_maximum[b200,now]", items("skus", "b200", maximum=3)),
    ("node_limits[dram-node,min]", items("builds", "dram-node/6T", minimum=5)),
    ("node_limits[switch,max]", items("enclosures", "switch", maximum=1)),
    ("node_limits[switch,min]", items("enclosures", "switch", minimum=3)),
    ("supply[h200,now]", items("skus", "h200", supply=4)),
    ("owned_used[h200,now]", items("skus", "h200", owned=1)),
    ("minimum_order[h200,least]", items("skus", "h200", minimum_order=6)),
    ("power[now]", limits(power_w=109_000.0)),
    ("rack_space[now]", limits(rack_units=109.0)),
    ("budget[now]", limits(budget_usd=3.8e6)),
    ("user[mine,min]", limited(8.0, None, servers__h200=1.0)),
    ("user[mine,max]", limited(None, 55.0, accelerators__H200=1.0)),
    ("user[mine,max]", limited(None, 53e12, dram=1.0)),
    ("user[mine,max]", limited(None, 17 * 256e9, cxl=1.0)),
    ("user[mine,min]", limited(1741e12, None, nvme=1.0)),
    ("user[mine,max]", limited(None, 100e3, power=1.0)),
    (f"decode_time[{DECODE}]", items("pools", DECODE, weights_seconds=0.06)),
    (f"decode_time[{MIXED}]", items("pools", MIXED, prefill_share=0.9)),
    (f"decode_flops[{DECODE}]", items("decodes", of_pool(DECODE), flops_seconds=1e-2)),
    (f"decode_exchange[{MIXED}]", items("decodes", of_pool(MIXED), network_seconds=1e-2)),
    (f"prefill_time[{LONG}]", items("pools", LONG, design_load=0.3)),
    (f"running_kv_fits_hbm[{DECODE}]", items("pools", DECODE, room=1e11)),
    ("ttft_attainment[chat]", items("classes", "chat", attainment=0.985)),
    (f"hbm_room[{HBM}]", items("pools", lambda p: p.id in (SHORT, LONG), room=7e10)),
    ("tier_capacity[dram@h200]", items("builds", "h200/2T/4", dram_usable=1.5e11)),
    ("tier_capacity[storage@facility]", items("stores", "storage@facility", slope=1e-17)),
    ("tier_floor[dram]", items("stores", "dram@h200", min_bytes=3.1e13)),
    ("tier_ceiling[cxl]", items("stores", "cxl@switch", max_bytes=4.5e12)),
    ("tier_read[dram@h200]", items("stores", "dram@h200", utilisation=0.0009)),
    ("tier_read[nvme@h200]", items("builds", "h200/2T/4", nvme_read=0.5e9)),
    ("tier_write[nvme@h200]", items("builds", "h200/2T/4", nvme_write=0.4e9)),
    (f"host_link_read[{SHORT}]", items("pools", SHORT, link_read=3e9)),
    (f"host_link_read[{MIXED}]", items("pools", MIXED, link_read=1e7)),
    ("host_link_write[kimi:fp8]", items("pools", lambda p: p.model == "kimi", link_write=1.5e9)),
    ("host_link_sum[kimi:fp8]", items("pools", lambda p: p.model == "kimi", link_both=3e9)),
    ("network_in[h200]", items("skus", "h200", nic_bytes_s=4e9)),
    ("network_out[h200]", items("paths", of_pool(SHORT), sent=1e11)),  # the other SKU's are idle
    ("network_out[now]", items("paths", of_pool(SHORT), sent=3e11)),
    ("nvme_endurance[nvme@b200]", items("builds", "b200/4T/4", nvme_endurance=1e16)),
    ("drives_replaced[h200/2T/4]", decided("replaced", "h200/2T/4", 561.0)),
    ("cxl_fabric[switch]", items("enclosures", "switch", enclosure_bytes_s=2e9)),
    ("cxl_ports[switch]", items("enclosures", "switch", ports=2)),
    ("cxl_connected[switch]", decided("hosts", ("switch", "h200"), (1, 1))),
    ("cxl_slots[switch,h200]", items("skus", "h200", free_x16_slots=1)),
    ("cxl_adapters[switch,h200]", decided("hosts", ("switch", "h200"), (5, 4))),
    ("cxl_hosts[h200]", decided("hosts", ("switch", "h200"), (7, 7))),
    ("cxl_modules[switch]", items("enclosures", "switch", module_slots=8)),
    ("cxl_read[switch,h200]", items("enclosures", "switch", adapter_read=0.3e9)),
    ("cxl_write[switch]", items("enclosures", "switch", adapter_write=0.2e9)),
    ("cxl_attached[switch,h200]", items("pools", SHORT, nodes=100.0)),
]  # fmt: skip

EXCLUSIVE_WAYS: list[tuple[str, Break]] = [
    ("contexts_only_sink[kimi:fp8,chat:10k,cxl@switch,h200,1]",
     decided("share", (*KIMI, "cxl@switch", "h200"), (0.25, 0.36, 0.10))),
    (f"context_entry[kimi:fp8|chat:10k|{POOLED}|h200,2]",
     decided("entry", (*KIMI, POOLED, "h200"), (0.0, 0.04, 0.0))),
    ("contexts_split[kimi:fp8,chat:10k]", decided("share", (*KIMI, NVME, "h200"), (0.41, 0.35, 0.35))),
]  # fmt: skip
BOTH_LIMITS = {"server_minimum", "server_maximum"}  # rows of one law
ALONGSIDE = {"contexts_only_sink": {"context_entry"}}  # a share that grew unbooked is both


def families(certificate: Certificate) -> set[str]:
    """The laws that are violated, without what they are violated for."""
    return {law_of(violation.name) for violation in certificate.violations}


def broken(way: Break, policy: Policy) -> Certificate:
    """The verdict on the sample with one thing changed and every consequence booked."""
    problem = instance(policy)
    changed, made = way(problem, choices(problem))
    return check(changed, book(changed, made))


@pytest.mark.parametrize("policy", Policy)
def test_sample_passes(policy: Policy) -> None:
    problem = instance(policy)
    certificate = check(problem, book(problem, choices(problem)))
    assert certificate.passed, str(certificate)
    assert certificate.worst < 1e-14


@pytest.mark.parametrize(("name", "way"), WAYS, ids=[f"{i}-{name}" for i, (name, _) in enumerate(WAYS)])
def test_broken_law_is_named(name: str, way: Break) -> None:
    certificate = broken(way, Policy.WRITE_THROUGH)
    assert not certificate.passed
    assert name in {violation.name for violation in certificate.violations}, str(certificate)
    assert families(certificate) == {law_of(name)}, str(certificate)


@pytest.mark.parametrize(("name", "way"), EXCLUSIVE_WAYS, ids=[name for name, _ in EXCLUSIVE_WAYS])
def test_broken_law_is_named_when_exclusive(name: str, way: Break) -> None:
    certificate = broken(way, Policy.EXCLUSIVE)
    law = law_of(name)
    assert name in {violation.name for violation in certificate.violations}, str(certificate)
    assert families(certificate) - ALONGSIDE.get(law, set()) == {law}, str(certificate)


def test_spare_servers_are_bought_with_the_build() -> None:
    certificate = broken(limits(spares=5), Policy.WRITE_THROUGH)
    assert "spare_servers[b200/4T/4,now]" in {violation.name for violation in certificate.violations}


def test_two_options_of_a_model_are_one_too_many() -> None:
    problem = instance()
    layout = book(problem, choices(problem))
    both = replace(layout, options=(*layout.options, replace(layout.options[0], option="kimi:fp4")))
    assert "one_option[kimi]" in {violation.name for violation in check(problem, both).violations}


def test_every_law_is_broken_here() -> None:
    """A law added to the check gets its own way to fail."""
    tried = {law_of(name) for name, _ in (*WAYS, *EXCLUSIVE_WAYS)} | {"spare_servers"}
    assert tried >= BOTH_LIMITS
    assert {law.__name__ for law in LAWS} == tried - BOTH_LIMITS | {"server_limits"}


def test_every_law_says_why_and_what() -> None:
    for law in LAWS:
        why, blank, *mathematics = (law.__doc__ or "").strip().splitlines()
        assert why.endswith(".")
        assert not blank
        assert any("=" in line for line in mathematics), law.__name__


def test_arithmetic_is_exact() -> None:
    """Floats enter as rationals; no array library rounds on the way. (tests/structure keeps solvers out.)"""
    for module in File(optimizer.verify.__file__).parent.glob("*.py"):
        imported = [line for line in module.read_text().splitlines() if line.startswith(("import ", "from "))]
        assert not any(name in line for line in imported for name in ("numpy", "scipy")), module

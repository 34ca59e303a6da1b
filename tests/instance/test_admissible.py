"""Only admissible columns: what is built can be reached, meets its limits, and is no more than it need be."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyomo.environ as pyo
import pytest

from optimizer.formulation import Model
from optimizer.instance import Case, Instance, Pool, Role, Store, Tier
from tests.instance.shipped import ALL_TIERS, CATALOG, WORKLOADS, built

CASES = {
    **{name: (name,) for name in WORKLOADS},
    "all tiers": ALL_TIERS,
    "all tiers, exclusive": (*ALL_TIERS, "tiers.policy=exclusive"),
    "all tiers, DRAM pooled": (
        *ALL_TIERS, "tiers.dram.scope=pooled", "classes.flash-chat.shared_prefix.held_in=dram_pool",
    ),
    "offload": (
        "tiny", "classes.k2-agentic.model=deepseek-v3.2",
        "options={deepseek-v3.2: {only: [fp8, fp8-offload]}}",
    ),
}  # fmt: skip
REACH = {Tier.HBM: 0, Tier.DRAM: 0, Tier.NVME: 0, Tier.CXL: 1, Tier.DRAM_POOL: 2, Tier.STORAGE: 2}
"""How far a tier reaches: its own server, the hosts of an enclosure, the facility."""

each = pytest.mark.parametrize("instance", CASES.values(), ids=CASES, indirect=True)


@pytest.fixture
def instance(request: pytest.FixtureRequest) -> Instance:
    """One built problem."""
    return built(*request.param)


def stores(instance: Instance) -> dict[str, Store]:
    """Store by location."""
    found = {s.id: s for s in instance.stores}
    return {place.id: found[place.store] for place in instance.locations}


def reaches(instance: Instance, pool: Pool, store: Store) -> bool:
    """Whether instances of a pool can load from a store."""
    slots = {s.id: s.free_x16_slots for s in instance.skus}
    if store.tier is Tier.HBM:
        return store.scope == pool.shape
    if store.tier is Tier.CXL:
        return slots[pool.sku] > 0
    return store.scope in (pool.sku, "facility")


@each
def test_paths_load_from_where_their_pool_can(instance: Instance) -> None:
    pools, at = {p.id: p for p in instance.pools}, stores(instance)
    owners = {place.id: place.option for place in instance.locations}
    for path in instance.paths:
        pool = pools[path.pool]
        assert pool.role is not Role.DECODE
        assert pool.option == path.option
        assert (path.location is None) == (path.case is not Case.HIT)
        if path.location is not None:
            assert reaches(instance, pool, at[path.location]), path
            assert owners[path.location] in (None, path.option)


@each
def test_paths_load_no_more_than_they_have_to(instance: Instance) -> None:
    """HBM hits load nothing below HBM, only remote tiers cross the NICs, only prefill pools hand KV over."""
    pools, at = {p.id: p for p in instance.pools}, stores(instance)
    prefixed = {p.cls for p in instance.shared_prefixes if not p.store.startswith("hbm")}
    for path in instance.paths:
        tier = at[path.location].tier if path.location else Tier.HBM
        assert (path.load > 0) == (tier is not Tier.HBM)
        if path.cls not in prefixed:
            assert (path.link > 0) == (tier is not Tier.HBM)
        assert (path.sent > 0) == (pools[path.pool].role is Role.PREFILL)
        assert 0 <= path.attained <= 1
        assert path.busy > 0
        assert path.held > 0


@each
def test_decodes_meet_their_tpot_on_one_rank(instance: Instance) -> None:
    pools, classes = {p.id: p for p in instance.pools}, {c.id: c for c in instance.classes}
    buckets, options = {b.id: b for b in instance.buckets}, {o.id: o for o in instance.options}
    for d in instance.decodes:
        pool, cls = pools[d.pool], classes[buckets[d.bucket].cls]
        assert pool.role is not Role.PREFILL
        assert pool.model == buckets[d.bucket].model
        assert pool.iteration <= cls.tpot * options[pool.option].accepted_per_step * (1 + 1e-9)
        assert d.sequences == pytest.approx(
            d.rate * cls.output_tokens * pool.iteration / options[pool.option].accepted_per_step
        )
        ranks = int(found[1]) if (found := re.search(r"dp(\d+)$", pool.shape)) else 1
        assert d.hbm <= pool.room / ranks
        assert (d.transfer > 0) == (pool.role is Role.DECODE)


@each
def test_pools_have_time_and_room(instance: Instance) -> None:
    """An iteration leaves time beside the weights, an instance room beside them, and it packs its servers."""
    skus, served = {s.id: s for s in instance.skus}, {p.pool for p in instance.paths}
    served |= {d.pool for d in instance.decodes}
    for p in instance.pools:
        assert p.room > 0
        assert p.gpus <= p.gpus_charged
        assert p.nodes == p.gpus_charged / skus[p.sku].gpus
        assert p.gpus <= skus[p.sku].gpus or p.gpus % skus[p.sku].gpus == 0
        if p.role is not Role.PREFILL:
            assert p.weights_seconds + p.overhead < p.iteration * (1 - p.prefill_share)
        assert p.id in served


@each
def test_homes_are_no_faster_and_reach_as_far(instance: Instance) -> None:
    order, at = {place.id: place.order for place in instance.locations}, stores(instance)
    shapes = {p.shape: p.sku for p in instance.pools}
    for h in instance.holdings:
        serve = at[h.serve]
        near = shapes.get(serve.scope, serve.scope)
        assert 0 < h.found <= 1
        assert h.found + h.found_home <= 1 + 1e-12
        if h.home not in at:
            assert instance.policy == "exclusive"
            assert near == h.home or REACH[serve.tier] > 0
            continue
        home = at[h.home]
        assert order[h.home] >= order[h.serve]
        assert REACH[home.tier] >= REACH[serve.tier]
        if REACH[home.tier] == REACH[serve.tier] and h.serve != h.home:
            assert shapes.get(home.scope, home.scope) == near
        assert h.found_home == pytest.approx(1 - h.found if REACH[home.tier] > REACH[serve.tier] else 0.0)


@each
def test_what_is_held_can_be_read_and_weighed(instance: Instance) -> None:
    weighed = {(s.option, s.bucket, s.location) for s in instance.stored}
    read = {(p.option, p.stream, p.location) for p in instance.paths}
    at = stores(instance)
    for h in instance.holdings:
        for place in {h.serve, h.home} & at.keys():
            assert (h.option, h.bucket, place) in weighed
            assert (h.option, h.bucket, place) in read
    for s in instance.stored:
        assert s.bytes > 0
        assert s.square >= s.bytes**2
        assert (s.new > 0) == (at[s.location].tier is not Tier.HBM)


@each
def test_running_kv_stays_in_hbm(instance: Instance) -> None:
    """But for what an option declares offloaded; a running sequence is no smaller than an idle one."""
    offloads = {
        f"{model.id}:{o.id}": bool(o.offload) for model in CATALOG.models.values() for o in model.options
    }
    pools, at = {p.id: p for p in instance.pools}, stores(instance)
    idle = {(s.option, s.bucket, at[s.location].scope): s.bytes for s in instance.stored if s.new == 0}
    for d in instance.decodes:
        pool = pools[d.pool]
        assert d.hbm > 0
        assert d.square >= d.hbm**2
        assert (d.dram > 0) == offloads[pool.option]
        if not offloads[pool.option] and (pool.option, d.bucket, pool.shape) in idle:
            assert d.hbm >= idle[pool.option, d.bucket, pool.shape]


@each
def test_returns_and_first_requests_make_up_the_rate(instance: Instance) -> None:
    for cls in instance.classes:
        mine = [b for b in instance.buckets if b.cls == cls.id]
        assert sum(b.rate for b in mine) == pytest.approx(cls.rate)
        assert cls.first_rate == pytest.approx(cls.rate - sum(b.returns for b in mine))
        for b in mine:
            assert 0 <= b.mean_returns <= b.mean_rate * (1 + 1e-12)
            assert all(s.drop > 0 and s.integral > 0 for s in b.slots)
            assert [s.start for s in b.slots[1:]] == [s.end for s in b.slots[:-1]]


def names(instance: Instance) -> Iterator[tuple[str, list[str]]]:
    """The identifiers of every table."""
    yield from (
        (field, [record.id for record in getattr(instance, field)])
        for field in (
            "options",
            "classes",
            "buckets",
            "skus",
            "builds",
            "enclosures",
            "stores",
            "locations",
            "pools",
        )
    )
    yield "holdings", [h.id for h in instance.holdings]
    yield "paths", [f"{p.stream} {p.option} {p.case} {p.location} {p.pool}" for p in instance.paths]


@each
def test_names_are_given_once(instance: Instance) -> None:
    for field, found in names(instance):
        assert len(found) == len(set(found)), field


def test_offloaded_kv_is_where_the_option_says() -> None:
    """The case above has such an option, and its index keys and logits stay in HBM all the same."""
    instance = built(*CASES["offload"])
    pools = {p.id: p.option for p in instance.pools}
    pairs = {
        name: {(d.bucket, d.pool.split("@")[1]): d for d in instance.decodes if pools[d.pool] == name}
        for name in ("deepseek-v3.2:fp8", "deepseek-v3.2:fp8-offload")
    }
    plain, offloaded = pairs.values()
    assert plain.keys() & offloaded.keys()
    for key in plain.keys() & offloaded.keys():
        assert 0 < offloaded[key].hbm < plain[key].hbm
        assert offloaded[key].dram > 0
        assert offloaded[key].memory_seconds > plain[key].memory_seconds


def columns(instance: Instance) -> int:
    """How many decisions the model declares."""
    return sum(len(v) for v in Model(instance).pyomo.component_objects(pyo.Var))


@pytest.mark.parametrize(("name", "most"), [("tiny", 400), ("two-directions", 30_000)])
def test_columns_stay_within_the_budget(name: str, most: int) -> None:
    assert columns(built(name)) <= most


def test_together_is_what_the_parts_are() -> None:
    """Two directions under one roof need their own columns and one set of machines."""
    parts = [built("deepseek-only"), built("kimi-only")]
    whole = built("two-directions")
    for field in ("paths", "holdings", "pools", "decodes", "buckets"):
        assert len(getattr(whole, field)) == sum(len(getattr(part, field)) for part in parts)
    assert whole.builds == parts[0].builds == parts[1].builds
